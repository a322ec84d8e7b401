//! The witness: one history per session, for any client, and no accepted checkpoint is lost.

use super::common::{Card, Session};
use ed25519_dalek::SigningKey;
use portcullis_authority::ShownError;
use portcullis_authority::witness::{CheckpointPost, CheckpointWitness, LanePost, PostConflict, PostRefusal};
use portcullis_core::wire::{self, Life};
use portcullis_evidence::checkpoint::{CheckpointError, CoseCheckpoint, root_of_heads};
use portcullis_evidence::note::{self, WitnessKey, WitnessProof, WitnessedCheckpoint};
use portcullis_evidence::ticket::{ChainId, SessionTicket, TicketError};
use portcullis_evidence::tree::{self, Hash, MerkleProver};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) const NAME: &str = "witness.example/w1";
const START: u64 = 1_800_000_000;
const END: u64 = START + 3600;
pub(super) const NOW: u64 = START + 60;

pub(super) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(super) fn witness(path: &Path) -> CheckpointWitness {
    CheckpointWitness::open(path, key(6), NAME, vec![key(5).verifying_key(), key(4).verifying_key()]).unwrap()
}

pub(super) fn public() -> WitnessKey {
    WitnessKey::new(NAME, key(6).verifying_key()).unwrap()
}

pub(super) fn ticket_of(card: &Card, serial: u64) -> SessionTicket {
    SessionTicket {
        serial,
        nonce: [serial as u8; 16],
        key: card.id(),
        policy: [3; 32],
        contexts: BTreeSet::new(),
        heartbeat_records: 100,
        heartbeat_ticks: 0,
        previous_close: [0; 32],
        not_before: START,
        not_after: END,
        issuer: "registrar.example".to_owned(),
        seat: 0,
        profiles: BTreeSet::new(),
        text_lane: false,
    }
}

fn ticket(card: &Card, serial: u64) -> Vec<u8> {
    ticket_of(card, serial).sign(&key(5)).unwrap()
}

/// The post of a session's current checkpoint. `old` is the number of records under the previous checkpoint.
pub(super) fn post(card: &Card, ticket: &[u8], session: &Session, old: u64) -> CheckpointPost {
    let lane = LanePost { old, size: session.size(), root: session.root(), proof: session.proof(old) };
    CheckpointPost {
        ticket: ticket.to_vec(),
        public_key: card.public_key,
        lanes: vec![lane],
        checkpoint: card.sign(&session.wire),
    }
}

pub(super) fn with(post: &CheckpointPost, edit: impl Fn(&mut LanePost)) -> CheckpointPost {
    let mut post = post.clone();
    edit(&mut post.lanes[0]);
    post
}

fn read(note: &str) -> WitnessedCheckpoint {
    note::verify(note.as_bytes(), &[public()]).unwrap()
}

/// A witness, a card, and its session under ticket 1, whose opening checkpoint the witness has accepted.
struct Bench {
    _dir: tempfile::TempDir,
    witness: CheckpointWitness,
    card: Card,
    ticket: Vec<u8>,
    session: Session,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (witness, card) = (witness(&dir.path().join("witness")), Card::new(1));
        let ticket = ticket(&card, 1);
        let session = Session::open(&ticket, 1);
        witness.add(&post(&card, &ticket, &session, 0), NOW).unwrap();
        Self { _dir: dir, witness, card, ticket, session }
    }

    /// The session after `records` more records, at a checkpoint with state `state`.
    fn next(&self, records: u64, mark: u8, state: Life) -> Session {
        let mut next = self.session.clone();
        next.advance(records, mark, state);
        next
    }

    fn post(&self, session: &Session) -> CheckpointPost {
        post(&self.card, &self.ticket, session, self.session.size())
    }

    fn add(&self, session: &Session) -> Result<String, PostRefusal> {
        self.witness.add(&self.post(session), NOW)
    }

    /// Posts `session`. The witness must accept it; it becomes the current session of the bench.
    fn go(&mut self, session: Session) -> WitnessedCheckpoint {
        let note = self.add(&session).unwrap();
        self.session = session;
        read(&note)
    }

    fn conflict(&self, session: &Session) -> PostConflict {
        conflict(self.add(session))
    }
}

fn conflict(result: Result<String, PostRefusal>) -> PostConflict {
    match result {
        Err(PostRefusal::Conflict(conflict)) => conflict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_sessions_in_one_log() {
    let mut bench = Bench::new();
    let mut nonces = BTreeSet::new();
    for serial in 1..6 {
        let next = bench.next(serial * 7, 1, Life::Run);
        let said = bench.go(next);
        assert_eq!((said.chain, said.ticket, said.serial, said.index), (bench.card.chain(), 1, serial, serial));
        assert_eq!((said.time, said.witness.as_str()), (NOW, NAME));
        let sent = CoseCheckpoint::parse(&bench.card.sign(&bench.session.wire)).unwrap().checkpoint;
        assert_eq!(said.checkpoint, sent.digest());
        assert!(nonces.insert(said.nonce.unwrap()));
    }
    let closed = bench.next(1, 1, Life::Closing);
    assert_eq!(bench.go(closed).nonce, None);

    bench.ticket = ticket(&bench.card, 2);
    let second = Session::open(&bench.ticket, 2);
    let said = read(&bench.witness.add(&post(&bench.card, &bench.ticket, &second, 0), NOW + 5).unwrap());
    assert_eq!((said.ticket, said.serial, said.index, said.time), (2, 0, 7, NOW + 5));
    // Each card has its own log at the witness.
    let other = Card::new(2);
    let note = ticket(&other, 9);
    let said = read(&bench.witness.add(&post(&other, &note, &Session::open(&note, 1), 0), NOW).unwrap());
    assert_eq!((said.chain, said.ticket, said.index), (other.chain(), 9, 0));

    let notes = bench.witness.notes(bench.card.chain()).unwrap();
    assert_eq!(notes.iter().map(|note| read(note).index).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert!(bench.witness.forks().unwrap().is_empty());
}

#[test]
fn the_same_post_gets_the_same_note() {
    let mut bench = Bench::new();
    let first = bench.post(&bench.session.clone());
    let next = bench.next(4, 1, Life::Run);
    let second = bench.post(&next);
    let note = bench.witness.add(&second, NOW).unwrap();
    for now in [NOW, NOW + 10, END + 1, 0] {
        assert_eq!(bench.witness.add(&second, now).unwrap(), note);
    }
    bench.session = next;
    let third = bench.next(1, 1, Life::Closing);
    bench.go(third);
    assert_eq!(bench.witness.add(&second, NOW).unwrap(), note);
    assert_eq!(read(&bench.witness.add(&first, NOW).unwrap()).serial, 0);
    assert_eq!(bench.witness.notes(bench.card.chain()).unwrap().len(), 3);
}

#[test]
fn a_second_history_is_refused_and_kept_as_proof() {
    let mut bench = Bench::new();
    // A second opening checkpoint: the card was reset, and the ticket was used again.
    let reset = Session::open(&bench.ticket, 2);
    let refused = post(&bench.card, &bench.ticket, &reset, 0);
    assert_eq!(conflict(bench.witness.add(&refused, NOW)), PostConflict::Fork(0));
    // Three histories with the same beginning and different ends.
    let (good, bad, worse) = (bench.next(4, 1, Life::Run), bench.next(4, 2, Life::Run), bench.next(5, 3, Life::Run));
    let (bad, worse) = (bench.post(&bad), bench.post(&worse));
    let accepted = bench.post(&good);
    bench.go(good);
    assert_eq!(conflict(bench.witness.add(&bad, NOW)), PostConflict::Fork(1));
    assert_eq!(conflict(bench.witness.add(&worse, NOW)), PostConflict::Fork(1));

    let forks = bench.witness.forks().unwrap();
    assert_eq!(forks.iter().map(|fork| (fork.ticket, fork.serial)).collect::<Vec<_>>(), [(1, 0), (1, 1)]);
    assert_eq!((&forks[1].accepted, &forks[1].refused), (&accepted.checkpoint, &bad.checkpoint));
    for fork in forks {
        // The two signatures of the card are the whole proof.
        assert!(CoseCheckpoint::parse(&fork.accepted).unwrap().verify(&bench.card.public_key));
        assert!(CoseCheckpoint::parse(&fork.refused).unwrap().verify(&bench.card.public_key));
    }
    // The honest history can continue.
    let next = bench.next(1, 1, Life::Closing);
    assert_eq!(bench.go(next).index, 2);
}

#[test]
fn what_does_not_follow_is_refused() {
    let mut bench = Bench::new();
    let next = bench.next(5, 1, Life::Run);
    bench.go(next);
    let next = |change: &dyn Fn(&mut Session)| {
        let mut next = bench.next(5, 1, Life::Run);
        change(&mut next);
        next
    };
    assert!(matches!(bench.conflict(&next(&|s| s.wire.serial += 1)), PostConflict::Gap(2)));
    assert_eq!(bench.conflict(&next(&|s| s.wire.serial.set(9000))), PostConflict::Gap(2));
    assert_eq!(bench.conflict(&next(&|s| s.wire.tick.set(1))), PostConflict::Backwards);
    let shrunk = next(&|s| {
        s.leaves.truncate(3);
        s.seal();
    });
    assert_eq!(bench.conflict(&shrunk), PostConflict::Backwards);
    assert_eq!(bench.conflict(&next(&|s| s.wire.epoch += 1)), PostConflict::OtherRun);
    assert_eq!(bench.conflict(&next(&|s| s.wire.boot_nonce[0] ^= 1)), PostConflict::OtherRun);
    assert_eq!(bench.conflict(&next(&|s| s.wire.design_id[0] ^= 1)), PostConflict::OtherRun);
    assert_eq!(bench.conflict(&next(&|s| s.wire.key_flags = 4)), PostConflict::OtherRun);
    assert_eq!(bench.conflict(&next(&|s| s.wire.state = Life::Opening as u8)), PostConflict::State);

    // A proof that does not start at the size of the last accepted checkpoint. The refusal contains that size.
    let good = next(&|_| ());
    for old in [0, 1, 5, 7, u64::MAX] {
        let wrong = post(&bench.card, &bench.ticket, &good, old);
        assert_eq!(conflict(bench.witness.add(&wrong, NOW)), PostConflict::Size(vec![6]), "{old}");
    }
    // The first record differs, so no valid proof exists.
    let rewritten = next(&|s| {
        s.leaves[2] = [9; 32];
        s.seal();
    });
    assert!(matches!(bench.add(&rewritten), Err(PostRefusal::Inconsistent)));
    let honest = bench.post(&good);
    for proof in [
        Vec::new(),
        honest.lanes[0].proof[1..].to_vec(),
        [&honest.lanes[0].proof[..], &[[0; 32]]].concat(),
        vec![[0; 32]; 63],
    ] {
        let wrong = with(&honest, |lane| lane.proof.clone_from(&proof));
        assert!(matches!(bench.witness.add(&wrong, NOW), Err(PostRefusal::Inconsistent)));
    }
    // A log that continues the last checkpoint, but differs from the log that the card signed.
    let mut unsigned = bench.session.clone();
    unsigned.advance(5, 9, Life::Run);
    let wrong = with(&honest, |lane| {
        (lane.root, lane.proof) = (unsigned.root(), unsigned.proof(bench.session.size()));
    });
    assert!(matches!(bench.witness.add(&wrong, NOW), Err(PostRefusal::Inconsistent)));
    // A lane root that does not match the checkpoint's root.
    let wrong = with(&honest, |lane| lane.root = rewritten.root());
    assert!(matches!(bench.witness.add(&wrong, NOW), Err(PostRefusal::Inconsistent)));

    // None of these posts changed the state.
    assert_eq!(read(&bench.witness.add(&honest, NOW).unwrap()).index, 2);
}

#[test]
fn a_fault_ends_in_a_close_only() {
    let mut bench = Bench::new();
    let fault = bench.next(2, 1, Life::Fault);
    assert_eq!(bench.go(fault).nonce, None);
    let mut run = bench.next(1, 1, Life::Run);
    run.wire.fault.set(0);
    assert_eq!(bench.conflict(&run), PostConflict::State);
    let closing = bench.next(1, 1, Life::Closing);
    assert_eq!(bench.go(closing).nonce, None);
    let mut after = bench.next(1, 1, Life::Run);
    after.wire.fault.set(0);
    assert_eq!(bench.conflict(&after), PostConflict::Closed);
    assert_eq!(bench.conflict(&bench.next(0, 1, Life::Closing)), PostConflict::Closed);
}

/// A session of a card with several lanes, and the leaves of each lane's log.
#[derive(Clone)]
struct Lanes {
    wire: wire::Checkpoint,
    leaves: Vec<Vec<Hash>>,
}

impl Lanes {
    fn open(ticket: &[u8], lanes: u8) -> Self {
        let mut wire = Session::open(ticket, 1).wire;
        wire.lanes = lanes;
        Self { wire, leaves: (0..lanes).map(|lane| vec![tree::leaf(&[lane])]).collect() }
    }

    /// Adds `records[i]` records to lane `i`, and makes the next checkpoint.
    fn advance(&mut self, records: &[u8], state: Life) {
        for (lane, count) in self.leaves.iter_mut().zip(records) {
            lane.extend((0..*count).map(|i| tree::leaf(&[9, i])));
        }
        self.wire.serial += 1;
        self.wire.tick += 1000;
        self.wire.state = state as u8;
    }

    /// The post of the current checkpoint. `old` has each lane's number of records under the previous checkpoint.
    fn post(&self, card: &Card, ticket: &[u8], old: &[u64]) -> CheckpointPost {
        let lane = |(leaves, old): (&Vec<Hash>, &u64)| {
            let size = leaves.len() as u64;
            let mut prover = MerkleProver::consistency(*old, size);
            leaves.iter().for_each(|leaf| prover.iter_mut().for_each(|prover| prover.push(*leaf)));
            let proof = prover.and_then(MerkleProver::finish).unwrap_or_default();
            LanePost { old: *old, size, root: tree::root(leaves.iter().copied()), proof }
        };
        let lanes = self.leaves.iter().zip(old).map(lane).collect();
        let mut post =
            CheckpointPost { ticket: ticket.to_vec(), public_key: card.public_key, lanes, checkpoint: Vec::new() };
        let mut wire = self.wire;
        wire.size.set(self.leaves.iter().map(|leaves| leaves.len() as u64).sum());
        wire.root = root_of_heads(&post.heads());
        post.checkpoint = card.sign(&wire);
        post
    }
}

#[test]
fn every_lane_goes_on() {
    for lanes in [2, 4, 8] {
        let dir = tempfile::tempdir().unwrap();
        let (witness, card) = (witness(&dir.path().join("witness")), Card::new(1));
        let ticket = ticket(&card, 1);
        let mut session = Lanes::open(&ticket, lanes);
        let sizes = |session: &Lanes| session.leaves.iter().map(|leaves| leaves.len() as u64).collect::<Vec<_>>();
        witness.add(&session.post(&card, &ticket, &vec![0; lanes.into()]), NOW).unwrap();
        session.advance(&[3, 1, 0, 4, 1, 5, 9, 2], Life::Run);
        let second = session.post(&card, &ticket, &vec![1; lanes.into()]);
        let body = second.to_body();
        witness.add(&CheckpointPost::from_body(&body).unwrap(), NOW).unwrap();

        let old = sizes(&session);
        let mut next = session.clone();
        next.advance(&[2, 0, 1, 7, 0, 0, 1, 3], Life::Run);
        let honest = next.post(&card, &ticket, &old);
        // A record of one lane is changed, and the card signs the result; all other lanes continue.
        for lane in 0..usize::from(lanes) {
            let mut rewritten = next.clone();
            rewritten.leaves[lane][0] = [9; 32];
            let wrong = witness.add(&rewritten.post(&card, &ticket, &old), NOW);
            assert!(matches!(wrong, Err(PostRefusal::Inconsistent)), "{lane}: {wrong:?}");
            let mut shrunk = next.clone();
            shrunk.leaves[lane].truncate(old[lane] as usize - 1);
            assert_eq!(conflict(witness.add(&shrunk.post(&card, &ticket, &old), NOW)), PostConflict::Backwards);
            // A proof that does not start at the lane's stored size.
            let mut sizes = old.clone();
            sizes[lane] -= 1;
            let wrong = witness.add(&next.post(&card, &ticket, &sizes), NOW);
            assert_eq!(conflict(wrong), PostConflict::Size(old.clone()), "{lane}");
        }
        // Heads that do not match the checkpoint: two exchanged, wrong sizes with the right sum, one missing, one
        // extra.
        let edits: [fn(&mut CheckpointPost); 4] = [
            |post| post.lanes.swap(0, 1),
            |post| {
                post.lanes[0].size += 1;
                post.lanes[1].size -= 1;
            },
            |post| _ = post.lanes.pop(),
            |post| post.lanes.push(post.lanes[0].clone()),
        ];
        for (number, edit) in edits.iter().enumerate() {
            let mut wrong = honest.clone();
            edit(&mut wrong);
            let refused = witness.add(&wrong, NOW);
            assert!(matches!(refused, Err(PostRefusal::Inconsistent)), "{number}: {refused:?}");
        }
        // A different number of lanes in the same session.
        let mut half = next.clone();
        half.leaves.truncate(usize::from(lanes) / 2);
        half.wire.lanes = lanes / 2;
        let refused = witness.add(&half.post(&card, &ticket, &old), NOW);
        assert_eq!(conflict(refused), PostConflict::OtherRun);
        // None of these posts changed the state.
        assert_eq!(read(&witness.add(&honest, NOW).unwrap()).index, 2);
    }
}

#[test]
fn one_ticket_of_a_key_at_a_time() {
    let bench = Bench::new();
    // A second ticket with the serial of the current ticket, from another trusted issuer.
    let twin = SessionTicket { nonce: [9; 16], ..ticket_of(&bench.card, 1) }.sign(&key(4)).unwrap();
    let opening = post(&bench.card, &twin, &Session::open(&twin, 1), 0);
    assert_eq!(conflict(bench.witness.add(&opening, NOW)), PostConflict::OtherTicket);
    let mut later = Session::open(&twin, 1);
    later.advance(1, 1, Life::Run);
    assert_eq!(conflict(bench.witness.add(&post(&bench.card, &twin, &later, 1), NOW)), PostConflict::OtherTicket);
    assert!(bench.witness.forks().unwrap().is_empty());

    // The next ticket opens a session; the previous session is over, although it was not closed.
    let third = ticket(&bench.card, 3);
    bench.witness.add(&post(&bench.card, &third, &Session::open(&third, 3), 0), NOW).unwrap();
    assert_eq!(bench.conflict(&bench.next(1, 1, Life::Run)), PostConflict::Superseded(3));
    let second = ticket(&bench.card, 2);
    let opening = post(&bench.card, &second, &Session::open(&second, 2), 0);
    assert_eq!(conflict(bench.witness.add(&opening, NOW)), PostConflict::Superseded(3));
}

#[test]
fn only_an_opening_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (witness, card) = (witness(&dir.path().join("witness")), Card::new(1));
    let ticket = ticket(&card, 1);
    let opening = Session::open(&ticket, 1);
    let mut run = opening.clone();
    run.advance(3, 1, Life::Run);
    assert_eq!(conflict(witness.add(&post(&card, &ticket, &run, 0), NOW)), PostConflict::Gap(0));
    run.wire.serial.set(0);
    assert_eq!(conflict(witness.add(&post(&card, &ticket, &run, 0), NOW)), PostConflict::State);
    let good = post(&card, &ticket, &opening, 0);
    assert_eq!(conflict(witness.add(&with(&good, |lane| lane.old = 1), NOW)), PostConflict::Size(vec![0]));
    let other_root = with(&good, |lane| lane.root = [0; 32]);
    assert!(matches!(witness.add(&other_root, NOW), Err(PostRefusal::Inconsistent)));
    let with_proof = with(&good, |lane| lane.proof = vec![[0; 32]]);
    assert!(matches!(witness.add(&with_proof, NOW), Err(PostRefusal::Inconsistent)));
    let mut other_policy = opening.clone();
    other_policy.wire.policy_digest[0] ^= 1;
    assert_eq!(conflict(witness.add(&post(&card, &ticket, &other_policy, 0), NOW)), PostConflict::Policy);
    for now in [0, START - 1, END + 1, u64::MAX] {
        assert!(matches!(witness.add(&good, now), Err(PostRefusal::Validity(START, END))), "{now}");
    }
    assert!(witness.notes(card.chain()).unwrap().is_empty());
    assert_eq!(read(&witness.add(&good, END).unwrap()).index, 0);
}

#[test]
fn after_the_tickets_end_there_are_no_more_nonces() {
    let mut bench = Bench::new();
    let mut said = |now| {
        let next = bench.next(1, 1, Life::Run);
        let note = bench.witness.add(&bench.post(&next), now).unwrap();
        bench.session = next;
        read(&note)
    };
    assert!(said(END).nonce.is_some());
    assert_eq!(said(END + 1).nonce, None);
    // If the witness's clock is set back, the times in its log do not decrease.
    let back = said(NOW);
    assert_eq!((back.nonce, back.time), (None, END + 1));
    let second = ticket(&bench.card, 2);
    let opening = post(&bench.card, &second, &Session::open(&second, 2), 0);
    assert!(matches!(bench.witness.add(&opening, NOW), Err(PostRefusal::Validity(START, END))));
}

#[test]
fn only_the_cards_own_under_a_real_ticket() {
    let bench = Bench::new();
    let next = bench.next(2, 1, Life::Run);
    let good = bench.post(&next);
    let refused = |post: &CheckpointPost| bench.witness.add(post, NOW).unwrap_err();
    let other = Card::new(2);

    let wrong = CheckpointPost { public_key: other.public_key, ..good.clone() };
    assert!(matches!(refused(&wrong), PostRefusal::Shown(ShownError::Key)));
    let wrong = CheckpointPost { checkpoint: other.sign(&next.wire), ..good.clone() };
    assert!(matches!(refused(&wrong), PostRefusal::Shown(ShownError::Signature)));
    for at in [20, 100, 200, 300, 17_000] {
        let mut wrong = good.clone();
        wrong.checkpoint[at] ^= 1;
        assert!(matches!(refused(&wrong), PostRefusal::Shown(_) | PostRefusal::Malformed(_)), "{at}");
    }
    let cut = CheckpointPost { checkpoint: good.checkpoint[1..].to_vec(), ..good.clone() };
    assert!(matches!(refused(&cut), PostRefusal::Shown(ShownError::Checkpoint(CheckpointError::Message))));

    let unknown = ticket_of(&bench.card, 1).sign(&key(9)).unwrap();
    let wrong = CheckpointPost { ticket: unknown, ..good.clone() };
    assert!(matches!(refused(&wrong), PostRefusal::Ticket(TicketError::UnknownIssuer(_))));
    let own = SessionTicket { issuer: "self".to_owned(), heartbeat_records: 0, ..ticket_of(&bench.card, 1) };
    let wrong = CheckpointPost { ticket: own.sign(&key(9)).unwrap(), ..good.clone() };
    assert!(matches!(refused(&wrong), PostRefusal::SelfIssued));
    let wrong = CheckpointPost { ticket: ticket(&bench.card, 2), ..good.clone() };
    assert!(matches!(refused(&wrong), PostRefusal::Malformed("holds the checkpoint of another ticket")));
    let mut broken = good.clone();
    *broken.ticket.last_mut().unwrap() ^= 1;
    assert!(matches!(refused(&broken), PostRefusal::Ticket(TicketError::Signature)));
    assert!(bench.witness.add(&good, NOW).is_ok());
    assert!(bench.witness.forks().unwrap().is_empty());
}

/// Each of the cards that share a key has its own log, so sessions of several seats at once are not a fork.
#[test]
fn each_seat_has_its_own_log() {
    let dir = tempfile::tempdir().unwrap();
    let (witness, card) = (witness(&dir.path().join("witness")), Card::new(1));
    let seats = [0, 1, 7];
    let tickets = seats.map(|seat| SessionTicket { seat, ..ticket_of(&card, 1) }.sign(&key(5)).unwrap());
    let mut sessions = tickets.each_ref().map(|ticket| Session::open(ticket, 1));
    for round in 0..3 {
        for ((seat, ticket), session) in seats.into_iter().zip(&tickets).zip(&mut sessions) {
            let old = if round == 0 { 0 } else { session.size() };
            if round > 0 {
                session.advance(3, seat as u8, Life::Run);
            }
            let note = witness.add(&post(&card, ticket, session, old), NOW).unwrap();
            let said = note::verify(note.as_bytes(), &[public()]).unwrap();
            assert_eq!((said.chain, said.index), (ChainId { key: card.id(), seat }, round));
        }
    }
    assert!(witness.forks().unwrap().is_empty());
    for seat in seats {
        assert_eq!(witness.notes(ChainId { key: card.id(), seat }).unwrap().len(), 3);
    }
    // A second history of one seat is a fork of that seat.
    let mut other = Session::open(&tickets[1], 1);
    other.advance(3, 99, Life::Run);
    assert_eq!(conflict(witness.add(&post(&card, &tickets[1], &other, other.size() - 3), NOW)), PostConflict::Fork(1));
    assert_eq!(witness.forks().unwrap().iter().map(|fork| fork.chain.seat).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_restart_forgets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("witness");
    let card = Card::new(1);
    let ticket = ticket(&card, 1);
    let mut session = Session::open(&ticket, 1);
    let mut notes = vec![witness(&path).add(&post(&card, &ticket, &session, 0), NOW).unwrap()];
    for serial in 1..9 {
        let old = session.size();
        let other = {
            let mut other = session.clone();
            other.advance(3, 200, Life::Run);
            post(&card, &ticket, &other, old)
        };
        session.advance(3, serial, Life::Run);
        let good = post(&card, &ticket, &session, old);
        notes.push(witness(&path).add(&good, NOW).unwrap());
        assert_eq!(conflict(witness(&path).add(&other, NOW)), PostConflict::Fork(serial.into()));
        assert_eq!(witness(&path).add(&good, NOW).unwrap(), *notes.last().unwrap());
    }
    assert_eq!(witness(&path).notes(card.chain()).unwrap(), notes);
    assert_eq!(witness(&path).forks().unwrap().len(), 8);
    // All heads of the log belong to one tree: every earlier root follows from the entries.
    let entries: Vec<_> = notes.iter().map(|note| WitnessProof::parse(note.as_bytes()).unwrap().entry).collect();
    for (size, note) in (1..).zip(&notes) {
        let leaves = entries.iter().take(size).map(|entry| tree::leaf(&entry.to_bytes()));
        let root = tree::root(leaves);
        assert!(note.contains(&note::LogTreeHead::of_chain(card.chain(), size as u64, root).text()));
    }
}

#[test]
fn of_two_histories_posted_at_once_one_is_accepted() {
    for round in 0..5_u8 {
        let bench = Bench::new();
        let posts: Vec<CheckpointPost> =
            (0..8).map(|mark| bench.post(&bench.next(3, mark + round * 8, Life::Run))).collect();
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = posts.iter().map(|post| scope.spawn(|| bench.witness.add(post, NOW))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let accepted: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        assert_eq!(accepted.len(), 1);
        assert!(
            results
                .iter()
                .filter(|r| r.is_err())
                .all(|r| matches!(r, Err(PostRefusal::Conflict(PostConflict::Fork(1)))))
        );
        assert_eq!(bench.witness.notes(bench.card.chain()).unwrap().last(), Some(accepted[0]));

        // The same checkpoint posted eight times gives one entry.
        let bench = Bench::new();
        let same = bench.post(&bench.next(3, round, Life::Run));
        let notes: BTreeSet<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| bench.witness.add(&same, NOW).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!((notes.len(), bench.witness.notes(bench.card.chain()).unwrap().len()), (1, 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Posts in any order, from any point of any history: the witness accepts exactly one complete history.
    #[test]
    fn there_is_one_history(ops in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..3, 0_u8..3, 0..6), 1..14)) {
        let bench = Bench::new();
        let mut made = vec![bench.session.clone()];
        let mut accepted = vec![bench.session.clone()];
        for (base, records, mark, kind) in ops {
            let base = &made[base.index(made.len())];
            let mut next = base.clone();
            next.advance(records, mark, if kind == 0 { Life::Closing } else { Life::Run });
            let result = bench.witness.add(&post(&bench.card, &bench.ticket, &next, base.size()), NOW);
            let last = accepted.last().unwrap();
            let known = accepted.iter().any(|session| session.wire == next.wire);
            // A checkpoint does not name its predecessor, so any predecessor over the same records is valid.
            let same = base.leaves == last.leaves && base.wire.serial == last.wire.serial;
            let follows = same && last.wire.state != Life::Closing as u8;
            prop_assert_eq!(result.is_ok(), known || follows, "{:?}", result);
            if follows && !known {
                accepted.push(next.clone());
            }
            made.push(next);
        }
        let notes = bench.witness.notes(bench.card.chain()).unwrap();
        prop_assert_eq!(notes.len(), accepted.len());
        for (serial, (note, session)) in notes.iter().zip(&accepted).enumerate() {
            let said = read(note);
            let digest = CoseCheckpoint::parse(&bench.card.sign(&session.wire)).unwrap().checkpoint.digest();
            prop_assert_eq!((said.serial, said.index, said.checkpoint), (serial as u64, serial as u64, digest));
        }
    }
}

/// Regression: a witness that was restored from an old copy of its store went on, and signed a second history.
#[test]
fn a_witness_does_not_start_on_an_old_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (store, marks) = (folder.path().join("w.sqlite"), folder.path().join("marks"));
    let open = |path: &Path| witness(path).marked_in(&marks);
    let card = Card::new(1);
    let opening = |serial: u8| {
        let ticket = ticket(&card, serial.into());
        post(&card, &ticket, &Session::open(&ticket, serial), 0)
    };
    open(&store).unwrap().add(&opening(1), NOW).unwrap();
    let copy = folder.path().join("copy.sqlite");
    // Closing the connection has moved all of the state into the file.
    std::fs::copy(&store, &copy).unwrap();
    let again = opening(2);
    let note = open(&store).unwrap().add(&again, NOW).unwrap();
    // The newest store goes on, and gives the same note again.
    assert_eq!(open(&store).unwrap().add(&again, NOW).unwrap(), note);
    let refused = |path: &Path| match open(path) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it has started on {}", path.display()),
    };
    let said = refused(&copy);
    assert!(said.contains("old copy") && said.contains("2 entries") && said.contains("marks/"), "{said}");
    assert!(refused(&folder.path().join("new.sqlite")).contains("old copy"));
    // Another history of the same length is not the state either. Without marks, nothing shows that it is an old copy.
    witness(&copy).add(&opening(3), NOW).unwrap();
    assert!(refused(&copy).contains("old copy"));
    // A mark that was changed is refused, and one that a crash left unfinished is not read.
    std::fs::write(marks.join("half.new"), "x").unwrap();
    open(&store).unwrap();
    let mark = std::fs::read_dir(&marks).unwrap().map(|entry| entry.unwrap().path());
    let mark = mark.into_iter().find(|path| path.extension().is_none()).unwrap();
    std::fs::write(&mark, "x").unwrap();
    assert!(refused(&store).contains("mark"));
}
