//! The names of the workspace's tests, read from its source files, so that a check of names compiles nothing.
//! A test that a feature leaves out of the build counts, too.

use anyhow::{Context, Result, ensure};
use portcullis_tools::cargo_test::JOINED;
use portcullis_tools::tool::{capture, cargo};
use proc_macro2::{TokenStream, TokenTree};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A macro of the project that makes a module of tests for each kind of card begins with this.
const PER_CARD: &str = "on_";

/// Tests as `file::name`, or as `crate::name` for unit tests. If a test program consists of many files, a test's name
/// begins with the name of its file.
#[derive(Debug, Default)]
pub(crate) struct KnownTests {
    tests: BTreeSet<String>,
    /// Functions from which a macro makes tests, each in a module that only the macro names.
    per_card: BTreeSet<String>,
}

impl KnownTests {
    /// Reads every target of the workspace that has tests. Errors: a file cannot be read, or is not Rust.
    pub(crate) fn read() -> Result<Self> {
        let metadata = capture(cargo().args(["metadata", "--locked", "--no-deps", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
        let mut known = Self::default();
        for target in packages.iter().flat_map(|package| package["targets"].as_array().into_iter().flatten()) {
            let (Some(name), Some(root), true) =
                (target["name"].as_str(), target["src_path"].as_str(), target["test"] == true)
            else {
                continue;
            };
            let (name, root) = (name.replace('-', "_"), Path::new(root));
            let prefix = if JOINED.contains(&name.as_str()) { String::new() } else { format!("{name}::") };
            known.file(root, root.parent().context("a crate's root stands in a folder")?, &prefix)?;
        }
        ensure!(!known.tests.is_empty(), "the workspace has no tests");
        Ok(known)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        let made = || {
            let (module, function) = name.rsplit_once("::")?;
            let (outer, _) = module.rsplit_once("::")?;
            Some(self.per_card.contains(&format!("{outer}::{function}")))
        };
        self.tests.contains(name) || made().unwrap_or(false)
    }

    /// Reads a file whose tests begin with `prefix`; its child modules are in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, prefix: &str) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let tokens = text.parse().map_err(|error| anyhow::anyhow!("{}: not Rust: {error}", path.display()))?;
        let own = path.parent().unwrap_or(folder);
        self.items(tokens, (own, folder), prefix).with_context(|| path.display().to_string())
    }

    /// Reads items. `folders` are that of their file and that of their child modules. Bodies of functions are not read.
    fn items(&mut self, tokens: TokenStream, folders: (&Path, &Path), prefix: &str) -> Result<()> {
        let (own, folder) = folders;
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut is_test, mut own_path) = (false, None);
        for (place, token) in tokens.iter().enumerate() {
            match (token, tokens.get(place + 1), tokens.get(place + 2)) {
                (TokenTree::Punct(mark), Some(TokenTree::Group(attribute)), _) if mark.as_char() == '#' => {
                    let text = attribute.stream().to_string();
                    is_test |= text == "test";
                    let path = text.strip_prefix("path = \"").and_then(|rest| rest.strip_suffix('"'));
                    own_path = path.map(|path| own.join(path)).or(own_path);
                }
                (TokenTree::Ident(word), Some(TokenTree::Ident(name)), body) if word == "mod" => {
                    let (inside, prefix) = (folder.join(name.to_string()), format!("{prefix}{name}::"));
                    match body {
                        Some(TokenTree::Group(body)) => self.items(body.stream(), (own, &inside), &prefix)?,
                        _ => self.child(own_path.take(), &inside, &prefix)?,
                    }
                }
                (TokenTree::Ident(word), Some(TokenTree::Ident(name)), _) if word == "fn" && is_test => {
                    self.tests.insert(format!("{prefix}{name}"));
                    is_test = false;
                }
                (TokenTree::Ident(word), Some(TokenTree::Punct(mark)), Some(TokenTree::Group(body)))
                    if mark.as_char() == '!' =>
                {
                    self.call(&word.to_string(), body.stream(), folders, prefix)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the file of a child module: its own path if it has one, `inside.rs` or `inside/mod.rs`.
    fn child(&mut self, own: Option<PathBuf>, inside: &Path, prefix: &str) -> Result<()> {
        let (beside, within) = (inside.with_extension("rs"), inside.join("mod.rs"));
        match own {
            Some(own) => self.file(&own, own.parent().unwrap_or(inside), prefix),
            None if beside.is_file() => self.file(&beside, inside, prefix),
            None => self.file(&within, inside, prefix),
        }
    }

    /// Reads the call of a macro between items.
    fn call(&mut self, name: &str, body: TokenStream, folders: (&Path, &Path), prefix: &str) -> Result<()> {
        if name == "proptest" {
            return self.items(body, folders, prefix);
        }
        if name.starts_with(PER_CARD) {
            let words = body.into_iter().filter(|token| matches!(token, TokenTree::Ident(_)));
            self.per_card.extend(words.map(|word| format!("{prefix}{word}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::KnownTests;

    #[test]
    fn tests_are_named_as_the_test_programs_name_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        write(
            "beside.rs",
            "mod deeper { #[test] #[ignore] fn one() { fn no_test() {} } }\n#[path = \"more.rs\"] mod five;",
        );
        write("more.rs", "#[test] fn five() {}");
        write("within/mod.rs", "proptest::proptest! { #[test] fn two(x in 0..3) {} }\nfn helper() {}");
        write("other/place.rs", "card_support::on_all!(three, four);");
        let root = write("all.rs", "#[cfg(test)] mod beside; mod within;\n#[path = \"other/place.rs\"]\nmod cards;");
        let mut known = KnownTests::default();
        known.file(&root, folder.path(), "p::").unwrap();
        for name in [
            "p::beside::deeper::one",
            "p::beside::five::five",
            "p::within::two",
            "p::cards::sim::three",
            "p::cards::vfio::four",
        ] {
            assert!(known.contains(name), "{name}: {known:?}");
        }
        for name in ["p::within::helper", "p::one", "p::cards::three", "p::beside::deeper::no_test", "two", ""] {
            assert!(!known.contains(name), "{name}");
        }
        let gone = write("gone.rs", "mod nowhere;");
        let error = format!("{:#}", KnownTests::default().file(&gone, folder.path(), "").unwrap_err());
        assert!(error.contains("gone.rs") && error.contains("nowhere"), "{error}");
    }
}
