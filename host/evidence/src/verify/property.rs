//! The five properties of a session, and the status of each.

use serde::Serialize;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleProperty {
    /// One policy was in force from OPEN to CLOSE, and it is the one in the bundle.
    Policy,
    /// A certified card made this evidence.
    Genuine,
    /// Nothing was dropped, reordered or forged.
    Complete,
    /// The bundle contains everything that a replay needs.
    Replayable,
    /// No session and no part of a session is missing.
    NoGaps,
}

impl BundleProperty {
    /// All properties, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Policy, Self::Genuine, Self::Complete, Self::Replayable, Self::NoGaps];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Genuine => "genuine",
            Self::Complete => "complete",
            Self::Replayable => "replayable",
            Self::NoGaps => "no_gaps",
        }
    }

    /// The statement that reports print for an affirmed property.
    #[must_use]
    pub const fn claim(self) -> &'static str {
        match self {
            Self::Policy => {
                "one policy was in force from the first record to the last, and it is the one in this bundle"
            }
            Self::Genuine => "a certified card made this evidence",
            Self::Complete => "no record was dropped, reordered or forged",
            Self::Replayable => "everything that a replay of text to verdict needs is in this bundle",
            Self::NoGaps => "a trusted issuer opened the session, a witness saw it, and no part of it is missing",
        }
    }
}

/// The status of a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStatus {
    /// Every check of the property holds.
    #[default]
    Affirmed,
    /// Something is missing, or a check could not be made.
    Warned,
    /// Something is proved wrong.
    Contradicted,
}

impl EvidenceStatus {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Affirmed => "affirmed",
            Self::Warned => "warned",
            Self::Contradicted => "contradicted",
        }
    }

    /// The exit code for this status. Evidence that is simulated, or of streams in which nothing was prevented, is
    /// `marked`: it never gives 0.
    #[must_use]
    pub const fn exit_code(self, marked: bool) -> u8 {
        match (self, marked) {
            (Self::Contradicted, _) => 3,
            (_, true) => 10,
            (Self::Warned, false) => 5,
            (Self::Affirmed, false) => 0,
        }
    }
}

impl fmt::Display for EvidenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
