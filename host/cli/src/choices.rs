//! Values of the flags of `run`.

use portcullis_core::wire::Granularity;
use portcullis_gate::ledger::FsyncMode;
use portcullis_gate::{OnRefuse, ReleaseMode};

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InputFormatArg {
    /// JSON Lines.
    Jsonl,
    /// One text.
    Text,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum OnRefuseArg {
    /// Leave the span out.
    Skip,
    /// End the stream.
    Stop,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum GranularityArg {
    /// Words.
    Token,
    /// Clauses and sentences.
    Span,
    /// The whole text.
    Step,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum ReleaseArg {
    /// Each span as soon as its admit is recorded.
    Span,
    /// After the number of admitted candidates in the policy's `limits.checkpoint`.
    Checkpoint,
    /// When the stream ends.
    End,
}

impl From<ReleaseArg> for ReleaseMode {
    fn from(arg: ReleaseArg) -> Self {
        match arg {
            ReleaseArg::Span => Self::Span,
            ReleaseArg::Checkpoint => Self::Checkpoint,
            ReleaseArg::End => Self::End,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum FsyncArg {
    /// Never: entries survive the process, not the machine.
    Never,
    /// Before bytes are released.
    Released,
    /// After each entry.
    Always,
}

impl From<FsyncArg> for FsyncMode {
    fn from(arg: FsyncArg) -> Self {
        match arg {
            FsyncArg::Never => Self::Never,
            FsyncArg::Released => Self::Released,
            FsyncArg::Always => Self::Always,
        }
    }
}

impl From<GranularityArg> for Granularity {
    fn from(arg: GranularityArg) -> Self {
        match arg {
            GranularityArg::Token => Self::Token,
            GranularityArg::Span => Self::Span,
            GranularityArg::Step => Self::Step,
        }
    }
}

impl From<OnRefuseArg> for OnRefuse {
    fn from(arg: OnRefuseArg) -> Self {
        match arg {
            OnRefuseArg::Skip => Self::Skip,
            OnRefuseArg::Stop => Self::Stop,
        }
    }
}
