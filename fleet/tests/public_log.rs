//! The issuer's public log beside the bundles: sessions that only the issuer knows, and logs that cannot be used.

use crate::support::{Scene, found, set, single};
use ed25519_dalek::SigningKey;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::public_log::PublicLogEventKind::{Abandoned, Closed, Issued, Opened};
use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::verify::series::{ChainStart, SeriesReport, join, read_log};
use portcullis_fleet::{AuditOptions, TrustFolder};
use portcullis_fleet_core::{AuditAnswer, AuditFindingSource};
use portcullis_test_support::world::lies::lies;
use portcullis_test_support::world::{END, LogEvent, START, World, log_policy, sha, write_log};
use std::collections::BTreeSet;
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

fn chain(scene: &Scene, seat: u16) -> ChainId {
    ChainId { key: scene.sessions[0].ticket.key, seat }
}

/// The answer about the bundles of all sessions but some, beside a log with these events, that the issuer of `world`
/// signed.
fn beside(scene: &Scene, left_out: &[usize], events: &[LogEvent], seen: u64, world: &World) -> AuditAnswer {
    scene.file("trust/log-policy.txt", log_policy(&scene.world).as_bytes());
    beside_policy(scene, left_out, events, seen, world)
}

/// As [`beside`], with the policy that is in the trust folder.
fn beside_policy(scene: &Scene, left_out: &[usize], events: &[LogEvent], seen: u64, world: &World) -> AuditAnswer {
    write_log(&scene.path("log"), world, events, seen);
    let tables = scene.ingest(&scene.all_but(left_out));
    scene.audit(&tables, &with_log(scene, Some("log")))
}

/// The options with the log in this folder of the scene.
fn with_log(scene: &Scene, folder: Option<&str>) -> AuditOptions {
    let trust = TrustFolder::load(&scene.path("trust"), false).unwrap();
    let log = read_log(folder.map(|folder| scene.path(folder)).as_deref(), trust.trust()).unwrap();
    AuditOptions { trust, public_log: log.map(Arc::new), ..scene.options() }
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
    let with = |scene: &Scene, kinds: &[portcullis_evidence::public_log::PublicLogEventKind]| {
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
    // A ticket that was given up behind the last bundle is named, too. Its session may have run without a report.
    let scene = Scene::new();
    let mut later = events(&scene);
    later.extend([Issued, Abandoned].map(|kind| (chain(&scene, 0), 5, kind, [5; 32])));
    assert_eq!(found(&beside(&scene, &[], &later, END, &scene.world)), set(&[("-", "abandoned")]));
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
    let late = began + CLOCK_SKEW + 1;
    assert_eq!(found(&beside(&scene, &[], &short, late, &scene.world)), set(&[("4", "log-ticket")]));
    let scene = Scene::new();
    assert_eq!(found(&beside(&scene, &[], &short, late - 1, &scene.world)), set(&[("4", "log-behind")]));
    // A log of another trusted issuer, without this card, says nothing about its sessions.
    let scene = Scene::new();
    let others = World { issuer: SigningKey::from_bytes(&[77; 32]), ..World::new() };
    let elsewhere: Vec<LogEvent> = vec![(ChainId { key: [1; 32], seat: 0 }, 1, Issued, [1; 32])];
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

#[test]
fn a_trust_folder_with_a_policy_demands_the_log() {
    let scene = Scene::new();
    scene.file("trust/log-policy.txt", log_policy(&scene.world).as_bytes());
    let answer = scene.audit(&scene.ingest(&scene.all_but(&[])), &with_log(&scene, None));
    assert_eq!((found(&answer), answer.exit_code), (set(&[("-", "log-missing")]), 5));
}

/// The audit finds each lie that `verify-series` and the statement about a period find.
#[test]
fn what_several_bundles_show_is_found() {
    for lie in lies(&World::new()) {
        let scene = Scene::new();
        let inputs: Vec<_> = lie.bundles.iter().map(|(name, parts)| scene.bundle(name, &parts.files())).collect();
        if let Some(log) = &lie.log {
            scene.file("trust/log-policy.txt", log_policy(&scene.world).as_bytes());
            write_log(&scene.path("log"), &scene.world, &log.events, log.seen);
        }
        let options = with_log(&scene, lie.log.as_ref().map(|_| "log"));
        let answer = scene.audit(&scene.ingest(&inputs), &options);
        let of_fleet = answer.findings.iter().filter(|finding| finding.source == AuditFindingSource::Fleet);
        let codes: BTreeSet<&str> = of_fleet.map(|finding| &*finding.code).collect();
        assert_eq!(codes, lie.by_audit(), "{}: {:#?}", lie.what, answer.findings);
    }
}

/// Numbers below a bound, the same in every run (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// A log of the chain: each session has its own ticket or another one, and ends in some way or not at all.
    fn events(&mut self, scene: &Scene) -> Vec<LogEvent> {
        let mut events = Vec::new();
        for serial in 1..=5 {
            let own = scene.sessions.iter().find(|session| session.ticket.serial == serial);
            let ticket = own.filter(|_| self.below(8) != 0).map_or([8; 32], |session| sha(&session.ticket_bytes()));
            let kinds: &[_] = match self.below(8) {
                0 => &[Issued, Abandoned],
                1 => &[Issued, Opened, Abandoned],
                2 => &[Issued],
                3 => &[Issued, Opened],
                4 => &[],
                _ => &[Issued, Opened, Closed],
            };
            events.extend(kinds.iter().map(|kind| (chain(scene, 0), serial, *kind, ticket)));
            if !matches!(kinds.last(), Some(Abandoned | Closed)) {
                break;
            }
        }
        events
    }
}

/// Which codes there are, with the bundle of those that always concern one. What the audit calls a missing bundle, the
/// series calls a missing serial: it has only bundles.
fn comparable(findings: impl Iterator<Item = (String, Option<String>)>) -> BTreeSet<(String, Option<String>)> {
    let of_bundle = ["log-ticket", "log-behind", "log-closed", "log-abandoned", "previous-close"];
    findings
        .map(|(code, bundle)| match code.as_str() {
            "bundle-missing" => ("serial-missing".to_owned(), None),
            code if of_bundle.contains(&code) => (code.to_owned(), bundle),
            _ => (code, None),
        })
        .collect()
}

/// The rules of `verify-series` and those of the audit, over logs of any form.
#[test]
fn answers_equal_those_of_the_series() {
    let scenes: [fn() -> Scene; 4] = [
        Scene::new,
        || {
            Scene::with(|serial, session| {
                if serial == 3 {
                    session.open()
                }
            })
        },
        || {
            Scene::with(|serial, session| {
                if serial == 3 {
                    session.ticket.previous_close = [0; 32];
                    session.play();
                }
            })
        },
        || {
            Scene::with(|serial, session| {
                if serial == 4 {
                    (session.ticket.serial, session.ticket.previous_close) = (5, [0; 32]);
                    session.play();
                }
            })
        },
    ];
    let mut draw = Draw(22);
    let mut kinds = BTreeSet::new();
    for (number, scene) in scenes.iter().enumerate() {
        for left_out in [&[][..], &[4], &[3], &[1, 2], &[2, 4]] {
            let scene = scene();
            scene.file("trust/log-policy.txt", log_policy(&scene.world).as_bytes());
            let tables = scene.ingest(&scene.all_but(left_out));
            let given = (1..=4).filter(|serial| !left_out.contains(serial)).map(|serial: usize| serial.to_string());
            let reports: Vec<_> = given.map(|name| (name.clone(), single(&scene, &scene.path(&name)))).collect();
            for _ in 0..8 {
                let events = draw.events(&scene);
                let began = scene.sessions[draw.below(4)].witness_time;
                let seen = [START, began, began + CLOCK_SKEW, began + CLOCK_SKEW + 1, END][draw.below(5)];
                write_log(&scene.path("log"), &scene.world, &events, seen);
                let options = with_log(&scene, Some("log"));
                let series: SeriesReport = join(reports.clone(), ChainStart::First, options.public_log.as_deref());
                let answer = scene.audit(&tables, &options);
                let of_series = series.findings.iter().map(|f| (f.code.to_string(), f.name.clone()));
                let of_fleet = answer.findings.iter().filter(|f| f.property.is_none());
                let of_fleet = comparable(of_fleet.map(|f| (f.code.to_string(), f.bundle.clone())));
                let log: Vec<_> = events.iter().map(|(_, serial, kind, ticket)| (serial, kind, ticket[0])).collect();
                let case = format!("scene {number} without {left_out:?}, seen {seen}: {log:?}");
                assert_eq!(comparable(of_series), of_fleet, "{case}");
                assert_eq!((series.status, series.exit_code), (answer.status, answer.exit_code), "{case}");
                kinds.extend(of_fleet.into_iter().map(|(code, _)| code));
            }
        }
    }
    let expected = [
        "abandoned",
        "log-abandoned",
        "log-behind",
        "log-closed",
        "log-ticket",
        "open",
        "pending",
        "previous-close",
        "serial-missing",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
