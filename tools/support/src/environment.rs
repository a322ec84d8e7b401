//! Python environments with pinned packages.

use crate::tool::{self, capture, say};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Environment<'a> {
    folder: &'a Path,
    packages: Vec<&'a str>,
    /// File with the digest of the installed packages.
    stamp: PathBuf,
}

/// The packages in a requirements file, each with the hashes on its continuation lines.
pub(crate) fn packages(requirements: &str) -> impl Iterator<Item = &str> {
    let mut rest = requirements;
    let lines = std::iter::from_fn(move || {
        let is_end = |at: &usize| rest.get(..*at).is_some_and(|line| !line.ends_with('\\'));
        let end = rest.match_indices('\n').map(|(at, _)| at).find(is_end).unwrap_or(rest.len());
        let (line, behind) = rest.split_at_checked(end)?;
        let is_last = rest.is_empty();
        rest = behind.strip_prefix('\n').unwrap_or_default();
        (!is_last).then_some(line)
    });
    lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

impl<'a> Environment<'a> {
    pub(crate) fn new(folder: &'a Path, packages: impl IntoIterator<Item = &'a str>) -> Self {
        Self { folder, packages: packages.into_iter().collect(), stamp: folder.join("portcullis-tools") }
    }

    /// Digest of the intended content; `further` describes what the caller adds to the packages.
    fn digest(&self, further: &str) -> String {
        format!("{:x?}\n", Sha256::digest(self.packages.join("\n") + further).as_slice())
    }

    /// Whether the environment works, and its installation was completed with these packages.
    pub(crate) fn is_ready(&self, further: &str) -> bool {
        self.works() && fs::read_to_string(&self.stamp).is_ok_and(|digest| digest == self.digest(further))
    }

    /// Creates or repairs the environment and installs the packages. `what` is their name in messages for the user.
    pub(crate) fn install(&self, what: &str) -> Result<()> {
        if !self.works() {
            self.make()?;
        }
        let (count, folder) = (self.packages.len(), self.folder.display());
        say(&format!("installing {count} pinned packages into {folder} ({what})"));
        // Only wheels: a build from source would run a package's code and fetch build tools without a hash.
        let list = self.folder.join("requirements.txt");
        fs::write(&list, self.packages.join("\n"))?;
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
        pip.args(["--only-binary", ":all:", "--requirement"]).arg(&list);
        tool::run_to_stderr(&mut pip).context(
            "pip could not install the pinned packages: its message stands above; is the package index reachable?",
        )
    }

    pub(crate) fn finish(&self, further: &str) -> Result<()> {
        Ok(fs::write(&self.stamp, self.digest(further))?)
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// Whether the interpreter runs, has pip, and is the interpreter that the environment's programs name.
    pub(crate) fn works(&self) -> bool {
        let named = fs::read_to_string(self.folder.join("bin/pip")).unwrap_or_default();
        let interpreter = named.lines().next().and_then(|line| line.strip_prefix("#!"));
        // If a checkout has moved, the programs name an interpreter that does not exist any more.
        interpreter.is_some_and(|path| Path::new(path.trim()).exists())
            && capture(Command::new(self.python()).args(["-c", "import pip"])).is_ok()
    }

    /// Creates the environment; replaces an environment that does not work.
    fn make(&self) -> Result<()> {
        let folder = self.folder.display();
        if self.folder.is_symlink() {
            bail!("{folder} is a link to an environment that does not work; remove the link, and it is made here");
        }
        if self.folder.exists() {
            say(&format!("{folder} does not work (its interpreter or pip is gone): making it anew"));
            fs::remove_dir_all(self.folder).with_context(|| format!("cannot remove `{folder}`"))?;
        }
        tool::run(Command::new("python3").args(["-m", "venv"]).arg(self.folder))
            .context("Python could not make an environment (Debian: apt install python3-venv)")
    }

    /// Makes a link in the environment's `bin` in place of an old link.
    pub(crate) fn link(&self, name: &str, to: &Path) -> Result<()> {
        let link = self.folder.join("bin").join(name);
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        Ok(std::os::unix::fs::symlink(to, &link)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An environment is made again if it has no pip, or if an upgrade of Python has removed its interpreter.
    #[test]
    fn an_environment_without_pip_or_with_a_dead_interpreter_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("venv");
        let environment = Environment::new(&folder, []);
        let no_pip = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&folder).status().unwrap();
        assert!(no_pip.success() && environment.python().exists() && !environment.works());
        fs::write(folder.join("bin/pip"), format!("#!{}\n", environment.python().display())).unwrap();
        assert!(!environment.works(), "a program that names the interpreter is not yet pip");
        fs::remove_file(environment.python()).unwrap();
        std::os::unix::fs::symlink("/no/such/python", environment.python()).unwrap();
        assert!(!environment.works());
        environment.make().unwrap();
        assert!(environment.works());
        // The link leads to an environment that belongs to another project.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).unwrap();
        assert!(Environment::new(&link, []).make().is_err() && link.is_symlink());
    }

    /// A package with a wrong hash or without a hash is not installed.
    #[test]
    fn nothing_is_installed_whose_hash_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("venv");
        let other = format!("six==1.17.0 --hash=sha256:{}", "0".repeat(64));
        for line in [other.as_str(), "six==1.17.0"] {
            let environment = Environment::new(&folder, [line]);
            assert!(environment.install("a test").is_err(), "{line}");
            let import = capture(Command::new(environment.python()).args(["-c", "import six"]));
            assert!(import.is_err(), "{line}");
        }
    }

    #[test]
    fn every_pinned_package_has_its_hashes() {
        for file in [crate::setup::REQUIREMENTS, crate::setup::CLIENTS, crate::setup::PEERS] {
            let mut count = 0;
            for package in packages(file) {
                count += 1;
                assert!(package.contains("==") && package.contains(" \\\n    --hash=sha256:"), "{package}");
            }
            assert!(count > 15, "{count}");
        }
    }

    /// An environment is ready only for the packages and additions with which it was completed.
    #[test]
    fn an_environment_is_ready_for_what_it_was_finished_with() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("venv");
        let listed = |text: &'static str| Environment::new(&folder, packages(text));
        let first = listed("# A comment.\na==1\n\nb==2\n");
        assert_eq!(first.packages, ["a==1", "b==2"]);
        let hashed = listed("a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n\nb==2 \\\n    --hash=sha256:3");
        assert_eq!(
            hashed.packages,
            ["a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2", "b==2 \\\n    --hash=sha256:3"]
        );
        first.make().unwrap();
        assert!(!first.is_ready(""));
        first.finish("").unwrap();
        assert!(first.is_ready("") && !first.is_ready("further") && !listed("a==1\nb==3\n").is_ready(""));
        fs::remove_file(first.python()).unwrap();
        assert!(!first.is_ready(""));
    }
}
