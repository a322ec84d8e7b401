//! A campaign of random changes to bundles in memory: neither `verify` nor `check` affirms a changed bundle, and
//! nothing panics. A table shows the outcome of each kind of change, and a histogram shows which check refused first.
//!
//! `PORTCULLIS_LONG=1` makes 1,000,000 changes instead of a few thousand; `PORTCULLIS_MUTATIONS` sets another number,
//! and `PORTCULLIS_SEED` another seed. The changes are divided into shards with their own seeds, so that the result
//! does not depend on the number of threads or on timing. Progress is printed on standard error.
//!
//! `verify` reads every bundle. `check` is `verify` plus a replay, with the worse verdict of the two, so it cannot
//! affirm what `verify` contradicts. Therefore `check` runs on every bundle that `verify` does not contradict, and on
//! one in [`SAMPLE`] of the others, where the replay must not panic.
#![cfg(test)]

use portcullis_test_sessions as real;
use portcullis_test_support::random::Random;
use portcullis_test_support::world;

/// The sessions are of texts that were complete before they were judged.
const ACCEPTING: VerifyOptions = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: None };

use ed25519_dalek::SigningKey;
use portcullis_audit::{CheckReport, check};
use portcullis_authority::ca::{CertificateAuthority, CertificateValidity};
use portcullis_core::wire::{Descriptor, Record};
use portcullis_evidence::bundle::{self, BundleError, MemoryFiles, SpanLine, StreamLine};
use portcullis_evidence::certificate::{CardKeyClass, key_id};
use portcullis_evidence::checkpoint::LANES_MAX;
use portcullis_evidence::verify::{
    BundleProperty, EvidenceStatus, TrustedParties, VerifyOptions, VerifyReport, verify,
};
use portcullis_gate::replay::ReplayInput;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use world::{Card, END, Parts, START, World, certificate, remanifest, sha};
use zerocopy::{FromBytes, IntoBytes};

/// Of the bundles that `verify` contradicts, `check` runs only on those whose number is a multiple of this number.
const SAMPLE: u64 = 16;
const SHARD: u64 = 1000;
const LANES: [u8; 3] = [1, 2, 4];

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len();
    let at = random.below(length);
    let span = 1 + random.below(64.min(length - at.min(length)));
    let end = (at + span).min(length);
    match random.below(9) {
        0..=2 if length > 0 => bytes[at] ^= 1 << random.below(8),
        3 if length > 0 => bytes[at] = random.byte(),
        4 => bytes.insert(at, random.byte()),
        5 if length > 0 => drop(bytes.drain(at..end)),
        6 => bytes.truncate(at),
        7 => bytes.extend_from_within(at..end),
        _ if length > 0 => bytes[at..end].rotate_left(1.min(end - at)),
        _ => bytes.push(random.byte()),
    }
}

/// Changes files, as a party that stores or carries a bundle can. Returns the kind of change.
fn change_files(files: &mut MemoryFiles, random: &mut Random) -> &'static str {
    let names: Vec<String> = files.0.keys().filter(|name| *name != bundle::README).cloned().collect();
    let pick = |random: &mut Random| names[random.below(names.len())].clone();
    let kind = match random.below(13) {
        0 => {
            files.0.remove(&pick(random));
            "file removed"
        }
        1 => {
            let (a, b) = (pick(random), pick(random));
            let content = files.0[&a].clone();
            files.0.insert(b, content);
            "file overwritten with another"
        }
        2 => {
            let (a, b) = (pick(random), pick(random));
            let (x, y) = (files.0[&a].clone(), files.0[&b].clone());
            files.0.extend([(a, y), (b, x)]);
            "files exchanged"
        }
        3 => {
            let serial = random.below(5) as u64;
            let name = if random.one_in(2) { bundle::checkpoint(serial) } else { bundle::witness(serial) };
            let content = files.0[&pick(random)].clone();
            files.0.insert(name, content);
            "checkpoint or note put in"
        }
        4 => {
            change_input(files, random);
            remanifest(files);
            return "letter of an input";
        }
        _ => {
            for _ in 0..=random.below(3) {
                change(files.0.get_mut(&pick(random)).unwrap(), random);
            }
            "bytes of files"
        }
    };
    if random.one_in(2) {
        remanifest(files);
    }
    kind
}

/// Changes a letter in the input of a stream. No record and no commitment covers the input; only a replay detects this.
fn change_input(files: &mut MemoryFiles, random: &mut Random) {
    let names: Vec<String> = files.0.keys().filter(|name| name.starts_with("inputs")).cloned().collect();
    let text = files.0.get_mut(&names[random.below(names.len())]).unwrap();
    let letters: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_lowercase()).collect();
    if !letters.is_empty() {
        text[letters[random.below(letters.len())]] = b'a' + random.below(26) as u8;
    }
}

/// Changes the card's output. Returns the kind of change.
fn change_log(parts: &mut Parts, random: &mut Random) -> &'static str {
    let lanes = &mut parts.log.lanes;
    let lane = random.below(lanes.len());
    let at = random.below(lanes[lane].len());
    let kind = match random.below(if lanes.len() > 1 { 9 } else { 6 }) {
        0 => {
            lanes[lane].remove(at);
            "record dropped"
        }
        1 => {
            let record = lanes[lane][at];
            lanes[lane].insert(at, record);
            "record doubled"
        }
        2 => {
            let other = random.below(lanes[lane].len());
            lanes[lane].swap(at, other);
            "records exchanged"
        }
        3 => {
            let answer = &mut lanes[lane][at].answer;
            (answer.determination, answer.stage) = [(3, 0), (1, 1), (2, 4), (1, 3)][random.below(4)];
            "another answer"
        }
        4 => {
            lanes[lane][at].descriptor.commitment = random.bytes();
            "another commitment"
        }
        // Exchanges two lanes, moves a record to another lane, or changes the lane number in a record.
        6 => {
            let other = random.below(lanes.len());
            lanes.swap(lane, other);
            "lanes exchanged"
        }
        7 => {
            let record = lanes[lane].remove(at);
            let other = random.below(lanes.len());
            let to = random.below(lanes[other].len() + 1);
            lanes[other].insert(to, record);
            "record moved to another lane"
        }
        8 => {
            lanes[lane][at].answer.lane = random.below(9) as u8;
            "lane of a record"
        }
        _ => {
            let mut bytes: [u8; Record::BYTES] = zerocopy::transmute!(lanes[lane][at]);
            bytes[random.below(Record::BYTES)] ^= 1 << random.below(8);
            lanes[lane][at] = Record::read_from_bytes(&bytes).unwrap();
            "bit of a record"
        }
    };
    // Recompute everything that does not need the card's key: CRC, index, often the lane, roots.
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
    kind
}

struct Forger {
    card: Rc<Card>,
    own_certificate: String,
    issuer: SigningKey,
}

impl Forger {
    fn new(design_id: [u8; 16]) -> Self {
        let card = Card::new(b"a key of the operator", design_id, CardKeyClass::Device);
        let window = CertificateValidity { not_before: START - 1000, not_after: END + 1000 };
        let own = CertificateAuthority::root(SigningKey::from_bytes(&[66; 32]), "CN=Test root", window, false).unwrap();
        let own_certificate = certificate(&own, &card);
        Self { card, own_certificate, issuer: SigningKey::from_bytes(&[67; 32]) }
    }

    /// A bundle with a changed log. It is consistent in itself, except for signatures that only the card can make.
    fn forge(&self, honest: &Parts, random: &mut Random) -> (MemoryFiles, &'static str) {
        let mut parts = honest.clone();
        let kind = change_log(&mut parts, random);
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
            // Puts the digest of the new ticket where the log contains the old digest.
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
            // Signatures by a key of the forger. They are rare: two of them take as much time as twenty bundles.
            0 => parts.signer = Rc::clone(&self.card),
            // Real signatures of the card, but over other records.
            1..=20 => {
                parts.log.checkpoints.clone_from(&honest.log.checkpoints);
                if random.one_in(2) {
                    parts.log.heads.clone_from(&honest.log.heads);
                }
            }
            // The card's signatures, put under other checkpoints.
            _ => parts.signer.graft(parts.log.checkpoints.iter().zip(&honest.log.checkpoints)),
        }
        (parts.files(), kind)
    }
}

fn receipts(files: &MemoryFiles) -> Vec<String> {
    let names = (0..LANES_MAX).map(|lane| bundle::in_lane(bundle::RECEIPTS, lane));
    let texts = names.filter_map(|name| String::from_utf8(files.0.get(&name)?.clone()).ok());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter_map(|line| Some(format!("{:?}", serde_json::from_str::<bundle::Receipt>(&line).ok()?))).collect()
}

/// The content of a bundle's files in one encoding, because JSON has many encodings of one content. Files that only
/// people read are left out.
type Meaning = BTreeMap<String, Vec<u8>>;

/// The meaning of a bundle for a verifier, and for a replay too if `replayed`; `None` if a line cannot be read. A
/// receipt matters only to its reader, and a bundle may lack any receipt. So only receipts that differ from the
/// `honest` ones count.
fn meaning(files: &MemoryFiles, honest: &[String], replayed: bool) -> Option<Meaning> {
    let mut meaning = files.0.clone();
    let kinds = [bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS];
    for (kind, lane) in kinds.into_iter().flat_map(|kind| (0..LANES_MAX).map(move |lane| (kind, lane))) {
        let name = &bundle::in_lane(kind, lane);
        // A lane without streams may lack the file `name`.
        let text = String::from_utf8(meaning.remove(name).unwrap_or_default()).ok()?;
        for line in text.lines() {
            let said = match kind {
                bundle::STREAMS => {
                    serde_json::from_str::<StreamLine>(line).ok().map(|s| format!("{} {} {}", s.index, s.stream, s.id))
                }
                bundle::SPANS => serde_json::from_str::<SpanLine>(line)
                    .ok()
                    .map(|s| format!("{} {:?} {:?} {:?}", s.index, s.salt, s.held, s.text)),
                // Only the replay checks the stream's input.
                bundle::INPUTS => match serde_json::from_str::<bundle::InputLine>(line).ok() {
                    Some(line) if replayed => {
                        let input = serde_json::from_str::<ReplayInput>(line.input.get()).ok();
                        input.map(|input| format!("{} {input:?}", line.index))
                    }
                    line => line.map(|line| line.index.to_string()),
                },
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
fn first_code(report: &VerifyReport) -> String {
    let worst = |p: &BundleProperty| {
        report.properties.of(*p).reasons.first().filter(|r| r.status == report.status).map(|r| r.code)
    };
    let found = BundleProperty::ALL.iter().find_map(|p| worst(p).map(|code| format!("{}/{code}", p.name())));
    format!("{} {}", report.status.name(), found.unwrap_or_default())
}

/// The first check that refused, or why the files are not a bundle.
fn code_of_verify(verified: &Result<VerifyReport, BundleError>) -> String {
    match verified {
        Ok(report) => first_code(report),
        Err(error) => {
            let name = format!("{error:?}");
            format!("not a bundle: {}", name.split([' ', '(', '{']).next().unwrap_or_default())
        }
    }
}

/// Number of contradicted bundles, of bundles affirmed with a reservation, and of bundles affirmed without one.
#[derive(Clone, Copy, Default)]
struct Verdicts([u64; 3]);

impl Verdicts {
    fn count(&mut self, status: EvidenceStatus) {
        self.0[match status {
            EvidenceStatus::Contradicted => 0,
            EvidenceStatus::Warned => 1,
            EvidenceStatus::Affirmed => 2,
        }] += 1;
    }

    fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, times)| *sum += times);
    }
}

/// The results for the changes of one kind.
#[derive(Clone, Copy, Default)]
struct Kind {
    made: u64,
    verify: Verdicts,
    check: Verdicts,
}

#[derive(Default)]
struct Tally {
    made: u64,
    reframed: u64,
    kinds: BTreeMap<&'static str, Kind>,
    histogram: BTreeMap<String, u64>,
    /// Time that all threads spent in `verify`, and in `check`.
    spent: [Duration; 2],
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.made += other.made;
        self.reframed += other.reframed;
        self.spent.iter_mut().zip(other.spent).for_each(|(sum, time)| *sum += time);
        for (name, Kind { made, verify, check }) in other.kinds {
            let kind = self.kinds.entry(name).or_default();
            kind.made += made;
            kind.verify.add(verify);
            kind.check.add(check);
        }
        for (code, times) in other.histogram {
            *self.histogram.entry(code).or_default() += times;
        }
    }

    fn print(&self, seed: u64) {
        let Self { made, reframed, kinds, histogram, spent } = self;
        let mut all = Kind::default();
        for kind in kinds.values() {
            all.verify.add(kind.verify);
            all.check.add(kind.check);
        }
        let checked: u64 = all.check.0.iter().sum();
        println!("{made} changed bundles, {reframed} of them framed anew, seed {seed}: none affirmed, no panic");
        println!("`check` ran on {checked}: all that `verify` does not contradict, and one in {SAMPLE} of the others");
        let rate = |count: u64, time: Duration| u128::from(count) * 1000 / time.as_millis().max(1);
        let [verify, check] = *spent;
        eprintln!("each thread: {} `verify` a second, {} `check` a second", rate(*made, verify), rate(checked, check));
        println!("C contradicted, R affirmed with a reservation, A affirmed. `verify` does not read inputs.");
        println!(
            "{:<30} {:>8} | verify {:>8} {:>7} {:>4} | check {:>8} {:>7} {:>4}",
            "change", "made", "C", "R", "A", "C", "R", "A"
        );
        for (name, Kind { made, verify: Verdicts(v), check: Verdicts(c) }) in kinds {
            let [vc, vr, va] = v;
            let [cc, cr, ca] = c;
            println!("{name:<30} {made:>8} |        {vc:>8} {vr:>7} {va:>4} |       {cc:>8} {cr:>7} {ca:>4}");
        }
        let mut lines: Vec<_> = histogram.iter().collect();
        lines.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        lines.iter().for_each(|(code, n)| println!("{n:>8}  {code}"));
    }
}

/// The honest bundle of a card with a given number of lanes, and a forger.
struct Scene {
    trust: TrustedParties,
    honest: Parts,
    original: MemoryFiles,
    receipts: Vec<String>,
    /// The honest bundle's meaning for a verifier, and for a replay.
    same: [Option<Meaning>; 2],
    forger: Forger,
}

impl Scene {
    fn new(lanes: u8) -> Self {
        let world = World::new();
        let honest = real::session(&world, &world.card, lanes);
        let original = honest.files();
        let receipts = receipts(&original);
        let same = [false, true].map(|replayed| meaning(&original, &receipts, replayed));
        let forger = Forger::new(honest.card.design_id);
        let scene = Self { trust: world.trust(false), honest, original, receipts, same, forger };
        let checked = scene.check(&scene.original);
        assert_eq!(checked.exit_code, 0, "the honest bundle: {checked:#?}");
        scene
    }

    fn verify(&self, files: &MemoryFiles) -> Result<VerifyReport, BundleError> {
        verify(files, &self.trust, ACCEPTING, &mut |_| ())
    }

    fn check(&self, files: &MemoryFiles) -> CheckReport {
        check(files, &self.trust, ACCEPTING, &mut |_| (), &mut || ()).unwrap()
    }

    /// Makes `count` changed bundles, runs `verify` on each, and runs `check` where its verdict can differ.
    fn shard(&self, seed: u64, count: u64, done: &dyn Fn()) -> Tally {
        let mut random = Random::new(seed);
        let mut tally = Tally::default();
        while tally.made < count {
            let state = random.seed();
            let forged = random.below(100) < 35;
            let (files, name) = if forged {
                self.forger.forge(&self.honest, &mut random)
            } else {
                let mut files = self.original.clone();
                let name = change_files(&mut files, &mut random);
                (files, name)
            };
            // A changed bundle with the honest meaning does not count. A forged bundle must differ in a log.
            let is_log = |name: &str| name.starts_with("records/lane-");
            let logs = || self.original.0.iter().filter(|(name, _)| is_log(name)).all(|(n, log)| files.0[n] == *log);
            let changed = if forged {
                [!logs(); 2]
            } else {
                [0, 1].map(|which| meaning(&files, &self.receipts, which == 1) != self.same[which])
            };
            let [for_verify, for_check] = changed;
            if !for_check {
                continue;
            }
            tally.made += 1;
            tally.reframed += u64::from(forged);
            let sampled = tally.made.is_multiple_of(SAMPLE);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let began = Instant::now();
                let verified = self.verify(&files);
                let took = began.elapsed();
                let contradicted =
                    verified.as_ref().map_or(true, |report| report.status == EvidenceStatus::Contradicted);
                let checked = (sampled || !contradicted).then(|| self.check(&files));
                (verified, checked, [took, began.elapsed() - took])
            }));
            let names = || {
                let differs = |name: &&String| self.original.0.get(*name) != files.0.get(*name);
                files.0.keys().filter(differs).cloned().collect::<Vec<_>>()
            };
            let Ok((verified, checked, spent)) = outcome else {
                panic!("a panic; generator state {state}, changed {:?}", names());
            };
            tally.spent.iter_mut().zip(spent).for_each(|(sum, time)| *sum += time);
            let operational = verified.as_ref().is_err_and(BundleError::is_operational);
            assert!(!operational, "{verified:?}; generator state {state}");
            let status = verified.as_ref().map_or(EvidenceStatus::Contradicted, |report| report.status);
            let affirmed = for_verify && status == EvidenceStatus::Affirmed;
            assert!(!affirmed, "`verify` affirmed; generator state {state}, changed {:?}", names());
            // A forged bundle must be contradicted, not only incomplete.
            assert!(!forged || status == EvidenceStatus::Contradicted, "{verified:#?}; generator state {state}");
            let kind = tally.kinds.entry(name).or_default();
            kind.made += 1;
            kind.verify.count(status);
            let mut code = code_of_verify(&verified);
            if let Some(checked) = checked {
                let affirmed = checked.status == EvidenceStatus::Affirmed;
                assert!(!affirmed, "`check` affirmed; generator state {state}, changed {:?}", names());
                assert!(checked.status >= status, "{checked:#?}; generator state {state}");
                kind.check.count(checked.status);
                if checked.status > status {
                    let replay = checked.replay.as_ref().and_then(|replay| Some(replay.reasons.first()?.code.id()));
                    code = format!("{} by the replay alone: {}", checked.status.name(), replay.unwrap_or_default());
                }
            }
            *tally.histogram.entry(code).or_default() += 1;
            done();
        }
        tally
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn none_is_affirmed() {
    let long = std::env::var_os("PORTCULLIS_LONG").is_some();
    let seed = number("PORTCULLIS_SEED").unwrap_or(20_260_321);
    let count = number("PORTCULLIS_MUTATIONS").unwrap_or(if long { 1_000_000 } else { 3_000 });
    let shards = count.div_ceil(SHARD) as usize;
    // Each shard has its own seed.
    let mut seeds = Random::new(seed);
    let seeds: Vec<u64> = (0..shards).map(|_| seeds.bits()).collect();
    let (next, made, began) = (AtomicUsize::new(0), AtomicU64::new(0), Instant::now());
    let tally = Mutex::new(Tally::default());
    let done = || {
        let made = made.fetch_add(1, Ordering::Relaxed) + 1;
        if made.is_multiple_of(10_000) {
            let seconds = began.elapsed().as_secs().max(1);
            eprintln!("{made} of {count} bundles in {seconds} s, {} a second", made / seconds);
        }
    };
    let work = || {
        let mut scenes = BTreeMap::new();
        loop {
            let shard = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = seeds.get(shard) else { break };
            let lanes = LANES[shard % LANES.len()];
            let scene = scenes.entry(lanes).or_insert_with(|| Scene::new(lanes));
            let share = SHARD.min(count - SHARD * shard as u64);
            let made = scene.shard(*seed, share, &done);
            // The sums do not depend on the order of the shards.
            tally.lock().unwrap().add(made);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let tally = tally.into_inner().unwrap();
    tally.print(seed);
    assert_eq!(tally.made, count);
    assert!(tally.reframed * 100 >= tally.made * 30, "{} of {}", tally.reframed, tally.made);
}
