//! Tests of the scripts for boards, as far as they run without a vendor's tool.

#[cfg(test)]
mod tests {
    use portcullis_tools::tool;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    const SCRIPTS: [&str; 2] = ["aws_build_dcp_from_cl.py", "build_all.tcl"];

    /// An empty folder of this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("portcullis-boards-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A tree with the shape of the HDK: the template's build scripts are relative symbolic links.
    fn hdk(folder: &Path) {
        let common = folder.join("hdk/common/shell_stable/build/scripts");
        let template = folder.join("hdk/cl/examples/CL_TEMPLATE");
        for path in
            [&common, &template.join("build/scripts"), &template.join("build/constraints"), &template.join("design")]
        {
            fs::create_dir_all(path).unwrap();
        }
        for script in SCRIPTS {
            fs::write(common.join(script), script).unwrap();
            let link = format!("./../../../../../common/shell_stable/build/scripts/{script}");
            symlink(link, template.join("build/scripts").join(script)).unwrap();
        }
        let ids = "`define CL_SH_ID0 32'hF010_1D0F\n`define CL_SH_ID1 32'h1D51_FEDC\n";
        fs::write(template.join("design/cl_id_defines.vh"), ids).unwrap();
    }

    fn run(script: &str, arguments: &[&Path]) -> Output {
        Command::new("sh").arg(tool::root().unwrap().join(script)).args(arguments).output().unwrap()
    }

    fn prepare(hdk: &Path) -> Output {
        run("bitstreams/aws_f2/prepare_cl.sh", &[hdk])
    }

    fn defined(text: &str, name: &str) -> String {
        let line = text.lines().find(|line| line.starts_with(&format!("`define {name} "))).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    }

    #[test]
    fn the_folder_for_f2_is_where_its_scripts_resolve() {
        let folder = folder("f2");
        hdk(&folder);
        let output = prepare(&folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cl = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        // The HDK's build wants a folder with the name of the top module.
        assert!(cl.ends_with("hdk/cl/developer_designs/portcullis_cl"), "{}", cl.display());
        for script in SCRIPTS {
            assert_eq!(fs::read_to_string(cl.join("build/scripts").join(script)).unwrap(), script);
        }
        for file in ["design/portcullis_cl.sv", "design/portcullis_ids.vh", "build/scripts/synth_portcullis_cl.tcl"] {
            assert!(cl.join(file).is_file(), "{file}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// The manifest of the AFI gets its ids from the one file, and the RTL from the other.
    #[test]
    fn the_ids_of_the_manifest_are_those_of_the_card() {
        let folder = folder("ids");
        hdk(&folder);
        assert!(prepare(&folder).status.success());
        let design = folder.join("hdk/cl/developer_designs/portcullis_cl/design");
        let manifest = fs::read_to_string(design.join("cl_id_defines.vh")).unwrap();
        let card = fs::read_to_string(design.join("portcullis_ids.vh")).unwrap();
        for id in ["SH_ID0", "SH_ID1"] {
            assert_eq!(defined(&manifest, &format!("CL_{id}")), defined(&card, &format!("PORTCULLIS_{id}")));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_for_f2_is_made_whole_or_not_at_all() {
        let folder = folder("whole");
        let cl = folder.join("hdk/cl/developer_designs/portcullis_cl");
        let refused = |why: &str| {
            let output = prepare(&folder);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.code() == Some(1) && said.contains(why), "{said}");
        };
        refused("no hdk/cl/examples/CL_TEMPLATE");
        hdk(&folder);
        let script = folder.join("hdk/common/shell_stable/build/scripts/build_all.tcl");
        fs::rename(&script, folder.join("away")).unwrap();
        refused("links of the template lead nowhere: build/scripts/build_all.tcl");
        assert_eq!(fs::read_dir(cl.parent().unwrap()).unwrap().count(), 0, "nothing is left behind");
        fs::rename(folder.join("away"), &script).unwrap();
        assert!(prepare(&folder).status.success());
        refused("exists");
        fs::remove_dir_all(folder).unwrap();
    }

    /// The two forms in which Vivado declares the ports of a block.
    #[test]
    fn the_width_of_a_port_is_read_from_a_blocks_declaration() {
        let folder = folder("width");
        let file = folder.join("xdma_card_stub.v");
        let width = |text: &str, port: &str| {
            fs::write(&file, text).unwrap();
            let output = run("bitstreams/common/port_width.sh", &[&file, Path::new(port)]);
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
        };
        let stub = "module xdma_card(sys_clk, s_axib_arid, s_axib_arid_x)\n/* black_box_pad_pin=\"s_axib_arid[9:0]\" */;\n  \
                    input sys_clk;\n  input [19:0]s_axib_arid;\n  output [3:0]s_axib_rid;\nendmodule\n";
        assert_eq!(width(stub, "s_axib_arid").as_deref(), Some("20"));
        assert_eq!(width(stub, "s_axib_rid").as_deref(), Some("4"));
        assert_eq!(width(stub, "sys_clk").as_deref(), Some("1"));
        assert_eq!(width(stub, "arid"), None, "a part of a name");
        let wrapper =
            "module xdma_card (\n  input wire [4 : 0] s_axib_arid, // ids\n  output wire [4 : 0] s_axib_rid\n);\n";
        assert_eq!(width(wrapper, "s_axib_arid").as_deref(), Some("5"));
        assert_eq!(width(wrapper, "s_axib_rid").as_deref(), Some("5"));
        assert_eq!(width("  input [W-1:0]s_axib_arid;\n", "s_axib_arid"), None, "no number");
        assert_eq!(width("  input [3:0]s_axib_arid;\n  input [4:0]s_axib_arid;\n", "s_axib_arid"), None, "two widths");
        fs::remove_dir_all(folder).unwrap();
    }
}
