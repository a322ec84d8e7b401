//! Witnesses cosign the issuer's public log (C2SP tlog-witness): ticket, log and quorum together, over HTTP.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::common::Card;
use super::public_log::request;
use super::stores::file;
use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use portcullis_authority::StoreUrl;
use portcullis_authority::public_log::PublicLogError;
use portcullis_authority::tickets::{IssueError, Issuer};
use portcullis_authority::witness::server::{WitnessServer, WitnessServerLimits};
use portcullis_authority::witness::{AddCheckpoint, CheckpointWitness, CosignRefusal};
use portcullis_evidence::note::{LogKey, LogTreeHead};
use portcullis_evidence::public_log::{LogPolicy, TrustedPublicLog};
use portcullis_evidence::ticket::SessionTicket;
use portcullis_evidence::tree::{self, MerkleTree};

const NAME: &str = "registrar.example/tickets";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn log() -> LogKey {
    LogKey::new(NAME, key(5).verifying_key()).unwrap()
}

/// A witness that cosigns the issuer's log.
fn witness(folder: &Path, seed: u8) -> Arc<CheckpointWitness> {
    let path = folder.join(format!("witness-{seed}"));
    let witness = CheckpointWitness::open(&path, key(seed), &format!("witness.example/w{seed}"), Vec::new()).unwrap();
    Arc::new(witness.cosigner_of(vec![log()]).unwrap())
}

/// Three witnesses behind ports that stay the same when one is stopped and started again.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    ports: Vec<u16>,
    servers: Vec<Option<WitnessServer>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let servers: Vec<_> = (11..14).map(|seed| Self::serve(&witness(folder.path(), seed), 0)).collect();
        let ports = servers.iter().map(|server| server.address().port()).collect();
        Self { folder, ports, servers: servers.into_iter().map(Some).collect() }
    }

    fn serve(witness: &Arc<CheckpointWitness>, port: u16) -> WitnessServer {
        WitnessServer::start(Arc::clone(witness), port, WitnessServerLimits::default()).unwrap()
    }

    fn stop(&mut self, number: usize) {
        self.servers[number] = None;
    }

    fn start(&mut self, number: usize) {
        let witness = witness(self.folder.path(), 11 + number as u8);
        self.servers[number] = Some(Self::serve(&witness, self.ports[number]));
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The policy that two of the three witnesses have to cosign.
    fn policy(&self) -> LogPolicy {
        let line = |(number, port): (usize, &u16)| {
            let witness = witness(self.folder.path(), 11 + number as u8);
            format!("witness w{number} {} http://127.0.0.1:{port}/log\n", witness.public())
        };
        let witnesses: String = self.ports.iter().enumerate().map(line).collect();
        LogPolicy::parse(&format!("log {}\n{witnesses}group two 2 w0 w1 w2\nquorum two\n", log())).unwrap()
    }

    pub(crate) fn issuer(&self, store: &StoreUrl) -> Result<Issuer, IssueError> {
        let mut issuer = Issuer::open(store, key(5), NAME)?;
        issuer.publish(&self.log(), Some(self.policy()))?;
        Ok(issuer)
    }

    /// The log as a reader with the same policy sees it.
    fn read(&self) -> TrustedPublicLog {
        TrustedPublicLog::read(&self.log(), &self.policy()).unwrap()
    }

    fn checkpoint(&self) -> String {
        fs::read_to_string(self.log().join("checkpoint")).unwrap()
    }
}

/// The names of the valid Ed25519 cosignatures, checked as C2SP tlog-cosignature says and not with the project's code.
fn cosigned_by(note: &str) -> Vec<String> {
    let (text, signatures) = note.split_once("\n\n").unwrap();
    let mut names = Vec::new();
    for line in signatures.lines() {
        let (name, bytes) = line.strip_prefix("\u{2014} ").unwrap().split_once(' ').unwrap();
        let bytes = Base64::decode_vec(bytes).unwrap();
        let Some(seed) = name.strip_prefix("witness.example/w").and_then(|seed| seed.parse().ok()) else { continue };
        let public: VerifyingKey = key(seed).verifying_key();
        let (time, signature) = bytes[4..].split_first_chunk().unwrap();
        let message = format!("cosignature/v1\ntime {}\n{text}\n", u64::from_be_bytes(*time));
        public.verify_strict(message.as_bytes(), &Signature::from_slice(signature).unwrap()).unwrap();
        names.push(name.to_owned());
    }
    names.sort();
    names
}

#[test]
fn a_ticket_leaves_when_a_quorum_has_seen_it() {
    let mut scene = Scene::new();
    let (store, card) = (file(), Card::new(1));
    let mut issuer = scene.issuer(&store.url).unwrap();
    // Two events for each of 140 tickets: also beyond the first full tile.
    for serial in 1..=140 {
        let ticket = SessionTicket::parse(&issuer.issue(&request(&card, 0)).unwrap()).unwrap().content;
        assert_eq!(ticket.serial, serial);
        issuer.abandon(ticket.chain(), serial, "not used").unwrap();
        if serial % 50 == 1 {
            let log = scene.read();
            assert_eq!(log.head.head.size, 2 * serial);
            assert!(cosigned_by(&scene.checkpoint()).len() >= 2 && log.head.seen.is_some());
        }
    }
    assert!(!scene.log().join("tile/entries/000.p").exists() && scene.log().join("tile/entries/000").exists());

    // One witness less is a quorum, two less are not.
    scene.stop(0);
    issuer.issue(&request(&card, 1)).unwrap();
    assert_eq!(cosigned_by(&scene.checkpoint()), ["witness.example/w12", "witness.example/w13"]);
    scene.stop(1);
    let before = scene.checkpoint();
    let begun = Instant::now();
    for _ in 0..2 {
        let refused = issuer.issue_once(&request(&card, 2), b"one").unwrap_err();
        let IssueError::PublicLog(PublicLogError::Quorum(missing)) = &refused else { panic!("{refused}") };
        let named = missing.to_string();
        assert!(named.contains("witness.example/w11: ") && named.contains("witness.example/w12: "), "{named}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
    // What readers get still has its quorum, and does not have the event.
    assert_eq!((scene.checkpoint(), scene.read().head.head.size), (before, 281));
    assert!(scene.issuer(&store.url).is_err(), "an issuer starts without its quorum");

    // Witness 0 has not seen the last events, and says so. The repeated request gets the ticket that was refused.
    scene.start(0);
    let ticket = SessionTicket::parse(&issuer.issue_once(&request(&card, 2), b"one").unwrap()).unwrap().content;
    assert_eq!((ticket.serial, ticket.seat), (1, 2));
    assert_eq!(scene.read().head.head.size, 282);
    assert_eq!(cosigned_by(&scene.checkpoint()), ["witness.example/w11", "witness.example/w13"]);
    scene.start(1);
    drop(issuer);
    let mut issuer = scene.issuer(&store.url).unwrap();
    issuer.abandon(ticket.chain(), 1, "not used").unwrap();
    assert_eq!(cosigned_by(&scene.checkpoint()).len(), 3);
    issuer.check().unwrap();
}

/// What a witness may have seen is never given up, also by another issuer after a crash.
#[test]
fn the_log_goes_on_from_what_witnesses_may_have_seen() {
    let mut scene = Scene::new();
    let (store, card) = (file(), Card::new(1));
    let mut issuer = scene.issuer(&store.url).unwrap();
    issuer.issue(&request(&card, 0)).unwrap();
    scene.stop(0);
    scene.stop(1);
    // Witness 2 sees both events, and the issuer ends before there is a quorum.
    issuer.issue(&request(&card, 7)).unwrap_err();
    drop(issuer);
    // Meanwhile another event reaches the store, whose chain sorts before the other.
    let mut unpublished = Issuer::open(&store.url, key(5), NAME).unwrap();
    unpublished.issue(&request(&card, 3)).unwrap();
    drop(unpublished);
    scene.start(0);
    scene.start(1);
    let mut other = scene.issuer(&store.url).unwrap();
    assert_eq!(scene.read().head.head.size, 3);
    other.issue(&request(&card, 1)).unwrap();
    let log = scene.read();
    assert_eq!((log.head.head.size, log.head.witnesses.len()), (4, 3));
}

/// The witnesses show that a log is an old copy before anything else is signed: with a store that is as old, and with
/// the newest store.
#[test]
fn an_old_copy_of_the_log_is_refused() {
    let scene = Scene::new();
    let (store, card) = (file(), Card::new(1));
    let mut issuer = scene.issuer(&store.url).unwrap();
    issuer.issue(&request(&card, 4)).unwrap();
    drop(issuer);
    let StoreUrl::File(path) = &store.url else { panic!() };
    let old = scene.folder.path().join("old");
    fs::create_dir(&old).unwrap();
    let copy = |from: &Path, to: &Path| {
        assert!(std::process::Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
    };
    copy(path, &old.join("store"));
    copy(&scene.log(), &old.join("log"));
    // Two events whose order in the log is not that of their chains.
    let mut issuer = scene.issuer(&store.url).unwrap();
    [2, 1].into_iter().for_each(|seat| drop(issuer.issue(&request(&card, seat)).unwrap()));
    drop(issuer);
    let newest = scene.folder.path().join("newest");
    fs::rename(scene.log(), &newest).unwrap();

    let refused = |error: IssueError, seen: &str| {
        assert!(matches!(error, IssueError::PublicLog(PublicLogError::OldCopy(_))), "{error}");
        assert!(
            error.to_string().contains(&format!("witness.example/w12: it has seen 3 entries, and {seen}")),
            "{error}"
        );
    };
    copy(&old.join("log"), &scene.log());
    let mut forgot = scene.issuer(&StoreUrl::File(old.join("store"))).unwrap();
    refused(forgot.issue(&request(&card, 3)).unwrap_err(), "the log has 1");
    refused(scene.issuer(&store.url).err().unwrap(), "the log has 1");
    // The log is lost.
    fs::remove_dir_all(scene.log()).unwrap();
    refused(scene.issuer(&store.url).err().unwrap(), "the log has 0");
    for seed in 11..14 {
        assert_eq!(witness(scene.folder.path(), seed).splits().unwrap(), [], "the log has signed two histories");
    }
    // The newest copy goes on.
    fs::remove_dir_all(scene.log()).unwrap();
    fs::rename(&newest, scene.log()).unwrap();
    scene.issuer(&store.url).unwrap().issue(&request(&card, 3)).unwrap();
    assert_eq!(scene.read().head.head.size, 4);
}

/// A policy with more witnesses than a note about a checkpoint has signatures, and a witness whose answer is absurd.
#[test]
fn many_witnesses_and_a_strange_one() {
    let folder = tempfile::tempdir().unwrap();
    let (store, card, log_folder) = (file(), Card::new(1), folder.path().join("log"));
    let servers: Vec<WitnessServer> = (30..60).map(|seed| Scene::serve(&witness(folder.path(), seed), 0)).collect();
    let strange = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let line = |(seed, address): (u8, std::net::SocketAddr)| {
        let key = witness(folder.path(), seed);
        format!("witness w{seed} {} http://{address}/log\n", key.public())
    };
    let all = (30..60).zip(servers.iter().map(WitnessServer::address)).chain([(60, strange.local_addr().unwrap())]);
    let names: String = (30..61).map(|seed| format!(" w{seed}")).collect();
    let policy = format!("{}group most 20{names}\nquorum most\n", all.map(line).collect::<String>());
    let policy = LogPolicy::parse(&policy).unwrap();
    // The strange witness says once that it has seen more than any log has, and then works.
    let own = witness(folder.path(), 60);
    std::thread::spawn(move || {
        let answers = ["HTTP/1.1 409 Conflict\r\nContent-Length: 21\r\n\r\n18446744073709551615\n"];
        for answer in answers {
            let Ok((mut stream, _)) = strange.accept() else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
        let port = strange.local_addr().unwrap().port();
        drop(strange);
        std::mem::forget(WitnessServer::start(own, port, WitnessServerLimits::default()));
    });
    let mut issuer = Issuer::open(&store.url, key(5), NAME).unwrap();
    issuer.publish(&log_folder, Some(policy.clone())).unwrap();
    let refused = issuer.issue_once(&request(&card, 0), b"one").unwrap_err();
    assert!(matches!(refused, IssueError::PublicLog(PublicLogError::OldCopy(_))), "{refused}");
    std::thread::sleep(Duration::from_millis(500));
    issuer.issue_once(&request(&card, 0), b"one").unwrap();
    let policy = policy.with_log(&log());
    let log = TrustedPublicLog::read(&log_folder, &policy).unwrap();
    assert_eq!((log.head.head.size, log.head.witnesses.len()), (1, 31));
    // Cosignatures can be renewed without an event.
    let before = log.head.seen;
    std::thread::sleep(Duration::from_millis(1_100));
    issuer.refresh().unwrap();
    assert!(TrustedPublicLog::read(&log_folder, &policy).unwrap().head.seen > before);
}

/// A writer that does not know the witnesses would publish heads without them.
#[test]
fn a_writer_without_the_policy_is_refused() {
    let mut scene = Scene::new();
    let (store, card) = (file(), Card::new(1));
    // A log that began without witnesses gets them.
    let mut alone = Issuer::open(&store.url, key(5), NAME).unwrap();
    alone.publish(&scene.log(), None).unwrap();
    alone.issue(&request(&card, 0)).unwrap();
    assert_eq!(cosigned_by(&scene.checkpoint()), [""; 0]);
    drop(scene.issuer(&store.url).unwrap());
    assert_eq!((scene.read().head.head.size, cosigned_by(&scene.checkpoint()).len()), (1, 3));
    let refused = [alone.issue(&request(&card, 1)).unwrap_err(), alone.publish(&scene.log(), None).unwrap_err()];
    for error in refused {
        assert!(matches!(error, IssueError::PublicLog(PublicLogError::Cosigned)), "{error}");
    }
    // Also while the newest head waits for its quorum.
    let mut issuer = scene.issuer(&store.url).unwrap();
    (0..3).for_each(|number| scene.stop(number));
    issuer.issue(&request(&card, 2)).unwrap_err();
    let refused = alone.issue(&request(&card, 3)).unwrap_err();
    assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Cosigned)), "{refused}");

    let no_url =
        LogPolicy::parse(&format!("witness w {}\nquorum w", witness(scene.folder.path(), 11).public())).unwrap();
    let refused = Issuer::open(&store.url, key(5), NAME).unwrap().publish(&scene.log(), Some(no_url)).unwrap_err();
    assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Policy(_))), "{refused}");
    // The witness does not sign for others in the name of a card's log.
    let name = format!("portcullis/{}", "07".repeat(32));
    let of_card = LogKey::new(&name, key(5).verifying_key()).unwrap();
    let witness = CheckpointWitness::open(&scene.folder.path().join("w"), key(20), "w", Vec::new()).unwrap();
    assert!(witness.cosigner_of(vec![of_card]).is_err());
}

/// A log in memory.
struct Log(MerkleTree);

impl Log {
    fn of(size: u64, fill: u8) -> Self {
        let mut tree = MerkleTree::default();
        (0..size).for_each(|n| tree.push(tree::leaf(&[fill, n as u8])));
        Self(tree)
    }

    fn note(&self) -> String {
        let (origin, size) = (NAME.to_owned(), self.0.size());
        log().sign(&LogTreeHead { origin, size, root: self.0.root(size).unwrap() }.text(), &key(5)).unwrap()
    }

    fn request(&self, old: u64) -> AddCheckpoint {
        let proof = self.0.consistency(old, self.0.size()).unwrap_or_default();
        AddCheckpoint { old, proof, note: self.note() }
    }
}

#[test]
fn the_witness_answers_as_the_standard_says() {
    let folder = tempfile::tempdir().unwrap();
    let witness = witness(folder.path(), 11);
    let server = Scene::serve(&witness, 0);
    let ask = |body: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!("POST /log/add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let kind = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap().to_owned();
        (head[9..12].parse::<u16>().unwrap(), kind, body.to_owned())
    };
    let status = |body: &str| ask(body).0;
    let (three, seven) = (Log::of(3, 0), Log::of(7, 0));
    // An old size of zero, then a proof.
    let (code, _, line) = ask(&three.request(0).to_body());
    assert_eq!((code, cosigned_by(&(three.note() + &line))), (200, vec!["witness.example/w11".to_owned()]));
    let (code, _, line) = ask(&seven.request(3).to_body());
    assert_eq!((code, cosigned_by(&(seven.note() + &line)).len()), (200, 1));
    // The same head again, which gets a new time.
    assert_eq!(status(&seven.request(7).to_body()), 200);
    // Another old size: the answer says which is right.
    for old in [0, 3, 6] {
        assert_eq!(ask(&seven.request(old).to_body()), (409, "text/x.tlog.size".to_owned(), "7\n".to_owned()));
    }
    assert_eq!(status(&AddCheckpoint { old: 8, ..seven.request(7) }.to_body()), 400);
    let nine = Log::of(9, 0);
    assert_eq!(status(&AddCheckpoint { proof: Vec::new(), ..nine.request(7) }.to_body()), 422);
    let mut wrong = nine.request(7);
    wrong.proof[0][0] ^= 1;
    assert_eq!(status(&wrong.to_body()), 422);
    assert_eq!(status(&AddCheckpoint { proof: vec![[0; 32]], ..seven.request(7) }.to_body()), 422);
    assert_eq!(status(&Log::of(9, 1).request(7).to_body()), 422);
    // Two heads of one size.
    let (code, kind, _) = ask(&Log::of(7, 1).request(7).to_body());
    assert_eq!((code, kind.as_str()), (409, "text/plain; charset=utf-8"));
    assert_eq!(witness.splits().unwrap().len(), 1);
    // Signatures: none, by another key, of another log.
    let unsigned = nine.request(7);
    let by_other = log().sign(unsigned.note.split_once("\n\n").unwrap().0.to_owned().as_str(), &key(6));
    assert!(by_other.is_err(), "a text without its last newline");
    let text = unsigned.note.split_once("\n\n").unwrap().0.to_owned() + "\n";
    let by_other = log().sign(&text, &key(6)).unwrap();
    assert_eq!(status(&AddCheckpoint { note: by_other, ..unsigned.clone() }.to_body()), 403);
    let other = LogKey::new("other.example", key(5).verifying_key()).unwrap();
    let of_other = other.sign(&text.replacen(NAME, "other.example", 1), &key(5)).unwrap();
    assert_eq!(status(&AddCheckpoint { note: of_other, ..unsigned.clone() }.to_body()), 404);
    assert_eq!(status(&AddCheckpoint { note: other.sign(&text, &key(5)).unwrap(), ..unsigned.clone() }.to_body()), 403);
    // Bodies of other forms.
    let good = unsigned.to_body();
    for wrong in [
        "",
        "old 7\n\n",
        &good.replacen("old 7", "old 07", 1),
        &good.replacen("old 7", "old -7", 1),
        &good.replacen("old ", "", 1),
        &good.replacen('\n', "\n\n", 1),
        &good.replacen("old 7\n", "old 7\nAAAA\n", 1),
        &good.replacen(
            "old 7\n",
            &format!("old 7\n{}", format!("{}\n", Base64::encode_string(&[0; 32])).repeat(62)),
            1,
        ),
        good.trim_end(),
    ] {
        assert_eq!(status(wrong), 400, "{wrong}");
    }
    assert_eq!(status(&good), 200, "a refusal has changed what the witness knows");
    // Restarted, it knows the same.
    drop(server);
    let again = self::witness(folder.path(), 11);
    assert!(matches!(again.cosign(&nine.request(7), 0), Err(CosignRefusal::Size(9))));
    // The time is that of the cosignature, also if the clock was set back.
    let line = again.cosign(&nine.request(9), 1).unwrap();
    let time = |line: &str| {
        let bytes = Base64::decode_vec(line.trim_end().rsplit(' ').next().unwrap()).unwrap();
        u64::from_be_bytes(bytes[4..12].try_into().unwrap())
    };
    assert_eq!(time(&line), 1);
    let empty =
        CheckpointWitness::open(&folder.path().join("new"), key(12), "w", Vec::new()).unwrap().cosigner_of(vec![log()]);
    let empty = empty.unwrap();
    assert!(empty.cosign(&Log::of(0, 0).request(0), 1).is_ok());
    let of_zero = log().sign(&LogTreeHead { origin: NAME.to_owned(), size: 0, root: [1; 32] }.text(), &key(5)).unwrap();
    let request = AddCheckpoint { old: 0, proof: Vec::new(), note: of_zero };
    assert!(matches!(empty.cosign(&request, 1), Err(CosignRefusal::Split)));
    assert_eq!(AddCheckpoint::from_body(nine.request(7).to_body().as_bytes()).unwrap(), nine.request(7));
}
