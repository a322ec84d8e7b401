//! Reason codes: stable words of reports, for programs. `docs/verify.md` lists them; `cargo xtask gen` writes the
//! tables from here.

use super::property::{Property, Status};
use crate::format::log::Violation;
use serde::{Serialize, Serializer};
use std::fmt;

/// Makes an enum of reason codes. The doc comment of a variant is what the documentation says of it.
macro_rules! codes {
    (@property any) => { None };
    (@property $property:ident) => { Some(Property::$property) };
    (@status) => { Status::Contradicted };
    (@status warns) => { Status::Warned };
    ($(#[$doc:meta])* $name:ident {
        $($(#[doc = $meaning:literal])+ $variant:ident = $id:literal $(in $property:ident)? $(, $warns:ident)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $meaning])+ $variant,)* }

        impl $name {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code in reports: kebab-case.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id),* }
            }

            /// What was found, in the words of the documentation.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning),+).trim_ascii()),* }
            }

            /// How much it weighs, unless the options of the verifier say otherwise.
            #[must_use]
            pub const fn status(self) -> Status {
                match self { $(Self::$variant => codes!(@status $($warns)?)),* }
            }
        }

        codes!(@properties $name { $($variant $($property)?,)* });

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.id())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.id())
            }
        }
    };
    (@properties $name:ident { $($variant:ident $property:ident,)+ }) => {
        impl $name {
            /// The property that it is about; `None` for what can concern any of them.
            #[must_use]
            pub const fn property(self) -> Option<Property> {
                match self { $(Self::$variant => codes!(@property $property)),* }
            }
        }
    };
    (@properties $name:ident { $($variant:ident,)+ }) => {};
}

codes! {
    /// What the verifier finds in one bundle.
    Code {
        /// the table image is not one of this layout version
        ImageMalformed = "image-malformed" in Policy;
        /// the package's files are not those that the image was built from
        PackageDigest = "package-digest" in Policy;
        /// the ticket is for another image
        TicketPolicy = "ticket-policy" in Policy;
        /// OPEN records another image
        OpenPolicy = "open-policy" in Policy;
        /// CLOSE records another image
        ClosePolicy = "close-policy" in Policy;
        /// a checkpoint is under another image
        CheckpointPolicy = "checkpoint-policy" in Policy;
        /// OPEN or CLOSE records another package
        SessionPackage = "session-package" in Policy;
        /// a stream began in a context that the ticket does not permit
        ContextNotPermitted = "context-not-permitted" in Policy;
        /// a stream was governed under a profile that the ticket does not permit
        ProfileNotPermitted = "profile-not-permitted" in Policy;
        /// the ticket permits certain profiles only, and that of a stream cannot be seen
        ProfileUnknown = "profile-unknown" in Policy, warns;
        /// the ticket requires the text lane, which no card of this layout version has
        TextLane = "text-lane" in Policy;
        /// a stream was governed under another package
        ContextPackage = "context-package" in Policy;
        /// the card stopped with a fault
        Alarm = "alarm" in Policy;
        /// the approval is not one
        ApprovalMalformed = "approval-malformed" in Policy;
        /// the approval is of another image
        ApprovalOfAnother = "approval-of-another" in Policy;
        /// no trusted approver signed the approval
        ApprovalUntrusted = "approval-untrusted" in Policy;
        /// the certificate is not believed; the words say why
        Certificate = "certificate" in Genuine;
        /// no trusted time, so that validity was not checked
        CertificateTime = "certificate-time" in Genuine, warns;
        /// a checkpoint is not one, or of a number of lanes that no card has
        CheckpointMalformed = "checkpoint-malformed" in Genuine;
        /// a signature is not the certified key's
        CheckpointSignature = "checkpoint-signature" in Genuine;
        /// a checkpoint names another design than the certificate
        CheckpointDesign = "checkpoint-design" in Genuine;
        /// a checkpoint's key flags are not of the certificate's class
        CheckpointClass = "checkpoint-class" in Genuine;
        /// a checkpoint carries the flag of simulated cards; w with `--allow-sim`, as the next three
        SimFlag = "sim-flag" in Genuine;
        /// the key is the public one
        SimKey = "sim-key" in Genuine;
        /// the certificate is a simulated card's
        SimRoot = "sim-root" in Genuine;
        /// the design is a simulated one
        SimDesign = "sim-design" in Genuine;
        /// a text is not the one that the card answered for
        SpanCommitment = "span-commitment" in Genuine;
        /// a text is not cut into held text and span as its descriptor says
        SpanShape = "span-shape" in Genuine;
        /// the bytes under an END, which nothing judges, are more than formatting
        EndNotFormatting = "end-not-formatting" in Genuine;
        /// a receipt was given for what was not admitted
        ReceiptNotAdmitted = "receipt-not-admitted" in Genuine;
        /// a receipt is of another session or lane
        ReceiptSession = "receipt-session" in Genuine;
        /// a receipt has another salt, or is of another kind, than its text
        ReceiptSalt = "receipt-salt" in Genuine;
        /// a line is about a record that has no such line
        LineWithoutRecord = "line-without-record" in Genuine;
        /// the manifest does not fit the files
        Manifest = "manifest" in Complete;
        /// a file had another content when it was read again
        FileChanged = "file-changed" in Complete;
        /// the records are not those that a checkpoint signs
        CheckpointRoot = "checkpoint-root" in Complete;
        /// a checkpoint is over another number of lanes than there are logs
        CheckpointLanes = "checkpoint-lanes" in Complete;
        /// the heads beside a checkpoint are not those that it signs
        CheckpointHeads = "checkpoint-heads" in Complete;
        /// a checkpoint is missing, or in another's place
        CheckpointSerial = "checkpoint-serial" in Complete;
        /// a checkpoint's state does not follow, or does not fit the log
        CheckpointState = "checkpoint-state" in Complete;
        /// a checkpoint is older than the one before, or smaller in some lane
        CheckpointOrder = "checkpoint-order" in Complete;
        /// a checkpoint is of another session
        CheckpointSession = "checkpoint-session" in Complete;
        /// a checkpoint has another epoch, key or time than its records
        CheckpointRecords = "checkpoint-records" in Complete;
        /// the log ends within a record
        RecordsTruncated = "records-truncated" in Complete;
        /// a log is shorter than the last checkpoint says
        RecordsMissing = "records-missing" in Complete;
        /// the session was not closed
        NotClosed = "not-closed" in Complete, warns;
        /// records follow the last checkpoint
        UnsignedTail = "unsigned-tail" in Complete, warns;
        /// bytes that are no record
        RecordLayout = "record-layout" in Complete;
        /// a record is missing, doubled or moved
        RecordIndex = "record-index" in Complete;
        /// time goes back
        RecordTick = "record-tick" in Complete;
        /// a record of another session, or of another lane
        RecordSession = "record-session" in Complete;
        /// OPEN does not stand first and only there
        RecordOpen = "record-open" in Complete;
        /// something follows CLOSE, or an ALARM
        RecordAfterEnd = "record-after-end" in Complete;
        /// a record does not repeat what OPEN latched
        RecordLatched = "record-latched" in Complete;
        /// the number of open streams is wrong
        RecordOpenStreams = "record-open-streams" in Complete;
        /// an accepted entry that no card accepts
        RecordEntry = "record-entry" in Complete;
        /// determination, stage, fault and rows contradict, or an entry was refused for its credit or its context
        /// without cause
        RecordAnswer = "record-answer" in Complete;
        /// BEGIN on an open slot, or another entry on a free one
        StreamSlot = "stream-slot" in Complete;
        /// a gap or a repetition within a stream
        StreamSequence = "stream-sequence" in Complete;
        /// a stream changes its domain, audience, register or epistemic mode, and was not refused
        StreamContext = "stream-context" in Complete;
        /// an accepted entry in a lane to which its slot is not pinned
        StreamLane = "stream-lane" in Complete;
        /// lanes opened different sessions, or closed them differently
        LaneSession = "lane-session" in Complete;
        /// a lane has other heartbeats than another one
        LaneHeartbeats = "lane-heartbeats" in Complete;
        /// a file has not the digest in its name
        FileDigest = "file-digest" in Replayable;
        /// the package is of a mapping version that this program does not know
        MappingVersion = "mapping-version" in Replayable, warns;
        /// the package is not there
        PackageWithheld = "package-withheld" in Replayable, warns;
        /// a context document is not one
        ContextMalformed = "context-malformed" in Replayable;
        /// a context document is of another version; its release verifies it
        ContextVersion = "context-version" in Replayable, warns;
        /// a context document is not there
        ContextWithheld = "context-withheld" in Replayable, warns;
        /// an anchor store is not there
        AnchorWithheld = "anchor-withheld" in Replayable, warns;
        /// a stream is called otherwise than in its context
        StreamName = "stream-name" in Replayable;
        /// two streams of the session have one id, and the second does not say that it continues another one
        IdTwice = "id-twice" in Replayable, warns;
        /// a stream has another number than its place among the streams of its lane
        StreamNumber = "stream-number" in Replayable;
        /// no line names a stream
        StreamUnnamed = "stream-unnamed" in Replayable, warns;
        /// the texts of a stream were taken out, with a signed reason
        Withheld = "withheld" in Replayable, warns;
        /// a stream is said to be withheld, and something of it is there
        WithheldDisclosed = "withheld-disclosed" in Replayable;
        /// a withholding is not one, or its number is not the next
        WithholdingMalformed = "withholding-malformed" in Replayable;
        /// a withholding is about another session
        WithholdingSession = "withholding-session" in Replayable;
        /// a withholding names a stream that did not begin
        WithholdingStream = "withholding-stream" in Replayable;
        /// no trusted withholder signed the reason
        WithholdingUntrusted = "withholding-untrusted" in Replayable, warns;
        /// what a stream was given is not disclosed
        InputWithheld = "input-withheld" in Replayable, warns;
        /// a text is not disclosed
        SpanWithheld = "span-withheld" in Replayable, warns;
        /// the ticket is not one
        TicketMalformed = "ticket-malformed" in NoGaps;
        /// no trusted issuer signed the ticket
        TicketIssuer = "ticket-issuer" in NoGaps;
        /// the ticket is for another card
        TicketKey = "ticket-key" in NoGaps;
        /// the witness saw the session when the ticket was not valid
        TicketValidity = "ticket-validity" in NoGaps;
        /// OPEN names another ticket
        OpenTicket = "open-ticket" in NoGaps;
        /// a checkpoint names another ticket
        CheckpointTicket = "checkpoint-ticket" in NoGaps;
        /// the operator issued the ticket, or no witness saw the first and the last checkpoint
        NoWitness = "no-witness" in NoGaps, warns;
        /// a note is not a known witness's
        WitnessNote = "witness-note" in NoGaps;
        /// a note is about another checkpoint than its name says
        WitnessSerial = "witness-serial" in NoGaps;
        /// a note is about another session
        WitnessSession = "witness-session" in NoGaps;
        /// a note does not follow the one before it
        WitnessOrder = "witness-order" in NoGaps;
        /// the witness saw another checkpoint
        WitnessCheckpoint = "witness-checkpoint" in NoGaps;
        /// OPEN latched other limits than the ticket sets
        HeartbeatLimits = "heartbeat-limits" in NoGaps;
        /// entries were accepted after the credit was spent
        HeartbeatGap = "heartbeat-gap" in NoGaps;
        /// a nonce that the witness did not give by then
        HeartbeatNonce = "heartbeat-nonce" in NoGaps;
        /// a nonce whose note may be among those left out
        HeartbeatUnwitnessed = "heartbeat-unwitnessed" in NoGaps, warns;
        /// the table image is of a layout version or register map that this verifier does not know: records and
        /// checkpoints were not read
        UnknownVersion = "unknown-version" in any, warns;
        /// the property rests on records that are not what a certified card signed
        Unfounded = "unfounded" in any, warns;
    }
}

codes! {
    /// What a series of sessions shows.
    SeriesCode {
        /// card or ticket of a bundle are not known
        Unplaced = "unplaced";
        /// the operator issued the ticket; the session is in no chain
        SelfIssued = "self-issued", warns;
        /// one ticket, two histories
        SerialTwice = "serial-twice";
        /// sessions are missing
        SerialMissing = "serial-missing";
        /// a ticket names another end of the session before than that bundle shows
        PreviousClose = "previous-close";
        /// the session before was abandoned
        Abandoned = "abandoned", warns;
        /// the session before is of a version that this program does not know, so that its end cannot be read
        UnknownVersion = "unknown-version", warns;
        /// the card's last session is not closed
        Open = "open", warns;
    }
}

codes! {
    /// What a replay finds.
    ReplayCode {
        /// a record is not what the replay gives, or a stream's context is not the one that its BEGIN bound
        ReplayDiffers = "replay-differs";
        /// the policy package does not compile, or not to the tables that were in force
        ReplayPackage = "replay-package";
        /// an anchor store is not one
        ReplayAnchors = "replay-anchors";
        /// what a stream was given is in no form that this version knows
        ReplayInput = "replay-input";
        /// a log that ends within a record, a record of no type, a line that cannot be read, or files that are not a
        /// bundle
        ReplayBundle = "replay-bundle";
        /// a file had another content when it was read again
        FileChanged = "file-changed";
        /// a stream has no END: what it was given was not judged to its end
        StreamUnfinished = "stream-unfinished", warns;
        /// part of what a stream was given was never asked for, such as a proposal of an engine, and no record judges
        /// it
        InputUnconsumed = "input-unconsumed", warns;
        /// tables, mapping, context or mode are of a version that this program does not replay; the words name the
        /// release that does, where it is known
        UnknownVersion = "unknown-version", warns;
        /// a stream's input, salts, context or anchor store is not there, or the policy package
        ReplayWithheld = "replay-withheld", warns;
        /// a stream continues another one, which stands in an earlier bundle or does not replay, so that the state that
        /// it began in is not known
        ReplayPredecessor = "replay-predecessor", warns;
        /// a fault of the card ended a stream
        ReplayFault = "replay-fault", warns;
    }
}

impl From<Violation> for Code {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Layout => Self::RecordLayout,
            Violation::Index(_) => Self::RecordIndex,
            Violation::Tick(_) => Self::RecordTick,
            Violation::Session => Self::RecordSession,
            Violation::Open => Self::RecordOpen,
            Violation::AfterEnd(_) => Self::RecordAfterEnd,
            Violation::Latched => Self::RecordLatched,
            Violation::OpenStreams { .. } => Self::RecordOpenStreams,
            Violation::Entry => Self::RecordEntry,
            Violation::Slot(_) => Self::StreamSlot,
            Violation::Lane(_) => Self::StreamLane,
            Violation::Sequence { .. } => Self::StreamSequence,
            Violation::Context(_) => Self::StreamContext,
            Violation::Answer => Self::RecordAnswer,
        }
    }
}
