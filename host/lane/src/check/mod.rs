//! The checks of matches that a finite automaton can make. They accept at least the matches that the mapping accepts.
//!
//! `luhn` and `iban` compute over the whole match, so the units [`crate::luhn`] and [`crate::iban`] make these checks.

mod email;
mod ip;
mod phone;
mod ssn;

use crate::context::{self, Context};
pub(crate) use email::DomainNames;
use portcullis_core::manifest::PatternValidator;
use std::rc::Rc;

/// The check for the matches of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FormCheck {
    /// Every match counts.
    None,
    Ssn,
    Ip,
    Phone,
    Email(Rc<DomainNames>),
}

/// The answer of a check at the end of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormCheckResult {
    /// The match counts.
    Accepted,
    /// The match does not count.
    Refused,
    /// The byte after the next byte decides; the check continues from this state.
    Open(CheckState),
}

/// The state of a check within a match, packed into an integer by the check.
pub(crate) type CheckState = u32;

impl FormCheck {
    /// The check for a validator; `None` for one that is not the check of an automaton.
    pub(crate) fn of(validator: Option<PatternValidator>) -> Option<Self> {
        match validator {
            None => Some(Self::None),
            Some(PatternValidator::Ssn) => Some(Self::Ssn),
            Some(PatternValidator::Ip) => Some(Self::Ip),
            Some(PatternValidator::Phone) => Some(Self::Phone),
            // The lane counts digits of these beside its automata, or leaves them to the host.
            Some(_) => None,
        }
    }

    /// Whether the check accepts exactly the same matches as the validator.
    pub(crate) const fn is_exact(&self) -> bool {
        matches!(self, Self::None | Self::Ssn)
    }

    /// The facts about the bytes before a match that the check needs.
    pub(crate) const fn needs(&self) -> Context {
        match self {
            Self::None | Self::Ssn => 0,
            Self::Ip => context::ALNUM,
            Self::Email(_) => context::USER,
            Self::Phone => context::JOINT,
        }
    }

    /// Whether the check needs bytes after the match.
    pub(crate) const fn looks_ahead(&self) -> bool {
        matches!(self, Self::Ip | Self::Phone | Self::Email(_))
    }

    /// The state at the beginning of a match that follows `before`.
    pub(crate) fn start(&self, before: Context) -> CheckState {
        match self {
            Self::None | Self::Ssn => 0,
            Self::Ip => ip::start(before & context::ALNUM != 0),
            Self::Email(names) => names.start(before & context::USER != 0),
            Self::Phone => phone::start(before & context::JOINT != 0),
        }
    }

    /// The state after one more byte; `None` if every match with this beginning is refused.
    pub(crate) fn step(&self, state: CheckState, byte: u8) -> Option<CheckState> {
        match self {
            Self::None => Some(state),
            Self::Ssn => ssn::step(state, byte),
            Self::Ip => ip::step(state, byte),
            Self::Phone => phone::step(state, byte),
            Self::Email(names) => names.step(state, byte),
        }
    }

    /// Whether a match is accepted that ends here, before `next`.
    pub(crate) fn ends(&self, state: CheckState, next: Option<u8>) -> FormCheckResult {
        let of = |accepted: bool| if accepted { FormCheckResult::Accepted } else { FormCheckResult::Refused };
        match self {
            Self::None => FormCheckResult::Accepted,
            Self::Ssn => of(ssn::accepts(state)),
            Self::Ip => of(ip::accepts(state, next)),
            Self::Phone => phone::ends(state, next),
            Self::Email(names) => names.ends(state, next),
        }
    }

    /// Whether a match with this beginning counts wherever it ends. It is reported at once: the mapping may shorten it.
    pub(crate) fn is_decided(&self, state: CheckState) -> bool {
        matches!(self, Self::Email(_)) && email::is_decided(state)
    }

    /// Whether state `a` accepts everything that state `b` accepts, for all following bytes.
    pub(crate) fn outlives(&self, a: CheckState, b: CheckState) -> bool {
        *self == Self::Ip && ip::outlives(a, b)
    }

    /// The kind of a byte; bytes of one kind lead to the same states.
    pub(crate) const fn kind(&self, byte: u8) -> u8 {
        match self {
            Self::None => 0,
            Self::Ssn => match byte {
                b'0' => 1,
                b'6' => 2,
                b'9' => 3,
                b'1'..=b'8' => 4,
                _ => 0,
            },
            Self::Ip => match byte {
                b'0'..=b'9' => byte - b'0' + 1,
                b'a'..=b'f' => byte - b'a' + 11,
                b'A'..=b'F' => byte - b'A' + 11,
                b':' => 17,
                b'.' => 18,
                b'+' => 19,
                b'g'..=b'z' | b'G'..=b'Z' => 20,
                _ => 0,
            },
            Self::Phone => match byte {
                b'0' => 1,
                b'1'..=b'9' => 2,
                b'(' => 3,
                b'+' => 4,
                b'x' | b'X' => 5,
                b' ' | b'-' | b'.' | b'/' => 6,
                _ => 0,
            },
            Self::Email(_) => match byte {
                b'a'..=b'z' => byte - b'a' + 1,
                b'.' => 27,
                b'@' => 28,
                b'-' => 29,
                b'A'..=b'Z' => 30,
                0x80.. => 31,
                b'0'..=b'9' => 32,
                b'+' => 33,
                b':' => 34,
                b' ' | b'\t'..=b'\r' => 35,
                _ => 0,
            },
        }
    }
}
