//! Maps addresses to registers through the generated accessors, so that the addresses are defined in one place.

use super::capacity::TEXT_BLOCKS;
use crate::registers::{Registers, TEXT_BLOCKS_WINDOW};

/// A register of the map. Registers that read zero and ignore writes are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Register {
    Magic,
    MapVersion,
    MapDigest(u8),
    Capabilities,
    Rows,
    MaxStreams,
    QueueLimits,
    TextLimits,
    TextTablesLo,
    TextTablesHi,
    TextStride,
    /// The word with this number of the text blocks' addresses, two words per block.
    TextBlock(u8),
    KeyFlags,
    Command,
    Status,
    Fault,
    LoadFault,
    Epoch,
    TickLo,
    TickHi,
    ExpectedDigest(u8),
    TicketDigest(u8),
    HeartbeatRecords,
    HeartbeatCredit,
    PolicyDigest(u8),
    HeartbeatTicks,
    HeartbeatNonceLo,
    HeartbeatNonceHi,
    CheckpointLo,
    CheckpointHi,
    CheckpointSize,
    CheckpointInterval,
    Records,
    Verdicts,
    Admits,
    Rejects,
    Decomposes,
    Refused,
    OpenStreams,
    BusyClocksLo,
    BusyClocksHi,
    Lane(u8, Queue),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Queue {
    SqLo,
    SqHi,
    SqSize,
    SqTail,
    CqLo,
    CqHi,
    CqHead,
    LogLo,
    LogHi,
    LogSize,
    LogHead,
    LogTail,
    SqHead,
    CqTail,
}

impl Register {
    pub(super) const fn is_config(self) -> bool {
        matches!(
            self,
            Self::Epoch
                | Self::ExpectedDigest(_)
                | Self::TicketDigest(_)
                | Self::HeartbeatRecords
                | Self::HeartbeatTicks
                | Self::CheckpointLo
                | Self::CheckpointHi
                | Self::CheckpointSize
                | Self::CheckpointInterval
                | Self::TextTablesLo
                | Self::TextTablesHi
                | Self::TextStride
                | Self::TextBlock(_)
                | Self::Lane(
                    _,
                    Queue::SqLo
                        | Queue::SqHi
                        | Queue::SqSize
                        | Queue::CqLo
                        | Queue::CqHi
                        | Queue::LogLo
                        | Queue::LogHi
                        | Queue::LogSize
                )
        )
    }
}

#[derive(Debug)]
pub(super) struct RegisterDecoder {
    /// Indexed by address / 4.
    words: Vec<Option<Register>>,
}

impl RegisterDecoder {
    pub(super) fn new() -> Self {
        // SAFETY: the accessors only compute addresses here; nothing is read or written through them.
        let r = unsafe { Registers::from_ptr(std::ptr::null_mut()) };
        let mut decoder = Self { words: Vec::new() };
        decoder.put(r.magic().as_ptr(), Register::Magic);
        decoder.put(r.map_version().as_ptr(), Register::MapVersion);
        decoder.put(r.capabilities().as_ptr(), Register::Capabilities);
        decoder.put(r.rows().as_ptr(), Register::Rows);
        decoder.put(r.max_streams().as_ptr(), Register::MaxStreams);
        decoder.put(r.queue_limits().as_ptr(), Register::QueueLimits);
        decoder.put(r.text_limits().as_ptr(), Register::TextLimits);
        decoder.put(r.text_tables_lo().as_ptr(), Register::TextTablesLo);
        decoder.put(r.text_tables_hi().as_ptr(), Register::TextTablesHi);
        decoder.put(r.text_stride().as_ptr(), Register::TextStride);
        for (i, address) in (0..TEXT_BLOCKS * 2).zip((TEXT_BLOCKS_WINDOW as usize..).step_by(4)) {
            decoder.put(std::ptr::without_provenance::<u32>(address), Register::TextBlock(i));
        }
        decoder.put(r.key_flags().as_ptr(), Register::KeyFlags);
        decoder.put(r.command().as_ptr(), Register::Command);
        decoder.put(r.status().as_ptr(), Register::Status);
        decoder.put(r.fault().as_ptr(), Register::Fault);
        decoder.put(r.load_fault().as_ptr(), Register::LoadFault);
        decoder.put(r.epoch().as_ptr(), Register::Epoch);
        decoder.put(r.tick_lo().as_ptr(), Register::TickLo);
        decoder.put(r.tick_hi().as_ptr(), Register::TickHi);
        for (i, word) in (0..).zip(r.map_digest()) {
            decoder.put(word.as_ptr(), Register::MapDigest(i));
        }
        for (i, word) in (0..).zip(r.expected_digest()) {
            decoder.put(word.as_ptr(), Register::ExpectedDigest(i));
        }
        for (i, word) in (0..).zip(r.ticket_digest()) {
            decoder.put(word.as_ptr(), Register::TicketDigest(i));
        }
        for (i, word) in (0..).zip(r.policy_digest()) {
            decoder.put(word.as_ptr(), Register::PolicyDigest(i));
        }
        decoder.put(r.heartbeat_credit().as_ptr(), Register::HeartbeatCredit);
        decoder.put(r.heartbeat_records().as_ptr(), Register::HeartbeatRecords);
        decoder.put(r.heartbeat_ticks().as_ptr(), Register::HeartbeatTicks);
        decoder.put(r.heartbeat_nonce_lo().as_ptr(), Register::HeartbeatNonceLo);
        decoder.put(r.heartbeat_nonce_hi().as_ptr(), Register::HeartbeatNonceHi);
        decoder.put(r.checkpoint_lo().as_ptr(), Register::CheckpointLo);
        decoder.put(r.checkpoint_hi().as_ptr(), Register::CheckpointHi);
        decoder.put(r.checkpoint_size().as_ptr(), Register::CheckpointSize);
        decoder.put(r.checkpoint_interval().as_ptr(), Register::CheckpointInterval);
        decoder.put(r.records().as_ptr(), Register::Records);
        decoder.put(r.verdicts().as_ptr(), Register::Verdicts);
        decoder.put(r.admits().as_ptr(), Register::Admits);
        decoder.put(r.rejects().as_ptr(), Register::Rejects);
        decoder.put(r.decomposes().as_ptr(), Register::Decomposes);
        decoder.put(r.refused().as_ptr(), Register::Refused);
        decoder.put(r.open_streams().as_ptr(), Register::OpenStreams);
        decoder.put(r.busy_clocks_lo().as_ptr(), Register::BusyClocksLo);
        decoder.put(r.busy_clocks_hi().as_ptr(), Register::BusyClocksHi);
        for (number, lane) in (0..).zip(r.lane()) {
            let at = |queue| Register::Lane(number, queue);
            decoder.put(lane.sq_lo().as_ptr(), at(Queue::SqLo));
            decoder.put(lane.sq_hi().as_ptr(), at(Queue::SqHi));
            decoder.put(lane.sq_size().as_ptr(), at(Queue::SqSize));
            decoder.put(lane.sq_tail().as_ptr(), at(Queue::SqTail));
            decoder.put(lane.cq_lo().as_ptr(), at(Queue::CqLo));
            decoder.put(lane.cq_hi().as_ptr(), at(Queue::CqHi));
            decoder.put(lane.cq_head().as_ptr(), at(Queue::CqHead));
            decoder.put(lane.log_lo().as_ptr(), at(Queue::LogLo));
            decoder.put(lane.log_hi().as_ptr(), at(Queue::LogHi));
            decoder.put(lane.log_size().as_ptr(), at(Queue::LogSize));
            decoder.put(lane.log_head().as_ptr(), at(Queue::LogHead));
            decoder.put(lane.log_tail().as_ptr(), at(Queue::LogTail));
            decoder.put(lane.sq_head().as_ptr(), at(Queue::SqHead));
            decoder.put(lane.cq_tail().as_ptr(), at(Queue::CqTail));
        }
        decoder
    }

    fn put<T>(&mut self, pointer: *const T, register: Register) {
        let word = pointer.addr() / 4;
        if self.words.len() <= word {
            self.words.resize(word + 1, None);
        }
        if let Some(place) = self.words.get_mut(word) {
            *place = Some(register);
        }
    }

    pub(super) fn decode(&self, address: u32) -> Option<Register> {
        self.words.get(address as usize / 4).copied().flatten()
    }
}
