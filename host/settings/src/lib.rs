//! Reads files of settings (TOML) and files of secrets, and says where one is wrong and what mends it.

mod excerpt;
pub mod secret;

pub use excerpt::{SettingsError, TomlProblem, advice, nearest, parse, read};
