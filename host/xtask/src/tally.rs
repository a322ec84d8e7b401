//! What passed, failed and was skipped, and the closing line that says so.

use anyhow::{Result, bail};

/// Counts of checks; each test of a test runner counts as one.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    failures: Vec<String>,
    failed: usize,
    skips: Vec<String>,
}

impl Tally {
    /// Counts one check by its result and says how it went.
    pub(crate) fn check(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                eprintln!("    ok: {name}");
                self.passed += 1;
            }
            Err(error) => self.fail(name, 1, &format!("{error:#}")),
        }
    }

    /// Counts tests that passed.
    pub(crate) fn pass(&mut self, count: usize) {
        self.passed += count;
    }

    /// Counts failures, with what is known of them.
    pub(crate) fn fail(&mut self, name: &str, count: usize, why: &str) {
        eprintln!("    FAILED: {name}: {why}");
        self.failed += count.max(1);
        self.failures.push(name.to_owned());
    }

    /// Counts a check that was not run, and why.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        eprintln!("    skipped: {name}: {why}");
        self.skips.push(format!("{name}: {why}"));
    }

    /// Adds the counts of checks that ran beside these.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// The counts in words.
    pub(crate) fn counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len())
    }

    /// Prints the closing lines; an error when anything failed.
    pub(crate) fn finish(self) -> Result<()> {
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        for skip in &self.skips {
            println!("skipped: {skip}");
        }
        println!("{}", self.counts());
        if self.failed > 0 {
            bail!("{} failed", self.failed);
        }
        Ok(())
    }
}
