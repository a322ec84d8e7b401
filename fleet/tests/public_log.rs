//! The issuer's public log beside the bundles: sessions that only the issuer knows, and logs that cannot be used.

use crate::support::{Scene, found, set};
use ed25519_dalek::SigningKey;
use portcullis_evidence::public_log::EventKind::{Abandoned, Closed, Issued, Opened};
use portcullis_evidence::public_log::PublicLog;
use portcullis_evidence::ticket::Chain;
use portcullis_evidence::verify::series::CLOCKS;
use portcullis_fleet::{AuditOptions, TrustFolder};
use portcullis_fleet_core::Answer;
use portcullis_test_support::world::{END, LogEvent, START, World, log_policy, sha, write_log};
use std::sync::Arc;

/// All events of the four sessions.
fn events(scene: &Scene) -> Vec<LogEvent> {
    let chain = chain(scene, 0);
    let events = scene.sessions.iter().flat_map(|session| {
        let ticket = sha(&session.ticket_bytes());
        [Issued, Opened, Closed].map(|kind| (chain, session.ticket.serial, kind, ticket))
    });
    events.collect()
}

fn chain(scene: &Scene, seat: u16) -> Chain {
    Chain { key: scene.sessions[0].ticket.key, seat }
}

/// The answer about the bundles of all sessions but some, beside a log with these events, that the issuer of `world`
/// signed.
fn beside(scene: &Scene, left_out: &[usize], events: &[LogEvent], seen: u64, world: &World) -> Answer {
    scene.file("trust/log-policy.txt", log_policy(&scene.world).as_bytes());
    beside_policy(scene, left_out, events, seen, world)
}

/// As [`beside`], with the policy that is in the trust folder.
fn beside_policy(scene: &Scene, left_out: &[usize], events: &[LogEvent], seen: u64, world: &World) -> Answer {
    write_log(&scene.path("log"), world, events, seen);
    let trust = TrustFolder::load(&scene.path("trust"), false).unwrap();
    let log = PublicLog::read(&scene.path("log"), trust.trust().log_policy.as_ref().unwrap());
    let options = AuditOptions { trust, public_log: Some(Arc::new(log)), ..scene.options() };
    let tables = scene.ingest(&scene.all_but(left_out));
    scene.audit(&tables, &options)
}

#[test]
fn sessions_that_only_the_issuer_knows() {
    let scene = Scene::new();
    let honest = beside(&scene, &[], &events(&scene), END, &scene.world);
    assert_eq!((found(&honest), honest.exit_code), (set(&[]), 0), "{:#?}", honest.findings);
    assert_eq!(honest.public_log.as_ref().map(|log| (log.entries, log.witnesses.len())), Some((12, 1)));

    // The last session is left out, which nothing else shows.
    let scene = Scene::new();
    let answer = beside(&scene, &[4], &events(&scene), END, &scene.world);
    assert_eq!(found(&answer), set(&[("-", "bundle-missing")]), "{:#?}", answer.findings);
    assert_eq!((answer.findings[0].serial, answer.findings[0].seat, answer.exit_code), (Some(4), Some(0), 3));
    let scene = Scene::new();
    let answer = beside(&scene, &[2, 3], &events(&scene), END, &scene.world);
    assert_eq!(found(&answer), set(&[("-", "bundle-missing"), ("-", "serial-missing")]), "{:#?}", answer.findings);

    // It may still run: its end is not in the log.
    let scene = Scene::new();
    let answer = beside(&scene, &[4], &events(&scene)[..11], END, &scene.world);
    assert_eq!((found(&answer), answer.exit_code), (set(&[("-", "open")]), 5), "{:#?}", answer.findings);

    // A card of which nothing is there. Another issuer's customer could have it.
    let scene = Scene::new();
    let mut more = events(&scene);
    more.extend([Issued, Opened].map(|kind| (chain(&scene, 7), 1, kind, [7; 32])));
    // A ticket alone does not show a session.
    more.push((chain(&scene, 8), 1, Issued, [8; 32]));
    let answer = beside(&scene, &[], &more, END, &scene.world);
    assert_eq!((found(&answer), answer.exit_code), (set(&[("-", "chain-missing")]), 5), "{:#?}", answer.findings);
    assert_eq!(answer.findings[0].seat, Some(7));
}

#[test]
fn tickets_that_the_issuer_gave_up() {
    // The fourth session has serial 5, and its ticket says that the session before was abandoned.
    let given_up = |serial: u64, session: &mut portcullis_test_support::world::Parts| {
        if serial == 4 {
            (session.ticket.serial, session.ticket.previous_close) = (5, [0; 32]);
            session.play();
        }
    };
    let with = |scene: &Scene, kinds: &[portcullis_evidence::public_log::EventKind]| {
        let mut all = events(scene);
        let between = kinds.iter().map(|kind| (chain(scene, 0), 4, *kind, [4; 32]));
        all.splice(9..9, between);
        all
    };
    let scene = Scene::with(given_up);
    assert_eq!(scene.findings(&scene.all_but(&[])), set(&[("-", "serial-missing")]));
    let scene = Scene::with(given_up);
    let answer = beside(&scene, &[], &with(&scene, &[Issued, Abandoned]), END, &scene.world);
    assert_eq!((found(&answer), answer.exit_code), (set(&[("-", "abandoned")]), 5), "{:#?}", answer.findings);
    // A ticket that was given up behind the last bundle says nothing about the bundles.
    let scene = Scene::new();
    let mut later = events(&scene);
    later.extend([Issued, Abandoned].map(|kind| (chain(&scene, 0), 5, kind, [5; 32])));
    assert_eq!(found(&beside(&scene, &[], &later, END, &scene.world)), set(&[]));
    // Its session had begun.
    let scene = Scene::with(given_up);
    let answer = beside(&scene, &[], &with(&scene, &[Issued, Opened, Abandoned]), END, &scene.world);
    assert_eq!(found(&answer), set(&[("-", "bundle-missing"), ("-", "serial-missing")]), "{:#?}", answer.findings);
    // The next ticket names the end of the session that was given up.
    let scene = Scene::with(|serial, session| {
        if serial == 4 {
            session.ticket.serial = 5;
            session.play();
        }
    });
    let answer = beside(&scene, &[], &with(&scene, &[Issued, Abandoned]), END, &scene.world);
    assert_eq!(found(&answer), set(&[("-", "abandoned"), ("4", "previous-close")]), "{:#?}", answer.findings);
}

#[test]
fn tickets_that_the_log_does_not_have() {
    let scene = Scene::new();
    let mut other = events(&scene);
    other.iter_mut().filter(|event| event.1 == 2).for_each(|event| event.3 = [8; 32]);
    assert_eq!(found(&beside(&scene, &[], &other, END, &scene.world)), set(&[("2", "log-ticket")]));
    let scene = Scene::new();
    let short = events(&scene)[..9].to_vec();
    let began = scene.sessions[3].witness_time;
    let old = beside(&scene, &[], &short, began, &scene.world);
    assert_eq!((found(&old), old.exit_code), (set(&[("4", "log-behind")]), 5), "{:#?}", old.findings);
    let scene = Scene::new();
    let late = began + CLOCKS + 1;
    assert_eq!(found(&beside(&scene, &[], &short, late, &scene.world)), set(&[("4", "log-ticket")]));
    let scene = Scene::new();
    assert_eq!(found(&beside(&scene, &[], &short, late - 1, &scene.world)), set(&[("4", "log-behind")]));
    // A log of another trusted issuer, without this card, says nothing about its sessions.
    let scene = Scene::new();
    let others = World { issuer: SigningKey::from_bytes(&[77; 32]), ..World::new() };
    let elsewhere: Vec<LogEvent> = vec![(Chain { key: [1; 32], seat: 0 }, 1, Issued, [1; 32])];
    scene.file("trust/log-policy.txt", log_policy(&others).as_bytes());
    let of_others = beside_policy(&scene, &[], &elsewhere, END, &others);
    assert_eq!(found(&of_others), set(&[]), "{:#?}", of_others.findings);
    // The log has the end of the last session, and its bundle ends before.
    let scene = Scene::with(|serial, session| {
        if serial == 4 {
            session.open();
        }
    });
    let answer = beside(&scene, &[], &events(&scene), END, &scene.world);
    let of_bundle = ("4", "log-closed");
    assert!(found(&answer).is_superset(&set(&[of_bundle, ("4", "open")])), "{:#?}", answer.findings);
}

#[test]
fn a_log_of_others_is_a_finding() {
    let scene = Scene::new();
    let others = World { issuer: SigningKey::from_bytes(&[77; 32]), ..World::new() };
    let answer = beside(&scene, &[], &events(&scene), START, &others);
    assert_eq!((found(&answer), answer.exit_code), (set(&[("-", "public-log")]), 3));
    assert_eq!(answer.public_log, None);
}
