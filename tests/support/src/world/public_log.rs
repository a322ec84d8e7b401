//! The issuer's public log, as a reader gets it.

use super::World;
use ed25519_dalek::SigningKey;
use portcullis_evidence::note::{LogKey, LogTreeHead, cosign};
use portcullis_evidence::public_log::{PublicLogEntry, PublicLogEventKind, TILE, tile_path};
use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::tree;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Name of the log.
const NAME: &str = "registrar.example/tickets";

/// An event of a session, in the order of the log: chain, serial, kind and digest of the ticket.
pub type LogEvent = (ChainId, u64, PublicLogEventKind, [u8; 32]);

/// A policy that the log needs the cosignature of the world's witness.
pub fn log_policy(world: &World) -> String {
    let witness = &world.trust(false).witnesses[0];
    format!("log {}\nwitness w {witness}\nquorum w\n", key(&world.issuer))
}

fn key(issuer: &SigningKey) -> LogKey {
    LogKey::new(NAME, issuer.verifying_key()).unwrap()
}

/// Writes a log that the world's witness saw at this Unix second.
pub fn write_log(folder: &Path, world: &World, events: &[LogEvent], seen: u64) {
    let mut places: BTreeMap<ChainId, u64> = BTreeMap::new();
    let entries: Vec<PublicLogEntry> = events
        .iter()
        .map(|(chain, serial, kind, ticket)| {
            let next = places.entry(*chain).or_default();
            let place = *next;
            *next += 1;
            PublicLogEntry {
                chain: *chain,
                place,
                serial: *serial,
                kind: *kind,
                ticket: *ticket,
                hash: [place as u8; 32],
            }
        })
        .collect();
    let root = tree::root(entries.iter().map(PublicLogEntry::leaf));
    let text = LogTreeHead { origin: NAME.to_owned(), size: entries.len() as u64, root }.text();
    let note = key(&world.issuer).sign(&text, &world.issuer).unwrap();
    let line = cosign(&text, world.trust(false).witnesses[0].name(), &world.witness, seen).unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("checkpoint"), note + &line).unwrap();
    for (tile, own) in entries.chunks(TILE).enumerate() {
        let path = folder.join(tile_path("entries", tile, own.len()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, PublicLogEntry::to_tile(own)).unwrap();
    }
}
