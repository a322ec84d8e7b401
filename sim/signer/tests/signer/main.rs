//! Compares the card's hash core, key derivation and signer with software, published vectors and stock tools.
#![cfg(test)]

mod device_key;
mod sha256;
mod slh_dsa;
mod stock_tools;
mod support;
