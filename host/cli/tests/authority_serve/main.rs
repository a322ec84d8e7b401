//! `authority serve` as a process, with the processes whose sessions get their tickets from it.
#![cfg(test)]
#![cfg(feature = "sim")]

mod scene;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../../../authority/tests/authority/stores.rs"]
mod stores;

use rustix::process::Signal;
use scene::{Action, Scene};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Three sessions, one after another, on both kinds of store. Other commands use the store and the public log
/// meanwhile. The series is whole.
#[test]
fn three_sessions_make_a_series_without_a_gap() {
    for store in stores::stores() {
        let mut scene = Scene::new(&store.url.to_string());
        scene.start();
        for number in 1..=3 {
            let (code, said) = scene.run(&scene.session(number));
            assert_eq!((code, said.contains("warning")), (Some(0), false), "{said}");
            let listed = scene.output(&scene.ticket("list"));
            assert_eq!(listed.matches(": closed").count(), number, "{listed}");
            let key = scene.output(&scene.ticket("log"));
            assert!(key.starts_with("registrar+"), "{key}");
        }
        assert_eq!(scene.log_size(), 9);
        scene.check_series(3);
        assert_eq!(scene.get("/readyz"), 200);
        assert_eq!(scene.end(Signal::TERM), Some(0));
        assert!(!scene.folder.path().join("series/1.request").exists());
    }
}

/// The issuer is killed when it gets the report of the opening, and later when it gets that of the end, each time
/// before and after it has worked on the report. It is started again, and the session does not notice.
#[test]
fn a_killed_issuer_is_asked_again() {
    for store in stores::stores() {
        let mut scene = Scene::new(&store.url.to_string());
        scene.start();
        let plans = [("/v1/tickets", 0), ("/v1/openings", 1), ("/v1/closings", 2)];
        for (path, number) in plans {
            for is_done in [false, true] {
                let killed = Arc::new(AtomicBool::new(false));
                let (once, issuer) = (Arc::clone(&killed), scene.issuer());
                let proxy = scene.proxy(move |asked, forward| {
                    if asked != path || once.swap(true, Ordering::SeqCst) {
                        return Action::Pass;
                    }
                    if is_done {
                        forward();
                    }
                    issuer.restart();
                    Action::Lose
                });
                let session = number * 2 + usize::from(is_done) + 1;
                let (code, said) = scene.run(&scene.session_with(session, &proxy));
                assert_eq!((code, said.contains("warning")), (Some(0), false), "{path} {is_done}: {said}");
                assert!(killed.load(Ordering::SeqCst));
            }
        }
        let listed = scene.output(&scene.ticket("list"));
        assert_eq!((listed.lines().count(), listed.matches(": closed").count()), (6, 6), "{listed}");
        assert_eq!(scene.log_size(), 18);
        scene.check_series(6);
        assert_eq!(scene.end(Signal::INT), Some(0));
    }
}

/// The end of the session cannot be reported: the bundle is whole, the exit code is that of the session, and the
/// command that stderr names makes up for it.
#[test]
fn an_end_that_is_not_reported_can_be_reported_later() {
    let mut scene = Scene::new("@tickets.sqlite");
    scene.start();
    let issuer = scene.issuer();
    let proxy = scene.proxy(move |asked, _| {
        if asked == "/v1/closings" {
            issuer.kill();
            return Action::Lose;
        }
        Action::Pass
    });
    // A single text with a refused span: exit code 3 with or without an issuer.
    std::fs::write(scene.folder.path().join("one.txt"), "Write to ana.silva@example.org. Call the desk.").unwrap();
    let session = scene.session_with(1, &proxy).replace("@texts.jsonl", "@one.txt");
    let (code, said) = scene.run(&format!("{session} --issuer-wait 1"));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("warning: the bundle is whole"), "{said}");
    scene.check_series(1);
    scene.start();
    let (_, command) = said.split_once("`portcullis ").unwrap();
    let command = command.split_once('`').unwrap().0.replace("FILE", "@client.token");
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    let direct = command.replace(&proxy, &scene.url());
    for _ in 0..2 {
        let (code, said) = scene.run(&direct);
        assert_eq!(code, Some(0), "{direct}: {said}");
    }
    assert!(scene.output(&direct).contains("end reported: ticket 1 of seat 0 is closed"));
    assert_eq!(scene.run(&scene.session(2)).0, Some(0));
    scene.check_series(2);
}

/// Without a ticket, and without an accepted report of the opening, nothing is released.
#[test]
fn without_the_issuer_there_is_no_session() {
    let mut scene = Scene::new("@tickets.sqlite");
    let wait = "--issuer-wait 1 --output @released.jsonl";
    let gone = scene.proxy(|_, _| Action::Lose);
    let (code, said) = scene.run(&format!("{} {wait}", scene.session_with(1, &gone)));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot be reached"), "{said}");
    assert!(!scene.folder.path().join("series/1").exists());
    scene.start();
    let refusals = [
        ("--seat 9", "unknown-seat"),
        ("--policy policies/clinical", "unknown-policy"),
        ("--issuer-token @other.token", "unauthorized"),
    ];
    for (more, why) in refusals {
        let (option, _) = more.split_once(' ').unwrap();
        // The option replaces that of the session.
        let session = scene.session(1).split(" --").fold(String::new(), |line, part| match part {
            part if option[2..] == *part.split(' ').next().unwrap() => line,
            "run" => "run".to_owned(),
            part => format!("{line} --{part}"),
        });
        let (code, said) = scene.run(&format!("{session} {more} {wait}"));
        assert_eq!(code, Some(1), "{more}: {said}");
        assert!(said.contains(&format!("the issuer refuses ({why})")), "{more}: {said}");
        assert!(!scene.folder.path().join("series/1").exists());
    }
    assert_eq!(scene.output(&scene.ticket("list")), "");
    let unopened = scene.proxy(|asked, _| if asked == "/v1/openings" { Action::Lose } else { Action::Pass });
    let (code, said) = scene.run(&format!("{} {wait}", scene.session_with(1, &unopened)));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("the issuer has not taken the report of the opening"), "{said}");
    let released = std::fs::read(scene.folder.path().join("released.jsonl")).unwrap_or_default();
    assert!(released.is_empty(), "{}", String::from_utf8_lossy(&released));
    // The card has signed an opening under the ticket, so no other session gets the ticket.
    let (code, said) = scene.run(&scene.session(2));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("seat-pending") && said.contains("ticket abandon --serial 1"), "{said}");
    let key = scene.card.clone();
    let abandon = format!("{} --public-key {key} --serial 1 --remark lost", scene.ticket("abandon"));
    assert_eq!(scene.run(&abandon).0, Some(0));
    assert_eq!(scene.run(&scene.session(2)).0, Some(0));
}

/// A session that fails before the card has signed anything leaves its ticket to the next one with the same folder.
#[test]
fn a_ticket_that_was_not_used_is_used_next() {
    let mut scene = Scene::new("@tickets.sqlite");
    scene.start();
    // The answer is lost for longer than the client waits.
    let silent = scene.proxy(|_, forward| {
        forward();
        Action::Lose
    });
    let (code, said) = scene.run(&format!("{} --issuer-wait 0", scene.session_with(1, &silent)));
    assert_eq!(code, Some(1), "{said}");
    assert!(scene.output(&scene.ticket("list")).contains(": issued"));
    assert!(scene.folder.path().join("series/1.request").exists());
    assert_eq!(scene.run(&scene.session(1)).0, Some(0));
    let listed = scene.output(&scene.ticket("list"));
    assert_eq!((listed.lines().count(), listed.matches(": closed").count()), (1, 1), "{listed}");
    scene.check_series(1);
}

/// `gated` and `serve` report their sessions, too; the gateway takes a new ticket for each session.
#[test]
fn services_get_their_tickets() {
    let mut scene = Scene::new("@tickets.sqlite");
    scene.start();
    let issuer = format!("--issuer {} --issuer-token @client.token", scene.url());
    let mut gated = scene.spawn(&format!("gated --policy policies/pii --socket @gate --bundle @series/g {issuer}"));
    scene::wait_for("the gate listens", || scene.output(&scene.ticket("list")).contains("ticket 1 "));
    scene::wait_for("the gate's socket is there", || scene.folder.path().join("gate").exists());
    scene::signal(&gated, Signal::TERM);
    assert_eq!(gated.wait().unwrap().code(), Some(0));
    let seat = "--upstream http://127.0.0.1:9 --listen 127.0.0.1:0";
    let mut gateway = scene.spawn(&format!("serve --policy policies/pii --bundles @series {seat} {issuer}"));
    for session in 1..=3 {
        let opened = format!("ticket {} ", session + 1);
        scene::wait_for("the session opens", || {
            let listed = scene.output(&scene.ticket("list"));
            listed.lines().any(|line| line.contains(&opened) && line.ends_with("opened"))
        });
        // The session accepts the signal only once the gateway serves it.
        std::thread::sleep(Duration::from_millis(300));
        scene::signal(&gateway, if session < 3 { Signal::HUP } else { Signal::TERM });
    }
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
    let listed = scene.output(&scene.ticket("list"));
    assert_eq!((listed.lines().count(), listed.matches(": closed").count()), (4, 4), "{listed}");
    scene.check_series(4);
}

/// A request that the issuer works on is answered after the signal, and then the process ends.
#[test]
fn the_issuer_ends_gracefully() {
    let mut scene = Scene::new("@tickets.sqlite");
    scene.start();
    let mut slow = scene.connect();
    let body = scene.ticket_request();
    scene::begin_post(&mut slow, "/v1/tickets", &body, body.len() - 1);
    std::thread::sleep(Duration::from_millis(300));
    let issuer = scene.issuer();
    issuer.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let answer = scene::end_post(slow, &body[body.len() - 1..]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(issuer.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(scene.output(&scene.ticket("list")).contains("ticket 1 "));
    // What an operator can get wrong is named.
    let config = scene.folder.path().join("issuer.toml");
    let good = std::fs::read_to_string(&config).unwrap();
    for (wrong, why) in [
        (good.replace("127.0.0.1:0", "0.0.0.0:0"), "not of the loopback interface"),
        (good.replace("[[card]]", "[[cards]]"), "unknown key"),
        (good.replace("client.token", "missing.token"), "missing.token"),
    ] {
        std::fs::write(&config, wrong).unwrap();
        let (code, said) = scene.run(&scene.serve());
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(why), "{why}: {said}");
    }
    std::fs::write(&config, good).unwrap();
    let (code, said) = scene.run(&format!("{} --listen 192.0.2.1:0", scene.serve()));
    assert!(code == Some(1) && said.contains("not of the loopback interface"), "{said}");
}
