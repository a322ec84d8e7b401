//! A verifier that shares no code with ours, written from docs/reference/formats: on the demo's bundle, on changes of it, and on the
//! test vectors.

use crate::demo;
use crate::tally::Tally;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Exit code of a verifier for simulated evidence that it was asked to accept.
const SIMULATED: i32 = 10;

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let demo = demo::bundle()?;
    let trust = demo.with_file_name("trust");
    tally.check("an independent verifier confirms the demo's bundle", verify(&demo, &trust));
    let changes = python("changes.py").arg(&demo).arg("--trust").arg(&trust).status()?;
    tally.check("an independent verifier refuses changed bundles", ok(changes.code(), 0));
    let vectors = python("vectors.py").arg("docs/reference/formats/vectors.json").status()?;
    tally.check("the test vectors hold", ok(vectors.code(), 0));
    Ok(())
}

fn verify(bundle: &Path, trust: &Path) -> Result<()> {
    let status = python("verify.py").arg(bundle).arg("--trust").arg(trust).arg("--allow-sim").status()?;
    ok(status.code(), SIMULATED)?;
    // Simulated evidence is not evidence for whoever did not ask for it.
    let refused = python("verify.py").arg(bundle).arg("--trust").arg(trust).status()?;
    ok(refused.code(), 3)
}

fn ok(found: Option<i32>, expected: i32) -> Result<()> {
    ensure!(found == Some(expected), "exit code {found:?}, not {expected}");
    Ok(())
}

fn python(script: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg("-B").arg(Path::new("tests/independent").join(script));
    command
}
