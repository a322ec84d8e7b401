//! The commands in the gateway tutorial work as printed.

use crate::process::{free_port, kit, root};
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(crate) fn page() -> String {
    std::fs::read_to_string(root().join("docs/tutorials/your-model-server.md")).unwrap()
}

/// The code blocks of this kind in a part of the page.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("```{kind}\n");
    page.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The code block of this kind after these words.
pub(crate) fn block_after<'a>(page: &'a str, words: &str, kind: &str) -> &'a str {
    blocks(page.split_once(words).unwrap().1, kind)[0]
}

/// Runs every command of the page in a shell, in a folder with the files of a checkout. While the gateway serves, `run`
/// also runs `programs`, each with the interpreter of an environment. Free ports replace those of the page.
fn run(environment: &Path, programs: &[(&Path, &str)]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let link = |from: &Path, to: &str| std::os::unix::fs::symlink(from, folder.path().join(to)).unwrap();
    std::fs::create_dir(folder.path().join("target")).unwrap();
    link(environment, "target/clients");
    link(Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap(), "target/debug");
    for name in ["policies", "examples"] {
        link(&root().join(name), name);
    }
    let (model, gateway) = (free_port(), free_port());
    let ported = |text: &str| text.replace("18080", &model).replace("8080", &gateway);
    let page = page();
    let (before, after) = page.split_once("## 4. ").unwrap();
    // Skip the steps that install programs.
    let commands = |part| blocks(part, "sh").concat().replace("cargo xtask setup\ncargo xtask clients\n", "");
    let mut script = format!("trap 'kill ${{model-}} ${{gateway-}} 2> /dev/null || true' EXIT\n{}", commands(before));
    for (at, (environment, program)) in programs.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{at}.py")), ported(program)).unwrap();
        script += &format!("{} {at}.py\n", environment.join("bin/python").display());
    }
    script += &commands(after);
    assert!(!script.contains("xtask"), "{script}");
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &ported(&script)]).current_dir(folder.path()).stdin(Stdio::null());
    (shell.output().unwrap(), folder)
}

#[test]
#[cfg(feature = "sim")]
fn the_tutorial_works_as_printed() {
    let Some(environment) = kit() else { return };
    let page = page();
    let anthropic = block_after(&page, "Anthropic's client takes", "python");
    let (out, _folder) = run(&environment, &[(&environment, anthropic)]);
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{said}\n{}", String::from_utf8_lossy(&out.stderr));
    let refusal = block_after(&page, "## 3. See a refusal", "text");
    for words in
        ["ready\n", "admitted: ", refusal, "content_filter", "IMP-OVERRIDE", "verdict      warned\n", "exit code 10\n"]
    {
        assert!(said.contains(words), "`{words}` is not in what the commands print:\n{said}");
    }
    assert!(!said.contains("@example.org"), "{said}");
    let ended = ["end_turn\n", "max_tokens\n"];
    assert!(ended.iter().any(|reason| said.contains(reason)), "{said}");
}

/// systemd accepts the service units without a warning, and rates their sandbox as strict.
#[test]
fn the_unit_of_the_service_is_one_that_systemd_takes() {
    use std::io::Write as _;
    // The gateway's unit is a template; systemd reads an instance of it.
    for (name, instance, command) in
        [("portcullis@", "portcullis@gateway", "serve"), ("portcullis-issuer", "portcullis-issuer", "authority serve")]
    {
        let unit = std::fs::read_to_string(root().join(format!("docs/{name}.service"))).unwrap();
        assert!(unit.contains(&format!("ExecStart=/usr/local/bin/portcullis {command} --config ")), "{name}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{instance}.service"));
        // The program is still in the build folder.
        std::fs::write(&path, unit.replace("/usr/local/bin/portcullis", env!("CARGO_BIN_EXE_portcullis"))).unwrap();
        for words in [&["verify", "--man=no"][..], &["security", "--offline=true", "--threshold=15", "--no-pager"]] {
            let Ok(out) = Command::new("systemd-analyze").args(words).arg(&path).output() else {
                std::io::stdout().write_all(b"\nSKIPPED no systemd-analyze to read the unit with\n").unwrap();
                return;
            };
            let said = String::from_utf8_lossy(&out.stderr);
            let shown = String::from_utf8_lossy(&out.stdout);
            assert!(out.status.success() && said.is_empty(), "{name} {words:?}: {said}{shown}");
        }
    }
}
