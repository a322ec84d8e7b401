//! The running issuer in this process, with honest, broken and hostile clients.
#![cfg(test)]

#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../../../authority/tests/authority/common.rs"]
mod common;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../../../authority/tests/authority/stores.rs"]
mod stores;

mod clients;
mod protocol;
mod scene;
