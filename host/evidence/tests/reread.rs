//! A file of a bundle is read once, or a change between two reads is detected.

use portcullis_evidence::bundle;
use portcullis_evidence::verify::{VerifyOptions, verify};
use portcullis_test_support::world::{World, assert_affirmed, assert_contradicted, remanifest, sha};

/// Files of a bundle. The file `name` has other content from the second read on.
struct Swapped<'a> {
    files: &'a bundle::MemoryFiles,
    name: &'a str,
    later: Vec<u8>,
    opened: std::cell::Cell<u32>,
}

impl bundle::BundleFiles for Swapped<'_> {
    fn names(&self) -> Result<std::collections::BTreeMap<String, u64>, bundle::BundleError> {
        self.files.names()
    }

    fn open(&self, name: &str) -> Result<Box<dyn std::io::Read + '_>, bundle::BundleError> {
        if name == self.name && self.opened.replace(self.opened.get() + 1) > 0 {
            return Ok(Box::new(&*self.later));
        }
        self.files.open(name)
    }
}

/// Earlier versions hashed a context and then read it again. A change in between made the report show another mode than
/// the card had signed.
#[test]
fn a_file_is_read_once() {
    let world = World::new();
    let files = world.honest().files();
    let trust = world.trust(false);
    for name in files.0.keys() {
        let mut later = files.0[name].clone();
        later.iter_mut().for_each(|byte| *byte ^= 1);
        let swapped = Swapped { files: &files, name, later, opened: Default::default() };
        let report = verify(&swapped, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
        assert_affirmed(&report);
        assert_eq!(swapped.opened.get(), 1, "{name}");
    }
}

/// A file that is too large to keep in memory is read again, and a change of its content is detected.
#[test]
fn a_large_file_that_changes_while_it_is_read_is_found() {
    let world = World::new();
    let mut files = world.honest().files();
    let text = "a".repeat(2 << 20).into_bytes();
    let name = bundle::anchor(&sha(&text));
    files.0.insert(name.clone(), text.clone());
    remanifest(&mut files);
    let trust = world.trust(false);
    let check = |later: Vec<u8>| {
        let swapped = Swapped { files: &files, name: &name, later, opened: Default::default() };
        verify(&swapped, &trust, VerifyOptions::default(), &mut |_| ()).unwrap()
    };
    assert_affirmed(&check(text.clone()));
    assert_contradicted(&check("b".repeat(2 << 20).into_bytes()), "complete/file-changed");
}
