//! Runs the independent verifier, which was written from docs/reference/formats and shares no code with this program.
//! It reads the demo's bundle, changed copies of that bundle, the golden bundles and the test vectors.

use anyhow::{Context, Result, ensure};
use portcullis_tools::demo;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::VENV;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bundles of earlier releases: a folder per release, with `bundle` and `trust`.
pub(crate) const GOLDEN: &str = "tests/golden";
/// A verifier's exit code for simulated evidence that its options accept.
const SIMULATED: i32 = 10;

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    let demo = demo::bundle()?;
    let trust = demo.with_file_name("trust");
    tally.check("an independent verifier confirms the demo's bundle", verify(&demo, &trust));
    let changes =
        python("changes.py").arg("--program").arg(demo::binary()?).arg("--plain").arg(&demo).arg(&trust).status()?;
    tally.check("an independent verifier and ours say the same of changed bundles", ok(changes.code(), 0));
    tally.check("an independent checker takes the demo's stream proofs and no changed one", proofs(&demo, &trust));
    let vectors = python("vectors.py").status()?;
    tally.check("the test vectors hold", ok(vectors.code(), 0));
    for release in releases()? {
        let name = format!("an independent verifier confirms the golden bundle {}", release.display());
        tally.check(&name, verify(&release.join("bundle"), &release.join("trust")));
        let name =
            format!("an independent checker takes the stream proofs of {} and no changed one", release.display());
        tally.check(&name, proofs(&release.join("bundle"), &release.join("trust")));
    }
    Ok(())
}

fn releases() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(GOLDEN).context(GOLDEN)?;
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|path| path.is_dir());
    found.sort();
    ensure!(!found.is_empty(), "{GOLDEN} holds no bundle");
    Ok(found)
}

fn verify(bundle: &Path, trust: &Path) -> Result<()> {
    let status = python("verify.py").arg(bundle).arg("--trust").arg(trust).arg("--allow-sim").status()?;
    ok(status.code(), SIMULATED)?;
    // By default, simulated evidence is refused.
    let refused = python("verify.py").arg(bundle).arg("--trust").arg(trust).status()?;
    ok(refused.code(), 3)
}

/// Makes stream proofs from the bundle, and checks them with a third program, which needs only the standard library.
fn proofs(bundle: &Path, trust: &Path) -> Result<()> {
    let status = python("stream_proofs.py").arg(bundle).arg(trust).status()?;
    ok(status.code(), 0)
}

fn ok(found: Option<i32>, expected: i32) -> Result<()> {
    ensure!(found == Some(expected), "exit code {found:?}, not {expected}");
    Ok(())
}

fn python(script: &str) -> Command {
    let mut command = Command::new(Path::new(VENV).join("bin/python"));
    command.arg("-B").arg(Path::new("tests/independent").join(script));
    command
}
