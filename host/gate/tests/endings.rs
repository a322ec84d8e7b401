//! The bytes released at the end of a stream. They are not judged at END, so they may be formatting only.

use crate::support;

use portcullis_core::inert::is_formatting;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::{StreamEvent, StreamEventKind};
use support::{candidates, govern, judged, package, released, settings, text};

fn ending(events: &[StreamEvent]) -> &str {
    let closing = |event: &'_ StreamEvent| matches!(event.what, StreamEventKind::Ended { .. });
    let StreamEventKind::Ended { closing: Some(closing), .. } = &events.iter().find(|e| closing(e)).unwrap().what
    else {
        return "";
    };
    &closing.inert
}

#[test]
fn words_at_the_end_of_a_text_are_judged() {
    let policy = package("[limits]\nmax_depth = 2\n");
    for (given, left, end) in [
        ("Ships float. And", "Ships float. And", ""),
        ("Ships float. And\n\n", "Ships float. And\n\n", "\n\n"),
        ("However,", "However,", ""),
        ("Ships float.\n\n---\n", "Ships float.\n\n---\n", "\n\n---\n"),
        // A connective before a refused span is not released with the span; the connective is judged by itself.
        ("Ships float. And mixed", "Ships float. And ", ""),
        // Emoji, regional indicators and tag characters can carry a message, so they are not formatting.
        ("Ships float. \u{1f642}", "Ships float. \u{1f642}", ""),
        ("Ships float. \u{1f1e7}\u{1f1fa}\u{1f1fe}\n", "Ships float. \u{1f1e7}\u{1f1fa}\u{1f1fe}\n", "\n"),
        ("Ships float. \u{e0062}\u{e0075}", "Ships float. \u{e0062}\u{e0075}", ""),
    ] {
        let events = govern(&policy, settings(), vec![text("a", given)]);
        let admitted = |j: &&portcullis_gate::SpanJudgement| j.determination.determination == Some(Answer::Admit);
        let of_records: String = judged(&events).filter(admitted).map(|j| format!("{}{}", j.inert, j.text)).collect();
        assert!(is_formatting(ending(&events)), "{given:?}: {:?}", ending(&events));
        assert_eq!(released(&events), of_records + ending(&events), "{given:?}");
        assert_eq!((released(&events).as_str(), ending(&events)), (left, end), "{given:?}");
        for judged in judged(&events) {
            let (start, end) = (judged.determination.start, judged.determination.end);
            assert_eq!(given.get(start..end), Some(judged.text.as_str()), "{given:?}");
        }
    }
}

/// The last proposal of an engine can still be undone, so connectives after it are not released.
#[test]
fn words_that_no_span_of_an_engine_took_do_not_leave() {
    let policy = package("[limits]\nmax_depth = 2\n");
    let events = govern(&policy, settings(), vec![candidates("a", &[&["Ships float."], &[" And mixed"]])]);
    assert!(is_formatting(ending(&events)), "{:?}", ending(&events));
    assert!(!released(&events).contains("And"), "{:?}", released(&events));
}
