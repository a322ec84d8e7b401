//! The demo of the README: judges a few sentences on the simulated card, and makes a bundle of them. In a second demo,
//! an operator lies to the card, and the verifier checks his bundle.

use crate::setup;
use crate::tool::{self, capture, say};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Arguments of the demo. The README quotes a part of its output.
pub const RUN: [&str; 7] =
    ["run", "--policy", "policies/pii", "--card", "sim", "--input", "tests/demo/sentences.jsonl"];

/// Exit code of `verify` for contradicted evidence.
const CONTRADICTED: i32 = 3;

/// What to try after the demo.
const NEXT: &str = "
Next:
  portcullis run --policy policies/pii --input FILE      # judge your own text
  portcullis explain --policy policies/pii 'some text'   # see why, rule by rule
  portcullis verify target/demo/bundle --trust target/demo/trust --allow-sim   # check the evidence of this demo
  cargo xtask demo --hostile                             # let an operator lie to the card
  docs/tutorials/first-gate.md                           # what the output above means, in ten minutes
The program stands in target/debug: export PATH=\"$PWD/target/debug:$PATH\"
It has no gateway yet: `cargo xtask setup` builds the whole one, optimised, in some minutes.
";

/// Builds and runs the demo, and prints its output and what to try next. Errors: it cannot be built, or fails.
pub fn run() -> Result<()> {
    let program = setup::program()?;
    let usual = binary()?;
    // Until the whole build is there, the program of the demo also stands where the pages look for it.
    if !usual.with_file_name("portcullis-verify").exists() {
        fs::create_dir_all(usual.parent().context("the program stands in a folder")?)?;
        if usual.exists() {
            fs::remove_file(&usual)?;
        }
        fs::hard_link(&program, &usual).with_context(|| format!("cannot write `{}`", usual.display()))?;
    }
    print!("{}{NEXT}", output(&program)?);
    Ok(())
}

/// The program that [`setup::build`] makes.
pub fn binary() -> Result<PathBuf> {
    Ok(tool::root()?.join(tool::target_dir()).join("debug/portcullis"))
}

/// Makes a new bundle and a trust folder with this program, and returns its output.
pub fn output(program: &Path) -> Result<String> {
    let bundle = bundle()?;
    trust(program, &root()?)?;
    say(&format!("portcullis {} --bundle {}", RUN.join(" "), bundle.display()));
    let mut run = Command::new(program);
    run.args(RUN).arg("--bundle").arg(&bundle).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = run.output()?;
    ensure!(output.status.success(), "the demo ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Removes the folder of an earlier run, and makes a trust folder with the root certificate of simulated cards.
fn trust(program: &Path, root: &Path) -> Result<()> {
    let folder = root.ancestors().nth(3).context("the root stands in a trust folder")?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(root.parent().context("the root stands in a folder")?)?;
    fs::write(root, capture(Command::new(program).args(["ca", "simulation"]))?)?;
    Ok(())
}

/// Runs `examples/hostile.rs`, then the verifier over its bundle, and prints both outputs. Errors: the card admitted a
/// lie, or the verifier does not name the classes that the operator left out and the texts that were refused.
pub fn hostile() -> Result<()> {
    setup::build()?;
    let target = tool::root()?.join(tool::target_dir());
    let (bundle, root) = (target.join("hostile/bundle"), target.join("hostile/trust/sim-roots/simulation.pem"));
    trust(&binary()?, &root)?;
    print!("{}", capture(Command::new(target.join("debug/examples/hostile")).arg(&bundle))?);
    let mut verify = Command::new(binary()?);
    verify.arg("verify").arg(&bundle).arg("--trust").arg(target.join("hostile/trust")).arg("--allow-sim");
    say(&format!("portcullis verify {} --trust {} --allow-sim", bundle.display(), "trust"));
    let output = verify.stderr(Stdio::inherit()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    ensure!(
        output.status.code() == Some(CONTRADICTED) && said.contains("class-omitted") && said.contains("text-refused"),
        "the verifier did not name the classes that were left out and the texts that were refused; it ended with {}",
        output.status
    );
    Ok(())
}

/// The bundle that [`output`] makes.
pub fn bundle() -> Result<PathBuf> {
    Ok(tool::root()?.join(tool::target_dir()).join("demo/bundle"))
}

/// The root certificate of simulated cards, in the trust folder next to the bundle.
pub fn root() -> Result<PathBuf> {
    Ok(tool::root()?.join(tool::target_dir()).join("demo/trust/sim-roots/simulation.pem"))
}
