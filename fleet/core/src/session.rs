//! A session in the answer of an audit.

use portcullis_evidence::verify::EvidenceStatus;
use portcullis_report::time::utc;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A session, as its bundle shows it to the verifier. Digests are in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedSession {
    /// Name of the bundle.
    pub name: String,
    /// Digest of the bundle's whole content.
    pub bundle: String,
    #[serde(deserialize_with = "status")]
    pub status: EvidenceStatus,
    pub simulated: bool,
    pub assurance: Option<String>,
    /// Status of each property of the verifier.
    pub properties: BTreeMap<String, String>,
    /// SHA-256 of the card's public key; absent if no trusted root certified the card.
    pub key: Option<String>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    /// Name of the ticket's issuer, which is not proved.
    pub issuer: Option<String>,
    /// SHA-256 of the issuer's key; absent if no trusted key signed the ticket.
    pub issuer_key: Option<String>,
    pub self_issued: bool,
    /// Digest of the ticket.
    pub ticket: Option<String>,
    /// Digest of the table image.
    pub policy: Option<String>,
    /// The end of the session before, as the ticket names it; absent if it names none.
    pub previous_close: Option<String>,
    pub last_checkpoint: Option<String>,
    pub closed: bool,
    /// Whether the verifier knows the version of the bundle.
    pub known: bool,
    /// Unix seconds of the first and the last checkpoint that a witness saw.
    pub witnessed: Option<(u64, u64)>,
    pub lanes: u8,
    pub checkpoints: u64,
    pub records: u64,
    /// Number of records that a checkpoint covers.
    pub signed_records: u64,
    pub streams: u64,
    /// Number of streams that name a predecessor.
    pub continued: u64,
    pub admits: u64,
    pub rejects: u64,
    /// Whether the tables hold exactly what the card signed; absent if that was not compared.
    pub tables: Option<bool>,
    /// Number of replayed streams; absent if no replay was asked for.
    pub replay: Option<u64>,
}

impl AuditedSession {
    /// The day on which a witness saw the first checkpoint, in UTC.
    #[must_use]
    pub fn day(&self) -> Option<String> {
        self.witnessed.map(|(first, _)| utc(first).chars().take_while(|c| *c != 'T').collect())
    }

    /// A session of which nothing is known. Its status is the worst, so that nothing is affirmed by default.
    pub(crate) fn unknown() -> Self {
        Self {
            name: String::new(),
            bundle: String::new(),
            status: EvidenceStatus::Contradicted,
            simulated: false,
            assurance: None,
            properties: BTreeMap::new(),
            key: None,
            seat: None,
            serial: None,
            issuer: None,
            issuer_key: None,
            self_issued: false,
            ticket: None,
            policy: None,
            previous_close: None,
            last_checkpoint: None,
            closed: false,
            known: false,
            witnessed: None,
            lanes: 0,
            checkpoints: 0,
            records: 0,
            signed_records: 0,
            streams: 0,
            continued: 0,
            admits: 0,
            rejects: 0,
            tables: None,
            replay: None,
        }
    }
}

pub(crate) fn status<'de, D: Deserializer<'de>>(from: D) -> Result<EvidenceStatus, D::Error> {
    let name = <Cow<'de, str>>::deserialize(from)?;
    crate::finding::status_of(&name).ok_or_else(|| serde::de::Error::custom(format_args!("`{name}` is not a status")))
}
