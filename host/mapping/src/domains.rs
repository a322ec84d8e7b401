//! Top-level domains: those of the root zone (`data/top_level_domains.txt`), and those of private networks.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Domains that are never delegated (RFC 2606, RFC 6761, RFC 6762, RFC 8375), and those of many private networks.
const PRIVATE: [&str; 9] = ["corp", "example", "home", "internal", "invalid", "lan", "local", "localhost", "test"];

/// Whether a label, in any case, is a delegated or private top-level domain.
pub(crate) fn is_top_level(label: &str) -> bool {
    static DELEGATED: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let delegated = DELEGATED.get_or_init(|| {
        let lines = include_str!("../data/top_level_domains.txt").lines();
        lines.filter(|line| !line.starts_with('#')).collect()
    });
    let label = label.to_ascii_lowercase();
    delegated.contains(label.as_str()) || PRIVATE.contains(&label.as_str())
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
