//! A campaign of random changes to a bundle in memory: none is affirmed, nothing panics, and a histogram says which check refused.
//!
//! `PORTCULLIS_LONG=1` makes 1,000,000 changes, otherwise a few thousand are made; `PORTCULLIS_SEED` repeats a run. Progress is told on
//! standard error.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod world;

use ed25519_dalek::SigningKey;
use portcullis_core::wire::{Descriptor, Record};
use portcullis_evidence::bundle::{self, Memory, Span, Stream};
use portcullis_evidence::certificate::{Class, key_id};
use portcullis_evidence::checkpoint::LANES_MAX;
use portcullis_evidence::verify::{Options, Property, Report, Status, Trust, verify};
use portcullis_registrar::ca::{Authority, Window};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Instant;
use world::{Card, END, Parts, START, World, certificate, remanifest, sha};
use zerocopy::{FromBytes, IntoBytes};

/// A small generator (SplitMix64): the same changes on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

/// A change to the bytes of one file.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len();
    let at = random.below(length);
    let span = 1 + random.below(64.min(length - at.min(length)));
    let end = (at + span).min(length);
    match random.below(9) {
        0..=2 if length > 0 => bytes[at] ^= 1 << random.below(8),
        3 if length > 0 => bytes[at] = random.next() as u8,
        4 => bytes.insert(at, random.next() as u8),
        5 if length > 0 => drop(bytes.drain(at..end)),
        6 => bytes.truncate(at),
        7 => bytes.extend_from_within(at..end),
        _ if length > 0 => bytes[at..end].rotate_left(1.min(end - at)),
        _ => bytes.push(random.next() as u8),
    }
}

/// Changes files, as whoever stores or carries a bundle can.
fn change_files(files: &mut Memory, random: &mut Random) {
    let names: Vec<String> = files.0.keys().filter(|name| *name != bundle::README).cloned().collect();
    let pick = |random: &mut Random| names[random.below(names.len())].clone();
    match random.below(12) {
        0 => drop(files.0.remove(&pick(random))),
        1 => {
            let (a, b) = (pick(random), pick(random));
            let content = files.0[&a].clone();
            files.0.insert(b, content);
        }
        2 => {
            let (a, b) = (pick(random), pick(random));
            let (x, y) = (files.0[&a].clone(), files.0[&b].clone());
            files.0.extend([(a, y), (b, x)]);
        }
        3 => {
            let serial = random.below(5) as u64;
            let name = if random.one_in(2) { bundle::checkpoint(serial) } else { bundle::witness(serial) };
            let content = files.0[&pick(random)].clone();
            files.0.insert(name, content);
        }
        _ => {
            for _ in 0..=random.below(3) {
                change(files.0.get_mut(&pick(random)).unwrap(), random);
            }
        }
    }
    if random.one_in(2) {
        remanifest(files);
    }
}

/// Changes what the card wrote.
fn change_log(parts: &mut Parts, random: &mut Random) {
    let lanes = &mut parts.log.lanes;
    let lane = random.below(lanes.len());
    let at = random.below(lanes[lane].len());
    match random.below(if lanes.len() > 1 { 9 } else { 6 }) {
        0 => drop(lanes[lane].drain(at..=at)),
        1 => {
            let record = lanes[lane][at];
            lanes[lane].insert(at, record);
        }
        2 => {
            let other = random.below(lanes[lane].len());
            lanes[lane].swap(at, other);
        }
        3 => {
            let answer = &mut lanes[lane][at].answer;
            (answer.determination, answer.stage) = [(3, 0), (1, 1), (2, 4), (1, 3)][random.below(4)];
        }
        4 => lanes[lane][at].descriptor.commitment = random.bytes(),
        // Between lanes: two exchanged, a record moved to another one, the number of a lane in a record.
        6 => {
            let other = random.below(lanes.len());
            lanes.swap(lane, other);
        }
        7 => {
            let record = lanes[lane].remove(at);
            let other = random.below(lanes.len());
            let to = random.below(lanes[other].len() + 1);
            lanes[other].insert(to, record);
        }
        8 => lanes[lane][at].answer.lane = random.below(9) as u8,
        _ => {
            let mut bytes: [u8; Record::BYTES] = zerocopy::transmute!(lanes[lane][at]);
            bytes[random.below(Record::BYTES)] ^= 1 << random.below(8);
            lanes[lane][at] = Record::read_from_bytes(&bytes).unwrap();
        }
    }
    // Everything that can be made to fit without the card's key is: CRC, index, often the lane, roots.
    let renumber = random.one_in(2);
    for (lane, records) in (0..).zip(lanes.iter_mut()) {
        for (index, record) in (0..).zip(records.iter_mut()) {
            record.answer.log_index.set(index);
            record.answer.lane = if renumber { lane } else { record.answer.lane };
            let of_an_entry = (2..=5).contains(&record.answer.record_type);
            if of_an_entry {
                record.descriptor = Descriptor::sealed(record.descriptor);
            }
        }
    }
    parts.reroot();
}

/// Who forges, and with what papers.
struct Forger {
    card: Rc<Card>,
    own_certificate: String,
    issuer: SigningKey,
}

impl Forger {
    fn new(design_id: [u8; 16]) -> Self {
        let card = Card::new(b"a key of the operator", design_id, Class::Device);
        let window = Window { not_before: START - 1000, not_after: END + 1000 };
        let own = Authority::root(SigningKey::from_bytes(&[66; 32]), "CN=Test root", window, false).unwrap();
        let own_certificate = certificate(&own, &card);
        Self { card, own_certificate, issuer: SigningKey::from_bytes(&[67; 32]) }
    }

    /// A changed log in a bundle that is consistent in itself, but for signatures that only the card can make.
    fn forge(&self, honest: &Parts, random: &mut Random) -> Memory {
        let mut parts = honest.clone();
        change_log(&mut parts, random);
        if random.one_in(2) {
            parts.certificate.clone_from(&self.own_certificate);
        }
        if random.one_in(2) {
            parts.ticket.key = key_id(&self.card.key.public_key());
        }
        if random.one_in(3) {
            parts.issuer = self.issuer.clone();
        } else if random.one_in(3) {
            parts.ticket.issuer = "self".to_owned();
        }
        if random.one_in(2) {
            // The new ticket, where the log names it.
            let digest = sha(&parts.ticket_bytes());
            for records in &mut parts.log.lanes {
                let last = records.len().saturating_sub(1);
                for record in records.iter_mut().enumerate().filter(|(at, _)| [0, last].contains(at)).map(|(_, r)| r) {
                    record.descriptor.as_mut_bytes()[64..96].copy_from_slice(&digest);
                }
            }
            parts.log.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.ticket_digest = digest);
            parts.reroot();
        }
        parts.witnessed = random.one_in(2);
        if random.one_in(2) {
            parts.witness = self.issuer.clone();
        }
        match random.below(64) {
            // A key of the forger's own. Few, because two such signatures cost as much as twenty bundles do otherwise.
            0 => parts.signer = Rc::clone(&self.card),
            // What the card did sign, over other records.
            1..=20 => {
                parts.log.checkpoints.clone_from(&honest.log.checkpoints);
                if random.one_in(2) {
                    parts.log.heads.clone_from(&honest.log.heads);
                }
            }
            // The card's signatures, over what it did not sign.
            _ => parts.signer.graft(parts.log.checkpoints.iter().zip(&honest.log.checkpoints)),
        }
        parts.files()
    }
}

/// A short session: two checkpoints.
fn session(world: &World, lanes: u8) -> Parts {
    let mut parts = world.honest();
    (parts.count, parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (lanes, 0, 0);
    parts.play();
    parts.log.checkpoints.remove(1);
    parts.log.heads.remove(1);
    parts.log.checkpoints[1].serial.set(1);
    // The heartbeat's nonce was given for a checkpoint that is no longer there.
    for lane in 0..usize::from(lanes) {
        let records = &mut parts.log.lanes[lane];
        let at = records.iter().position(|record| record.answer.record_type == 7).unwrap();
        records.remove(at);
        for (index, record) in (0..).zip(records) {
            record.answer.log_index.set(index);
        }
        for lines in [&mut parts.spans, &mut parts.streams, &mut parts.receipts] {
            for line in lines.iter_mut().filter(|line| line["lane"] == lane) {
                let index = line["index"].as_u64().unwrap();
                line["index"] = (index - u64::from(index > at as u64)).into();
            }
        }
    }
    parts.reroot();
    parts
}

/// The receipts of a bundle.
fn receipts(files: &Memory) -> Vec<String> {
    let names = (0..LANES_MAX).map(|lane| bundle::in_lane(bundle::RECEIPTS, lane));
    let texts = names.filter_map(|name| String::from_utf8(files.0.get(&name)?.clone()).ok());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter_map(|line| Some(format!("{:?}", serde_json::from_str::<bundle::Receipt>(&line).ok()?))).collect()
}

/// What the lines of a bundle say, without what is for people only: JSON has many forms for one content. Receipts are their readers';
/// a bundle may leave out any, so that only those that are none of the `honest` ones count.
fn meaning(files: &Memory, honest: &[String]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut meaning = files.0.clone();
    let kinds = [bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS];
    for (kind, lane) in kinds.into_iter().flat_map(|kind| (0..LANES_MAX).map(move |lane| (kind, lane))) {
        let name = &bundle::in_lane(kind, lane);
        // A lane without streams needs none of these files.
        let text = String::from_utf8(meaning.remove(name).unwrap_or_default()).ok()?;
        for line in text.lines() {
            let said = match kind {
                bundle::STREAMS => {
                    serde_json::from_str::<Stream>(line).ok().map(|s| format!("{} {} {}", s.index, s.stream, s.id))
                }
                bundle::SPANS => serde_json::from_str::<Span>(line)
                    .ok()
                    .map(|s| format!("{} {:?} {:?} {:?}", s.index, s.salt, s.held, s.text)),
                // Whether it is what the stream was given, the replay tells.
                bundle::INPUTS => serde_json::from_str::<bundle::Input>(line).ok().map(|i| i.index.to_string()),
                _ => match serde_json::from_str::<bundle::Receipt>(line).ok().map(|r| format!("{r:?}")) {
                    Some(receipt) if honest.contains(&receipt) => continue,
                    receipt => receipt,
                },
            };
            meaning.entry(format!("meaning of {name}")).or_default().extend(format!("{}\n", said?).into_bytes());
        }
    }
    for name in [bundle::CERTIFICATE, bundle::CHAIN] {
        let pem = meaning.get_mut(name)?;
        pem.retain(|byte| !byte.is_ascii_whitespace());
    }
    meaning.remove(bundle::MANIFEST);
    Some(meaning)
}

/// The first check that refused, by property and weight.
fn first_code(report: &Report) -> String {
    let worst =
        |p: &Property| report.properties.of(*p).reasons.first().filter(|r| r.status == report.status).map(|r| r.code);
    let found = Property::ALL.iter().find_map(|p| worst(p).map(|code| format!("{}/{code}", p.name())));
    format!("{} {}", report.status.name(), found.unwrap_or_default())
}

/// What became of the bundles of one generator.
#[derive(Default)]
struct Tally {
    made: u64,
    reframed: u64,
    histogram: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.made += other.made;
        self.reframed += other.reframed;
        for (code, times) in other.histogram {
            *self.histogram.entry(code).or_default() += times;
        }
    }
}

/// Makes `count` changed bundles of a card of `lanes` lanes, and offers each to the verifier.
fn campaign(lanes: u8, seed: u64, count: u64) -> Tally {
    let world = World::new();
    let trust: Trust = world.trust(false);
    let honest = session(&world, lanes);
    let original = honest.files();
    let check = |files: &Memory| verify(files, &trust, Options::default(), &mut |_| ());
    assert_eq!(check(&original).unwrap().exit_code, 0, "the honest bundle");
    let receipts = receipts(&original);
    let same = meaning(&original, &receipts);
    let forger = Forger::new(honest.card.design_id);

    let mut random = Random(seed);
    let mut tally = Tally::default();
    let began = Instant::now();
    while tally.made < count {
        let state = random.0;
        let forged = random.below(100) < 35;
        let files = if forged {
            forger.forge(&honest, &mut random)
        } else {
            let mut files = original.clone();
            change_files(&mut files, &mut random);
            files
        };
        // What says the same as before is no change.
        let unchanged = if forged {
            original.0.iter().filter(|(name, _)| name.starts_with("records/lane-")).all(|(n, log)| files.0[n] == *log)
        } else {
            meaning(&files, &receipts) == same
        };
        if unchanged {
            continue;
        }
        tally.made += 1;
        tally.reframed += u64::from(forged);
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&files)));
        let code = match outcome {
            Err(_) => panic!("a panic; generator state {state}"),
            Ok(Err(error)) => {
                assert!(!error.is_operational(), "{error}; generator state {state}");
                let name = format!("{error:?}");
                format!("not a bundle: {}", name.split([' ', '(', '{']).next().unwrap_or_default())
            }
            Ok(Ok(report)) => {
                let changed: Vec<_> =
                    files.0.iter().filter(|(name, _)| original.0.get(*name) != files.0.get(*name)).collect();
                let state = format!("{state}, changed {:?}", changed.iter().map(|(name, _)| name).collect::<Vec<_>>());
                assert_ne!(report.status, Status::Affirmed, "affirmed; generator state {state}");
                // A forged bundle is never merely incomplete.
                assert!(!forged || report.status == Status::Contradicted, "{report:#?}; generator state {state}");
                first_code(&report)
            }
        };
        *tally.histogram.entry(code).or_default() += 1;
        if tally.made % 10_000 == 0 {
            eprintln!("{lanes} lanes, seed {seed}: {} of {count} in {} s", tally.made, began.elapsed().as_secs());
        }
    }
    tally
}

#[test]
fn none_is_affirmed() {
    let long = std::env::var_os("PORTCULLIS_LONG").is_some();
    let seed: u64 = std::env::var("PORTCULLIS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_260_321);
    let count: u64 = std::env::var("PORTCULLIS_MUTATIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(if long { 1_000_000 } else { 3_000 });
    // Half of them of one lane, half of four, each with a generator of its own.
    let shares = [(1, seed, count / 2), (4, seed + 1, count - count / 2)];
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let run = |(lanes, seed, count)| scope.spawn(move || campaign(lanes, seed, count));
        let runs: Vec<_> = shares.into_iter().map(run).collect();
        runs.into_iter().for_each(|run| tally.add(run.join().unwrap()));
    });
    let Tally { made, reframed, histogram } = tally;
    println!("{made} changed bundles, {reframed} of them framed anew, seed {seed}: none affirmed, no panic");
    let mut lines: Vec<_> = histogram.into_iter().collect();
    lines.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    lines.iter().for_each(|(code, n)| println!("{n:>8}  {code}"));
    assert!(reframed * 100 >= made * 30, "{reframed} of {made}");
}
