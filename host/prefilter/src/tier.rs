//! Severity.

use serde::{Deserialize, Serialize};

/// The severity of a structure; the tiers are in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeverityTier {
    /// No structure was found.
    #[default]
    Clear,
    /// A structure that harmless inputs may have, too; it is only reported.
    Notice,
    Guarded,
    Blocked,
    /// Several coercing structures at once, or an input that cannot be judged. The input is never executed.
    Critical,
}

impl SeverityTier {
    /// Every tier, in order.
    pub const ALL: [Self; 5] = [Self::Clear, Self::Notice, Self::Guarded, Self::Blocked, Self::Critical];

    /// The name in data files and reports.
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

    /// The more severe of two tiers. There is no other way to combine tiers.
    #[must_use]
    pub fn escalate(self, other: Self) -> Self {
        self.max(other)
    }
}

impl std::fmt::Display for SeverityTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
