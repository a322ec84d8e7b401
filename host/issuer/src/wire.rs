//! The requests and answers, as JSON.
//!
//! | request | body | answer |
//! | --- | --- | --- |
//! | `POST /v1/tickets` | [`TicketRequest`] | [`TicketAnswer`] |
//! | `POST /v1/openings` | [`CheckpointReport`] with the opening checkpoint | [`ReportAnswer`] |
//! | `POST /v1/closings` | [`CheckpointReport`] with the closing checkpoint | [`ReportAnswer`] |
//! | `GET /livez`, `GET /readyz` | | text |
//!
//! Every refusal is an [`ErrorAnswer`].

use base64ct::{Base64, Encoding};
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};

/// Largest body of a request, in bytes: a checkpoint's message in base64 has about 23,000.
pub const MAX_BODY: usize = 64 * 1024;
/// Path of requests for tickets.
pub const TICKETS: &str = "/v1/tickets";
/// Path of reports of opening checkpoints.
pub const OPENINGS: &str = "/v1/openings";
/// Path of reports of closing checkpoints.
pub const CLOSINGS: &str = "/v1/closings";

/// A request for the ticket of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketRequest {
    /// A random number of the client. A repeated request has the same one, and gets the same ticket.
    pub request: HexBytes<16>,
    /// The card's public key.
    pub public_key: HexBytes<32>,
    /// The card's seat.
    pub seat: u16,
    /// SHA-256 of the session's table image.
    pub policy: HexBytes<32>,
    /// Digest of the session's profile.
    pub profile: HexBytes<32>,
    /// Whether the session uses the text lane.
    pub text_lane: bool,
    /// Whether the session posts its checkpoints to a witness, which gives heartbeats.
    pub witness: bool,
}

impl TicketRequest {
    /// The request in a form of fixed length, in which different requests have different bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [
            &[1][..],
            &self.request.0,
            &self.public_key.0,
            &self.seat.to_be_bytes(),
            &self.policy.0,
            &self.profile.0,
            &[u8::from(self.text_lane), u8::from(self.witness)],
        ]
        .concat()
    }
}

/// A ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketAnswer {
    pub serial: u64,
    /// The ticket's COSE message.
    pub ticket: Base64Bytes,
}

/// A report of a session's checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointReport {
    /// The card's public key.
    pub public_key: HexBytes<32>,
    /// The checkpoint's COSE message.
    pub checkpoint: Base64Bytes,
}

/// The state of a ticket after a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportAnswer {
    pub seat: u16,
    pub serial: u64,
    /// `opened`, `closed` or `abandoned`.
    pub state: String,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    pub error: ErrorBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Identifier of the reason, for programs.
    pub code: String,
    /// The reason, for people.
    pub message: String,
    /// What the reader can do about it.
    pub remedy: String,
}

/// Bytes that are written as base64 in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base64Bytes(pub Vec<u8>);

impl Serialize for Base64Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&Base64::encode_string(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Base64::decode_vec(&text).map(Self).map_err(|_| serde::de::Error::custom("a text that is not base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts() {
        let request = TicketRequest {
            request: HexBytes([1; 16]),
            public_key: HexBytes([2; 32]),
            seat: 3,
            policy: HexBytes([4; 32]),
            profile: HexBytes([5; 32]),
            text_lane: false,
            witness: false,
        };
        let mut all = vec![
            request.clone(),
            TicketRequest { request: HexBytes([9; 16]), ..request.clone() },
            TicketRequest { public_key: HexBytes([9; 32]), ..request.clone() },
            TicketRequest { seat: 0x300, ..request.clone() },
            TicketRequest { policy: HexBytes([9; 32]), ..request.clone() },
            TicketRequest { profile: HexBytes([9; 32]), ..request.clone() },
            TicketRequest { text_lane: true, ..request.clone() },
            TicketRequest { witness: true, ..request.clone() },
        ];
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<TicketRequest>(&text).unwrap(), request);
        assert!(serde_json::from_str::<TicketRequest>(&text.replace("\"seat\"", "\"sea\"")).is_err());
        assert!(serde_json::from_str::<TicketRequest>(&text.replace(":3,", ":65536,")).is_err());
        let count = all.len();
        all.sort_by_key(TicketRequest::to_bytes);
        all.dedup_by_key(|request| request.to_bytes());
        assert_eq!(all.len(), count);
        let bytes = Base64Bytes(vec![0, 255, 7]);
        assert_eq!(serde_json::from_str::<Base64Bytes>(&serde_json::to_string(&bytes).unwrap()).unwrap(), bytes);
        assert!(serde_json::from_str::<Base64Bytes>("\"%\"").is_err());
    }
}
