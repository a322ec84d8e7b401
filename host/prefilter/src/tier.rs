//! Severity.

use serde::{Deserialize, Serialize};

/// How severe a structure is; the order is the escalation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Nothing was seen.
    #[default]
    Clear,
    /// A structure that harmless inputs have, too; reported.
    Notice,
    Guarded,
    Blocked,
    /// Several coercing structures at once, or a structure that cannot be judged at all. Never execution-safe.
    Critical,
}

impl Tier {
    /// Every tier, in order.
    pub const ALL: [Self; 5] = [Self::Clear, Self::Notice, Self::Guarded, Self::Blocked, Self::Critical];

    /// Its name in data files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Notice => "notice",
            Self::Guarded => "guarded",
            Self::Blocked => "blocked",
            Self::Critical => "critical",
        }
    }

    /// The more severe of two: the only way in which tiers combine.
    #[must_use]
    pub fn escalate(self, other: Self) -> Self {
        self.max(other)
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
