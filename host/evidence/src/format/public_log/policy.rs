//! C2SP `tlog-policy`: which logs are trusted, and which witnesses must have cosigned a head.
//!
//! ```text
//! log <verifier key> [<url>]
//! witness <name> <verifier key> [<url>]
//! group <name> all|any|<number> <name>...
//! quorum <name>|none
//! ```
//! A log signs with Ed25519 (type 0x01), a witness with timestamped Ed25519 cosignatures (type 0x04).

use crate::format::note::{LogKey, LogTreeHead, NoteError, SignedNote, WitnessKey};
use crate::format::tree::Hash;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// Largest number of logs, of witnesses and of groups.
const MAX: usize = 64;

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogPolicyError {
    /// `line` counts from 1.
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("there is no line `quorum <name>` or `quorum none`")]
    NoQuorum,
}

/// A trusted log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLog {
    pub key: LogKey,
    pub url: Option<String>,
    /// Heads count only if a quorum had seen them before this Unix second; `None` if all count.
    until: Option<u64>,
}

/// A known witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWitness {
    pub key: WitnessKey,
    /// Its submission prefix (C2SP tlog-witness).
    pub url: Option<String>,
}

/// A witness or a group, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuorumMember {
    Witness(usize),
    Group(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct WitnessGroup {
    /// Number of members that have to cosign.
    threshold: usize,
    /// Groups among them are earlier ones.
    members: Vec<QuorumMember>,
}

/// Which heads of logs are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPolicy {
    logs: Vec<PolicyLog>,
    witnesses: Vec<PolicyWitness>,
    groups: Vec<WitnessGroup>,
    /// `None` demands no witness.
    quorum: Option<QuorumMember>,
}

/// A head of a log that a policy trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosignedHead {
    pub head: LogTreeHead,
    /// SHA-256 of the public key of the log, which is its issuer's.
    pub key: Hash,
    /// The latest Unix second from which on a quorum had seen this head; `None` if the policy demands no witness.
    pub seen: Option<u64>,
    /// Names of the witnesses that cosigned, as in their signatures, in the order of the policy.
    pub witnesses: Vec<String>,
}

/// Why a head is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("no log of the policy signed it")]
    Log,
    #[error("the key of the log `{0}` is revoked, and no quorum had seen this head before")]
    Revoked(String),
    #[error("the quorum of witnesses did not cosign it; {0}")]
    Quorum(CosignerNames),
}

/// Those who cosigned, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosignerNames(Vec<String>);

impl fmt::Display for CosignerNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("no witness did")
        } else {
            write!(f, "only these did: {}", self.0.join(", "))
        }
    }
}

impl LogPolicy {
    /// Parses a policy. Errors: the first line that a policy cannot have, with its number.
    pub fn parse(text: &str) -> Result<Self, LogPolicyError> {
        let mut parser = Parser::default();
        for (number, line) in text.split('\n').enumerate() {
            let wrong = |what| LogPolicyError::Line { line: number + 1, what };
            if line.chars().any(|c| c.is_control() && c != '\t') {
                return Err(wrong("a control character".to_owned()));
            }
            let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            if !words.first().is_none_or(|word| word.starts_with('#')) {
                parser.add(&words).map_err(wrong)?;
            }
        }
        if parser.has_quorum { Ok(parser.policy) } else { Err(LogPolicyError::NoQuorum) }
    }

    #[must_use]
    pub fn logs(&self) -> &[PolicyLog] {
        &self.logs
    }

    #[must_use]
    pub fn witnesses(&self) -> &[PolicyWitness] {
        &self.witnesses
    }

    /// The same policy, which also trusts `log`.
    #[must_use]
    pub fn with_log(mut self, log: &LogKey) -> Self {
        if self.logs.iter().all(|known| known.key != *log) {
            self.logs.push(PolicyLog { key: log.clone(), url: None, until: None });
        }
        self
    }

    /// The same policy; `until` gives the Unix second from which on signatures of a public key do not count.
    #[must_use]
    pub fn revoke(mut self, until: impl Fn(&[u8; 32]) -> Option<u64>) -> Self {
        for log in &mut self.logs {
            log.until = until(log.key.public_key());
        }
        for witness in &mut self.witnesses {
            if let Some(time) = until(witness.key.public_key()) {
                witness.key = witness.key.clone().until(time);
            }
        }
        self
    }

    /// Checks the signed head of a log: a log of the policy signed it, and the quorum cosigned it. Errors: what is
    /// missing.
    pub fn check(&self, note: &str) -> Result<CosignedHead, HeadError> {
        let note = SignedNote::parse_head(note)?;
        let head = LogTreeHead::parse(note.text)?;
        let mut signed_by = None;
        for log in self.logs.iter().filter(|log| log.key.name() == head.origin) {
            if note.is_signed_by(&log.key)? {
                signed_by = Some(log);
            }
        }
        let log = signed_by.ok_or(HeadError::Log)?;
        let cosigned = note.cosignatures(self.witnesses.iter().map(|witness| &witness.key))?;
        let witnesses: Vec<String> = cosigned.iter().map(|(witness, _)| witness.name().to_owned()).collect();
        let (first, seen) = match self.quorum {
            None => (None, None),
            Some(quorum) => match self.seen(quorum, &cosigned, |times| times.sort_unstable_by(|a, b| b.cmp(a))) {
                None => return Err(HeadError::Quorum(CosignerNames(witnesses))),
                seen => (self.seen(quorum, &cosigned, |times| times.sort_unstable()), seen),
            },
        };
        // Nothing else shows when the log signed.
        if log.until.is_some_and(|until| first.is_none_or(|first| first >= until)) {
            return Err(HeadError::Revoked(head.origin));
        }
        let key = Sha256::digest(log.key.public_key()).into();
        Ok(CosignedHead { head, key, seen, witnesses })
    }

    /// A time at which enough of the members below `member` had cosigned; `None` if they have not. If `sort` puts early
    /// times first, it is the earliest such time; if late ones, the latest from which on a quorum of them had.
    fn seen(&self, member: QuorumMember, cosigned: &[(&WitnessKey, u64)], sort: fn(&mut Vec<u64>)) -> Option<u64> {
        let witnesses: Vec<Option<u64>> = self
            .witnesses
            .iter()
            .map(|witness| cosigned.iter().find(|(key, _)| **key == witness.key).map(|(_, time)| *time))
            .collect();
        let mut groups: Vec<Option<u64>> = Vec::new();
        let time = |member: QuorumMember, groups: &[Option<u64>]| match member {
            QuorumMember::Witness(number) => witnesses.get(number).copied().flatten(),
            QuorumMember::Group(number) => groups.get(number).copied().flatten(),
        };
        // A group's members are defined before it.
        for group in &self.groups {
            let mut times: Vec<u64> = group.members.iter().filter_map(|member| time(*member, &groups)).collect();
            sort(&mut times);
            groups.push(group.threshold.checked_sub(1).and_then(|last| times.get(last).copied()));
        }
        time(member, &groups)
    }
}

#[derive(Default)]
struct Parser<'a> {
    policy: LogPolicy,
    names: BTreeMap<&'a str, (QuorumMember, /* already the member of a group */ bool)>,
    has_quorum: bool,
}

impl<'a> Parser<'a> {
    fn add(&mut self, words: &[&'a str]) -> Result<(), String> {
        match *words {
            ["log", key] => self.log(key, None),
            ["log", key, url] => self.log(key, Some(url)),
            ["witness", name, key] => self.witness(name, key, None),
            ["witness", name, key, url] => self.witness(name, key, Some(url)),
            ["group", name, threshold, ref members @ ..] if !members.is_empty() => self.group(name, threshold, members),
            ["quorum", name] => self.quorum(name),
            _ => {
                Err("it is none of `log KEY [URL]`, `witness NAME KEY [URL]`, `group NAME all|any|NUMBER NAME...` and \
                      `quorum NAME`"
                    .to_owned())
            }
        }
    }

    fn log(&mut self, key: &str, url: Option<&str>) -> Result<(), String> {
        let key = LogKey::parse(key).map_err(|error| error.to_string())?;
        if self.policy.logs.iter().any(|log| log.key.public_key() == key.public_key()) {
            return Err("another log has this public key".to_owned());
        }
        check_count(self.policy.logs.len(), "logs")?;
        self.policy.logs.push(PolicyLog { key, url: url.map(str::to_owned), until: None });
        Ok(())
    }

    fn witness(&mut self, name: &'a str, key: &str, url: Option<&str>) -> Result<(), String> {
        let key = WitnessKey::parse(key).map_err(|error| error.to_string())?;
        let number = self.policy.witnesses.len();
        if self.policy.witnesses.iter().any(|witness| witness.key.public_key() == key.public_key()) {
            return Err("another witness has this public key".to_owned());
        }
        check_count(number, "witnesses")?;
        self.define(name, QuorumMember::Witness(number))?;
        self.policy.witnesses.push(PolicyWitness { key, url: url.map(str::to_owned) });
        Ok(())
    }

    fn group(&mut self, name: &'a str, threshold: &str, names: &[&'a str]) -> Result<(), String> {
        let threshold = match threshold {
            "all" => Some(names.len()),
            "any" => Some(1),
            number => crate::format::note::decimal(number).and_then(|number| usize::try_from(number).ok()),
        };
        let threshold = threshold
            .filter(|threshold| (1..=names.len()).contains(threshold))
            .ok_or_else(|| format!("of {} members, `all`, `any` or 1 to {0} can be demanded", names.len()))?;
        let mut members = Vec::new();
        for member in names {
            let (found, is_used) = self.names.get_mut(member).ok_or_else(|| undefined(member))?;
            if std::mem::replace(is_used, true) {
                return Err(format!("`{member}` is the member of a group already"));
            }
            members.push(*found);
        }
        let number = self.policy.groups.len();
        check_count(number, "groups")?;
        self.define(name, QuorumMember::Group(number))?;
        self.policy.groups.push(WitnessGroup { threshold, members });
        Ok(())
    }

    fn quorum(&mut self, name: &str) -> Result<(), String> {
        if std::mem::replace(&mut self.has_quorum, true) {
            return Err("there is a quorum already".to_owned());
        }
        self.policy.quorum = match name {
            "none" => None,
            _ => Some(self.names.get(name).ok_or_else(|| undefined(name))?.0),
        };
        Ok(())
    }

    fn define(&mut self, name: &'a str, member: QuorumMember) -> Result<(), String> {
        if name == "none" || self.names.insert(name, (member, false)).is_some() {
            return Err(format!("`{name}` is a name already"));
        }
        Ok(())
    }
}

fn undefined(name: &str) -> String {
    format!("no line before this one defines `{name}`")
}

fn check_count(count: usize, of: &str) -> Result<(), String> {
    if count < MAX { Ok(()) } else { Err(format!("more than {MAX} {of}")) }
}
