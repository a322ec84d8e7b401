//! Runs the benches: criterion's for mapping, evaluators and verifier, then the card in simulated clocks.

use anyhow::Result;
use portcullis_tools::setup;
use portcullis_tools::tool::{self, cargo, say};

const LANES: &str = "8";
/// Arguments for several runs of `portcullis card bench`.
const CARD: [&[&str]; 4] =
    [&[], &["--latency", "500"], &["--latency", "500", "--lanes", LANES], &["--policy", "policies/pii"]];

/// The rates of the readers of evidence at these numbers of streams; without any, at the usual ones.
pub(crate) fn evidence(streams: &[usize]) -> Result<()> {
    for package in ["portcullis-evidence", "portcullis-attestation"] {
        let bench = ["bench", "--locked", "--package", package, "--bench", "streams", "--"];
        tool::run(cargo().args(bench).args(streams.iter().map(usize::to_string)))?;
    }
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    setup::tools()?;
    say("mapping: bytes a second on the PII policy");
    tool::run(cargo().args(["bench", "--locked", "--package", "portcullis-mapping", "--bench", "mapping"]))?;
    say("the whole path of a span, by length of the lineage");
    tool::run(cargo().args(["bench", "--locked", "--package", "portcullis-gate", "--bench", "path"]))?;
    say("one descriptor: evaluator, cedar-policy, regorus");
    // A workspace of its own, because only this bench needs Rego's evaluator.
    let evaluators = ["--manifest-path", "tests/evaluators/Cargo.toml", "--target-dir", "target/evaluators"];
    tool::run(cargo().args(["bench", "--locked", "--bench", "policy"]).args(evaluators))?;
    say("records a second that the verifier checks, without replay");
    tool::run(cargo().args(["bench", "--locked", "--package", "portcullis-evidence", "--bench", "records"]))?;
    say("streams a second that the readers of evidence handle, by the size of the bundle");
    evidence(&[])?;
    say("the pre-execution filter: 1 KiB, 32 KiB, 1 MiB, plain and built to hurt");
    tool::run(cargo().args(["bench", "--locked", "--package", "portcullis-prefilter", "--bench", "prefilter"]))?;
    for arguments in CARD {
        say(&format!("card bench --card sim {}", arguments.join(" ")));
        let run = [
            "run",
            "--quiet",
            "--locked",
            "--release",
            "--package",
            "portcullis",
            "--",
            "card",
            "bench",
            "--card",
            "sim",
        ];
        tool::run(cargo().args(run).args(arguments).env("PORTCULLIS_LANES", LANES))?;
    }
    say("the gateway");
    crate::gateway::run(None)
}
