//! The text lane: whatever the host describes, no entry is admitted whose text has a forbidden class of the lane. Each
//! attack of a lying host is one test, which also checks the rules of the log on the card's records.

use crate::card_support;

use card_support::{TestCard, World, keeping, on_all_and_lanes, small};
use portcullis_card::driver::CardStreamHandle;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, CardTables, CompletedEntry, EntryOutcome, SessionError, TextTables};
use portcullis_core::class::ClassId;
use portcullis_core::commitment::{SpanKind, preimage};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    Descriptor, Determination, Fault, ImageText, Opcode, Record, Stage, StageOutcome, flags, image_parts,
};
use portcullis_evidence::log::{LogChecker, LogViolation};
use portcullis_lane::{ClassForm, ClassSource, FormBorder, LaneSource, LaneTableLimits, MatchRelation, compile};
use sha2::{Digest, Sha256};
use zerocopy::little_endian::{U16, U32, U128};

/// Forbidden wherever it occurs.
const CODE: u128 = 1;
/// Opens the gate for [`ADVICE`].
const NOTICE: u128 = 1 << 1;
/// Forbidden without a present or established [`NOTICE`]. Only the host finds it, because the lane's tables lack it.
const ADVICE: u128 = 1 << 2;

const SALT: [u8; 16] = [7; 16];

fn form(pattern: &str) -> ClassForm {
    let hir = regex_syntax::parse(pattern).unwrap();
    ClassForm { name: pattern.to_owned(), hir, border: FormBorder::Free, check: None, relation: MatchRelation::Equal }
}

/// A policy and the lane's tables for it: "SECRET-" with four digits is a [`CODE`], "no advice" is a [`NOTICE`].
struct Lane {
    world: World,
    part: ImageText,
    encoded: Vec<u8>,
}

impl Lane {
    fn new() -> Self {
        let class = |id: u8, pattern| ClassSource {
            id: ClassId::try_from(id).unwrap(),
            name: pattern_name(id),
            forms: vec![form(pattern)],
            left_out: Vec::new(),
            view: false,
            domains: Vec::new(),
        };
        let classes = vec![class(0, "SECRET-[0-9]{4}"), class(1, "no advice")];
        let encoded =
            compile(&LaneSource { classes, ..LaneSource::default() }, &LaneTableLimits::default()).tables.encode();
        let part = ImageText {
            digest: Sha256::digest(&encoded).into(),
            opening: U128::new(NOTICE),
            bytes: U32::new(encoded.len() as u32),
            ..ImageText::ZERO
        };
        let mut world = World::permitting();
        world.header.classes = U128::new(CODE | NOTICE | ADVICE);
        world.header.parts = image_parts::TEXT as u8;
        world.header.max_depth = 3;
        let mut code = World::permit();
        (code.kind, code.classes_any) = (2, U128::new(CODE));
        let mut advice = World::permit();
        (advice.kind, advice.classes_all) = (2, U128::new(ADVICE));
        (advice.classes_none, advice.established_none) = (U128::new(NOTICE), U128::new(NOTICE));
        world.policy = vec![World::permit(), code, advice];
        world.header.policy_rows = U16::new(3);
        Self { world, part, encoded }
    }

    fn tables(&self) -> CardTables<'_> {
        let text = TextTables { part: &self.part, encoded: &self.encoded };
        CardTables { text: Some(text), ..self.world.tables() }
    }
}

fn pattern_name(id: u8) -> String {
    format!("class {id}")
}

/// A session with one stream.
struct Run<C: TestCard> {
    session: CardSession<C>,
    stream: CardStreamHandle,
    kept: card_support::Kept,
}

/// The fields of a descriptor with which the host describes a text.
#[derive(Clone, Copy, Default)]
struct Said {
    classes: u128,
    established: u128,
    flags: u8,
}

impl<C: TestCard> Run<C> {
    fn new() -> Self {
        let (config, kept) = keeping(small(5));
        let mut session = CardSession::open_tables(C::fresh(), &Lane::new().tables(), config).unwrap();
        assert!(session.reads_texts());
        let stream = session.begin([1; 32]).unwrap().0;
        Self { session, stream, kept }
    }

    fn entry(&self, bytes: &[u8], text: usize, said: Said) -> Descriptor {
        Descriptor {
            uncertainty: U16::new(10_000),
            length: U16::new(text as u16),
            flags: said.flags,
            classes: U128::new(said.classes),
            established: U128::new(said.established),
            validation_outcome: StageOutcome::Pass.into(),
            lineage_outcome: StageOutcome::Pass.into(),
            ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 0 }, Sha256::digest(bytes).into())
        }
    }

    /// Submits `text`, described by `said`, with the same text in the window.
    fn gate(&mut self, text: &str, said: Said) -> CompletedEntry {
        let bytes = preimage(SpanKind::Text, &SALT, &[text.as_bytes()]);
        let entry = self.entry(&bytes, text.len(), said);
        self.submit(&bytes, entry)
    }

    /// Submits `entry` with the bytes `window` in its window.
    fn submit(&mut self, window: &[u8], entry: Descriptor) -> CompletedEntry {
        self.session.present_text(self.stream.slot(), window).unwrap();
        self.session.gate_descriptor(&self.stream, entry).unwrap()
    }

    /// Returns the last record. The rules of the log hold for all records of its lane so far.
    fn last(&self) -> Record {
        let records = self.kept.lock().unwrap();
        let last = *records.last().unwrap();
        let mut checker = LogChecker::of_lane((3, 1), last.answer.lane, self.session.info().lanes);
        for record in records.iter().filter(|record| record.answer.lane == last.answer.lane) {
            checker.next(record).unwrap();
        }
        last
    }
}

fn admitted(completed: &CompletedEntry) -> bool {
    completed.outcome.is_admit()
}

fn rejected_by_row(completed: &CompletedEntry, row: u16) -> bool {
    let EntryOutcome::Judged(verdict) = completed.outcome else { return false };
    verdict.determination == Determination::Reject && verdict.stage == Stage::Policy && verdict.policy_row == Some(row)
}

fn omitted(record: &Record) -> u128 {
    record.answer.text_classes.get() & !NOTICE & !record.descriptor.classes.get()
}

on_all_and_lanes!(
    an_honest_text_passes_and_a_described_class_is_refused,
    a_cleared_bit_is_forced,
    an_invented_notice_opens_nothing,
    an_invented_establishment_opens_nothing,
    a_hit_over_two_entries_is_found,
    a_refused_entry_leaves_no_trace,
    a_new_stream_knows_nothing_of_the_old_one,
    a_call_does_not_divide_a_hit,
    a_span_that_the_host_refuses_as_too_long_is_judged,
    a_changed_text_is_refused,
    a_text_in_the_window_of_another_slot_is_refused,
    a_false_length_is_refused,
    a_text_without_its_form_is_refused,
    held_bytes_are_scanned,
    an_end_with_a_hit_is_refused,
    a_call_is_scanned,
    tables_and_windows_are_checked_at_open,
    a_refused_text_moves_nothing,
);

fn an_honest_text_passes_and_a_described_class_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("The weather is fine.", Said::default())));
    assert_eq!(run.last().answer.text_classes.get(), 0);
    assert!(rejected_by_row(&run.gate("It is SECRET-1234.", Said { classes: CODE, ..Said::default() }), 1));
    assert_eq!((run.last().answer.text_classes.get(), omitted(&run.last())), (CODE, 0));
    assert!(rejected_by_row(&run.gate("Buy it.", Said { classes: ADVICE, ..Said::default() }), 2));
    let notice = Said { classes: ADVICE | NOTICE, ..Said::default() };
    assert!(admitted(&run.gate("This is no advice: buy it.", notice)));
    assert!(admitted(&run.gate("Buy it.", Said { classes: ADVICE, established: NOTICE, ..Said::default() })));
    let record = run.last();
    assert_eq!((record.answer.text_classes.get(), record.answer.text_established.get()), (0, NOTICE));
}

fn a_cleared_bit_is_forced<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(rejected_by_row(&run.gate("It is SECRET-1234.", Said::default()), 1));
    let record = run.last();
    assert_eq!(omitted(&record), CODE, "the record shows the omission");
    assert_eq!(record.descriptor.classes.get(), 0, "the record keeps the entry as fetched");
}

fn an_invented_notice_opens_nothing<C: TestCard>() {
    let mut run = Run::<C>::new();
    let invented = Said { classes: ADVICE | NOTICE, ..Said::default() };
    assert!(rejected_by_row(&run.gate("Buy it.", invented), 2));
}

fn an_invented_establishment_opens_nothing<C: TestCard>() {
    let mut run = Run::<C>::new();
    let invented = Said { classes: ADVICE, established: NOTICE, ..Said::default() };
    assert!(rejected_by_row(&run.gate("Buy it.", invented), 2));
    // A notice in a refused entry establishes nothing.
    let refused = Said { classes: CODE | NOTICE, ..Said::default() };
    assert!(rejected_by_row(&run.gate("This is no advice: SECRET-1234.", refused), 1));
    assert!(rejected_by_row(&run.gate("Buy it.", invented), 2));
}

fn a_hit_over_two_entries_is_found<C: TestCard>() {
    for cut in 1.."SECRET-1234".len() {
        let mut run = Run::<C>::new();
        let (first, second) = "SECRET-1234".split_at(cut);
        assert!(admitted(&run.gate(first, Said::default())), "{cut}");
        assert!(rejected_by_row(&run.gate(second, Said::default()), 1), "{cut}");
        assert_eq!(omitted(&run.last()), CODE, "{cut}");
    }
}

fn a_refused_entry_leaves_no_trace<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("SECRET", Said::default())));
    assert!(rejected_by_row(&run.gate(" and SECRET-9999", Said::default()), 1));
    // The reader sees "SECRET-1234".
    assert!(rejected_by_row(&run.gate("-1234", Said::default()), 1));
    assert!(admitted(&run.gate(" is a word.", Said::default())));
}

fn a_new_stream_knows_nothing_of_the_old_one<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("no advice. SECRET", Said { classes: NOTICE, ..Said::default() })));
    let bytes = preimage(SpanKind::Text, &SALT, &[b""]);
    run.session.present_text(run.stream.slot(), &bytes).unwrap();
    let fresh = run.stream.again();
    run.session.end(std::mem::replace(&mut run.stream, fresh), Sha256::digest(&bytes).into()).unwrap();
    run.stream = run.session.begin([2; 32]).unwrap().0;
    assert!(admitted(&run.gate("-1234", Said::default())));
    let record = run.last();
    assert_eq!((record.answer.text_classes.get(), record.answer.text_established.get()), (0, 0));
}

fn a_call_does_not_divide_a_hit<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("SECRET", Said::default())));
    let call = preimage(SpanKind::Call, &SALT, &[b"-1234"]);
    let entry = run.entry(&call, 5, Said { flags: flags::CALL as u8, ..Said::default() });
    assert!(admitted(&run.submit(&call, entry)), "a call is not a part of the text before it");
    assert!(rejected_by_row(&run.gate("-1234", Said::default()), 1), "the text goes on behind the call");
}

fn a_changed_text_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    let honest = preimage(SpanKind::Text, &SALT, &[b"SECRET-1234"]);
    let entry = run.entry(&honest, 11, Said::default());
    let mut window = honest.clone();
    for at in [18, 33, 38, 44, 48] {
        window[at] ^= 1;
        let completed = run.submit(&window, entry);
        assert_eq!(completed.outcome, EntryOutcome::Fault(Fault::TextCommitment), "byte {at}");
        let answer = completed.record.unwrap().answer;
        assert_eq!((answer.text_classes.get(), answer.text_established.get()), (0, 0));
        window[at] ^= 1;
    }
    assert!(rejected_by_row(&run.submit(&window, entry), 1));
}

fn a_text_in_the_window_of_another_slot_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("Fine.", Said::default())));
    let bytes = preimage(SpanKind::Text, &SALT, &[b"Other"]);
    run.session.present_text_raw(run.stream.slot() + 1, &bytes).unwrap();
    let entry = run.entry(&bytes, 5, Said::default());
    let outcome = run.session.gate_descriptor(&run.stream, entry).unwrap().outcome;
    assert_eq!(outcome, EntryOutcome::Fault(Fault::TextCommitment));
}

/// A descriptor of such a span has the length 65535, and no stage of the host passes it.
fn a_span_that_the_host_refuses_as_too_long_is_judged<C: TestCard>() {
    let mut run = Run::<C>::new();
    let text = "x".repeat(3000);
    let bytes = preimage(SpanKind::Text, &SALT, &[text.as_bytes()]);
    let refused = Descriptor {
        validation_outcome: StageOutcome::Reject.into(),
        validation_reason: 1,
        ..run.entry(&bytes, 65535, Said::default())
    };
    let EntryOutcome::Judged(verdict) = run.submit(&bytes, refused).outcome else { panic!("not judged") };
    assert_eq!((verdict.determination, verdict.stage), (Determination::Reject, Stage::Validation));
    let passed = run.entry(&bytes, 65535, Said::default());
    assert_eq!(run.submit(&bytes, passed).outcome, EntryOutcome::Fault(Fault::TextForm));
}

fn a_false_length_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    let bytes = preimage(SpanKind::Text, &SALT, &[b"SECRET-1234"]);
    for said in [0, 10, 12, 65535] {
        let entry = run.entry(&bytes, said, Said::default());
        assert_eq!(
            run.submit(&bytes, entry).outcome,
            EntryOutcome::Fault(Fault::TextForm),
            "the descriptor says {said}"
        );
    }
    for (length, fault) in [(3, Fault::TextCommitment), (4096 - 38, Fault::TextForm), (4096 - 37, Fault::TextWindow)] {
        let mut window = bytes.clone();
        window[34..38].copy_from_slice(&u32::to_le_bytes(length));
        let said = if fault == Fault::TextCommitment { 3 } else { 11 };
        let entry = run.entry(&bytes, said, Said::default());
        assert_eq!(run.submit(&window, entry).outcome, EntryOutcome::Fault(fault), "the window says {length}");
    }
    let window = u32::MAX.to_le_bytes();
    let mut longest = bytes.clone();
    longest[34..38].copy_from_slice(&window);
    let entry = run.entry(&bytes, 11, Said::default());
    assert_eq!(run.submit(&longest, entry).outcome, EntryOutcome::Fault(Fault::TextWindow));
}

fn a_text_without_its_form_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    let mut tag = preimage(SpanKind::Text, &SALT, &[b"Fine."]);
    tag[0] ^= 1;
    let entry = run.entry(&tag, 5, Said::default());
    assert_eq!(run.submit(&tag, entry).outcome, EntryOutcome::Fault(Fault::TextForm), "tag");
    for text in [&b"\xff"[..], b"\xc3", b"a\xe2\x82", b"\xed\xa0\x80", b"\xc0\xaf"] {
        let bytes = preimage(SpanKind::Text, &SALT, &[text]);
        let entry = run.entry(&bytes, text.len(), Said::default());
        assert_eq!(run.submit(&bytes, entry).outcome, EntryOutcome::Fault(Fault::TextForm), "{text:?}");
    }
}

fn held_bytes_are_scanned<C: TestCard>() {
    let mut run = Run::<C>::new();
    let bytes = preimage(SpanKind::Text, &SALT, &[b"SECRET-", b"1234"]);
    let held = Said { flags: flags::INERT_PREFIX as u8, ..Said::default() };
    let entry = run.entry(&bytes, 4, held);
    assert!(rejected_by_row(&run.submit(&bytes, entry), 1));
    assert_eq!(omitted(&run.last()), CODE);
    let entry = run.entry(&bytes, 12, held);
    assert_eq!(run.submit(&bytes, entry).outcome, EntryOutcome::Fault(Fault::TextForm), "longer than the text");
}

fn an_end_with_a_hit_is_refused<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("SECRET-", Said::default())));
    let slot = run.stream.slot();
    let end = |run: &mut Run<C>, text: &[u8]| {
        let bytes = preimage(SpanKind::Text, &SALT, &[text]);
        run.session.present_text(slot, &bytes).unwrap();
        let stream = run.stream.again();
        run.session.end(stream, Sha256::digest(&bytes).into()).unwrap()
    };
    assert_eq!(end(&mut run, b"1234").outcome, EntryOutcome::Fault(Fault::TextEnd), "over the border");
    assert_eq!(end(&mut run, b" SECRET-1234").outcome, EntryOutcome::Fault(Fault::TextEnd));
    let call = preimage(SpanKind::Call, &SALT, &[b""]);
    run.session.present_text(slot, &call).unwrap();
    let outcome = run.session.end(run.stream.again(), Sha256::digest(&call).into()).unwrap().outcome;
    assert_eq!(outcome, EntryOutcome::Fault(Fault::TextForm), "an END has no call");
    assert_eq!(end(&mut run, b"\n\n").outcome, EntryOutcome::Accepted);
    run.last();
}

fn a_call_is_scanned<C: TestCard>() {
    let mut run = Run::<C>::new();
    let text = "send(to: \"SECRET-1234\")";
    let bytes = preimage(SpanKind::Call, &SALT, &[text.as_bytes()]);
    let call = |flags| Said { flags, ..Said::default() };
    let entry = run.entry(&bytes, text.len(), call(flags::CALL as u8));
    assert!(rejected_by_row(&run.submit(&bytes, entry), 1));
    // The flag `call` must fit the tag.
    let entry = run.entry(&bytes, text.len(), call(0));
    assert_eq!(run.submit(&bytes, entry).outcome, EntryOutcome::Fault(Fault::TextForm), "a call as a text");
    let entry = run.entry(&bytes, text.len(), call((flags::CALL | flags::INERT_PREFIX) as u8));
    assert_eq!(run.submit(&bytes, entry).outcome, EntryOutcome::Fault(Fault::Reserved), "held bytes before a call");
    let fine = preimage(SpanKind::Text, &SALT, &[b"Fine."]);
    let entry = run.entry(&fine, 5, call(flags::CALL as u8));
    assert_eq!(run.submit(&fine, entry).outcome, EntryOutcome::Fault(Fault::TextForm), "a text as a call");
    run.last();
}

fn tables_and_windows_are_checked_at_open<C: TestCard>() {
    let lane = Lane::new();
    let refusal = |tables: &CardTables<'_>, log2: u8| {
        let config = portcullis_card::SessionConfig { text_stride_log2: log2, ..small(5) };
        CardSession::open_tables(C::fresh(), tables, config).map(drop).unwrap_err()
    };
    let mut other = lane.encoded.clone();
    *other.last_mut().unwrap() ^= 1;
    let changed = CardTables { text: Some(TextTables { part: &lane.part, encoded: &other }), ..lane.world.tables() };
    assert!(matches!(refusal(&changed, 12), SessionError::OpenRefused { fault: Fault::ImageDigest }));
    // These tables have the correct digest, but the lane cannot use them.
    other[0] ^= 1;
    let part = ImageText { digest: Sha256::digest(&other).into(), ..lane.part };
    let broken = CardTables { text: Some(TextTables { part: &part, encoded: &other }), ..lane.world.tables() };
    assert!(matches!(refusal(&broken, 12), SessionError::OpenRefused { fault: Fault::ImageHeader }));
    let missing = CardTables { text: Some(TextTables { part: &lane.part, encoded: &[] }), ..lane.world.tables() };
    assert!(matches!(refusal(&missing, 12), SessionError::NoTextTables));
    for log2 in [10, 18] {
        assert!(matches!(refusal(&lane.tables(), log2), SessionError::RingSize { ring: "text window", .. }));
    }
    assert!(matches!(refusal(&lane.tables(), 17), SessionError::TextWindows { .. }), "1,024 windows of 128 KiB");
    let mut session = CardSession::open_tables(C::fresh(), &lane.tables(), small(5)).unwrap();
    assert!(matches!(session.present_text(0, &[0; 4097]), Err(SessionError::TextTooLong { bytes: 4059, room: 4058 })));
}

fn a_refused_text_moves_nothing<C: TestCard>() {
    let mut run = Run::<C>::new();
    assert!(admitted(&run.gate("SECRET", Said::default())));
    let honest = preimage(SpanKind::Text, &SALT, &[b" no advice"]);
    let entry = run.entry(&honest, 10, Said::default());
    let mut window = honest.clone();
    window[20] ^= 1;
    assert_eq!(run.submit(&window, entry).outcome, EntryOutcome::Fault(Fault::TextCommitment));
    let completed = run.gate("-1234", Said::default());
    assert!(rejected_by_row(&completed, 1), "the scan stands where it stood");
    assert_eq!(run.last().answer.text_established.get(), 0, "and nothing is established");
}

/// The rules of the log find a record whose established classes are not those of the admitted entries.
#[test]
fn the_log_shows_what_was_established() {
    let mut run = Run::<ModelCard>::new();
    assert!(admitted(&run.gate("no advice.", Said { classes: NOTICE, ..Said::default() })));
    assert!(admitted(&run.gate("Fine.", Said::default())));
    let records = run.kept.lock().unwrap().clone();
    for (index, established) in [(2, NOTICE), (3, 0), (3, CODE | NOTICE)] {
        let mut changed = records.clone();
        changed[index].answer.text_established.set(established);
        let mut checker = LogChecker::new((3, 1));
        let found = changed.iter().find_map(|record| checker.next(record).err());
        assert_eq!(found, Some(LogViolation::Established(0)), "record {index}");
    }
}

/// Time between two verdicts on texts of `length` bytes, in hundredths of a clock. The entries of `STREAMS` streams
/// follow each other without a pause, and memory answers after 100 clocks.
#[cfg(feature = "sim")]
fn clocks_per_text(length: usize) -> u64 {
    use portcullis_card::transport::sim::SimCard;
    use portcullis_sim::{BusStall, SimConfig};
    const STREAMS: u16 = 64;
    let latency = SimConfig { lanes: 1, read_latency: 100, write_latency: 100, stall: BusStall::None, trace: None };
    let (config, kept) = keeping(portcullis_card::SessionConfig { ring_log2: 8, log_log2: 8, ..small(5) });
    let mut session = CardSession::open_tables(SimCard::new(latency).unwrap(), &Lane::new().tables(), config).unwrap();
    let place = |slot, sequence| SlotSequence { slot, sequence };
    let begins = (0..STREAMS).map(|slot| Descriptor::entry(Opcode::Begin, place(slot, 0), [1; 32]).sealed());
    session.submit(&begins.collect::<Vec<_>>()).unwrap();
    session.drain().unwrap();
    let text = "x".repeat(length);
    let bytes = preimage(SpanKind::Text, &SALT, &[text.as_bytes()]);
    let entries = (0..STREAMS).map(|slot| {
        session.present_text(slot, &bytes).unwrap();
        Descriptor {
            uncertainty: U16::new(10_000),
            length: U16::new(length as u16),
            validation_outcome: StageOutcome::Pass.into(),
            lineage_outcome: StageOutcome::Pass.into(),
            ..Descriptor::entry(Opcode::Gate, place(slot, 1), Sha256::digest(&bytes).into())
        }
        .sealed()
    });
    let entries: Vec<_> = entries.collect();
    session.submit(&entries).unwrap();
    assert!(session.drain().unwrap().iter().all(admitted));
    // The first verdicts are left out, because they wait for the first reads.
    let records = kept.lock().unwrap();
    let ticks: Vec<_> = records.iter().rev().take(48).map(|record| record.answer.tick.get()).collect();
    (ticks[0] - ticks[47]) * 100 / 47
}

/// The text of an entry is read, hashed and scanned while the entries before it are judged and logged. So the time
/// between two verdicts is the longest of three: that of a record, of a text, and of a read. With one hash round per
/// clock, a text of at most 337 bytes takes no longer than a record.
#[cfg(feature = "sim")]
#[test]
fn a_text_hides_behind_the_record_before_it() {
    use portcullis_core::commitment::HEAD_BYTES;
    let (record, read) = (6 * (64 / portcullis_sim::ROUNDS + 2), 117);
    for length in [1, 17, 150, 337, 600, 1_200, 2_400] {
        // SHA-256 adds at least nine bytes. Each block takes 64 clocks, and each entry five clocks more.
        let text = 64 * (HEAD_BYTES + length + 9).div_ceil(64) as u64 + 5;
        let clocks = clocks_per_text(length);
        println!("{length} bytes: {clocks} hundredths of a clock; {record} for the record, {text} for the text");
        assert!(clocks <= record.max(text).max(read) * 102, "{length} bytes: {clocks}");
    }
}

/// An upset in the lane's tables stays without effect until a scan reads the word. The entry of that scan is refused,
/// and the card stops.
#[cfg(feature = "sim")]
#[test]
fn an_upset_of_the_lanes_tables_refuses_the_entry_that_reads_it() {
    use portcullis_card::transport::sim::SimCard;
    use portcullis_sim::{LaneRam, TableBit};
    // The class of the byte `S`; the report of the states in which nothing ends.
    for (table, row, bits) in [(LaneRam::ByteClasses, u32::from(b'S'), 7), (LaneRam::Reports, 0, 51)] {
        for bit in [0, 1, bits / 2, bits - 1] {
            let mut run = Run::<SimCard>::new();
            assert!(admitted(&run.gate("The weather is fine.", Said::default())));
            run.session.card_mut().sim().upset_table(TableBit { lane: 0, table, row, bit }).unwrap();
            if table == LaneRam::ByteClasses {
                assert!(admitted(&run.gate("The weather is fine.", Said::default())), "no scan reads the word");
            }
            let bytes = preimage(SpanKind::Text, &SALT, &[b"No SECRET at all."]);
            let entry = run.entry(&bytes, 17, Said::default());
            run.session.present_text(run.stream.slot(), &bytes).unwrap();
            match run.session.gate_descriptor(&run.stream, entry) {
                Ok(completed) => {
                    assert!(matches!(completed.outcome, EntryOutcome::Fault(_)), "{:?}", completed.outcome)
                }
                Err(error) => assert!(matches!(error, SessionError::Faulted(Fault::TableChanged)), "{error}"),
            }
            assert_eq!(run.session.close().unwrap().cause, Fault::TableChanged, "{table:?}, bit {bit}");
        }
    }
}
