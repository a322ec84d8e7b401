//! The class of a fault: the high byte of its code.

use super::Fault;

/// The part of the system that a fault concerns. The class decides whether an entry or the session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultClass {
    /// No fault.
    None,
    Entry,
    /// One entry is refused until a heartbeat renews the credit.
    Credit,
    /// Rings, bus or commands; the session ends.
    Transport,
    /// Tables or hash cores; the session ends.
    Integrity,
}

impl FaultClass {
    /// Whether the fault answers an entry, and the session continues.
    #[must_use]
    pub const fn refuses_entry(self) -> bool {
        matches!(self, Self::Entry | Self::Credit)
    }

    /// Whether the fault is sticky and ends the session.
    #[must_use]
    pub const fn ends_session(self) -> bool {
        matches!(self, Self::Transport | Self::Integrity)
    }
}

impl Fault {
    #[must_use]
    pub const fn class(self) -> FaultClass {
        match (self as u16) >> 8 {
            0 => FaultClass::None,
            1 => FaultClass::Entry,
            2 => FaultClass::Credit,
            3 => FaultClass::Transport,
            // The test checks that no other class exists. A future class would end the session.
            _ => FaultClass::Integrity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultClass};

    #[test]
    fn every_fault_has_one_class() {
        for &fault in Fault::ALL {
            let code = u16::from(fault);
            assert!(code >> 8 <= 4, "{code:#06x} has an unknown class");
            let class = fault.class();
            assert_eq!(class == FaultClass::None, fault == Fault::None);
            assert_eq!(
                u8::from(class.refuses_entry()) + u8::from(class.ends_session()),
                u8::from(code != 0),
                "{code:#06x}"
            );
        }
        assert_eq!(Fault::Crc.class(), FaultClass::Entry);
        assert_eq!(Fault::Credit.class(), FaultClass::Credit);
        assert_eq!(Fault::Watchdog.class(), FaultClass::Transport);
        assert_eq!(Fault::TableChanged.class(), FaultClass::Integrity);
    }
}
