//! The states RESET, LOAD, OPENING, RUN, CLOSING and FAULT, with the rules of `rtl/csr/life.sv`.

use portcullis_core::wire::{Fault, Life};

#[derive(Debug)]
pub(super) struct Lifecycle {
    pub(super) state: Life,
    pub(super) fault: Fault,
    pub(super) load_fault: Fault,
    /// The bus does not answer any more.
    pub(super) bus_dead: bool,
    /// The bus may still have outstanding transfers; only the hardware reset leaves this state.
    pub(super) needs_reset: bool,
    /// RESET was commanded but cannot finish.
    pub(super) resetting: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            state: Life::Reset,
            fault: Fault::None,
            load_fault: Fault::None,
            bus_dead: false,
            needs_reset: false,
            resetting: false,
        }
    }
}

impl Lifecycle {
    pub(super) fn configurable(&self) -> bool {
        matches!(self.state, Life::Reset | Life::Load)
    }

    pub(super) fn tables_writable(&self) -> bool {
        self.state == Life::Load
    }
}
