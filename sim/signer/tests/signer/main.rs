//! The hash core, key derivation and signer of the card against software, published vectors and stock tools.
#![cfg(test)]

mod device_key;
mod sha256;
mod slh_dsa;
mod stock_tools;
mod support;
