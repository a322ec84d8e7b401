//! The hash core, key derivation and signer of the card against software, published vectors and stock tools.

#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod device_key;
mod sha256;
mod slh_dsa;
mod stock_tools;
mod support;
