//! Collects the cosignatures of witnesses for the heads of the public log (C2SP `tlog-witness`).

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portcullis_evidence::note::{self, LogKey, SignedNote, WitnessKey, decimal};
use portcullis_evidence::public_log::{LogPolicy, PolicyWitness};
use portcullis_evidence::tree::MerkleTree;
use portcullis_http::client::{BoundedClient, ExchangeError, ExchangeLimits, HttpAnswer};

use crate::witness::AddCheckpoint;

/// Longest time of one exchange with a witness.
const EXCHANGE: Duration = Duration::from_secs(2);
/// Longest wait for the quorum: two exchanges, since the first may only say what the witness has seen last.
const QUORUM: Duration = Duration::from_millis(4_200);
/// Longest wait for the other witnesses after the quorum has cosigned.
const OTHERS: Duration = Duration::from_millis(100);
/// Longest text of a witness that a message quotes, in characters.
const QUOTED: usize = 200;

/// The witnesses of a log.
pub(super) struct Cosigners {
    policy: LogPolicy,
    witnesses: Vec<Arc<Cosigner>>,
}

/// One witness.
struct Cosigner {
    key: WitnessKey,
    url: String,
    http: BoundedClient,
    /// Size of the log when the witness last cosigned it, as far as known. Locked during an exchange.
    seen: Mutex<u64>,
}

/// Why a quorum did not cosign: the witnesses that did not, by name.
#[derive(Debug)]
pub struct QuorumError(Vec<(String, Refused)>);

/// Why a witness did not cosign.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// It has seen more of the log.
    #[error("it has seen {seen} entries, and the log has {size}")]
    Ahead { seen: u64, size: u64 },
    #[error("{0}")]
    Other(String),
}

impl From<&str> for Refused {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

impl QuorumError {
    /// Whether a witness has seen more of the log than there is.
    pub(super) fn is_ahead(&self) -> bool {
        self.0.iter().any(|(_, refused)| matches!(refused, Refused::Ahead { .. }))
    }
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.0.iter().map(|(name, refused)| format!("{name}: {refused}")).collect();
        if reasons.is_empty() {
            f.write_str("no witness has answered in time")
        } else {
            f.write_str(&reasons.join("; "))
        }
    }
}

impl Cosigners {
    /// The witnesses of a policy, for the log with this key. Errors: a witness without a URL.
    pub(super) fn new(policy: LogPolicy, log: &LogKey) -> Result<Self, String> {
        let limits = ExchangeLimits { time: EXCHANGE, answer_bytes: note::MAX_HEAD_BYTES as u64 };
        let http = BoundedClient::shared(limits);
        let witness = |PolicyWitness { key, url }: &PolicyWitness| {
            let url = url.as_deref().filter(|url| url.starts_with("http://") || url.starts_with("https://"));
            let url = url.ok_or_else(|| format!("the policy has no URL for the witness `{}`", key.name()))?;
            let url = format!("{}/add-checkpoint", url.trim_end_matches('/'));
            Ok(Arc::new(Cosigner { key: key.clone(), url, http: http.clone(), seen: Mutex::new(0) }))
        };
        let witnesses = policy.witnesses().iter().map(witness).collect::<Result<_, String>>()?;
        Ok(Self { policy: policy.with_log(log), witnesses })
    }

    /// Whether this head has its quorum.
    pub(super) fn has_quorum(&self, note: &str) -> bool {
        self.policy.check(note).is_ok()
    }

    /// The signed head `note` of `tree` with the cosignatures of a quorum, and of all others that answer soon. Errors:
    /// the witnesses that did not cosign, each with the reason.
    pub(super) fn collect(&self, note: &str, tree: &Arc<MerkleTree>) -> Result<String, QuorumError> {
        let (cosigned, missing) = self.ask_all(note, tree);
        if self.has_quorum(&cosigned) { Ok(cosigned) } else { Err(missing) }
    }

    /// Checks that a quorum knows `note` as the newest head of the log, and that no witness that answers has seen more.
    /// Errors: the witnesses that did not confirm it.
    pub(super) fn confirm(&self, note: &str, tree: &Arc<MerkleTree>) -> Result<(), QuorumError> {
        let (cosigned, missing) = self.ask_all(note, tree);
        if self.has_quorum(&cosigned) && !missing.is_ahead() { Ok(()) } else { Err(missing) }
    }

    /// `note` with the cosignatures of all that answer in time, and the others that answered.
    fn ask_all(&self, note: &str, tree: &Arc<MerkleTree>) -> (String, QuorumError) {
        let (send, receive) = mpsc::channel();
        for witness in &self.witnesses {
            let (send, witness, tree, note) = (send.clone(), Arc::clone(witness), Arc::clone(tree), note.to_owned());
            let name = witness.key.name().to_owned();
            let work = move || {
                // An error means that the issuer does not wait any more. The witness has the head anyway.
                let _ = send.send((witness.key.name().to_owned(), witness.ask(&note, &tree)));
            };
            if std::thread::Builder::new().name(format!("cosigner {name}")).spawn(work).is_err() {
                continue;
            }
        }
        drop(send);
        let (mut cosigned, mut reasons) = (note.to_owned(), Vec::new());
        let mut has_quorum = self.has_quorum(&cosigned);
        let mut until = Instant::now() + if has_quorum { OTHERS } else { QUORUM };
        loop {
            match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((_, Ok(line))) => {
                    // Readers refuse a head with too many signatures, or with too long ones.
                    let with = format!("{cosigned}{line}");
                    if SignedNote::parse_head(&with).is_err() {
                        continue;
                    }
                    cosigned = with;
                    if !has_quorum && self.has_quorum(&cosigned) {
                        has_quorum = true;
                        until = Instant::now() + OTHERS;
                    }
                }
                Ok((name, Err(refused))) => reasons.push((name, refused)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        reasons.sort_by(|(a, _), (b, _)| a.cmp(b));
        (cosigned, QuorumError(reasons))
    }
}

impl Cosigner {
    /// The witness's signature line for a head of a log with these entries.
    fn ask(&self, note: &str, tree: &MerkleTree) -> Result<String, Refused> {
        // An earlier exchange that is not over yet will end soon. The next head then has this witness again.
        let mut seen = self.seen.try_lock().map_err(|_| "it has not answered the request before this one")?;
        let size = SignedNote::parse_head(note)
            .ok()
            .and_then(|note| note::LogTreeHead::parse(note.text).ok())
            .map_or(0, |head| head.size);
        let other = |error: ExchangeError| Refused::Other(error.to_string());
        for _ in 0..2 {
            let proof = if *seen == 0 { Some(Vec::new()) } else { tree.consistency(*seen, size) };
            let Some(proof) = proof else {
                // It is asked again next time: it may have erred, or the log may have grown.
                return Err(Refused::Ahead { seen: std::mem::take(&mut *seen), size });
            };
            let body = AddCheckpoint { old: *seen, proof, note: note.to_owned() }.to_body();
            let HttpAnswer { status, body } = self.http.post(&self.url, &[], body.as_bytes()).map_err(other)?;
            let text = String::from_utf8(body).map_err(|_| "its answer is not text")?;
            match (status, text.strip_suffix('\n').and_then(decimal)) {
                (200, _) => {
                    let line = text.split_inclusive('\n').find(|line| self.is_own(note, line));
                    let line = line.ok_or("its answer has no signature of it")?;
                    *seen = size;
                    return Ok(line.to_owned());
                }
                (409, Some(other)) if other != *seen => *seen = other,
                _ => {
                    let quoted: String = text.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
                    return Err(Refused::Other(format!("it answers {status}: {quoted}")));
                }
            }
        }
        Err("it has cosigned another head meanwhile".into())
    }

    /// Whether this line is the witness's cosignature of the head.
    fn is_own(&self, note: &str, line: &str) -> bool {
        let whole = format!("{note}{line}");
        let cosigned =
            SignedNote::parse_head(&whole).and_then(|note| note.verify(std::slice::from_ref(&self.key)).map(drop));
        cosigned.is_ok()
    }
}
