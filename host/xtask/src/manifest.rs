//! The part of a bitstream's manifest (bitstreams/*/manifest.toml) that lists its sources. `portcullis bitstream seal`
//! adds the part about the build.

use anyhow::Result;
use base16ct::lower::encode_string;
use portcullis_bitstream::{LAYOUT, REGISTERS, SourceCheckout};

/// Targets, with the files that their builds need in addition to the card's sources. The key package is not listed,
/// because it depends on the kind of key.
pub(crate) const TARGETS: [(&str, &[&str]); 4] = [
    (
        "aws_f2",
        &[
            "rtl/shells/shells.f",
            "rtl/shells/aws_f2/portcullis_cl.sv",
            "rtl/shells/aws_f2/portcullis_ids.vh",
            "bitstreams/aws_f2/synth_portcullis_cl.tcl",
            "bitstreams/common/sources.tcl",
            "bitstreams/aws_f2/cl_timing_user.xdc",
        ],
    ),
    (
        "alveo_u55c",
        &[
            "rtl/shells/shells.f",
            "rtl/shells/alveo_xdma/axi_to_axil.sv",
            "rtl/shells/alveo_xdma/alveo_xdma.sv",
            "bitstreams/common/alveo.tcl",
            "bitstreams/common/sources.tcl",
            "bitstreams/alveo_u55c/build.tcl",
            "bitstreams/alveo_u55c/pins.xdc",
            "bitstreams/common/crossings.xdc",
        ],
    ),
    (
        "alveo_u250",
        &[
            "rtl/shells/shells.f",
            "rtl/shells/alveo_xdma/axi_to_axil.sv",
            "rtl/shells/alveo_xdma/alveo_xdma.sv",
            "bitstreams/common/alveo.tcl",
            "bitstreams/common/sources.tcl",
            "bitstreams/alveo_u250/build.tcl",
            "bitstreams/alveo_u250/pins.xdc",
            "bitstreams/common/crossings.xdc",
        ],
    ),
    ("ecp5", &["tools/timing/src/timing.rs"]),
];

/// The manifest of a target before its first build.
pub(crate) fn text(target: &str, files: &[&str], design: &[u8], map_digest: &[u8]) -> Result<String> {
    let checkout = SourceCheckout::new(".");
    let mut sources = Vec::new();
    for file in files {
        sources.push((*file).to_owned());
        // A list file is replaced by the files that it names.
        if file.ends_with(".f") {
            sources.extend(checkout.listed(file)?);
        }
    }
    let shell = checkout.list(&sources)?;
    let sources: String = sources.iter().map(|s| format!("    \"{s}\",\n")).collect();
    Ok(format!(
        "# Made by `cargo xtask gen`. `portcullis bitstream seal` writes the manifest of a build from it.\n\
         schema = 1\ntarget = \"{target}\"\n\n[design]\ndesign_id = \"{}\"\nmap_digest = \"{}\"\nlayout_digest = \"{}\"\n\
         registers_digest = \"{}\"\nshell_digest = \"{}\"\nshell_sources = [\n{sources}]\n",
        encode_string(design),
        encode_string(map_digest),
        checkout.file(LAYOUT)?,
        checkout.file(REGISTERS)?,
        shell,
    ))
}
