//! What a session leaves behind, and how to check it without trusting whoever hands it over.

mod cbor;
pub mod ticket;
