//! Expected texts, stored in files. `UPDATE_SNAPSHOTS=1` rewrites the files; a person must review the difference.

use std::fs;

/// Compares `text` with the file `tests/snapshots/NAME.txt`.
///
/// # Panics
/// If they differ, or the file is missing.
pub fn assert_snapshot(name: &str, text: &str) {
    let file = crate::root().join("tests/snapshots").join(format!("{name}.txt"));
    // Drawings have blanks at the ends of lines, which editors would remove.
    let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        fs::create_dir_all(file.parent().expect("a file in a folder")).expect("the snapshot folder can be made");
        fs::write(&file, &text).expect("the snapshot can be written");
    }
    let expected = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_SNAPSHOTS=1 writes it. Found:\n{text}", file.display()));
    assert!(
        expected == text,
        "{} differs; UPDATE_SNAPSHOTS=1 writes it anew. Expected:\n{expected}\nFound:\n{text}",
        file.display()
    );
}
