//! Input from a policy's author, and a text that is mapped under the policy.

use portcullis_core::wire::Granularity;
use portcullis_image::TableImage;
use portcullis_mapping::{EngineToolCall, ScannedText, Segmenter, TextMapper, TextPiece};
use portcullis_policy::PolicyPackage;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Byte before each file of a package in the fuzzer's bytes. The first line after it is the file's path.
pub(super) const SEPARATOR: u8 = 0x1e;

pub(super) fn image(bytes: &[u8]) -> bool {
    let Ok(image) = TableImage::from_bytes(bytes) else { return false };
    assert_eq!(image.as_bytes(), bytes);
    assert_eq!(TableImage::new(*image.header(), image.policy_rows(), image.entropy_rows()).as_ref(), Ok(&image));
    true
}

/// Encodes the files of a package as one byte string.
pub fn packed(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    files.iter().flat_map(|(path, content)| [&[SEPARATOR], path.as_bytes(), b"\n", content].concat()).collect()
}

fn unpacked(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let files = bytes.split(|byte| *byte == SEPARATOR).skip(1);
    let file = |file: &[u8]| {
        let mut parts = file.splitn(2, |byte| *byte == b'\n');
        let path = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        (path, parts.next().unwrap_or_default().to_vec())
    };
    files.map(file).collect()
}

/// Parses a package without its rules, which are left to Cedar's parser; returns whether the package was accepted.
pub(super) fn package(bytes: &[u8]) -> bool {
    let Ok(package) = PolicyPackage::from_files(unpacked(bytes)) else { return false };
    assert_eq!(PolicyPackage::from_files(package.files().clone()).unwrap().digest(), package.digest());
    assert_eq!(package.listing().lines().count(), package.files().len() + 2, "a line a file, the prelude and the head");
    let written = toml::to_string(package.manifest()).unwrap();
    assert_eq!(&toml::from_str::<portcullis_core::manifest::PackageManifest>(&written).unwrap(), package.manifest());
    let _ = package.schema();
    if let Ok(mapper) = TextMapper::new(package.manifest(), package.files()) {
        judged(&mapper, "Take 5 mg at noon, or 3 pills. Do not drive!", Granularity::Span);
    }
    true
}

thread_local! {
    static MAPPER: OnceCell<TextMapper> = const { OnceCell::new() };
}

fn clinical() -> TextMapper {
    let files = [
        ("policy.toml", &include_bytes!("../../../policies/clinical/policy.toml")[..]),
        ("vocabulary/diagnosis.txt", include_bytes!("../../../policies/clinical/vocabulary/diagnosis.txt")),
        ("vocabulary/disclaimer.txt", include_bytes!("../../../policies/clinical/vocabulary/disclaimer.txt")),
        ("vocabulary/identifier.txt", include_bytes!("../../../policies/clinical/vocabulary/identifier.txt")),
        ("vocabulary/stop_medication.txt", include_bytes!("../../../policies/clinical/vocabulary/stop_medication.txt")),
    ];
    let files = files.map(|(path, content)| (path.to_owned(), content.to_vec())).into();
    let package = PolicyPackage::from_files(files).unwrap();
    TextMapper::new(package.manifest(), package.files()).unwrap()
}

/// Asserts that the pieces cover the text completely, and begin and end at character boundaries.
fn judged(mapper: &TextMapper, text: &str, granularity: Granularity) {
    let read = mapper.read(text.to_owned(), granularity);
    let mut at = 0;
    for piece in read.pieces() {
        assert_eq!(piece.range.start, at, "{text:?}");
        assert!(piece.range.end > at && text.is_char_boundary(piece.range.end), "{text:?}");
        at = piece.range.end;
    }
    assert_eq!(at, text.len(), "{text:?}");
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    for chunks in [vec![first, second], text.as_bytes().chunks(7).collect()] {
        let mut segmenter = Segmenter::new(granularity);
        let mut parts = Vec::new();
        for chunk in chunks {
            parts.extend(segmenter.push(mapper, chunk).unwrap());
        }
        parts.push(segmenter.finish(mapper).unwrap());
        let global = |part: &ScannedText, piece: &TextPiece| (piece.range.start + part.offset(), piece.inert);
        let chunked: Vec<_> = parts.iter().flat_map(|p| p.pieces().iter().map(move |piece| global(p, piece))).collect();
        let whole: Vec<_> = read.pieces().iter().map(|piece| global(&read, piece)).collect();
        assert_eq!(chunked, whole, "{text:?}");
    }
}

/// Maps a text, and maps it as a tool call (name, line feed, arguments); returns whether it is UTF-8.
pub(super) fn text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    MAPPER.with(|cell| {
        let mapper = cell.get_or_init(clinical);
        for granularity in [Granularity::Span, Granularity::Step, Granularity::Token] {
            judged(mapper, text, granularity);
        }
        let _ = (mapper.content_words(text), mapper.checkable(text));
        if let Some((name, arguments)) = text.split_once('\n') {
            let call = EngineToolCall { name: name.to_owned(), arguments: arguments.to_owned() };
            if let Some(read) = mapper.read_call(&call) {
                assert!(!read.as_str().is_empty());
            }
        }
    });
    true
}
