//! Reasons of the host's stages 2 and 3: their codes in descriptors and their ids in reports.

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $id:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $id)] $variant = $code,)* }

        impl $name {
            /// Every reason, in order of its code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The id in reports and records.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id),* }
            }

            /// The code in the descriptor; never 0.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }

            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|r| r.code() == code)
            }
        }
    };
}

reasons! {
    /// Why stage 2, descriptor validation, does not pass.
    ValidationReason {
        /// Two different values for one quantity slot in one span.
        QuantityMultiple = 1, "QUANTITY-MULTIPLE";
        /// A quantity that its slot's unit cannot hold exactly.
        QuantityInexact = 2, "QUANTITY-INEXACT";
        /// A quantity outside its slot's declared range.
        QuantityRange = 3, "QUANTITY-RANGE";
        /// The span is longer than the policy allows.
        SpanTooLong = 4, "SPAN-TOO-LONG";
        /// Two claims of one span that cannot both hold.
        Inconsistent = 5, "CLAIMS-INCONSISTENT";
        /// A definite reference to something that was never introduced.
        PresupposeReferent = 6, "PRESUPPOSE-REFERENT";
        /// A back-reference ("as stated above") without earlier text.
        PresupposeAbove = 7, "PRESUPPOSE-ABOVE";
        /// A reference to a quantity that the text has not stated before.
        PresupposeQuantity = 8, "PRESUPPOSE-QUANTITY";
        /// Another value for an established subject and relation.
        ContradictValue = 9, "CONTRADICT-VALUE";
        /// The negation of an established commitment, or the affirmation of a negated one.
        ContradictNegation = 10, "CONTRADICT-NEGATION";
        /// A quantity outside the tolerance around its established value.
        ContradictQuantity = 11, "CONTRADICT-QUANTITY";
        /// No part of the span is supported by the verified facts of a closed world.
        ClosedWorldUnsupported = 12, "CLOSED-WORLD-UNSUPPORTED";
        /// Some part of the span is not supported by the verified facts of a closed world.
        ClosedWorldPartial = 13, "CLOSED-WORLD-PARTIAL";
        /// A tool call that is not a name with a JSON object within the size limits.
        ToolMalformed = 14, "TOOL-MALFORMED";
        /// Invalid log-probabilities: not a number, or above zero.
        LogprobsInvalid = 15, "LOGPROBS-INVALID";
        /// A JSON document inside more strings than the mapping decodes.
        JsonDepth = 16, "JSON-DEPTH";
        /// An address that a client loads by itself.
        LinkLoaded = 17, "LINK-LOADED";
        /// A link to a host that the policy does not list.
        LinkUnlisted = 18, "LINK-UNLISTED";
    }
}

impl ValidationReason {
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::QuantityMultiple => "two different values for one quantity",
            Self::QuantityInexact => "a quantity that its unit cannot hold exactly",
            Self::QuantityRange => "a quantity outside its declared range",
            Self::SpanTooLong => "longer than the policy's span limit",
            Self::Inconsistent => "two claims of the span cannot both hold",
            Self::PresupposeReferent => "a definite reference to what was not introduced",
            Self::PresupposeAbove => "a reference back to what was not said",
            Self::PresupposeQuantity => "a reference to a quantity that was not given",
            Self::ContradictValue => "another value than the established one",
            Self::ContradictNegation => "the negation of an established commitment",
            Self::ContradictQuantity => "a quantity beyond the tolerance around the established one",
            Self::ClosedWorldUnsupported => "nothing of it is among the verified facts",
            Self::ClosedWorldPartial => "a part of it is not among the verified facts",
            Self::ToolMalformed => "a tool call that is not a name and a JSON object within bounds",
            Self::LogprobsInvalid => "log-probabilities that are no natural logarithms of probabilities",
            Self::JsonDepth => "a JSON document inside more strings than are decoded",
            Self::LinkLoaded => "an address that a client loads by itself",
            Self::LinkUnlisted => "a link to a host that is not listed",
        }
    }
}

reasons! {
    /// Why stage 3, lineage continuity, does not pass.
    LineageReason {
        /// A continuation or an enumeration without a beginning before it.
        Discontinuity = 1, "LINEAGE-DISCONTINUITY";
        /// Content that follows neither from the lineage nor from the intent, without a transition cue.
        TopicShift = 2, "LINEAGE-TOPIC-SHIFT";
        /// A value that an admitted revision superseded.
        Regression = 3, "LINEAGE-REGRESSION";
        Repetition = 4, "LINEAGE-REPETITION";
    }
}

impl LineageReason {
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Discontinuity => "continues something that is not there",
            Self::TopicShift => "a change of topic that nothing leads to",
            Self::Regression => "a value that was superseded",
            Self::Repetition => "a statement that was made before, once too often",
        }
    }
}

/// Ids of refusals that no rule of a policy names.
pub mod generic {
    /// No permit matched.
    pub const DEFAULT_DENY: &str = "DEFAULT-DENY";
    /// A decompose at the depth limit.
    pub const DEPTH_LIMIT: &str = "DEPTH-LIMIT";
    /// Input bytes that are not UTF-8.
    pub const INVALID_UTF8: &str = "INVALID-UTF8";
    /// A fault, which is not a determination and never an admit.
    pub const FAULT: &str = "FAULT";
}
