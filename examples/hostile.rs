//! An operator lies to the card about his texts in six ways. The card reads the texts itself, so it admits no text that
//! the policy forbids. The session makes a bundle without any text, in which a verifier still finds the lies.
//!
//! `cargo run --package portcullis --example hostile -- BUNDLE` makes the bundle in the new folder BUNDLE, under the
//! policy of `tests/demo/hostile`. `cargo xtask demo --hostile` runs this, then the verifier.

use portcullis_card::driver::CardStreamHandle;
use portcullis_card::{CardChoice, CardSession, CardTransport, CompletedEntry, EntryOutcome};
use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{SpanKind, preimage};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamMode};
use portcullis_core::hex::HexBytes;
use portcullis_core::mutation::SlotSequence;
use portcullis_core::state::{AgentProfile, StreamTask};
use portcullis_core::wire::{Descriptor, Granularity, Opcode, StageOutcome, flags};
use portcullis_gate::anchor::AnchorSet;
use portcullis_gate::{GatePolicy, StreamEvent, StreamEventKind};
use portcullis_policy::ImagePolicySet;
use portcullis_recorder::{RecorderOptions, SessionRecorder, TextRetention, TicketSource};
use sha2::{Digest, Sha256};
use std::error::Error;
use std::path::{Path, PathBuf};

const SALT: [u8; 16] = [7; 16];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The policy's classes, by number.
const CLASSES: [&str; 4] = ["card_number", "access_code", "advice", "notice"];
const ADVICE: u128 = 1 << 2;
const NOTICE: u128 = 1 << 3;

/// A text with a false description: it omits a code or number that the policy forbids, or invents a notice.
struct Lie {
    /// Description of the lie for the reader of the demo; also the name of the stream.
    what: &'static str,
    /// An honest text before `text` in the same stream; the card admits it.
    before: Option<&'static str>,
    text: &'static str,
    /// The text in the window that the card reads; the descriptor commits to `text`.
    shown: &'static str,
    classes: u128,
    established: u128,
    /// Bytes at the beginning that the descriptor declares as formatting.
    formatting: u16,
    /// Bytes at the end that the descriptor's length leaves out.
    concealed: u16,
}

impl Lie {
    const fn of(what: &'static str, text: &'static str) -> Self {
        Self { what, before: None, text, shown: text, classes: 0, established: 0, formatting: 0, concealed: 0 }
    }
}

const LIES: [Lie; 6] = [
    Lie::of("a card number is described as harmless", "Charge 4111 1111 1111 1111 today."),
    Lie {
        classes: ADVICE | NOTICE,
        established: NOTICE,
        ..Lie::of("a notice is described that was never given", "Buy shares now.")
    },
    Lie {
        shown: "The door opens with a key now.",
        ..Lie::of("the card gets another text than the reader", "The door opens with CODE-4711.")
    },
    Lie {
        before: Some("The door opens with CODE-47"),
        ..Lie::of("a code is divided over two texts, of which this is the second", "11. Welcome.")
    },
    Lie { formatting: 10, ..Lie::of("a code is declared as formatting", "CODE-4711 Welcome.") },
    Lie { concealed: 9, ..Lie::of("the length leaves out the end of the text", "Welcome. CODE-4711") },
];

struct Operator {
    session: CardSession<Box<dyn CardTransport>>,
    recorder: SessionRecorder,
    policy: GatePolicy,
    streams: u64,
}

impl Operator {
    fn open(folder: PathBuf) -> Result<Self> {
        let compiled = ImagePolicySet::load(Path::new("tests/demo/hostile"))?.with_text_lane()?.into_policy(None)?;
        let policy = GatePolicy::new(compiled.package, compiled.compiled)?;
        let mut card = CardChoice::parse("sim")?.open()?;
        let options = RecorderOptions {
            folder,
            ticket: TicketSource::SelfIssued,
            approval: None,
            device_cert: None,
            device_chain: None,
            witness: None,
            profile: AgentProfile::default(),
            checkpoint_interval: None,
            texts: TextRetention::None,
        };
        let anchors = AnchorSet::none(&policy.mapper);
        let (recorder, config) = options.start(&mut *card, &policy.package, &policy.compiled, &anchors)?;
        let session = CardSession::open(card, &policy.compiled.image, config)?;
        Ok(Self { session, recorder, policy, streams: 0 })
    }

    /// Begins a stream that releases each admitted text before the next entry.
    fn begin(&mut self, id: &str) -> Result<CardStreamHandle> {
        let context = ContextDocument {
            version: CONTEXT_VERSION,
            mode: StreamMode::Held,
            granularity: Granularity::Span,
            on_refuse: OnRefuse::Stop,
            release: ReleaseMode::Span,
            max_proposals: 0,
            policy: self.policy.package.manifest().reference(),
            package_digest: HexBytes(self.policy.package.digest()),
            profile: AgentProfile::default(),
            profile_digest: AgentProfile::default().digest(),
            task: StreamTask::default(),
            anchor_digests: Vec::new(),
            predecessor: None,
            id: id.to_owned(),
        };
        let (stream, begun) = self.session.begin(context.digest())?;
        let record = begun.record.ok_or("BEGIN has no record")?;
        let what = StreamEventKind::Begun {
            id: id.to_owned(),
            context: Box::new(context),
            text: None,
            supplied: None,
            lane: record.answer.lane,
            log_index: Some(record.answer.log_index.get()),
        };
        self.recorder.event(&StreamEvent { stream: self.streams, what })?;
        self.streams += 1;
        Ok(stream)
    }

    /// Submits the text of `lie` with its false description.
    fn gate(&mut self, stream: &CardStreamHandle, lie: &Lie) -> Result<CompletedEntry> {
        let committed = preimage(SpanKind::Text, &SALT, &[lie.text.as_bytes()]);
        let mut entry = Descriptor {
            classes: lie.classes.into(),
            established: lie.established.into(),
            uncertainty: 10_000.into(),
            length: (u16::try_from(lie.text.len())? - lie.formatting - lie.concealed).into(),
            validation_outcome: StageOutcome::Pass.into(),
            lineage_outcome: StageOutcome::Pass.into(),
            ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 0 }, Sha256::digest(committed).into())
        };
        if lie.formatting > 0 {
            entry.flags |= u8::try_from(flags::INERT_PREFIX)?;
        }
        self.session.present_text(stream.slot(), &preimage(SpanKind::Text, &SALT, &[lie.shown.as_bytes()]))?;
        Ok(self.session.gate_descriptor(stream, entry)?)
    }

    /// Ends a stream; no formatting is left to release.
    fn end(&mut self, stream: CardStreamHandle) -> Result<()> {
        let nothing = preimage(SpanKind::Text, &SALT, &[]);
        self.session.present_text(stream.slot(), &nothing)?;
        self.session.end(stream, Sha256::digest(nothing).into())?;
        Ok(())
    }

    /// Tries one lie, in a new stream, and prints the card's answer. Errors: the card admitted the text.
    fn tell(&mut self, lie: &Lie) -> Result<()> {
        let stream = self.begin(lie.what)?;
        if let Some(before) = lie.before
            && !self.gate(&stream, &Lie::of("", before))?.outcome.is_admit()
        {
            return Err(format!("`{before}` is not refused").into());
        }
        let answer = self.gate(&stream, lie)?;
        self.end(stream)?;
        let record = answer.record.as_ref().ok_or("the text has no record")?;
        let found = ClassSet(record.answer.text_classes.get());
        let found: Vec<_> = found.iter().filter_map(|id| CLASSES.get(usize::from(u8::from(id)))).copied().collect();
        let found = if found.is_empty() { "no class".to_owned() } else { found.join(", ") };
        let what = match answer.outcome {
            EntryOutcome::Judged(verdict) if !answer.outcome.is_admit() => {
                format!("{}; it found {found}", verdict.determination.name())
            }
            EntryOutcome::Fault(fault) => format!("not judged: {}", fault.name()),
            other => return Err(format!("the card answered {other:?}").into()),
        };
        println!("lie:   {}", lie.what);
        println!("text:  {}", lie.text);
        println!("card:  record {}: {what}\n", record.answer.log_index);
        Ok(())
    }
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("expected the folder of the bundle")?;
    let mut operator = Operator::open(folder.into())?;
    for lie in &LIES {
        operator.tell(lie)?;
    }
    let Operator { session, recorder, .. } = operator;
    session.close()?;
    recorder.finish()?.ok_or("the card signed nothing")?;
    Ok(())
}
