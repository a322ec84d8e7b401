//! The file names in a bundle, and the size limit of each file.

use crate::format::checkpoint::LANES_MAX;
use crate::format::cose;
use crate::format::ticket;
use portcullis_core::hex;
use portcullis_core::wire::{ImageHeader, LaneHead, Record, Row};

/// List of all other files.
pub const MANIFEST: &str = "manifest.json";
pub const TICKET: &str = "ticket.cose";
pub const CERTIFICATE: &str = "device/cert.pem";
/// Intermediate certificates; may be empty.
pub const CHAIN: &str = "device/chain.pem";
pub const IMAGE: &str = "policy/image.bin";
pub const APPROVAL: &str = "policy/approval.cose";
/// Folder of the policy package's files.
pub const PACKAGE: &str = "policy/package/";
/// Heads of the lanes under each checkpoint. Present only if the card has more than one lane.
pub const HEADS: &str = "records/heads.bin";
/// Records of lane 0. [`in_lane`] gives the names of this file and of the next four files in other lanes.
pub const RECORDS: &str = "records/lane-0.bin";
/// One line per BEGIN record.
pub const STREAMS: &str = "streams.jsonl";
pub const INPUTS: &str = "inputs.jsonl";
pub const SPANS: &str = "spans.jsonl";
pub const RECEIPTS: &str = "receipts.jsonl";
/// How to check the bundle with stock tools.
pub const README: &str = "README.md";

/// Largest number of checkpoints.
pub(super) const CHECKPOINTS_MAX: u64 = 1_000_000;
/// Largest number of files in a policy package. It bounds the search for the mapping version, which hashes the list of
/// files once per version.
pub(super) const PACKAGE_FILES_MAX: usize = 4096;
/// Largest number of parts in a path of a policy package: a file in ten folders.
const PARTS_MAX: usize = 11;
/// Largest number of files in a bundle.
pub(super) const FILES_MAX: usize = 4_000_000;

const TEXT_MAX: u64 = 64 << 20;
/// Longest line in bytes, line feed included.
const LINE_MAX: u64 = 1 << 20;
/// Longest line in files whose lines contain text: a span, or the input of a stream.
const TEXT_LINE_MAX: u64 = 64 << 20;
const RECORDS_MAX: u64 = (1 << 32) * Record::BYTES as u64;
// An anchor store can contain as much as a database.
const ANCHOR_MAX: u64 = 16 << 30;
// Each line has its own limit, and there is at most one line per record.
const LINES_MAX: u64 = 1 << 52;
const HEADS_MAX: u64 = CHECKPOINTS_MAX * LANES_MAX as u64 * LaneHead::BYTES as u64;
const IMAGE_MAX: u64 = (ImageHeader::BYTES + 2 * 0xffff * Row::BYTES) as u64;

/// Files that exist once per lane: the name for lane 0; for other lanes, the text before and after the lane number.
const OF_LANES: [(&str, &str, &str); 5] = [
    (RECORDS, "records/lane-", ".bin"),
    (STREAMS, "streams-", ".jsonl"),
    (INPUTS, "inputs-", ".jsonl"),
    (SPANS, "spans-", ".jsonl"),
    (RECEIPTS, "receipts-", ".jsonl"),
];

/// The name of lane 0's file `name` in `lane`. A file that does not belong to a lane keeps its name.
#[must_use]
pub fn in_lane(name: &str, lane: u8) -> String {
    match OF_LANES.iter().find(|(plain, ..)| *plain == name && lane != 0) {
        Some((_, before, behind)) => format!("{before}{lane}{behind}"),
        None => name.to_owned(),
    }
}

/// The inverse of [`in_lane`]: the name in lane 0, and the lane; `None` for any other name.
pub(super) fn of_lane(name: &str) -> Option<(&'static str, u8)> {
    OF_LANES.iter().find_map(|(plain, before, behind)| {
        if name == *plain {
            return Some((*plain, 0));
        }
        let [digit @ b'1'..=b'9'] = name.strip_prefix(before)?.strip_suffix(behind)?.as_bytes() else { return None };
        Some((*plain, digit - b'0')).filter(|(_, lane)| *lane < LANES_MAX)
    })
}

#[must_use]
pub fn checkpoint(serial: u64) -> String {
    format!("checkpoints/{serial:08}.cose")
}

/// Witness note of checkpoint `serial`.
#[must_use]
pub fn witness(serial: u64) -> String {
    format!("witness/{serial:08}.note")
}

#[must_use]
pub fn withheld(serial: u64) -> String {
    format!("withheld/{serial:08}.cose")
}

/// Context document with this digest.
#[must_use]
pub fn context(digest: &[u8; 32]) -> String {
    format!("contexts/{}.json", hex::encode(digest))
}

/// Anchor store file with this digest.
#[must_use]
pub fn anchor(digest: &[u8; 32]) -> String {
    format!("anchors/{}", hex::encode(digest))
}

/// File `path` of the policy package.
#[must_use]
pub fn package(path: &str) -> String {
    format!("{PACKAGE}{path}")
}

/// Size limit of the file `name` in bytes; `None` if bundles have no such file.
pub(super) fn cap(name: &str) -> Option<u64> {
    match name {
        TICKET | APPROVAL => return Some(ticket::MAX_BYTES as u64),
        CERTIFICATE | CHAIN => return Some(1 << 20),
        IMAGE => return Some(IMAGE_MAX),
        HEADS => return Some(HEADS_MAX),
        MANIFEST | README => return Some(TEXT_MAX),
        _ => {}
    }
    if let Some((plain, _)) = of_lane(name) {
        return Some(if plain == RECORDS { RECORDS_MAX } else { LINES_MAX });
    }
    let (folder, rest) = name.split_once('/')?;
    let digest = |text: &str| hex::decode::<32>(text).is_some();
    match folder {
        "checkpoints" => serial(rest, ".cose").map(|_| cose::MESSAGE_BYTES as u64),
        "witness" => serial(rest, ".note").map(|_| 1 << 20),
        "withheld" => serial(rest, ".cose").map(|_| TEXT_MAX),
        "contexts" => rest.strip_suffix(".json").filter(|d| digest(d)).map(|_| 1 << 20),
        "anchors" => digest(rest).then_some(ANCHOR_MAX),
        "policy" => name.strip_prefix(PACKAGE).filter(|path| is_package_path(path)).map(|_| TEXT_MAX),
        _ => None,
    }
}

/// Limit of a line in the file `name` in bytes, line feed included. The writer and the reader use it.
pub(super) fn line_max(name: &str) -> u64 {
    if matches!(of_lane(name), Some((SPANS | INPUTS, _))) { TEXT_LINE_MAX } else { LINE_MAX }
}

/// The serial in the name of a checkpoint or note; `None` unless it has exactly eight digits and is within the limit.
pub(super) fn serial(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix).filter(|d| d.len() == 8 && d.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|serial| *serial < CHECKPOINTS_MAX)
}

/// Whether a path is relative, with plain parts: no hidden file, no `..`, no control characters.
fn is_package_path(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(is_plain);
    path.len() <= 512 && path.split('/').count() <= PARTS_MAX && path.split('/').all(plain)
}

/// Whether file managers create a file of this name in the folders that they show.
pub(super) fn is_litter(file: &str) -> bool {
    let names = [
        ".DS_Store",
        ".Spotlight-V100",
        ".Trashes",
        ".fseventsd",
        "__MACOSX",
        "Thumbs.db",
        "desktop.ini",
        ".directory",
    ];
    names.contains(&file) || file.starts_with("._")
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names() {
        let digest = "ab".repeat(32);
        let anchor = format!("anchors/{digest}");
        let context = format!("contexts/{digest}.json");
        for name in [
            "manifest.json",
            "checkpoints/00000000.cose",
            "witness/00999999.note",
            "withheld/00000000.cose",
            &anchor,
            &context,
        ] {
            assert!(cap(name).is_some(), "{name}");
        }
        assert!(cap("policy/package/vocabulary/drug names-1.txt").is_some());
        for plain in [RECORDS, STREAMS, INPUTS, SPANS, RECEIPTS] {
            for lane in 0..LANES_MAX {
                let name = in_lane(plain, lane);
                assert_eq!((of_lane(&name), line_max(&name)), (Some((plain, lane)), line_max(plain)), "{name}");
                assert_eq!(cap(&name), cap(plain));
            }
        }
        assert_eq!(in_lane(TICKET, 3), TICKET);
        let long = format!("policy/package/{}", "a".repeat(513));
        let upper = context.to_uppercase();
        for name in [
            "",
            "/",
            "manifest.json/",
            "x",
            "checkpoints/0.cose",
            "checkpoints/01000000.cose",
            "checkpoints/+0000001.cose",
            "checkpoints/00000000.COSE",
            "witness/00000000.cose",
            "policy/package/",
            "policy/package/../x",
            "policy/x",
            "policy/package//x",
            "policy/package/.git/x",
            "policy/package/1/2/3/4/5/6/7/8/9/10/11/12",
            "policy/package/a\u{202e}b",
            "contexts/ab.json",
            "records/lane-8.bin",
            "records/lane-01.bin",
            "records/lane-.bin",
            "records/heads-1.bin",
            "streams-0.jsonl",
            "spans-8.jsonl",
            "spans-10.jsonl",
            "receipts-+1.jsonl",
            "policy/package/a\nb",
            &upper,
            &long,
        ] {
            assert_eq!(cap(name), None, "{name}");
        }
    }
}
