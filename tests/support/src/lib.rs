//! Code that tests of several crates share. The same seed always generates the same data.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken generator must stop the test"
)]

#[cfg(feature = "cost")]
pub mod cost;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "policies")]
pub mod policies;
pub mod random;
pub mod snapshot;
#[cfg(feature = "world")]
pub mod world;

use std::path::{Path, PathBuf};

#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a crate of the workspace").to_path_buf()
}

/// Copies a folder with everything below it.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder can be made");
    for entry in std::fs::read_dir(from).expect("the folder can be listed") {
        let entry = entry.expect("an entry can be read");
        let there = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &there);
        } else {
            std::fs::copy(entry.path(), there).expect("a file can be copied");
        }
    }
}

/// A constant with a test policy's `policy.toml`: name, one value per enumeration, and further lines.
#[macro_export]
macro_rules! manifest {
    ($name:literal, $rest:literal) => {
        concat!(
            "[package]\nname = \"",
            $name,
            "\"\nversion = \"1.0.0\"\ndescription = \"For tests.\"\n",
            "[enumerations]\ndomain = [\"general\"]\naudience = [\"public\"]\n",
            "temporal = [\"present\"]\nregister = [\"plain\"]\n",
            $rest
        )
    };
}
