//! The session loop: the result of a stream depends on its own input only, and a caller that is slow, dies or does not
//! read affects only its own stream.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at its first surprise, its helpers included"
)]

use crate::support;

use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Descriptor;
use portcullis_gate::engine::{CandidateEngine, EngineError, EngineProposal, EngineView};
use portcullis_gate::{
    AnswerCandidate, GateSettings, HeldStreamPart, InboxBounds, JudgedStreamHandle, OnRefuse, PartReader, ReleaseMode,
    SessionHandle, SessionLoop, StreamEvent, StreamEventKind, StreamGovernor, StreamInput, StreamMessage, SubmitError,
    TerminationTrigger,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use support::*;
use zerocopy::{FromBytes, IntoBytes};

const SECTIONS: &str = "[limits]\nmax_depth = 2\ndefer = [\"NEEDS-KEY\"]\n[continuity]\nrepetitions = 0\n";
const PARTS: [&str; 8] = [
    "Birds sing.",
    " It is bad.",
    " It is mixed; it is well.",
    " The key.",
    " The vault opens.",
    " And",
    "\n\n",
    " Ships carry grain to the old harbour.",
];

fn candidate(text: &str) -> AnswerCandidate {
    AnswerCandidate { text: text.into(), logprobs: None, logprobs_absent: None, call: None }
}

fn prompt(id: &str) -> StreamInput {
    StreamInput::Prompt { id: id.into(), task: StreamTask { intent: "Tell of birds.".into(), facts: Vec::new() } }
}

#[derive(Clone, Debug)]
enum Kind {
    Text(Vec<usize>),
    Candidates(Vec<Vec<usize>>),
    Engine(Vec<usize>),
    Held(Vec<usize>),
}

/// An engine that proposes the parts with these indexes, each after a wait. An alternative has the next index.
struct Slow {
    parts: Vec<usize>,
    at: usize,
    wait: Duration,
}

impl CandidateEngine for Slow {
    fn name(&self) -> String {
        "slow".into()
    }

    fn propose(&mut self, _: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        std::thread::sleep(self.wait);
        let Some(part) = self.parts.get(self.at) else { return Ok(EngineProposal::End) };
        Ok(EngineProposal::Candidate(candidate(PARTS[(part + attempt as usize) % PARTS.len()])))
    }

    fn advance(&mut self, _: &str) {
        self.at += 1;
    }

    fn roll_back(&mut self, steps: usize) {
        self.at -= steps;
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    let parts = || proptest::collection::vec(0..PARTS.len(), 1..7);
    prop_oneof![
        parts().prop_map(Kind::Text),
        proptest::collection::vec(proptest::collection::vec(0..PARTS.len(), 1..3), 1..5).prop_map(Kind::Candidates),
        parts().prop_map(Kind::Engine),
        parts().prop_map(Kind::Held),
    ]
}

/// Runs a loop over a session of the card's software model. Returns the result of `callers` and all stored events.
fn with_loop<T>(
    policy: &GatePolicy,
    bounds: InboxBounds,
    callers: impl FnOnce(SessionHandle) -> T,
) -> (T, Vec<StreamEvent>) {
    let config = SessionConfig { ring_log2: 5, ..SessionConfig::default() };
    let mut session = CardSession::open(CardChoice::Model.open().unwrap(), &policy.compiled.image, config).unwrap();
    let session_loop = SessionLoop::new(bounds);
    let handle = session_loop.handle();
    let kept = Mutex::new(Vec::new());
    let given = std::thread::scope(|scope| {
        let (kept, session) = (&kept, &mut session);
        let judge = scope.spawn(move || {
            session_loop.run(session, |event| -> Result<(), SessionError> {
                kept.lock().unwrap().push(event.clone());
                Ok(())
            })
        });
        let given = callers(handle);
        judge.join().unwrap().unwrap();
        given
    });
    session.close().unwrap();
    (given, kept.into_inner().unwrap())
}

fn open(handle: &SessionHandle, governor: &Arc<StreamGovernor>, kind: &Kind) -> JudgedStreamHandle {
    let text = |parts: &[usize]| parts.iter().map(|part| PARTS[*part]).collect::<String>();
    let request = match kind {
        Kind::Text(parts) => {
            governor.request(StreamInput::Text { id: "a".into(), text: text(parts), task: StreamTask::default() })
        }
        Kind::Candidates(steps) => {
            let steps = steps.iter().map(|step| step.iter().map(|part| candidate(PARTS[*part])).collect()).collect();
            governor.request(StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() })
        }
        Kind::Engine(_) => governor.request(prompt("a")),
        Kind::Held(_) => governor.held_request("a".into(), StreamTask::default()),
    };
    handle.open(request).unwrap()
}

/// The parts of a text that arrives in these chunks.
fn parts(governor: &Arc<StreamGovernor>, chunks: &[&str]) -> VecDeque<HeldStreamPart> {
    let mut reader = PartReader::new(Arc::clone(governor));
    let mut parts: VecDeque<HeldStreamPart> =
        chunks.iter().filter_map(|chunk| reader.text(chunk, None).unwrap()).collect();
    parts.push_back(reader.finish().unwrap());
    parts
}

/// Acts as the caller of a stream to its end; returns the stream's events.
fn play(stream: &JudgedStreamHandle, governor: &Arc<StreamGovernor>, kind: &Kind, wait: Duration) -> Vec<StreamEvent> {
    let mut engine = Slow { parts: Vec::new(), at: 0, wait };
    let mut waiting = VecDeque::new();
    match kind {
        Kind::Engine(parts) => engine.parts.clone_from(parts),
        Kind::Held(chunks) => {
            waiting = parts(governor, &chunks.iter().map(|part| PARTS[*part]).collect::<Vec<_>>());
        }
        Kind::Text(_) | Kind::Candidates(_) => {}
    }
    let mut events = Vec::new();
    loop {
        // Submits only as many parts as there is room for: a caller that waits for room without reading messages would
        // wait forever.
        while let Some(part) = waiting.pop_front() {
            std::thread::sleep(wait);
            match stream.try_submit(part) {
                Ok(()) => {}
                Err(SubmitError::Full(part)) => {
                    waiting.push_front(*part);
                    break;
                }
                Err(error) => {
                    assert!(matches!(error, SubmitError::Over), "{error}");
                    waiting.clear();
                }
            }
        }
        let Some(message) = stream.receive() else { break };
        match message {
            StreamMessage::Event(event) => {
                std::thread::sleep(wait / 4);
                events.push(event);
            }
            StreamMessage::Move(step) => match step {
                portcullis_gate::engine::EngineMove::Advance(text) => engine.advance(&text),
                portcullis_gate::engine::EngineMove::RollBack(steps) => engine.roll_back(steps),
            },
            StreamMessage::Propose(request) => stream.answer(request.ask(&mut engine)),
        }
    }
    assert_eq!(stream.end(), Some(Ok(())));
    events
}

/// The events of a stream, without its number and the fields that depend on the card: slot, log index, tick.
fn said(events: &[StreamEvent]) -> Vec<String> {
    let plain = |event: &StreamEvent| {
        let mut event = event.clone();
        event.stream = 0;
        match &mut event.what {
            StreamEventKind::Begun { log_index, lane, .. } => (*log_index, *lane) = (None, 0),
            StreamEventKind::Determined(judged) => {
                judged.determination.stream = 0;
                (judged.tick, judged.log_index) = (None, None);
                judged.salt.clear();
                // The salt of the commitment depends on the stream's number, so the commitment is not compared.
                let bytes = (0..judged.descriptor.len()).step_by(2);
                let bytes: Vec<u8> =
                    bytes.map(|at| u8::from_str_radix(&judged.descriptor[at..at + 2], 16).unwrap()).collect();
                let mut descriptor = Descriptor::read_from_bytes(&bytes).unwrap();
                (descriptor.slot, descriptor.crc) = (0.into(), 0.into());
                descriptor.commitment = [0; 32];
                judged.descriptor = format!("{:02x?}", descriptor.as_bytes());
            }
            StreamEventKind::Ended { closing: Some(closing), .. } => {
                closing.log_index = None;
                closing.salt.clear();
            }
            _ => {}
        }
        serde_json::to_string(&event).unwrap()
    };
    events.iter().map(plain).collect()
}

fn of_stream(kept: &[StreamEvent], number: u64) -> Vec<StreamEvent> {
    kept.iter().filter(|event| event.stream == number).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_stream_says_the_same_alone_and_among_others(
        streams in proptest::collection::vec((kinds(), 0u64..4), 1..9),
        seldom in any::<bool>(),
        skip in any::<bool>(),
    ) {
        let policy = package(SECTIONS);
        let settings = GateSettings {
            release: if seldom { ReleaseMode::End } else { ReleaseMode::Span },
            on_refuse: skip.then_some(OnRefuse::Skip),
            max_proposals: 60,
            ..settings()
        };
        let governor = Arc::new(governor(&policy, settings).with_filter(filter()));
        let alone = |kind: &Kind| {
            let run = |handle: SessionHandle| {
                let stream = open(&handle, &governor, kind);
                play(&stream, &governor, kind, Duration::ZERO)
            };
            let (shown, kept) = with_loop(&policy, InboxBounds::default(), run);
            assert_eq!(shown, kept, "what is kept is what the caller sees");
            said(&shown)
        };
        // The limits are small, so that the callers wait for the loop and the loop waits for the callers.
        let bounds = InboxBounds { waiting: 2, parts: 2, messages: 2, ..InboxBounds::default() };
        let (shown, kept) = with_loop(&policy, bounds, |handle| {
            let (handle, governor) = (&handle, &governor);
            std::thread::scope(|scope| {
                let open = |(kind, wait): &(Kind, u64)| {
                    let (kind, wait) = (kind.clone(), Duration::from_micros(wait * 400));
                    scope.spawn(move || {
                        let stream = open(handle, governor, &kind);
                        (stream.number(), play(&stream, governor, &kind, wait))
                    })
                };
                let threads: Vec<_> = streams.iter().map(open).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            })
        });
        for ((kind, _), (number, shown)) in streams.iter().zip(shown) {
            prop_assert_eq!(&of_stream(&kept, number), &shown);
            prop_assert_eq!(said(&shown), alone(kind), "{:?}", kind);
        }
    }
}

/// While a session is being shut down, it takes new streams only from callers that already have an open stream.
#[test]
fn a_shut_down_takes_the_further_streams_of_open_ones() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let request = || governor.held_request("a".into(), StreamTask::default());
    let ((), kept) = with_loop(&policy, InboxBounds::default(), |handle| {
        let open = handle.open(request()).unwrap();
        // BEGIN's event shows that the stream is open.
        assert!(matches!(open.receive(), Some(StreamMessage::Event(_))));
        handle.shut_down(Duration::from_secs(20));
        assert!(handle.try_open(request()).is_err());
        let further = handle.try_open_further(&open, request()).unwrap().unwrap();
        for stream in [&further, &open] {
            parts(&governor, &["Birds sing."]).into_iter().for_each(|part| stream.submit(part).unwrap());
            while stream.receive().is_some() {}
            assert_eq!(stream.end(), Some(Ok(())));
        }
        assert!(handle.try_open_further(&open, request()).is_err(), "the stream has ended");
    });
    assert_eq!(kept.iter().filter(|event| matches!(event.what, StreamEventKind::Released { .. })).count(), 2);
}

/// Eight dear texts of one owner wait for workers before the short text of another owner comes.
#[test]
fn a_short_text_does_not_wait_for_the_long_texts_of_another_owner() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let dear = "a; ".repeat(1_000);
    let bounds = InboxBounds { messages: 1 << 20, ..InboxBounds::default() };
    let (is_first, kept) = with_loop(&policy, bounds, |handle| {
        let open = |said: &str, owner| handle.open(governor.request(text("a", said)).owned(owner)).unwrap();
        let long: Vec<JudgedStreamHandle> = (0..8).map(|_| open(&dear, 1)).collect();
        let short = open("Birds sing.", 2);
        while short.receive().is_some() {}
        assert_eq!(short.end(), Some(Ok(())));
        let is_first = long.iter().any(|stream| stream.end().is_none());
        for stream in &long {
            while stream.receive().is_some() {}
            assert_eq!(stream.end(), Some(Ok(())));
        }
        is_first
    });
    assert!(is_first, "all long texts ended before the short one");
    let alone = |number| said(&of_stream(&kept, number));
    assert!(
        (1..8).all(|number| alone(number) == alone(0)),
        "equal texts have equal records, whatever worker maps them"
    );
}

/// The list of items of `run` and the inbox of `gated` give equal results, and `run` always leaves the same log.
#[test]
fn a_list_of_items_and_the_inbox_judge_alike() {
    let policy = package(SECTIONS);
    let items = || -> Vec<StreamInput> {
        let good = "Birds sing. It is mixed; it is well. Ships carry grain.";
        let texts = (0..70).map(|n| text(&format!("t{n}"), &good.repeat(1 + n % 5)));
        texts.chain([candidates("c", &[&["It is bad.", "Birds sing."], &[" Ships carry grain."]])]).collect()
    };
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let listed = logged(run(Arc::clone(&governor), &policy, items()));
    assert_eq!(logged(run(Arc::clone(&governor), &policy, items())), listed);
    let (shown, _) =
        with_loop(&policy, InboxBounds { waiting: 100, messages: 1000, ..InboxBounds::default() }, |handle| {
            let streams: Vec<_> =
                items().into_iter().map(|item| handle.open(governor.request(item)).unwrap()).collect();
            streams
                .iter()
                .map(|stream| play(stream, &governor, &Kind::Text(Vec::new()), Duration::ZERO))
                .collect::<Vec<_>>()
        });
    for (number, shown) in (0u64..).zip(shown) {
        assert_eq!(said(&shown), said(&of_stream(&listed, number)), "{number}");
    }
}

fn trigger(events: &[StreamEvent]) -> (TerminationTrigger, String) {
    let ended = summary(events).termination.unwrap();
    (ended.trigger, ended.detail)
}

struct Dies;

impl CandidateEngine for Dies {
    fn name(&self) -> String {
        "dies".into()
    }

    fn propose(&mut self, view: &EngineView<'_>, _: u32) -> Result<EngineProposal, EngineError> {
        if !view.admitted.is_empty() {
            std::panic::resume_unwind(Box::new("gone"));
        }
        Ok(EngineProposal::Candidate(candidate("Birds sing.")))
    }

    fn advance(&mut self, _: &str) {}

    fn roll_back(&mut self, _: usize) {}
}

#[test]
fn an_engine_that_panics_ends_its_stream_and_no_other() {
    let policy = package(SECTIONS);
    let made = governor(&policy, settings()).with_engines(
        filter(),
        Arc::new(|number, _| {
            let slow = Slow { parts: vec![0, 7, 3], at: 0, wait: Duration::from_millis(2) };
            Ok(if number == 1 { Box::new(Dies) as Box<dyn CandidateEngine> } else { Box::new(slow) })
        }),
    );
    let events = run(made, &policy, vec![prompt("a"), prompt("b"), prompt("c")]);
    assert_eq!(released(&of_stream(&events, 1)), "Birds sing.");
    assert_eq!(trigger(&of_stream(&events, 1)), (TerminationTrigger::Engine, "the engine is gone: it panicked".into()));
    for number in [0, 2] {
        assert_eq!(released(&of_stream(&events, number)), "Birds sing. Ships carry grain to the old harbour. The key.");
        assert!(summary(&of_stream(&events, number)).termination.is_none());
    }
}

/// Engines that propose nothing before all of them were asked and the text beside them was judged.
#[derive(Default)]
struct Meeting {
    /// Number of engines that were asked, and whether the text has ended.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Meeting {
    const ENGINES: usize = 16;

    fn change(&self, change: impl FnOnce(&mut (usize, bool))) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self) -> Result<(), EngineError> {
        let state = self.state.lock().unwrap();
        let before = |state: &mut (usize, bool)| *state != (Self::ENGINES, true);
        let (state, _) = self.changed.wait_timeout_while(state, Duration::from_secs(60), before).unwrap();
        if *state == (Self::ENGINES, true) { Ok(()) } else { Err(EngineError::Gone(format!("{state:?}"))) }
    }
}

struct Meets(Slow, Arc<Meeting>, bool);

impl CandidateEngine for Meets {
    fn name(&self) -> String {
        self.0.name()
    }

    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        if !std::mem::replace(&mut self.2, true) {
            self.1.change(|(asked, _)| *asked += 1);
            self.1.wait()?;
        }
        self.0.propose(view, attempt)
    }

    fn advance(&mut self, text: &str) {
        self.0.advance(text);
    }

    fn roll_back(&mut self, steps: usize) {
        self.0.roll_back(steps);
    }
}

/// Slow engines run in parallel, and a text that is judged meanwhile does not wait for them.
#[test]
fn slow_engines_cost_nobody_else() {
    let policy = package(SECTIONS);
    let meeting = Arc::new(Meeting::default());
    let of_engines = Arc::clone(&meeting);
    let slow = || Slow { parts: vec![0, 7, 3], at: 0, wait: Duration::ZERO };
    let made = governor(&policy, settings())
        .with_engines(filter(), Arc::new(move |_, _| Ok(Box::new(Meets(slow(), Arc::clone(&of_engines), false)))));
    let card = CardChoice::Model.open().unwrap();
    let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default()).unwrap();
    let engines = (0..Meeting::ENGINES).map(|n| prompt(&format!("{n}")));
    let items: Vec<_> = engines.chain([text("t", "Birds sing. Ships sail.")]).collect();
    let mut ended = Vec::new();
    Arc::new(made)
        .govern(&mut session, items, |event| -> Result<(), SessionError> {
            if let StreamEventKind::Ended { summary, .. } = event.what {
                ended.push((event.stream, summary.termination));
                meeting.change(|(_, text)| *text |= event.stream == 16);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(ended.len(), 17);
    assert_eq!(ended[0].0, 16);
    assert!(ended.iter().all(|(_, termination)| termination.is_none()), "{ended:?}");
}

#[test]
fn bounds_hold_and_who_reaches_one_waits_alone() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let bounds = InboxBounds { waiting: 3, parts: 4, part_bytes: 100, messages: 8, settle: None };
    let slots = usize::try_from(
        CardChoice::Model
            .open()
            .map(|mut card| portcullis_card::CardInfo::read(&mut card).unwrap().max_streams)
            .unwrap(),
    )
    .unwrap();
    with_loop(&policy, bounds, |handle| {
        // Each slot has a stream that has nothing to judge.
        let held = || governor.held_request("a".into(), StreamTask::default());
        let open: Vec<_> = (0..slots).map(|_| handle.open(held()).unwrap()).collect();
        open.iter().for_each(|stream| assert!(matches!(stream.receive(), Some(StreamMessage::Event(_)))));
        let mut waiting: Vec<_> = (0..3).map(|_| handle.try_open(held()).unwrap().unwrap()).collect();
        assert!(handle.try_open(held()).unwrap().is_err(), "a fourth would have to wait for its place in line");
        assert_eq!(handle.credit().slots, 0);
        // A stream without a slot accepts parts up to the bound.
        let first = waiting.remove(0);
        let part = |text: &str| parts(&governor, &[text]).remove(0).unwrap();
        for _ in 0..4 {
            first.try_submit(part("Birds sing. B")).unwrap();
        }
        assert!(matches!(first.try_submit(part("Birds sing. B")), Err(SubmitError::Full(_))));
        let long = open[0].try_submit(part(&"x".repeat(101)));
        assert!(matches!(long, Err(SubmitError::TooLong { bytes: 101, most: 100 })));
        // The first waiting stream gets the slot that becomes free.
        open[0].submit(part("")).unwrap();
        while open[0].receive().is_some() {}
        let mut events = Vec::new();
        let mut last = part("");
        while let Err(SubmitError::Full(again)) = first.try_submit(last) {
            last = *again;
            if let Some(StreamMessage::Event(event)) = first.receive() {
                events.push(event);
            }
        }
        assert!(matches!(first.try_submit(part("Ships.")), Err(SubmitError::Over)), "nothing follows the last part");
        while let Some(StreamMessage::Event(event)) = first.receive() {
            events.push(event);
        }
        assert_eq!(released(&events), "Birds sing.Birds sing.Birds sing.Birds sing.");
        // A dropped stream ends with a reason; the session ends with its last handle.
        drop((handle, open, waiting));
    });
}

/// If a caller does not read, only its own stream stops, and the messages stored for it are bounded.
#[test]
fn a_caller_that_does_not_read_stands_still_alone() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let bounds = InboxBounds { messages: 8, ..InboxBounds::default() };
    let item = || text("t", &"Birds sing. ".repeat(200));
    with_loop(&policy, bounds, |handle| {
        let deaf = handle.open(governor.request(item())).unwrap();
        let heard = handle.open(governor.request(item())).unwrap();
        let other = play(&heard, &governor, &Kind::Text(Vec::new()), Duration::ZERO);
        assert_eq!(released(&other).len(), 200 * 12);
        // The stream continues when its messages are read.
        assert_eq!(deaf.end(), None);
        assert_eq!(said(&play(&deaf, &governor, &Kind::Text(Vec::new()), Duration::ZERO)), said(&other));
    });
}

#[test]
fn a_shut_down_ends_every_stream_with_a_reason() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let bounds = InboxBounds { messages: 8, ..InboxBounds::default() };
    let ((), kept) = with_loop(&policy, bounds, |handle| {
        let asked = handle.open(governor.request(prompt("asked"))).unwrap();
        let held = handle.open(governor.held_request("held".into(), StreamTask::default())).unwrap();
        held.submit(parts(&governor, &["Birds sing. B"]).remove(0).unwrap()).unwrap();
        let deaf = handle.open(governor.request(text("deaf", &"Birds sing. ".repeat(100)))).unwrap();
        // All three streams must have left the queue: a stream in the queue would end without an event.
        for stream in [&asked, &held, &deaf] {
            assert!(matches!(stream.receive(), Some(StreamMessage::Event(_))));
        }
        handle.shut_down(Duration::from_millis(100));
        assert!(handle.open(governor.request(text("late", "Birds sing."))).is_err());
        // Neither the stream `asked` nor the unread stream `deaf` blocks the session.
        while asked.receive().is_some() {}
        assert_eq!(asked.end(), Some(Ok(())));
        while held.receive().is_some() {}
        drop(deaf);
    });
    for number in [0, 1] {
        let (trigger, detail) = trigger(&of_stream(&kept, number));
        assert_eq!(
            (trigger, detail.as_str()),
            (TerminationTrigger::Engine, "the engine is gone: the session is being shut down")
        );
    }
    assert_eq!(released(&of_stream(&kept, 1)), "Birds sing.");
    assert_eq!(released(&of_stream(&kept, 2)).len(), 1200, "a whole text is judged to its end");
}

/// When the journal fails, every stream ends with that reason, and nothing more is released.
#[test]
fn a_journal_that_fails_ends_every_stream() {
    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("the journal is full")]
        Full,
        #[error(transparent)]
        Card(#[from] SessionError),
    }
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, settings()).with_filter(filter()));
    let card = CardChoice::Model.open().unwrap();
    let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default()).unwrap();
    let session_loop = SessionLoop::new(InboxBounds::default());
    let handle = session_loop.handle();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&kept);
    // The journal fails only after all streams are open.
    let (opened, all_open) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (governor, session) = (&governor, &mut session);
        let judge = scope.spawn(move || {
            session_loop.run(session, |event| {
                let mut kept = keeper.lock().unwrap();
                if kept.is_empty() {
                    all_open.recv_timeout(Duration::from_secs(60)).unwrap();
                }
                if kept.len() == 25 {
                    return Err(Failure::Full);
                }
                kept.push(event.clone());
                Ok(())
            })
        });
        let item = || text("t", &"Birds sing. ".repeat(10));
        let streams: Vec<_> = (0..3).map(|_| handle.open(governor.request(item())).unwrap()).collect();
        opened.send(()).unwrap();
        let mut shown = Vec::new();
        for stream in &streams {
            while let Some(StreamMessage::Event(event)) = stream.receive() {
                shown.push(event);
            }
            assert_eq!(stream.end().unwrap().unwrap_err().0, "the journal is full");
        }
        assert!(matches!(judge.join().unwrap(), Err(Failure::Full)));
        assert_eq!(handle.closed().unwrap().0, "the journal is full");
        assert!(handle.open(governor.request(item())).is_err());
        let kept = kept.lock().unwrap();
        assert!(shown.len() <= 25 && shown.iter().all(|event| kept.contains(event)), "{} shown", shown.len());
    });
}

/// More streams than the card's ring has room for: they advance at the same pace.
#[test]
fn streams_take_turns_when_the_ring_is_short() {
    let policy = package(SECTIONS);
    let governor = Arc::new(governor(&policy, GateSettings { streams: 64, ..settings() }));
    let config = SessionConfig { ring_log2: 5, ..SessionConfig::default() };
    let mut session = CardSession::open(CardChoice::Model.open().unwrap(), &policy.compiled.image, config).unwrap();
    assert!(session.room() < 64);
    let items: Vec<_> = (0..64).map(|n| text(&format!("{n}"), &"Birds sing. ".repeat(20))).collect();
    let mut judged: BTreeMap<u64, u32> = (0..64).map(|n| (n, 0)).collect();
    governor
        .govern(&mut session, items, |event| -> Result<(), SessionError> {
            if matches!(event.what, StreamEventKind::Determined(_)) {
                *judged.get_mut(&event.stream).unwrap() += 1;
                let (most, least) = (judged.values().max().unwrap(), judged.values().min().unwrap());
                assert!(most - least <= 2, "{judged:?}");
            }
            Ok(())
        })
        .unwrap();
    assert!(judged.values().all(|count| *count == 20));
}
