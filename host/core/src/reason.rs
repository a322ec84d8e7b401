//! Reasons that the host gives for stages 2 and 3: the codes that travel in a descriptor and the ids that reports name.

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

            /// The id that reports and records name.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id),* }
            }

            /// The code in the descriptor; never 0.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The reason with this code.
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
    }
}

/// Identifiers of refusals that no rule of a policy names.
pub mod generic {
    /// No permit matched.
    pub const DEFAULT_DENY: &str = "DEFAULT-DENY";
    /// A decompose at the depth limit.
    pub const DEPTH_LIMIT: &str = "DEPTH-LIMIT";
    /// Input bytes that are not UTF-8.
    pub const INVALID_UTF8: &str = "INVALID-UTF8";
    /// A fault, which is no determination and never an admit.
    pub const FAULT: &str = "FAULT";
}
