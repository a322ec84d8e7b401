//! What the banks answer.

/// The result of one bank for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankOutcome {
    /// A permit matched, and no forbid matched.
    Pass,
    /// A forbid with outcome reject matched, or no row matched.
    Reject,
    /// A forbid with outcome decompose matched, but no forbid with outcome reject.
    Decompose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBankAnswer {
    pub outcome: BankOutcome,
    /// The first matching row of the deciding class; `None` when no row matched (`DEFAULT-DENY`).
    pub row: Option<u16>,
}

impl TableBankAnswer {
    /// The answer if no row matched.
    pub const DEFAULT_DENY: Self = Self { outcome: BankOutcome::Reject, row: None };

    /// The answer for the first matching row of each class.
    pub(crate) fn of(reject: Option<u16>, decompose: Option<u16>, permit: Option<u16>) -> Self {
        match (reject, decompose, permit) {
            (Some(_), _, _) => Self { outcome: BankOutcome::Reject, row: reject },
            (None, Some(_), _) => Self { outcome: BankOutcome::Decompose, row: decompose },
            (None, None, Some(_)) => Self { outcome: BankOutcome::Pass, row: permit },
            (None, None, None) => Self::DEFAULT_DENY,
        }
    }
}

/// The results of both banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankAnswers {
    /// The policy bank, stage 1.
    pub policy: TableBankAnswer,
    /// The entropy bank, stage 4.
    pub entropy: TableBankAnswer,
}
