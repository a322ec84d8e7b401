//! Counts passed, failed and skipped checks, and prints the closing line.

use anyhow::{Result, bail};

/// Counts of checks; each test that a test runner reports counts as one check.
#[derive(Default)]
pub struct CheckTally {
    passed: usize,
    failures: Vec<String>,
    failed: usize,
    skips: Vec<String>,
}

impl CheckTally {
    /// Counts one check by its result, and prints it.
    pub fn check(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                eprintln!("    ok: {name}");
                self.passed += 1;
            }
            Err(error) => self.fail(name, 1, &format!("{error:#}")),
        }
    }

    pub fn pass(&mut self, count: usize) {
        self.passed += count;
    }

    /// Counts failures, with a description.
    pub fn fail(&mut self, name: &str, count: usize, why: &str) {
        eprintln!("    FAILED: {name}: {why}");
        self.failed += count.max(1);
        self.failures.push(name.to_owned());
    }

    /// Counts a skipped check, with the reason.
    pub fn skip(&mut self, name: &str, why: &str) {
        eprintln!("    skipped: {name}: {why}");
        self.skips.push(format!("{name}: {why}"));
    }

    /// Adds the counts of checks that ran in parallel.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// Adds the counts in a closing line of another program's tally. Returns `None` if the line is not a closing line,
    /// otherwise whether it is the last closing line.
    pub fn read(&mut self, line: &str) -> Option<bool> {
        if let Some(failure) = line.strip_prefix("failed: ") {
            self.failures.push(failure.to_owned());
            return Some(false);
        }
        if let Some(skip) = line.strip_prefix("skipped: ") {
            self.skips.push(skip.to_owned());
            return Some(false);
        }
        let mut counts = line.strip_suffix(" skipped")?.split(", ");
        let mut number = |word: &str| counts.next()?.strip_suffix(word)?.parse::<usize>().ok();
        let (passed, failed) = (number(" passed")?, number(" failed")?);
        self.passed += passed;
        self.failed += failed;
        Some(true)
    }

    pub fn counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len())
    }

    /// Prints the closing lines. Errors: a check failed.
    pub fn finish(self) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::CheckTally;

    #[test]
    fn the_closing_lines_of_another_program_are_added() {
        let mut tally = CheckTally::default();
        tally.pass(2);
        for (line, read) in [
            ("==> something", None),
            ("skipped: look: no browser", Some(false)),
            ("failed: one", Some(false)),
            ("12 passed, 1 failed, 1 skipped", Some(true)),
            ("12 passed, x failed, 1 skipped", None),
        ] {
            assert_eq!(tally.read(line), read, "{line}");
        }
        assert_eq!(tally.counts(), "14 passed, 1 failed, 1 skipped");
        assert!(tally.finish().is_err());
    }
}
