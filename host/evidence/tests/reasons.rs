//! Every reason code stands in the documentation, and every documented code in the verifier or the replay.
#![cfg(test)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn codes_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../../docs/verify.md")).unwrap();
    let (_, tables) = text.split_once("## Reason codes").unwrap();
    let documented: BTreeSet<&str> =
        tables.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();

    let mut sources = String::new();
    for folder in fs::read_dir(root.join("src/verify")).unwrap() {
        let path = folder.unwrap().path();
        // File names of the trust folder are no codes.
        if path.file_name().unwrap() != "trust.rs" {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    for file in ["src/record.rs", "src/series.rs", "../recorder/src/replay.rs"] {
        sources.push_str(&fs::read_to_string(root.join(file)).unwrap());
    }
    let literals: BTreeSet<&str> = sources.split('"').collect();
    let is_code = |text: &&str| {
        let parts = text.split('-').collect::<Vec<_>>();
        parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
    };
    let used: BTreeSet<&str> = literals.iter().copied().filter(is_code).collect();
    assert!(used.len() > 60, "{used:?}");
    assert_eq!(used.difference(&documented).collect::<Vec<_>>(), Vec::<&&str>::new(), "codes that nothing documents");
    assert_eq!(documented.difference(&literals).collect::<Vec<_>>(), Vec::<&&str>::new(), "codes that nothing gives");
}
