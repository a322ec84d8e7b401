//! Reads files of settings (TOML) and files of secrets, and says where one is wrong and what mends it.
//!
//! [`read`] and [`parse`] give the settings, or a [`TomlProblem`] with the line, the column and a remedy. [`secret`]
//! reads keys and tokens from files that only one user can read. What the settings mean is up to the caller.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_settings::parse;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Limits {
//!     request_ms: u64,
//! }
//!
//! let limits: Limits = parse("limits.toml", "request_ms = 500")?;
//! assert_eq!(limits.request_ms, 500);
//!
//! let Err(error) = parse::<Limits>("limits.toml", "reqest_ms = 500") else { return Err("accepted".into()) };
//! assert_eq!(error.to_string(), "limits.toml:1:1: unknown key `reqest_ms`; did you mean `request_ms`?");
//! # Ok(())
//! # }
//! ```

mod excerpt;
pub mod secret;

pub use excerpt::{SettingsError, TomlProblem, advice, nearest, parse, read};
