//! Exit codes of commands about evidence.

/// Contradicted, or not what it should be.
pub const CONTRADICTED: u8 = 3;
/// Simulated evidence, with `--allow-sim`.
pub const SIMULATED: u8 = 10;
/// Something is missing or could not be checked.
pub const WARNED: u8 = 5;
