//! What CI runs, from nothing: everything but the long runs.

use crate::tally::Tally;
use crate::tool::say;
use crate::{claims, demo, formal, lint, look, mutate, setup, test, vm};
use anyhow::{Result, ensure};
use std::fs;
use std::process::Command;
use std::time::Instant;

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let start = Instant::now();
    let part = |tally: &mut Tally, name: &str, task: &mut dyn FnMut(&mut Tally) -> Result<()>| {
        say(&format!("[{} s] {name}", start.elapsed().as_secs()));
        if let Err(error) = task(tally) {
            tally.fail(name, 1, &format!("{error:#}"));
        }
    };
    part(tally, "setup", &mut |t| {
        setup::run()?;
        t.pass(1);
        Ok(())
    });
    part(tally, "demo", &mut |t| {
        t.check("the README shows what the demo prints", readme());
        stock_tools(t)
    });
    part(tally, "lint", &mut lint::run);
    part(tally, "formal", &mut |t| formal::run(t, None));
    part(tally, "test", &mut |t| test::run(t, false));
    part(tally, "vm", &mut vm::run);
    part(tally, "look", &mut look::run);
    part(tally, "claims", &mut claims::run);
    part(tally, "mutate", &mut |t| mutate::run(t, false, None));
    say(&format!("[{} s] done", start.elapsed().as_secs()));
    Ok(())
}

/// The demo's bundle, by a script that knows nothing of ours.
fn stock_tools(tally: &mut Tally) -> Result<()> {
    const NAME: &str = "stock tools verify the demo's bundle";
    let output = Command::new("sh").arg("tests/stock-tools.sh").arg(demo::bundle()?).arg(demo::root()?).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    match output.status.code() {
        Some(0) => tally.pass(1),
        Some(4) => tally.skip(NAME, said.lines().find(|line| line.starts_with("SKIPPED")).unwrap_or_default()),
        code => tally.fail(NAME, 1, &format!("exit code {code:?}")),
    }
    Ok(())
}

/// The README quotes the demo's output; every line of it must stand there.
fn readme() -> Result<()> {
    let readme = fs::read_to_string("README.md")?;
    let shown = demo::output()?;
    ensure!(shown.lines().count() > 3, "the demo prints next to nothing:\n{shown}");
    ensure!(readme.contains(shown.trim_end()), "README.md does not show this output of `cargo xtask demo`:\n{shown}");
    Ok(())
}
