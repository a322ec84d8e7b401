//! One test per attack that a verifier can detect: the honest bundle verifies, and the attacked one fails the named
//! property. If a part of an attack stays invisible in the evidence, a test shows that too.

use portcullis_test_support::world;

use ed25519_dalek::SigningKey;
use portcullis_authority::ca::{CertificateAuthority, CertificateValidity};
use portcullis_core::wire::{Descriptor, Determination, Fault, Life, Record};
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::bundle;
use portcullis_evidence::certificate::{CardKeyClass, key_id};
use portcullis_evidence::hex;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::public_log::{LogPolicy, PublicLogEventKind, TrustedPublicLog};
use portcullis_evidence::receipt::prove;
use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::tree;
use portcullis_evidence::verify::series::{self, ChainStart, GivenLog, LogError, read_log};
use portcullis_evidence::verify::{AssuranceLevel, BundleProperty, EvidenceStatus, VerifyOptions, verify};
use portcullis_report::evidence::{EvidencePageInputs, ReportText, SeriesText, page};
use portcullis_report::terminal::TerminalLayout;
use world::{
    Card, END, LogEvent, Parts, START, World, assert_affirmed, assert_contradicted, certificate, codes, log_policy,
    nonce, remanifest, set, sha, write_log,
};
use zerocopy::IntoBytes;

/// A change to the parts of a bundle.
type Edit = fn(&mut Parts);

#[test]
fn honest() {
    let world = World::new();
    let parts = world.honest();
    let report = world.check(&parts.files());
    assert_affirmed(&report);
    assert_eq!(report.assurance, Some(AssuranceLevel::L2));
    let session = &report.session;
    let counts = &session.counts;
    assert_eq!((counts.admits, counts.rejects, counts.decomposes), (3, 1, 1));
    assert_eq!((counts.records, session.signed_records, counts.heartbeats, counts.streams), (14, 14, 1, 2));
    assert_eq!((session.modes.driven, session.modes.held, session.disclosed), (1, 1, world::SPANS as u64));
    // One reject and one decompose by the same row: they are counted separately.
    for decided in [&session.refusals, &session.splits] {
        let decided: Vec<_> = decided.iter().map(|r| (r.stage.name(), r.row, r.rule, r.count)).collect();
        assert_eq!(decided, [("policy", Some(0), Some(0), 1)]);
    }
    let shown = page(&report, &EvidencePageInputs::default());
    let of =
        |heading: &str| shown.split_once(&format!("<h3>{heading}</h3>")).unwrap().1.split_once("</table>").unwrap().0;
    for heading in ["Rejected, by what decided", "Split, by what decided"] {
        assert!(of(heading).contains("<td>policy</td><td>0</td>"), "{heading}");
        assert_eq!(of(heading).matches("<td>1</td>").count(), 1, "{heading}");
    }
    assert_eq!(session.witnessed, Some((START, START + 200)));
}

// ---- forging without the card

#[test]
fn records_forged_under_another_key() {
    let world = World::new();
    let mut parts = world.honest();
    parts.signer = Card::new(b"a key of the operator", parts.card.design_id, CardKeyClass::Device);
    assert_contradicted(&world.check(&parts.files()), "genuine/checkpoint-signature");
    // The operator's own root certifies the operator's key.
    let window = CertificateValidity { not_before: START - 1000, not_after: END + 1000 };
    let own = CertificateAuthority::root(SigningKey::from_bytes(&[66; 32]), "CN=Test root", window, false).unwrap();
    parts.certificate = certificate(&own, &parts.signer);
    for chain in [String::new(), parts.chain.clone(), own.certificate_pem().unwrap()] {
        parts.chain = chain;
        assert_contradicted(&world.check(&parts.files()), "genuine/certificate");
    }
}

#[test]
fn nothing_is_affirmed_on_records_that_are_not_the_cards() {
    let world = World::new();
    let mut parts = world.honest();
    parts.log.lanes[0][4].answer.tick.set(0);
    let report = world.check(&parts.files());
    let status = |p: BundleProperty| report.properties.of(p).status;
    assert_eq!(BundleProperty::ALL.map(status).iter().filter(|status| **status == EvidenceStatus::Warned).count(), 4);
    assert!(codes(&report).contains("policy/unfounded"));
}

#[test]
fn what_remains_of_forging_is_the_key_itself() {
    // The owner of the card's secret can make evidence that looks exactly like the card's.
    let world = World::new();
    let stolen = Card::new(b"one card", world.card.design_id, CardKeyClass::Device);
    assert_affirmed(&world.check(&world.session(&stolen, 1, [0; 32]).files()));
}

#[test]
fn expired_foreign_and_revoked_certificates() {
    let world = World::new();
    let mut parts = world.honest();
    parts.witnessed = false;
    let at = |at| {
        verify(
            &parts.files(),
            &world.trust(false),
            VerifyOptions { allow_sim: false, allow_not_enforced: true, at },
            &mut |_| (),
        )
        .unwrap()
    };
    assert_eq!(at(Some(START)).exit_code, 5);
    for wrong in [0, START - 501, END + 501, u64::MAX] {
        assert_contradicted(&at(Some(wrong)), "genuine/certificate");
    }
    // Without a trusted time, validity is not checked, and the report warns of that.
    assert!(codes(&at(None)).contains("genuine/certificate-time"));

    // The time of the witness has priority over the caller's time.
    let witnessed = world.honest();
    let late = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(u64::MAX) };
    assert_affirmed(&verify(&witnessed.files(), &world.trust(false), late, &mut |_| ()).unwrap());

    for revoke in [0, 1] {
        let mut trust = world.trust(false);
        match revoke {
            0 => trust.roots.revoke_design(parts.card.design_id),
            _ => trust.roots.revoke_key(key_id(&parts.card.key.public_key())),
        }
        let report = verify(&witnessed.files(), &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
        assert_contradicted(&report, "genuine/certificate");
        assert_eq!(report.assurance, None);
    }
}

/// A thief of a replaced key signs with it. What was signed before the key's time stays affirmed, as far as a witness
/// shows that time: the first note shows it for the ticket, the note about the last checkpoint for all that the card
/// signed. What came later, or shows no time, does not count. A certificate and an approval can be dated at will.
#[test]
fn keys_that_are_revoked_from_some_time_on() {
    let world = World::new();
    let honest = world.honest();
    let mut unseen = world.honest();
    unseen.witnessed = false;
    let authority = |seed| SigningKey::from_bytes(&[seed; 32]).verifying_key().to_bytes();
    let line = |key: &[u8; 32], since: Option<u64>| {
        let since = since.map_or_else(String::new, |since| format!(" since {since}"));
        format!("key {}{since}\n", hex::encode(&key_id(key)))
    };
    let (first, last) = (honest.witness_time, honest.witness_time + 100 * (honest.log.checkpoints.len() as u64 - 1));
    assert!(first < last);
    let mut cut = honest.files();
    cut.0.remove(&bundle::witness(honest.log.checkpoints.len() as u64 - 1)).unwrap();
    remanifest(&mut cut);
    // For each key: its code, and the time until which a session with this key counts.
    let keys = [
        (world.card.key.public_key(), "genuine/certificate", last),
        (world.issuer.verifying_key().to_bytes(), "no_gaps/ticket-issuer", first),
        (world.witness.verifying_key().to_bytes(), "no_gaps/witness-note", last),
    ];
    for (key, code, until) in keys {
        for since in [until + 1, END] {
            assert_affirmed(&world.check_revoked(&honest.files(), &line(&key, Some(since))));
        }
        for since in [None, Some(0), Some(until)] {
            assert_contradicted(&world.check_revoked(&honest.files(), &line(&key, since)), code);
        }
        // The earliest time applies.
        let both = format!("{}{}", line(&key, Some(END)), line(&key, Some(until)));
        assert_contradicted(&world.check_revoked(&honest.files(), &both), code);
    }
    for (key, code, _) in keys.iter().take(2) {
        assert_contradicted(&world.check_revoked(&unseen.files(), &line(key, Some(END))), code);
    }
    // Without the last note, the card may have signed the end at any time; the ticket is still older than the first.
    assert_contradicted(&world.check_revoked(&cut, &line(&keys[0].0, Some(END))), keys[0].1);
    assert_eq!(world.check_revoked(&cut, &line(&keys[1].0, Some(END))).exit_code, 5);
    for seed in [1, 5] {
        for since in [None, Some(END)] {
            let report = world.check_revoked(&honest.files(), &line(&authority(seed), since));
            assert_contradicted(&report, "genuine/certificate");
        }
    }
    // Nothing shows when an approval was signed.
    let mut approved = honest.files();
    let approval = PolicyApproval::sign(sha(&honest.image), "the board", &world.approver).unwrap();
    approved.0.insert(bundle::APPROVAL.to_owned(), approval);
    remanifest(&mut approved);
    assert_affirmed(&world.check_revoked(&approved, "# nothing\n\n"));
    for since in [None, Some(END)] {
        let report = world.check_revoked(&approved, &line(&world.approver.verifying_key().to_bytes(), since));
        assert_contradicted(&report, "policy/approval-untrusted");
    }
}

#[test]
fn levels_of_assurance() {
    let world = World::new();
    let class = Card::new(b"class", [0x22; 16], CardKeyClass::Class);
    let report = world.check(&world.session(&class, 1, [0; 32]).files());
    assert_affirmed(&report);
    assert_eq!(report.assurance, Some(AssuranceLevel::L1));
    // A class key presented as the key of one card.
    let mut parts = world.honest();
    parts.card = Card::flagged(class.flags);
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "genuine/checkpoint-class");
}

// ---- editing

#[test]
fn editing_dropping_and_reordering() {
    let world = World::new();
    let honest = world.honest();
    let edits: [(&str, Edit, &str); 6] = [
        (
            "a reject made an admit",
            |p| p.log.lanes[0][4].answer.determination = Determination::Admit.into(),
            "record-answer",
        ),
        ("a record dropped", |p| _ = p.log.lanes[0].remove(4), "record-index"),
        (
            "a record repeated",
            |p| {
                let r = p.log.lanes[0][4];
                p.log.lanes[0].insert(4, r)
            },
            "record-index",
        ),
        ("two records swapped", |p| p.log.lanes[0].swap(3, 4), "record-index"),
        ("a record of another session", |p| p.log.lanes[0][5].answer.epoch.set(78), "record-session"),
        (
            "a refusal left out and the rest renumbered",
            |p| {
                p.log.lanes[0].remove(6);
                (0..).zip(&mut p.log.lanes[0]).for_each(|(index, record)| record.answer.log_index.set(index));
            },
            "checkpoint-root",
        ),
    ];
    for (what, edit, rule) in edits {
        let mut parts = honest.clone();
        edit(&mut parts);
        let report = world.check(&parts.files());
        assert_contradicted(&report, "complete/checkpoint-root");
        assert!(codes(&report).contains(&format!("complete/{rule}")), "{what}: {:?}", codes(&report));
        // If the roots are recomputed, the card's signature no longer matches.
        parts.reroot();
        parts.signer = Card::new(b"a key of the operator", parts.card.design_id, CardKeyClass::Device);
        assert_contradicted(&world.check(&parts.files()), "genuine/checkpoint-signature");
    }
}

#[test]
fn a_stream_that_changes_its_context() {
    let world = World::new();
    let honest = world.honest();
    let fields: [fn(&mut Descriptor); 4] =
        [|d| d.domain = 1, |d| d.audience = 1, |d| d.register = 1, |d| d.epistemic = 1];
    // Record 7 is a later GATE of slot 0, record 10 a later GATE of slot 1, record 6 a refused entry of slot 1.
    let edited = |index: usize, edit: &dyn Fn(&mut Record)| {
        let mut parts = honest.clone();
        let record = &mut parts.log.lanes[0][index];
        edit(record);
        record.descriptor = record.descriptor.sealed();
        parts.reroot();
        world.check(&parts.files())
    };
    for change in fields {
        for index in [7, 10] {
            assert_contradicted(&edited(index, &|r| change(&mut r.descriptor)), "complete/stream-context");
        }
        // The card refuses an entry for its context only if the rest of the entry is right.
        let refusal = |r: &mut Record, sequence: u32| {
            r.answer.fault.set(Fault::Context.into());
            r.descriptor.sequence.set(sequence);
        };
        let legal = |r: &mut Record| {
            refusal(r, 3);
            change(&mut r.descriptor);
        };
        assert_affirmed(&edited(6, &legal));
        assert_contradicted(&edited(6, &|r| refusal(r, 3)), "complete/record-answer");
        let early = |r: &mut Record| {
            refusal(r, 9);
            change(&mut r.descriptor);
        };
        assert_contradicted(&edited(6, &early), "complete/record-answer");
    }
}

/// Some fields of an OPEN record must be zero: those of the seat, because cards do not set it yet, and those of the
/// text lane, because this session does not use it.
#[test]
fn fields_that_are_not_used_are_zero() {
    let world = World::new();
    let honest = world.honest();
    let set: [fn(&mut Record); 4] = [
        |r| r.answer.text_classes.set(1),
        |r| r.answer.text_established.set(1 << 127),
        |r| r.descriptor.as_mut_bytes()[118] = 2,
        |r| r.descriptor.as_mut_bytes()[121] = 1,
    ];
    for change in set {
        let mut parts = honest.clone();
        change(&mut parts.log.lanes[0][0]);
        parts.reroot();
        assert_contradicted(&world.check(&parts.files()), "complete/record-layout");
    }
}

#[test]
fn withholding_the_tail() {
    let world = World::new();
    let honest = world.honest();
    // CLOSE, its checkpoint and the witness's note on that checkpoint are left out.
    let mut parts = honest.clone();
    parts.log.checkpoints.pop();
    let whole = parts.log.lanes[0].len();
    parts.log.lanes[0].truncate(8);
    let kept = |line: &serde_json::Value| line["index"].as_u64().unwrap() < 8;
    for lines in [&mut parts.spans, &mut parts.streams, &mut parts.receipts] {
        lines.retain(kept);
    }
    let report = world.check(&parts.files());
    assert_eq!((codes(&report), report.exit_code), (set(&["complete/not-closed"]), 5));
    // Records without a checkpoint are counted but not trusted.
    let mut parts = honest.clone();
    parts.log.checkpoints.pop();
    let report = world.check(&parts.files());
    assert_eq!((codes(&report), report.exit_code), (set(&["complete/not-closed", "complete/unsigned-tail"]), 5));
    assert_eq!((report.session.signed_records, report.session.counts.records), (8, whole as u64));
    // Records that a checkpoint covers cannot be left out.
    let mut parts = honest.clone();
    parts.log.lanes[0].truncate(12);
    assert_contradicted(&world.check(&parts.files()), "complete/records-missing");
    // A span of the withheld tail was released with a receipt, but has no proof.
    let mut parts = honest;
    parts.log.checkpoints.pop();
    assert!(prove(&parts.files(), 0, 10).is_err());
}

#[test]
fn checkpoints_left_out_or_swapped() {
    let world = World::new();
    let files = world.honest().files();
    let name = bundle::checkpoint;
    let mut missing = files.clone();
    missing.0.remove(&name(1));
    remanifest(&mut missing);
    assert!(verify(&missing, &world.trust(false), VerifyOptions::default(), &mut |_| ()).is_err());
    let mut renamed = missing.clone();
    let last = renamed.0.remove(&name(2)).unwrap();
    renamed.0.insert(name(1), last);
    renamed.0.remove(&bundle::witness(2));
    remanifest(&mut renamed);
    assert_contradicted(&world.check(&renamed), "complete/checkpoint-serial");
    let mut swapped = files.clone();
    swapped.0.insert(name(1), files.0[&name(2)].clone());
    swapped.0.insert(name(2), files.0[&name(1)].clone());
    remanifest(&mut swapped);
    let report = world.check(&swapped);
    assert_contradicted(&report, "complete/checkpoint-serial");
    assert_contradicted(&report, "complete/checkpoint-order");
}

// ---- replay, reset, two cards

#[test]
fn an_old_bundle_under_a_new_ticket() {
    let world = World::new();
    let old = world.honest();
    let new = world.session(&world.card, 2, sha(old.log.checkpoints[2].as_bytes()));
    let mut parts = old;
    parts.ticket = new.ticket;
    let report = world.check(&parts.files());
    assert_contradicted(&report, "no_gaps/open-ticket");
    assert_contradicted(&report, "no_gaps/checkpoint-ticket");
}

#[test]
fn reset_and_run_again() {
    // The card is reset, and the same ticket is opened again. The operator keeps the history that it prefers.
    let world = World::new();
    let first = world.honest();
    let mut second = first.clone();
    second.open();
    second.begin(0, "a");
    second.gate(0, 1, "", "Something nicer.", Determination::Admit);
    second.end(0, 2, "");
    second.log.close();
    // The witness saw the first session. This card has no randomness: both sessions have the same OPEN, but other ends.
    let mut files = second.files();
    let notes = first.notes();
    files.0.insert(bundle::witness(1), notes[1].clone());
    remanifest(&mut files);
    assert_contradicted(&world.check(&files), "no_gaps/witness-checkpoint");
    // Without the witness's notes, the report can only warn.
    second.witnessed = false;
    let report = world.check(&second.files());
    assert_eq!(report.exit_code, 5);
    assert!(codes(&report).contains("no_gaps/no-witness"));
    // Both bundles in one series.
    let reports = vec![("a".to_owned(), world.check(&first.files())), ("b".to_owned(), report)];
    let series = series::join(reports, ChainStart::First, None);
    assert_eq!((series.findings[0].code.id(), series.exit_code), ("serial-twice", 3));
}

#[test]
fn what_remains_of_running_again_is_trying_texts_elsewhere() {
    // Candidates that were discarded before the card saw them leave no trace: this session verifies.
    let world = World::new();
    let mut parts = world.honest();
    parts.open();
    parts.begin(0, "a");
    parts.gate(0, 1, "", "Chosen offline to be admitted.", Determination::Admit);
    parts.end(0, 2, "");
    parts.log.close();
    assert_affirmed(&world.check(&parts.files()));
}

#[test]
fn two_cards() {
    let world = World::new();
    let other = Card::new(b"another card", [0x11; 16], CardKeyClass::Device);
    let mut parts = world.session(&other, 1, [0; 32]);
    parts.ticket.key = key_id(&world.card.key.public_key());
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "no_gaps/ticket-key");
}

#[test]
fn what_remains_of_two_cards_is_a_class_key() {
    // Two cards with the same class key look alike: only the witness gives their sessions an order.
    let world = World::new();
    let (a, b) =
        (Card::new(b"class", [0x22; 16], CardKeyClass::Class), Card::new(b"class", [0x22; 16], CardKeyClass::Class));
    let first = world.session(&a, 1, [0; 32]);
    let close = sha(first.log.checkpoints[2].as_bytes());
    let reports = vec![
        ("a".to_owned(), world.check(&first.files())),
        ("b".to_owned(), world.check(&world.session(&b, 2, close).after(&first).files())),
    ];
    assert_eq!(series::join(reports, ChainStart::First, None).exit_code, 0);
}

// ---- policy

#[test]
fn another_policy() {
    let world = World::new();
    let honest = world.honest();
    // The bundle contains another image than the one that the records name.
    let mut parts = honest.clone();
    *parts.image.last_mut().unwrap() ^= 1;
    let report = world.check(&parts.files());
    for code in ["policy/open-policy", "policy/close-policy", "policy/checkpoint-policy", "policy/ticket-policy"] {
        assert_contradicted(&report, code);
    }
    // The card has another image than the ticket permits.
    let mut parts = honest.clone();
    *parts.image.last_mut().unwrap() ^= 1;
    let permitted = parts.ticket.policy;
    parts.play();
    assert_eq!(parts.ticket.policy, permitted);
    assert_eq!(codes(&world.check(&parts.files())), set(&["policy/ticket-policy"]));
    // The bundle contains a package from which the image was not built.
    let mut parts = honest.clone();
    parts.package.insert("rules.cedar".to_owned(), b"forbid (principal, action, resource);\n".to_vec());
    assert_eq!(codes(&world.check(&parts.files())), set(&["policy/package-digest"]));
    // A context that the ticket does not permit.
    let mut parts = honest.clone();
    parts.ticket.contexts = [[1; 32]].into();
    parts.play();
    assert_eq!(codes(&world.check(&parts.files())), set(&["policy/context-not-permitted"]));
    // A card whose tables changed during the session reports an alarm.
    let mut parts = honest;
    parts.log.lanes[0].pop();
    parts.log.checkpoints.pop();
    parts.log.alarm(Fault::TableChanged);
    parts.log.close();
    let report = world.check(&parts.files());
    assert_eq!((codes(&report), report.exit_code), (set(&["policy/alarm"]), 3));
}

#[test]
fn tables_that_change_are_seen_in_open_checkpoint_and_close() {
    let world = World::new();
    let honest = world.honest();
    let close = honest.log.lanes[0].len() - 1;
    let mut parts = honest.clone();
    parts.log.lanes[0][close].descriptor.as_mut_bytes()[0] ^= 1;
    parts.reroot();
    assert_eq!(codes(&world.check(&parts.files())), set(&["policy/close-policy"]));
    let mut parts = honest;
    parts.log.checkpoints[1].policy_digest[0] ^= 1;
    assert_eq!(codes(&world.check(&parts.files())), set(&["policy/checkpoint-policy"]));
}

#[test]
fn approvals() {
    let world = World::new();
    let parts = world.honest();
    let with = |approval: Vec<u8>| {
        let mut files = parts.files();
        files.0.insert(bundle::APPROVAL.to_owned(), approval);
        remanifest(&mut files);
        world.check(&files)
    };
    let good = with(PolicyApproval::sign(sha(&parts.image), "the board", &world.approver).unwrap());
    assert_affirmed(&good);
    // The name is only a claim, so every report also has the key and its file in the trust folder.
    let key = hex::encode(&sha(world.approver.verifying_key().as_bytes()));
    let [approval] = &good.session.approvals[..] else { panic!("{:?}", good.session.approvals) };
    assert_eq!((approval.claimed.as_str(), approval.file.as_deref()), ("the board", Some("approvers/board.pub")));
    let json = serde_json::to_string(&good).unwrap();
    let series = series::join(vec![("a".to_owned(), good.clone())], ChainStart::First, None);
    for shown in [
        ReportText::new(&good).to_string(),
        page(&good, &EvidencePageInputs::default()),
        json,
        SeriesText { series: &series, terminal: TerminalLayout::default() }.to_string(),
        serde_json::to_string(&series).unwrap(),
    ] {
        for part in ["the board", &key, "approvers/board.pub"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
    assert_contradicted(
        &with(PolicyApproval::sign([0; 32], "the board", &world.approver).unwrap()),
        "policy/approval-of-another",
    );
    // An issuer of tickets cannot approve policies, under any name.
    let registrar = with(PolicyApproval::sign(sha(&parts.image), "Board of Directors", &world.issuer).unwrap());
    assert_contradicted(&registrar, "policy/approval-untrusted");
    assert!(
        registrar.session.approvals.is_empty()
            && ReportText::new(&registrar).to_string().contains("issuers/registrar.pub"),
        "{registrar:?}"
    );
    assert_contradicted(
        &with(PolicyApproval::sign(sha(&parts.image), "me", &SigningKey::from_bytes(&[7; 32])).unwrap()),
        "policy/approval-untrusted",
    );
    assert_contradicted(&with(b"yes".to_vec()), "policy/approval-malformed");
}

// ---- gaps

/// The sessions that the issuer knows, beside those of which the operator gives bundles.
#[test]
fn sessions_that_only_the_public_log_has() {
    use PublicLogEventKind::{Abandoned, Closed, Issued, Opened};
    let (world, folder) = (World::new(), tempfile::tempdir().unwrap());
    let close = |parts: &Parts| sha(parts.log.checkpoints.last().unwrap().as_bytes());
    let first = world.honest();
    let second = world.session(&world.card, 2, close(&first)).after(&first);
    // The ticket with serial 3 is given up before a session begins.
    let fourth = world.session(&world.card, 4, [0; 32]).after(&second);
    let ticket = |parts: &Parts| sha(&parts.ticket_bytes());
    let chain = ChainId { key: key_id(&world.card.key.public_key()), seat: 0 };
    let events: Vec<LogEvent> = [
        (1, Issued, ticket(&first)),
        (1, Opened, ticket(&first)),
        (1, Closed, ticket(&first)),
        (2, Issued, ticket(&second)),
        (2, Opened, ticket(&second)),
        (2, Closed, ticket(&second)),
        (3, Issued, [9; 32]),
        (3, Abandoned, [9; 32]),
        (4, Issued, ticket(&fourth)),
        (4, Opened, ticket(&fourth)),
    ]
    .map(|(serial, kind, ticket)| (chain, serial, kind, ticket))
    .to_vec();
    let policy = LogPolicy::parse(&log_policy(&world)).unwrap();
    let found = |parts: &[&Parts], events: &[LogEvent], seen: u64, start: ChainStart| {
        write_log(folder.path(), &world, events, seen);
        let log = GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy);
        assert!(log.log().is_some(), "{log:?}");
        let reports = parts.iter().map(|p| (format!("session-{}", p.ticket.serial), world.check(&p.files())));
        let series = series::join(reports.collect(), start, Some(&log));
        let used = series.public_log.as_ref().map(|log| (log.entries, log.seen));
        assert_eq!(used, Some((events.len() as u64, Some(seen))));
        (series.findings.iter().map(|f| f.code.id()).collect::<Vec<_>>(), series.exit_code)
    };
    let of = |parts: &[&Parts]| found(parts, &events, END, ChainStart::First);
    // A trust folder with a policy demands the log.
    let mut trust = world.trust(false);
    assert!(matches!(read_log(Some(folder.path()), &trust), Err(LogError::NoPolicy)));
    assert!(matches!(read_log(None, &trust), Ok(None)));
    trust.log_policy = Some(policy.clone());
    let missing = read_log(None, &trust).unwrap();
    let reports = vec![("1".to_owned(), world.check(&first.files()))];
    let series = series::join(reports, ChainStart::First, missing.as_ref());
    assert_eq!(series.findings.iter().map(|f| f.code.id()).collect::<Vec<_>>(), ["log-missing"]);
    assert_eq!((series.exit_code, &series.public_log), (5, &None));
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(read_log(Some(&nowhere), &trust), Err(LogError::Read(_))));
    // Without the log, the ticket that was given up is a gap.
    let reports =
        || [&first, &second, &fourth].map(|p| (p.ticket.serial.to_string(), world.check(&p.files()))).to_vec();
    assert_eq!(series::join(reports(), ChainStart::First, None).exit_code, 3);
    assert_eq!(of(&[&first, &second, &fourth]), (vec!["abandoned"], 5));
    // The last sessions are left out.
    let closed = [&events[..], &[(chain, 4, Closed, ticket(&fourth))]].concat();
    assert_eq!(found(&[&first, &second], &closed, END, ChainStart::First), (vec!["abandoned", "serial-missing"], 3));
    let all = vec!["serial-missing", "abandoned", "serial-missing"];
    assert_eq!(found(&[&first], &closed, END, ChainStart::First), (all, 3));
    // The newest one may still run: its end is not in the log.
    assert_eq!(of(&[&first, &second]), (vec!["abandoned", "open"], 5));
    assert_eq!(found(&[&second, &fourth], &events, END, ChainStart::Any), (vec!["abandoned"], 5));
    assert_eq!(found(&[&second], &events, END, ChainStart::Any), (vec!["abandoned", "open"], 5));
    // A session before is left out, too: the ticket that was given up does not hide it.
    assert_eq!(of(&[&first, &fourth]).0, ["abandoned", "serial-missing"]);
    // A ticket that was given up after its session had opened is a session.
    let mut opened = events.clone();
    opened.insert(7, (chain, 3, Opened, [9; 32]));
    assert_eq!(found(&[&first, &second, &fourth], &opened, END, ChainStart::First), (vec!["serial-missing"], 3));
    // The log has another ticket, or no ticket, of the session.
    let other = events.iter().map(|event| if event.1 == 2 { (event.0, event.1, event.2, [8; 32]) } else { *event });
    let other: Vec<LogEvent> = other.collect();
    assert_eq!(found(&[&first, &second, &fourth], &other, END, ChainStart::First).0, ["log-ticket", "abandoned"]);
    assert_eq!(found(&[&first, &second], &events[..3], START, ChainStart::First), (vec!["log-behind"], 5));
    assert_eq!(found(&[&first, &second], &events[..3], END, ChainStart::First), (vec!["log-ticket"], 3));
    assert_eq!(found(&[&first, &second], &[], END, ChainStart::First), (vec!["log-ticket", "log-ticket"], 3));
    // The clocks of two witnesses can differ.
    let began = world.check(&second.files()).session.witnessed.unwrap().0;
    assert_eq!(found(&[&first, &second], &events[..3], began + CLOCK_SKEW, ChainStart::First).0, ["log-behind"]);
    assert_eq!(found(&[&first, &second], &events[..3], began + CLOCK_SKEW + 1, ChainStart::First).0, ["log-ticket"]);
    // The log has the end of a session whose bundle has none.
    let mut cut = first.clone();
    cut.open();
    let cut = cut;
    let events_of_cut: Vec<LogEvent> =
        events[..3].iter().map(|event| (event.0, event.1, event.2, ticket(&cut))).collect();
    assert_eq!(found(&[&cut], &events_of_cut, END, ChainStart::First), (vec!["log-closed", "open"], 5));
    assert_eq!(found(&[&cut], &events_of_cut[..2], END, ChainStart::First).0, ["open"]);
    // A ticket that names an end although the session before it was given up.
    let naming = world.session(&world.card, 4, close(&second)).after(&second);
    let events_of: Vec<LogEvent> = events
        .iter()
        .map(|event| if event.1 == 4 { (event.0, event.1, event.2, ticket(&naming)) } else { *event })
        .collect();
    let names = found(&[&first, &second, &naming], &events_of, END, ChainStart::First);
    assert_eq!(names, (vec!["previous-close", "abandoned"], 3));
    // A log of another issuer, without this card, says nothing about its sessions.
    let others = World { issuer: SigningKey::from_bytes(&[77; 32]), ..World::new() };
    write_log(folder.path(), &others, &[(ChainId { key: [1; 32], seat: 0 }, 1, Issued, [1; 32])], END);
    let of_others = log_policy(&others);
    let beside = |policy: &str| {
        let policy = LogPolicy::parse(policy).unwrap();
        let log = GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy);
        let series = series::join(reports(), ChainStart::First, Some(&log));
        assert!(series.public_log.is_some());
        series.findings.iter().map(|f| f.code.id()).collect::<Vec<_>>()
    };
    assert_eq!(beside(&of_others), ["serial-missing"]);
    // With a policy that names both logs, the log of the sessions' own issuer is missing.
    let own = log_policy(&world);
    let both = format!("{}\n{of_others}", own.lines().next().unwrap());
    assert_eq!(beside(&both), ["log-missing", "serial-missing"]);
    // An issuer with a new key goes on with its log, which has the sessions under the old key.
    write_log(folder.path(), &others, &events, END);
    assert_eq!(beside(&both), ["abandoned"]);
    // A log that is not the one of the policy.
    write_log(folder.path(), &others, &events, END);
    let log = GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy);
    let series = series::join(reports(), ChainStart::First, Some(&log));
    let codes: Vec<_> = series.findings.iter().map(|f| (f.code.id(), f.name.is_some())).collect();
    assert_eq!((codes, series.exit_code), (vec![("public-log", false), ("serial-missing", true)], 3));
    assert_eq!(series.public_log, None);
    let shown = SeriesText { series: &series, terminal: TerminalLayout::default() }.to_string();
    assert!(shown.contains("public-log: the public log: the head of the public log: "), "{shown}");
}

#[test]
fn gaps_between_sessions() {
    let world = World::new();
    let first = world.honest();
    let close = |parts: &Parts| sha(parts.log.checkpoints.last().unwrap().as_bytes());
    let second = world.session(&world.card, 2, close(&first)).after(&first);
    let third = world.session(&world.card, 3, close(&second)).after(&second);
    let join = |parts: &[&Parts]| {
        series::join(
            parts.iter().map(|p| (format!("session-{}", p.ticket.serial), world.check(&p.files()))).collect(),
            ChainStart::First,
            None,
        )
    };
    let found = |parts: &[&Parts]| {
        let series = join(parts);
        (series.findings.iter().map(|f| f.code.id()).collect::<Vec<_>>(), series.exit_code)
    };
    assert_eq!(found(&[&third, &first, &second]), (vec![], 0));
    assert_eq!(found(&[&first, &third]), (vec!["serial-missing"], 3));
    assert_eq!(found(&[&second, &third]), (vec!["serial-missing"], 3));
    assert_eq!(found(&[]), (vec![], 5));
    // The previous session differs from the one that the ticket names.
    let mut other = world.honest();
    other.gate(0, 1, "", "", Determination::Admit);
    let mut again = first.clone();
    again.open();
    again.log.close();
    assert_eq!(found(&[&again, &second]), (vec!["previous-close", "witness-fork"], 3));
    // The ticket states that the previous session was abandoned. That is false for `first` and true for `abandoned`.
    let after_abandoned = world.session(&world.card, 2, [0; 32]).after(&first);
    assert_eq!(found(&[&first, &after_abandoned]), (vec!["previous-close"], 3));
    let mut abandoned = first.clone();
    abandoned.log.checkpoints.pop();
    assert_eq!(found(&[&abandoned, &after_abandoned]), (vec!["abandoned"], 5));
    // The operator hides how the previous session ended, but the ticket's issuer knows its last checkpoint.
    assert_eq!(found(&[&abandoned, &second]), (vec!["previous-close"], 3));
    assert_eq!(found(&[&abandoned]), (vec!["open"], 5));
}

#[test]
fn heartbeats() {
    let world = World::new();
    let honest = world.honest();
    let play = |heartbeats: &[(u64, u64)]| {
        let mut parts = honest.clone();
        parts.open();
        for (before, nonce) in heartbeats {
            for _ in 0..*before {
                parts.log.checkpoint();
            }
            parts.log.heartbeat(*nonce);
        }
        parts.log.close();
        codes(&world.check(&parts.files()))
    };
    assert_eq!(play(&[(0, nonce(0)), (1, nonce(1)), (2, nonce(3))]), set(&[]));
    for (what, heartbeats) in [
        ("invented", &[(0, 12345)][..]),
        ("zero, which the witness gives when there is none", &[(0, 0)]),
        ("given for a checkpoint that came later", &[(0, nonce(1)), (1, nonce(0))]),
        ("used twice", &[(0, nonce(0)), (1, nonce(0))]),
        ("out of order", &[(1, nonce(1)), (0, nonce(0))]),
    ] {
        assert_eq!(play(heartbeats), set(&["no_gaps/heartbeat-nonce"]), "{what}");
    }
    // Without the witness's notes, no nonce can be checked.
    let mut parts = honest.clone();
    parts.witnessed = false;
    assert!(codes(&world.check(&parts.files())).contains("no_gaps/heartbeat-unwitnessed"));
    // More entries, or more time, than the credit of a heartbeat allows.
    let mut parts = honest.clone();
    parts.open();
    for slot in 0..9 {
        parts.begin(slot, "a");
    }
    parts.log.close();
    assert_eq!(codes(&world.check(&parts.files())), set(&["no_gaps/heartbeat-gap", "replayable/id-twice"]));
    // The limit of time is exact: one clock before it, an entry has credit; at the limit it has none. A record of this
    // simulated log takes 400 clocks.
    let at = |behind: u64, refused: bool| {
        let mut parts = honest.clone();
        parts.open();
        parts.begin(0, "a");
        parts.log.wait(3 * 65_536);
        parts.log.heartbeat(nonce(0));
        parts.log.wait(behind - 400);
        if refused {
            parts.log.refuse(1, 0, Fault::Credit)
        } else {
            parts.begin(1, "b")
        }
        parts.log.close();
        codes(&world.check(&parts.files()))
    };
    assert_eq!(at(2 * 65_536 - 1, false), set(&[]));
    assert_eq!(at(2 * 65_536, false), set(&["no_gaps/heartbeat-gap"]));
    // A card must not refuse an entry for lack of credit while it has credit.
    assert_eq!(at(2 * 65_536, true), set(&[]));
    assert!(at(2 * 65_536 - 1, true).contains("complete/record-answer"));
    // The card latched other limits than the ticket's.
    let mut parts = honest.clone();
    let strict = parts.ticket.clone();
    parts.ticket.heartbeat_records = 1000;
    parts.play();
    let lax = parts.log.clone();
    parts.ticket = strict;
    parts.play();
    parts.log.lanes[0][0].descriptor = lax.lanes[0][0].descriptor;
    let digest = sha(&parts.ticket_bytes());
    parts.log.lanes[0][0].descriptor.as_mut_bytes()[64..96].copy_from_slice(&digest);
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "no_gaps/heartbeat-limits");
}

#[test]
fn what_remains_of_heartbeats_is_a_witness_that_colludes() {
    // The verifier accepts the witness's nonces, even if the witness gave them out too early.
    let world = World::new();
    let mut parts = world.honest();
    parts.witness = world.witness.clone();
    assert_affirmed(&world.check(&parts.files()));
    parts.witness = SigningKey::from_bytes(&[44; 32]);
    assert_contradicted(&world.check(&parts.files()), "no_gaps/witness-note");
}

#[test]
fn witness_and_ticket() {
    let world = World::new();
    let honest = world.honest();
    // A ticket without an issuer, a ticket by an unknown issuer, and a ticket that expires during the session.
    let mut parts = honest.clone();
    parts.ticket.issuer = "self".to_owned();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.issuer = SigningKey::from_bytes(&[8; 32]);
    parts.witnessed = false;
    parts.open();
    parts.begin(0, "a");
    parts.end(0, 1, "");
    parts.log.close();
    let report = world.check(&parts.files());
    assert_eq!((codes(&report), report.exit_code), (set(&["genuine/certificate-time", "no_gaps/no-witness"]), 5));
    let mut parts = honest.clone();
    parts.issuer = SigningKey::from_bytes(&[8; 32]);
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "no_gaps/ticket-issuer");
    let mut parts = honest.clone();
    parts.ticket.not_after = START + 150;
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "no_gaps/ticket-validity");
    // Notes of another session, notes in the wrong place, and missing notes.
    let mut parts = honest.clone();
    let mut files = parts.files();
    parts.ticket.serial = 2;
    files.0.insert(bundle::witness(1), parts.notes()[1].clone());
    remanifest(&mut files);
    assert_contradicted(&world.check(&files), "no_gaps/witness-session");
    let mut files = honest.files();
    files.0.insert(bundle::witness(1), honest.notes()[2].clone());
    remanifest(&mut files);
    assert_contradicted(&world.check(&files), "no_gaps/witness-serial");
    // A note whose index in the witness's log is lower than the previous note's. A gap in the indices is allowed:
    // another card of the class may have posted in between.
    let mut parts = honest.clone();
    parts.witness_log = (0..7_u64).map(|i| tree::leaf(&i.to_le_bytes())).collect();
    let mut files = honest.files();
    files.0.insert(bundle::witness(2), parts.notes()[2].clone());
    remanifest(&mut files);
    assert_affirmed(&world.check(&files));
    files.0.insert(bundle::witness(1), parts.notes()[1].clone());
    files.0.insert(bundle::witness(2), honest.notes()[2].clone());
    remanifest(&mut files);
    assert_contradicted(&world.check(&files), "no_gaps/witness-order");
    for gone in [0, 2] {
        let mut files = honest.files();
        files.0.remove(&bundle::witness(gone));
        remanifest(&mut files);
        assert!(codes(&world.check(&files)).contains("no_gaps/no-witness"));
    }
}

// ---- simulation

// ---- the order of the checkpoints

#[test]
fn checkpoints_in_impossible_order() {
    let world = World::new();
    let honest = world.honest();
    let edits: [(Edit, &str); 6] = [
        (|p| p.log.checkpoints[1].state = Life::Opening.into(), "complete/checkpoint-state"),
        (|p| p.log.checkpoints[1].state = Life::Closing.into(), "complete/checkpoint-state"),
        (|p| p.log.checkpoints[2].state = Life::Run.into(), "complete/checkpoint-state"),
        (|p| p.log.checkpoints[1].epoch.set(1), "complete/checkpoint-session"),
        (|p| p.log.checkpoints[1].tick.set(0), "complete/checkpoint-order"),
        (|p| p.log.checkpoints[1].boot_nonce[3] ^= 1, "complete/checkpoint-session"),
    ];
    for (edit, code) in edits {
        let mut parts = honest.clone();
        edit(&mut parts);
        assert_contradicted(&world.check(&parts.files()), code);
    }
    let mut parts = honest.clone();
    parts.log.checkpoints[1].lanes = 2;
    assert_contradicted(&world.check(&parts.files()), "complete/checkpoint-lanes");
    for lanes in [0, 3, 16, 255] {
        let mut parts = honest.clone();
        parts.log.checkpoints[1].lanes = lanes;
        assert_contradicted(&world.check(&parts.files()), "genuine/checkpoint-malformed");
    }
}

// ---- comparisons that earlier versions lacked
