//! Tests the guards of the card's parameters: for invalid parameters, elaboration must stop with a message.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tool;
use std::process::Stdio;

/// Parameters of a valid production card: a secret of its own, and the flag SIM not set.
const PRODUCTION: [&str; 3] = ["-GProduction=1'b1", "-GKeyFlags=8'h04", "-GDeviceSecret=256'h1"];

/// Parameters with which elaboration must stop, each with the expected message.
const FORBIDDEN: [(&[&str], &str); 17] = [
    (&["-GProduction=1'b1", "-GKeyFlags=8'h04"], "portcullis_top: a production card needs a secret of its own"),
    (
        &["-GProduction=1'b1", "-GKeyFlags=8'h04", "-GDeviceSecret=256'h0"],
        "portcullis_top: a production card needs a secret of its own",
    ),
    (&["-GProduction=1'b1", "-GKeyFlags=8'h05", "-GDeviceSecret=256'h1"], "portcullis_top: key flag SIM is for"),
    (&["-GProduction=1'b1", "-GKeyFlags=8'h07", "-GDeviceSecret=256'h1"], "portcullis_top: key flag SIM is for"),
    (&["-GKeyFlags=8'h04"], "portcullis_top: key flag SIM is for"),
    (&["-GKeyFlags=8'h04", "-GDeviceSecret=256'h1"], "portcullis_top: key flag SIM is for"),
    (&["-GKeyFlags=8'h0d"], "portcullis_top: KeyFlags has unknown bits"),
    (&["-GLanes=3"], "portcullis_top: Lanes is 1, 2, 4 or 8"),
    (&["-GLanes=16"], "portcullis_top: Lanes is 1, 2, 4 or 8"),
    (&["-GLanes=8", "-GMaxStreams=1020"], "portcullis_top: MaxStreams must be a multiple of Lanes"),
    (&["-GLanes=8", "-GMaxReads=8"], "portcullis_top: every lane needs two reads in flight"),
    (&["-GPolicyRows=1025"], "bank_table: Rows must be 1 to 1024"),
    (&["-GEntropyRows=0"], "bank_table: Rows must be 1 to 1024"),
    (&["-GMaxStreams=65537"], "stream_table: MaxStreams must be 1 to 65536"),
    (&["-GMaxReads=3"], "MaxReads is a power of two, 2 to 32"),
    (&["-GRounds=3"], "Rounds is 1, 2, 4 or 16"),
    (&["-GWatchdogLog2=3"], "Log2 is 4 to 40"),
];

/// Elaborates the card with every invalid set of parameters, and with one valid set.
pub(crate) fn run() -> Result<()> {
    let (stopped, output) = elaborate(&PRODUCTION)?;
    ensure!(!stopped, "a production card with a secret of its own does not elaborate:\n{output}");
    for (parameters, message) in FORBIDDEN {
        let (stopped, output) = elaborate(parameters)?;
        let said = output.lines().any(|line| line.contains("USERFATAL") && line.contains(message));
        ensure!(stopped && said, "{} elaborates, or not for `{message}`:\n{output}", parameters.join(" "));
    }
    eprintln!("    {} sets of parameters are refused", FORBIDDEN.len());
    Ok(())
}

/// Whether elaboration stopped, and its output.
fn elaborate(parameters: &[&str]) -> Result<(bool, String)> {
    let mut command = tool::verilator()?;
    // As in the build of the simulated card: warnings do not stop elaboration, only guards do.
    command
        .args(["--lint-only", "--no-timing", "-Wno-fatal", "-Werror-USERFATAL", "--top-module", "portcullis_top"])
        .args(parameters)
        .args(["rtl/lint.vlt", "-f", "rtl/portcullis.f"])
        .stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot start {}", tool::shown(&command)))?;
    let text = [output.stdout, output.stderr].map(|stream| String::from_utf8_lossy(&stream).into_owned()).concat();
    Ok((!output.status.success(), text))
}
