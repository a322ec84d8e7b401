//! Reason codes: stable words of reports, for programs. `docs/reference/verify.md` lists them; `cargo xtask gen` writes
//! the tables from here.

use super::property::{BundleProperty, EvidenceStatus};
use crate::format::log::LogViolation;
use serde::{Serialize, Serializer};
use std::fmt;

// Advice that several codes share.
const ORIGINAL: &str = "do not rely on the bundle; ask for the bundle as it was recorded";
const POLICY: &str = "ask the operator why this policy ran, and the issuer which one the ticket was for";
const PACKAGE: &str = "ask for the policy package that was in force, and compare its digest with the approved one";
const APPROVAL: &str = "ask the approver for the approval of the policy digest in this report";
const PERMIT: &str = "ask the operator why the stream ran, and the issuer whether the ticket should permit it";
const CONTEXTS: &str = "ask for the context documents that were left out";
const CARD: &str = "ask for the certificate of the card that ran";
const REAL_CARD: &str = "ask for evidence of a real card; `--allow-sim` checks a simulated one";
const TEXT: &str = "do not rely on the text; ask for the text as it was judged";
const RECEIPT: &str = "do not rely on the receipt; ask for the receipt of this record";
const COPY: &str = "check a copy that no program writes to";
const RELEASE: &str = "check with the release that wrote the bundle";
const TICKET: &str = "ask the issuer for the ticket of this session";
const WITNESS: &str = "ask the witness itself what it saw of this session";
const WITNESSES: &str =
    "ask the witness for its whole log, and do not rely on this witness until it explains both notes";
const TEXTS: &str = "ask for the texts, or for the reason why they are withheld";
const UNFINISHED: &str = "check again once the session has ended; if it died, ask for `portcullis bundle finish`";
const FAULT: &str = "ask what caused the fault, and whether text was released after it";

/// Makes an enum of reason codes. The doc comment of a variant is its meaning in the documentation. The text after the
/// arrow advises the reader of a report.
macro_rules! codes {
    (@property any) => { None };
    (@property $property:ident) => { Some(BundleProperty::$property) };
    (@status) => { EvidenceStatus::Contradicted };
    (@status warns) => { EvidenceStatus::Warned };
    ($(#[$doc:meta])* $name:ident {
        $(
            $(#[doc = $meaning:literal])+
            $variant:ident = $id:literal $(in $property:ident)? $(, $warns:ident)? => $remedy:expr;
        )*
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

            /// The finding, in the words of the documentation.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning),+).trim_ascii()),* }
            }

            /// Advice for the reader of the report: an imperative, without a full stop.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy),* }
            }

            /// The default status of the finding. Options of the verifier can change it.
            #[must_use]
            pub const fn status(self) -> EvidenceStatus {
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
            /// The property that the finding concerns; `None` if it can concern any property.
            #[must_use]
            pub const fn property(self) -> Option<BundleProperty> {
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
        ImageMalformed = "image-malformed" in Policy => ORIGINAL;
        /// the package's files are not those that the image was built from
        PackageDigest = "package-digest" in Policy => PACKAGE;
        /// the ticket is for another image
        TicketPolicy = "ticket-policy" in Policy => POLICY;
        /// OPEN records another image
        OpenPolicy = "open-policy" in Policy => POLICY;
        /// CLOSE records another image
        ClosePolicy = "close-policy" in Policy => POLICY;
        /// a checkpoint is under another image
        CheckpointPolicy = "checkpoint-policy" in Policy => POLICY;
        /// OPEN or CLOSE records another package
        SessionPackage = "session-package" in Policy => POLICY;
        /// a stream began in a context that the ticket does not permit
        ContextNotPermitted = "context-not-permitted" in Policy => PERMIT;
        /// a stream was governed under a profile that the ticket does not permit
        ProfileNotPermitted = "profile-not-permitted" in Policy => PERMIT;
        /// the ticket permits certain profiles only, and that of a stream cannot be seen
        ProfileUnknown = "profile-unknown" in Policy, warns => CONTEXTS;
        /// the ticket requires the text lane, and the image has no text part
        TextLane = "text-lane" in Policy => POLICY;
        /// OPEN uses the text lane without a text part in the image, or does not use it with one
        OpenFeatures = "open-features" in Policy => POLICY;
        /// the card found a forbidden class in a text, and the host did not describe it
        ClassOmitted = "class-omitted" in Policy
            => "ask the operator why the host described the text falsely; the card judged it with the class";
        /// the card refused a text because it was not the one that the host described, or because its end is forbidden
        TextRefused = "text-refused" in Policy, warns
            => "ask the operator why the card got this text; no verdict and no receipt came to be for it";
        /// streams were recorded or observed: nothing was prevented in them; accepted with `--allow not-enforced`
        NotEnforced = "not-enforced" in Policy, warns
            => "ask for a session in which the gate stands before the reader, or accept this with `--allow not-enforced`";
        /// a stream was governed under another package
        ContextPackage = "context-package" in Policy => POLICY;
        /// the card stopped with a fault
        Alarm = "alarm" in Policy => FAULT;
        /// the approval is not one
        ApprovalMalformed = "approval-malformed" in Policy => APPROVAL;
        /// the approval is of another image
        ApprovalOfAnother = "approval-of-another" in Policy => APPROVAL;
        /// no trusted approver signed the approval
        ApprovalUntrusted = "approval-untrusted" in Policy
            => "find out whose key it is; copy it into `approvers/` only if that approver is the right one";
        /// the certificate is not believed; the words say why
        Certificate = "certificate" in Genuine
            => "read the message; trust another root only if its owner gave it to you, not from a bundle";
        /// there is no trusted time, so validity was not checked
        CertificateTime = "certificate-time" in Genuine, warns
            => "give the time with `--at`, or ask for a session that a witness saw";
        /// a checkpoint is not one, or of a number of lanes that no card has
        CheckpointMalformed = "checkpoint-malformed" in Genuine => ORIGINAL;
        /// a signature is not the certified key's
        CheckpointSignature = "checkpoint-signature" in Genuine => ORIGINAL;
        /// a checkpoint names another design than the certificate
        CheckpointDesign = "checkpoint-design" in Genuine => CARD;
        /// a checkpoint's key flags are not of the certificate's class
        CheckpointClass = "checkpoint-class" in Genuine => CARD;
        /// a checkpoint carries the flag of simulated cards; a warning with `--allow-sim`, as the next three
        SimFlag = "sim-flag" in Genuine => REAL_CARD;
        /// the key is the public one
        SimKey = "sim-key" in Genuine => REAL_CARD;
        /// the certificate is a simulated card's
        SimRoot = "sim-root" in Genuine => REAL_CARD;
        /// the design is a simulated one
        SimDesign = "sim-design" in Genuine => REAL_CARD;
        /// a text is not the one that the card answered for
        SpanCommitment = "span-commitment" in Genuine => TEXT;
        /// a text is not cut into held text and span as its descriptor says
        SpanShape = "span-shape" in Genuine => TEXT;
        /// the bytes under an END, which nothing judges, are more than formatting
        EndNotFormatting = "end-not-formatting" in Genuine
            => "do not rely on the bytes under that END; ask why text left without a verdict";
        /// a receipt was given for what was not admitted
        ReceiptNotAdmitted = "receipt-not-admitted" in Genuine => "do not rely on the receipt; ask why one was given";
        /// a receipt is of another session or lane
        ReceiptSession = "receipt-session" in Genuine => RECEIPT;
        /// a receipt has another salt, or is of another kind, than its text
        ReceiptSalt = "receipt-salt" in Genuine => RECEIPT;
        /// a line is about a record that has no such line
        LineWithoutRecord = "line-without-record" in Genuine => ORIGINAL;
        /// the manifest does not fit the files
        Manifest = "manifest" in Complete => ORIGINAL;
        /// a file had another content when it was read again
        FileChanged = "file-changed" in Complete => COPY;
        /// the records are not those that a checkpoint signs
        CheckpointRoot = "checkpoint-root" in Complete => ORIGINAL;
        /// a checkpoint is over another number of lanes than there are logs
        CheckpointLanes = "checkpoint-lanes" in Complete => ORIGINAL;
        /// the heads beside a checkpoint are not those that it signs
        CheckpointHeads = "checkpoint-heads" in Complete => ORIGINAL;
        /// a checkpoint is missing, or in another's place
        CheckpointSerial = "checkpoint-serial" in Complete => ORIGINAL;
        /// a checkpoint's state does not follow, or does not fit the log
        CheckpointState = "checkpoint-state" in Complete => ORIGINAL;
        /// a checkpoint is older than the one before, or smaller in some lane
        CheckpointOrder = "checkpoint-order" in Complete => ORIGINAL;
        /// a checkpoint is of another session
        CheckpointSession = "checkpoint-session" in Complete => ORIGINAL;
        /// a checkpoint has another epoch, key or time than its records
        CheckpointRecords = "checkpoint-records" in Complete => ORIGINAL;
        /// the log ends within a record
        RecordsTruncated = "records-truncated" in Complete => ORIGINAL;
        /// a log is shorter than the last checkpoint says
        RecordsMissing = "records-missing" in Complete => ORIGINAL;
        /// the session was not closed
        NotClosed = "not-closed" in Complete, warns
            => "ask why the session was not closed; what followed the last checkpoint is not shown";
        /// records follow the last checkpoint
        UnsignedTail = "unsigned-tail" in Complete, warns
            => "rely only on the records that a checkpoint covers; ask why no checkpoint follows";
        /// bytes that are not a record
        RecordLayout = "record-layout" in Complete => ORIGINAL;
        /// a record is missing, doubled or moved
        RecordIndex = "record-index" in Complete => ORIGINAL;
        /// time goes back
        RecordTick = "record-tick" in Complete => ORIGINAL;
        /// a record of another session, or of another lane
        RecordSession = "record-session" in Complete => ORIGINAL;
        /// OPEN is not the first record, or occurs again
        RecordOpen = "record-open" in Complete => ORIGINAL;
        /// something follows CLOSE, or an ALARM
        RecordAfterEnd = "record-after-end" in Complete => ORIGINAL;
        /// a record does not repeat what OPEN latched
        RecordLatched = "record-latched" in Complete => ORIGINAL;
        /// the number of open streams is wrong
        RecordOpenStreams = "record-open-streams" in Complete => ORIGINAL;
        /// an accepted entry that no card accepts
        RecordEntry = "record-entry" in Complete => ORIGINAL;
        /// determination, stage, fault and rows contradict, or an entry was refused for its credit or its context
        /// without cause
        RecordAnswer = "record-answer" in Complete => ORIGINAL;
        /// the card's established classes are not those of the stream's admitted entries
        TextEstablished = "text-established" in Complete => ORIGINAL;
        /// BEGIN on an open slot, or another entry on a free one
        StreamSlot = "stream-slot" in Complete => ORIGINAL;
        /// a gap or a repetition within a stream
        StreamSequence = "stream-sequence" in Complete => ORIGINAL;
        /// a stream changes its domain, audience, register or epistemic mode, and was not refused
        StreamContext = "stream-context" in Complete => ORIGINAL;
        /// an accepted entry in a lane to which its slot is not pinned
        StreamLane = "stream-lane" in Complete => ORIGINAL;
        /// lanes opened different sessions, or closed them differently
        LaneSession = "lane-session" in Complete => ORIGINAL;
        /// a lane has other heartbeats than another one
        LaneHeartbeats = "lane-heartbeats" in Complete => ORIGINAL;
        /// a file's digest is not the one in its name
        FileDigest = "file-digest" in Replayable => ORIGINAL;
        /// the package is of a mapping version that this program does not know
        MappingVersion = "mapping-version" in Replayable, warns => RELEASE;
        /// the package is not there
        PackageWithheld = "package-withheld" in Replayable, warns => PACKAGE;
        /// a context document is not one
        ContextMalformed = "context-malformed" in Replayable => ORIGINAL;
        /// a context document is of another version; its release verifies it
        ContextVersion = "context-version" in Replayable, warns => RELEASE;
        /// a context document is not there
        ContextWithheld = "context-withheld" in Replayable, warns => CONTEXTS;
        /// an anchor store is not there
        AnchorWithheld = "anchor-withheld" in Replayable, warns => "ask for the anchor store if you need a replay";
        /// a stream has another name than in its context
        StreamName = "stream-name" in Replayable => ORIGINAL;
        /// two streams of the session have one id, and the second does not say that it continues another one
        IdTwice = "id-twice" in Replayable, warns
            => "ask which of the two streams is meant, and whether one continues the other";
        /// a stream has another number than its place among the streams of its lane
        StreamNumber = "stream-number" in Replayable => ORIGINAL;
        /// no line names a stream
        StreamUnnamed = "stream-unnamed" in Replayable, warns => "ask for the line that names the stream";
        /// the texts of a stream were taken out, with a signed reason
        Withheld = "withheld" in Replayable, warns
            => "judge the signed reason; ask the signer for the texts if you need them";
        /// a stream is said to be withheld, and something of it is there
        WithheldDisclosed = "withheld-disclosed" in Replayable => ORIGINAL;
        /// a withholding is not one, or its number is not the next
        WithholdingMalformed = "withholding-malformed" in Replayable => ORIGINAL;
        /// a withholding is about another session
        WithholdingSession = "withholding-session" in Replayable => ORIGINAL;
        /// a withholding names a stream that did not begin
        WithholdingStream = "withholding-stream" in Replayable => ORIGINAL;
        /// no trusted withholder signed the reason
        WithholdingUntrusted = "withholding-untrusted" in Replayable, warns
            => "find out whose key it is; copy it into `withholders/` only if that signer is the right one";
        /// what a stream was given is not disclosed
        InputWithheld = "input-withheld" in Replayable, warns => TEXTS;
        /// a text is not disclosed
        SpanWithheld = "span-withheld" in Replayable, warns => TEXTS;
        /// the ticket is not one
        TicketMalformed = "ticket-malformed" in NoGaps => TICKET;
        /// no trusted issuer signed the ticket
        TicketIssuer = "ticket-issuer" in NoGaps
            => "find out whose key it is; copy it into `issuers/` only if that issuer is the right one";
        /// the ticket is for another card
        TicketKey = "ticket-key" in NoGaps => TICKET;
        /// the witness saw the session when the ticket was not valid
        TicketValidity = "ticket-validity" in NoGaps => "ask the issuer for the ticket that was valid at that time";
        /// OPEN names another ticket
        OpenTicket = "open-ticket" in NoGaps => TICKET;
        /// a checkpoint names another ticket
        CheckpointTicket = "checkpoint-ticket" in NoGaps => TICKET;
        /// the operator issued the ticket, or no witness saw the first and the last checkpoint
        NoWitness = "no-witness" in NoGaps, warns
            => "ask for sessions with tickets of an issuer and checkpoints that a witness saw";
        /// a note is not a known witness's
        WitnessNote = "witness-note" in NoGaps
            => "find out whose key it is; copy it into `witnesses/` only if that witness is the right one";
        /// a note is about another checkpoint than its name says
        WitnessSerial = "witness-serial" in NoGaps => WITNESS;
        /// a note is about another session
        WitnessSession = "witness-session" in NoGaps => WITNESS;
        /// a note does not follow the one before it
        WitnessOrder = "witness-order" in NoGaps => WITNESS;
        /// the witness saw another checkpoint
        WitnessCheckpoint = "witness-checkpoint" in NoGaps => WITNESS;
        /// OPEN latched other limits than the ticket sets
        HeartbeatLimits = "heartbeat-limits" in NoGaps => TICKET;
        /// entries were accepted after the credit was spent
        HeartbeatGap = "heartbeat-gap" in NoGaps => WITNESS;
        /// a nonce that the witness did not give by then
        HeartbeatNonce = "heartbeat-nonce" in NoGaps => WITNESS;
        /// a nonce whose note may be among those left out
        HeartbeatUnwitnessed = "heartbeat-unwitnessed" in NoGaps, warns
            => "ask for the notes that were left out, or ask the witness itself";
        /// the verifier does not know the image's layout version or register map; records and checkpoints were not read
        UnknownVersion = "unknown-version" in any, warns => RELEASE;
        /// the property rests on records that are not what a certified card signed
        Unfounded = "unfounded" in any, warns => "settle first what contradicts `genuine` or `complete`";
    }
}

codes! {
    /// The findings about a series of sessions.
    SeriesCode {
        /// card or ticket of a bundle are not known
        Unplaced = "unplaced" => "check that bundle by itself with `verify`";
        /// the operator issued the ticket; the session is in no chain
        SelfIssued = "self-issued", warns => "ask for sessions with tickets of an issuer if none may be left out";
        /// one ticket, two histories
        SerialTwice = "serial-twice" => "ask the issuer which history it knows, and the operator for both";
        /// one session is given twice
        Doubled = "doubled" => "give each bundle once";
        /// sessions are missing
        SerialMissing = "serial-missing" => "ask for the bundles of the missing serials";
        /// a ticket names another end of the session before than that bundle shows
        PreviousClose = "previous-close" => "ask for the bundle whose end the ticket names";
        /// the session before was abandoned, or its ticket was given up
        Abandoned = "abandoned", warns => "ask why the session was not closed";
        /// the session before is of a version that this program does not know, so that its end cannot be read
        UnknownVersion = "unknown-version", warns => RELEASE;
        /// the public log has a ticket of which no session was reported yet
        Pending = "pending", warns => "ask the operator whether a session ran under this ticket, and the issuer again later";
        /// the public log is damaged, or its head is not signed and cosigned as the policy demands
        PublicLog = "public-log" => "ask the issuer for its log, and its witnesses what they saw of it";
        /// the trust folder's policy names a public log that was not given, and a session's issuer keeps it
        LogMissing = "log-missing", warns => "get a copy of the issuer's public log, and give it with `--public-log`";
        /// the public log has another ticket for the session, or none although witnesses saw the log later
        LogTicket = "log-ticket" => "ask the issuer which ticket it gave, and the operator for its session";
        /// the public log ends before the session, so it shows nothing about it
        LogBehind = "log-behind", warns => "get a newer copy of the public log";
        /// the public log says that the session was closed, and the bundle ends before that
        LogClosed = "log-closed", warns => "ask for the whole bundle: the issuer has seen the session's end";
        /// the public log says that the session was abandoned, and its bundle shows that it was closed
        LogAbandoned = "log-abandoned", warns => "ask the operator why the session's end was not reported to the issuer";
        /// a witness signed two histories of one log: it lies, or it continued from an old copy of its state
        WitnessFork = "witness-fork" => WITNESSES;
        /// a session's note is not behind the notes of the sessions before it in the log of their witness
        WitnessOrder = "witness-order" => WITNESSES;
        /// two sessions of one seat ran at one time
        SeatOverlap = "seat-overlap"
            => "ask the issuer which cards have this seat, and the witness what it saw";
        /// a session ran before the session with the serial before
        TimesReversed = "times-reversed" => "ask the witness what it saw of both sessions";
        /// the own key of one card was in use on two seats at one time
        KeyTwice = "key-twice" => "ask who else has the key of the card, and the issuer why the card has two seats";
        /// files that are not a bundle
        NoBundle = "no-bundle" => ORIGINAL;
        /// a bundle is not finished: its session still runs, or it died
        Unfinished = "unfinished", warns => UNFINISHED;
        /// the card's last session is not closed
        Open = "open", warns => "check again once the session is closed";
    }
}

codes! {
    /// The findings about a period of an attestation.
    PeriodCode {
        /// no session of the period is shown
        NoSession = "no-session", warns => "give the bundles of the period";
        /// the time of the session is not proved, so it counts as if it belonged to the period
        Undated = "undated", warns => "ask for a session whose beginning and end a witness saw";
        /// no text was replayed
        NotReplayed = "not-replayed", warns => "replay a sample of the texts";
        /// the session before the first one is not shown, so earlier sessions of the period may be missing
        BeginningOpen = "beginning-open", warns => "give the bundle of the session before the period, too";
        /// the session after the last one is not shown, so later sessions of the period may be missing
        EndOpen = "end-open", warns => "give the bundle of the session after the period, or ask the issuer for its tickets";
        /// a bundle is not finished: its session still runs, or it died
        Unfinished = "unfinished", warns => UNFINISHED;
        /// files that are not a bundle
        NoBundle = "no-bundle" => ORIGINAL;
    }
}

codes! {
    /// The findings of a replay.
    ReplayCode {
        /// a record is not what the replay gives, or a stream's context is not the one that its BEGIN bound
        ReplayDiffers = "replay-differs"
            => "treat the record as a false account of the text until the operator can explain it";
        /// the policy package does not compile, or not to the tables that were in force
        ReplayPackage = "replay-package" => PACKAGE;
        /// an anchor store is not one
        ReplayAnchors = "replay-anchors" => "ask for the anchor store as it was in the session";
        /// what a stream was given is in no form that this version knows
        ReplayInput = "replay-input" => RELEASE;
        /// a log that ends within a record, a record of no type, a line that cannot be read, or files that are not a
        /// bundle
        ReplayBundle = "replay-bundle" => ORIGINAL;
        /// a file had another content when it was read again
        FileChanged = "file-changed" => COPY;
        /// a stream has no END: what it was given was not judged to its end
        StreamUnfinished = "stream-unfinished", warns => "ask why the stream has no end";
        /// part of what a stream was given was never asked for, such as a proposal of an engine, and no record judges
        /// it
        InputUnconsumed = "input-unconsumed", warns => "ask why the rest was not judged, and whether it was used";
        /// a version that this program cannot replay, of tables, mapping, context or mode; the message names a release
        UnknownVersion = "unknown-version", warns => RELEASE;
        /// a stream's input, salts, context or anchor store is not there, or the policy package
        ReplayWithheld = "replay-withheld", warns => TEXTS;
        /// a stream continues one of an earlier bundle, or one that does not replay: its first state is not known
        ReplayPredecessor = "replay-predecessor", warns => "replay it together with the earlier bundle";
        /// a fault of the card ended a stream
        ReplayFault = "replay-fault", warns => FAULT;
    }
}

impl From<LogViolation> for Code {
    fn from(violation: LogViolation) -> Self {
        match violation {
            LogViolation::Layout => Self::RecordLayout,
            LogViolation::Index(_) => Self::RecordIndex,
            LogViolation::Tick(_) => Self::RecordTick,
            LogViolation::Session => Self::RecordSession,
            LogViolation::Open => Self::RecordOpen,
            LogViolation::AfterEnd(_) => Self::RecordAfterEnd,
            LogViolation::Latched => Self::RecordLatched,
            LogViolation::OpenStreams { .. } => Self::RecordOpenStreams,
            LogViolation::Entry => Self::RecordEntry,
            LogViolation::Slot(_) => Self::StreamSlot,
            LogViolation::Lane(_) => Self::StreamLane,
            LogViolation::Sequence { .. } => Self::StreamSequence,
            LogViolation::Context(_) => Self::StreamContext,
            LogViolation::Established(_) => Self::TextEstablished,
            LogViolation::Answer => Self::RecordAnswer,
        }
    }
}
