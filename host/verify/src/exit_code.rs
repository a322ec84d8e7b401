//! Exit codes of commands on evidence.

/// A property is contradicted, or the evidence does not have the expected form.
pub const CONTRADICTED: u8 = 3;
/// The evidence is simulated, and `--allow sim` was given; or it is of streams in which nothing was prevented.
pub const SIMULATED: u8 = 10;
/// A part is missing or could not be checked.
pub const WARNED: u8 = 5;
