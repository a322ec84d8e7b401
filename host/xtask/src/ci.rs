//! What CI runs, from nothing: everything but the long runs.

use crate::tally::Tally;
use crate::tool::say;
use crate::{claims, demo, formal, lint, look, mutate, setup, test};
use anyhow::{Result, ensure};
use std::fs;
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
        Ok(())
    });
    part(tally, "lint", &mut lint::run);
    part(tally, "formal", &mut |t| formal::run(t, None));
    part(tally, "test", &mut |t| test::run(t, false));
    part(tally, "look", &mut look::run);
    part(tally, "claims", &mut claims::run);
    part(tally, "mutate", &mut |t| mutate::run(t, false, None));
    say(&format!("[{} s] done", start.elapsed().as_secs()));
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
