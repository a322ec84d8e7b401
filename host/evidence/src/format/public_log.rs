//! The public log of an issuer: every event of every ticket, in a C2SP `tlog-tiles` log of static files.
//!
//! ```text
//! checkpoint the signed head of the log (C2SP tlog-checkpoint, Ed25519), with cosignatures of witnesses
//! tile/<level>/<tile> 256 hashes of RFC 9162's tree; a tile that is not full has the suffix .p/<hashes>
//! tile/entries/<tile> the entries below a tile of level 0, each after its length
//! ```
//!
//! An entry has the hash of an event, not its body, because the body of a ticket names contexts and profiles. An event
//! is in the log before the ticket leaves the issuer. So the log tells which sessions there are, also those of which an
//! operator shows no bundle.
//!
//! Which logs a reader trusts, and how many witnesses must have cosigned, is a [`LogPolicy`].

mod entry;
mod policy;
mod read;

pub use entry::{PublicLogEntry, PublicLogEventKind};
pub use policy::{CosignedHead, HeadError, LogPolicy, LogPolicyError, PolicyLog, PolicyWitness};
pub use read::{LoggedSession, LoggedSessionState, ReadError, TrustedPublicLog};

/// Number of hashes in a full tile.
pub const TILE: usize = 256;

/// The path of a tile below the folder of the log. `level` is the level of a tile of hashes, or `entries`. The number
/// is split into groups of three digits, each a part of the path; all but the last begin with `x`.
#[must_use]
pub fn tile_path(level: &str, number: usize, width: usize) -> String {
    let mut digits = format!("{:03}", number % 1_000);
    let mut rest = number / 1_000;
    while rest > 0 {
        digits = format!("x{:03}/{digits}", rest % 1_000);
        rest /= 1_000;
    }
    let partial = if width == TILE { String::new() } else { format!(".p/{width}") };
    format!("tile/{level}/{digits}{partial}")
}

#[cfg(test)]
mod tests;
