//! Heartbeat credit of a lane, with the rules of `rtl/lane/heartbeat.sv`.

/// Entries that the card may still accept before the next heartbeat.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeartbeatCredit {
    /// Limits, latched at OPEN; 0 means no limit.
    pub(super) records_limit: u32,
    pub(super) ticks_limit: u32,
    accepted: u32,
    since: u64,
    /// Nonce of the last heartbeat.
    pub(super) nonce: u64,
}

impl HeartbeatCredit {
    pub(super) fn new(records_limit: u32, ticks_limit: u32, tick: u64) -> Self {
        Self { records_limit, ticks_limit, since: tick, ..Self::default() }
    }

    pub(super) const fn is_spent(&self, tick: u64) -> bool {
        (self.records_limit != 0 && self.accepted >= self.records_limit)
            || (self.ticks_limit != 0 && (tick - self.since) >> 16 >= self.ticks_limit as u64)
    }

    pub(super) const fn accept(&mut self) {
        self.accepted = self.accepted.wrapping_add(1);
    }

    pub(super) const fn renew(&mut self, nonce: u64, tick: u64) {
        (self.accepted, self.since, self.nonce) = (0, tick, nonce);
    }

    /// Records left; all ones without a limit.
    pub(super) const fn left(&self) -> u32 {
        if self.records_limit == 0 { u32::MAX } else { self.records_limit.saturating_sub(self.accepted) }
    }
}
