//! One function per parser, by area. `fuzz/targets` calls them for the fuzzer, `tests/parsers.rs` for CI.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken parser must stop the test"
)]

mod authority;
mod evidence;
mod gate;
mod policy;
mod session;

pub use policy::packed;
pub use session::{der, honest_files};

/// Parses bytes, asserts properties of the result, and returns whether the bytes were accepted.
pub type Parser = fn(&[u8]) -> bool;

/// All targets by name.
pub const ALL: [(&str, Parser); 18] = [
    ("anchors", gate::anchors),
    ("approval", evidence::approval),
    ("bundle", session::bundle),
    ("certificate", session::certificate),
    ("checkpoint", evidence::checkpoint),
    ("completion", gate::completion),
    ("context", gate::context),
    ("frame", gate::frame),
    ("image", policy::image),
    ("ledger", gate::ledger),
    ("lines", evidence::lines),
    ("note", evidence::note),
    ("package", policy::package),
    ("receipt", evidence::receipt),
    ("records", evidence::records),
    ("text", policy::text),
    ("ticket", evidence::ticket),
    ("witness", authority::witness),
];

/// The parser of this name.
///
/// # Panics
/// If the name is unknown.
pub fn named(name: &str) -> Parser {
    ALL.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, parser)| *parser)
        .unwrap_or_else(|| panic!("no target `{name}`"))
}
