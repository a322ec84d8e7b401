//! A stream whose worker hangs or panics is lost alone.

use super::{Arrivals, Finished, Inbox, LOST, Next, STEP_LIMIT, SessionHandle, StreamTurnState, Turns};
use crate::GatePolicy;
use crate::governor::StreamGovernor;
use crate::salt::SaltKey;
use crate::session_loop::mailbox::InboxBounds;
use crate::session_loop::{JudgedStreamHandle, StreamMessage};
use crate::settings::GateSettings;
use crate::source::StreamInput;
use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_policy::PolicyPackage;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const MANIFEST: &str = "[package]\nname = \"s\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[enumerations]\ndomain = [\"g\"]\n\
    audience = [\"p\"]\ntemporal = [\"n\"]\nregister = [\"r\"]\n";
const RULES: &str = "@id(\"ALLOW\") permit (principal, action, resource);\n";

fn policy() -> Arc<GatePolicy> {
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), MANIFEST.as_bytes().to_vec()),
        ("rules.cedar".to_owned(), RULES.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap();
    let compiled = package.compile().unwrap();
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

/// The bytes that the stream released, and the reason with which it ended.
fn outcome(stream: &JudgedStreamHandle) -> (String, Option<String>) {
    let mut released = String::new();
    while let Some(message) = stream.receive() {
        if let StreamMessage::Event(event) = message
            && let crate::StreamEventKind::Released { text, .. } = event.what
        {
            released.push_str(&text);
        }
    }
    (released, stream.end().unwrap().err().map(|closed| closed.0))
}

#[test]
fn a_stream_whose_worker_hangs_or_panics_is_lost_alone() {
    let policy = policy();
    let settings = GateSettings::new(SaltKey::from_bytes([3; 32]));
    let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), settings).unwrap());
    let text = |id: &str| {
        let text = "Birds sing.".to_owned();
        governor.request(StreamInput::Text { id: id.into(), text, task: StreamTask::default() })
    };
    let mut session =
        CardSession::open(CardChoice::Model.open().unwrap(), &policy.compiled.image, SessionConfig::default()).unwrap();
    let inbox = Inbox::new(InboxBounds::default());
    let handle = SessionHandle::new(Arc::clone(&inbox));
    let streams = ["hangs", "panics", "goes on"].map(|id| handle.open(text(id)).unwrap());
    drop(handle);
    let keep = |event| Ok::<_, SessionError>(Some(event));
    let mut turns = Turns::new(&mut session, inbox, vec![2, 1, 0], keep);
    let finished = Finished::default();
    turns.finished = Some(finished.clone());
    turns.take_in(&mut Arrivals);
    let since = Instant::now();
    let mut given = |slot: u16| {
        let at_work = StreamTurnState::AtWork(Arc::new(OnceLock::from(since)));
        let StreamTurnState::Due(machine, _) =
            std::mem::replace(&mut turns.streams.get_mut(&slot).unwrap().place, at_work)
        else {
            panic!("the stream has begun")
        };
        machine
    };
    let [late, _panicked] = [0, 1].map(&mut given);
    finished.0.lock().unwrap().push((1, None));
    turns.take_finished().unwrap();
    turns.lose_hung(since + STEP_LIMIT - Duration::from_nanos(1));
    assert_eq!(turns.streams.keys().copied().collect::<Vec<_>>(), [0, 2], "a panic is known at once");
    turns.lose_hung(since + STEP_LIMIT);
    // What a worker returns after that does not count.
    finished.0.lock().unwrap().push((0, Some((late, Next::Done))));
    turns.run(&mut Arrivals).unwrap();
    assert_eq!(turns.free, [2], "the card still has the lost streams open");
    drop(turns);
    let lost = (String::new(), Some(LOST.to_owned()));
    assert_eq!(streams.each_ref().map(outcome), [lost.clone(), lost, ("Birds sing.".to_owned(), None)]);
}
