use crate::scan::CrateSource;
use crate::{check, graph};
use std::fs;
use std::path::Path;

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// The names of the files in the shortest cycle; empty if there is none.
fn circle(files: &[(&str, &str)]) -> Vec<String> {
    circle_by(files, true)
}

fn circle_by(files: &[(&str, &str)], strict: bool) -> Vec<String> {
    let folder = written(files);
    let source = CrateSource::read(&folder.path().join("lib.rs")).unwrap();
    let mut circles = graph::circles(&source, strict);
    assert!(circles.len() < 2, "{circles:?}");
    let name = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
    circles.pop().map(|(_, way)| way.iter().map(|at| name(&source.files[*at].path)).collect()).unwrap_or_default()
}

#[test]
fn two_files_that_use_each_other_are_a_circle() {
    let used = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "pub struct B;")];
    assert_eq!(circle(&used), [""; 0]);
    for back in [
        "use crate::a::A;",
        "use super::{a::{self, A as Other}};",
        "fn f() { vec![crate::a::A] }",
        "use super::a::*; fn f(_: A) {}",
    ] {
        let text = format!("pub struct B; {back}");
        let files = [used[0], used[1], ("b.rs", text.as_str())];
        assert_eq!(circle(&files), ["a.rs", "b.rs", "a.rs"], "{back}");
    }
    let folder = written(&[used[0], used[1], ("b.rs", "use crate::a::A; pub struct B;")]);
    let error = check(&folder.path().join("lib.rs"), false).unwrap_err().to_string();
    assert!(error.contains("a.rs:1 uses `crate::b::B` of ") && error.contains("2 files"), "{error}");
}

#[test]
fn a_longer_way_round_is_found_at_its_shortest() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub fn a() { super::b::b() }"),
        ("b.rs", "use crate::c; pub fn b() { c::c() }"),
        ("c.rs", "pub fn c() { crate::a::a(); crate::b::b() }"),
    ];
    assert_eq!(circle(&files), ["b.rs", "c.rs", "b.rs"]);
}

#[test]
fn a_parent_that_only_exports_is_in_no_circle_and_one_that_defines_is() {
    let children = [
        ("folder/one.rs", "use super::Two; pub struct One(Two);"),
        ("folder/two.rs", "pub struct Two; #[cfg(test)] mod tests { use crate::folder::One; }"),
        ("lib.rs", "pub mod folder; pub use folder::One;"),
    ];
    let [one, two, lib] = children;
    assert_eq!(
        circle(&[lib, one, two, ("folder/mod.rs", "mod one; mod two; pub use one::One; pub(crate) use two::*;")]),
        [""; 0]
    );
    // The parent defines a type that a child uses, and a function that uses a child.
    let three = ("folder/one.rs", "use super::Two; pub struct One(Two, super::Own);");
    let parent =
        ("folder/mod.rs", "mod one; mod two; pub use one::One; pub use two::Two; pub struct Own; fn f(_: One) {}");
    let files = [lib, three, two, parent];
    assert_eq!(circle(&files), ["folder/mod.rs", "folder/one.rs", "folder/mod.rs"]);
    assert_eq!(circle_by(&files, false), [""; 0]);
    // The root of a crate may not use its children in this way: items that its children need must be in another file.
    let root =
        [("lib.rs", "mod a; pub struct Own; fn f() { a::a() }"), ("a.rs", "pub fn a() -> crate::Own { todo!() }")];
    assert_eq!(circle_by(&root, false), ["lib.rs", "a.rs", "lib.rs"]);
}

#[test]
fn other_crates_and_what_only_tests_use_do_not_count() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; use std::fmt; pub struct A; impl fmt::Debug for A {}"),
        (
            "b.rs",
            "pub struct B; #[cfg(test)] use crate::a::A; #[cfg(test)] fn f<T, U>(_: crate::a::A) {} #[test] fn g() { crate::a::A; }",
        ),
    ];
    assert_eq!(circle(&files), [""; 0]);
}

/// A way from a folder's module by its child out of the folder and back is a circle; one that stays inside is not.
#[test]
fn a_way_back_from_outside_the_folder_counts() {
    let inside = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod near; use near::near; pub struct A; pub fn f() { near() }"),
        ("a/near.rs", "use super::A; use crate::b::NAME; pub fn near() -> A { NAME; A }"),
    ];
    let leaf = ("b.rs", "pub const NAME: u8 = 1;");
    assert_eq!(circle_by(&[inside[0], inside[1], inside[2], leaf], false), [""; 0]);
    let back = ("b.rs", "pub const NAME: u8 = 1; pub fn g(_: crate::a::A) {}");
    let way = circle_by(&[inside[0], inside[1], inside[2], back], false);
    assert_eq!(way, ["a/mod.rs", "a/near.rs", "b.rs", "a/mod.rs"]);
}
