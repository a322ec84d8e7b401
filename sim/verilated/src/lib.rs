//! The Verilated RTL as a C++ library. It has no Rust interface of its own but its parameters: `portcullis-sim` includes
//! its headers (build-script metadata `include`, `defines`) and links it.

mod params;

pub use params::WATCHDOG_LOG2;
