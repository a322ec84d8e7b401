//! Exit codes of commands on evidence.

/// Contradicted, or not of the expected form.
pub const CONTRADICTED: u8 = 3;
/// Simulated evidence, with `--allow-sim`.
pub const SIMULATED: u8 = 10;
/// Something is missing or could not be checked.
pub const WARNED: u8 = 5;
