//! Top-level domains: those of the root zone (`data/top_level_domains.txt`), and those of private networks.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Domains that are never delegated (RFC 2606, RFC 6761, RFC 6762, RFC 8375), and those of many private networks.
const PRIVATE: [&str; 9] = ["corp", "example", "home", "internal", "invalid", "lan", "local", "localhost", "test"];

/// The domains of the root zone, in small letters.
fn delegated() -> impl Iterator<Item = &'static str> {
    include_str!("../data/top_level_domains.txt").lines().filter(|line| !line.starts_with('#'))
}

/// Whether a label, in any case, is a delegated or private top-level domain.
pub(crate) fn is_top_level(label: &str) -> bool {
    static KNOWN: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| delegated().chain(PRIVATE).collect());
    known.contains(label.to_ascii_lowercase().as_str())
}

/// All top-level domains: delegated, private, and the further ones of a class.
pub(crate) fn all(further: Option<&[String]>) -> Vec<String> {
    let known = delegated().chain(PRIVATE).map(str::to_owned);
    known.chain(further.into_iter().flatten().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delegated_and_private_domains() {
        for label in ["com", "DE", "museum", "example", "Local"] {
            assert!(is_top_level(label), "{label}");
        }
        for label in ["", "jpg", "service", "route", "#", "a b"] {
            assert!(!is_top_level(label), "{label}");
        }
    }
}
