//! Replayable: everything from which a replay makes descriptors and verdicts again is there. The replay itself is another program's.

use super::lane::At;
use super::{Findings, Property::Policy, Property::Replayable, Summary};
use crate::bundle::{self, Bundle, BundleError};
use crate::hex;
use portcullis_core::wire::Session;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The parts of a context document that the verifier looks at; its digest binds the rest.
#[derive(Deserialize)]
struct Context {
    mode: Mode,
    package_digest: String,
    anchor_digests: Vec<String>,
    id: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Driven,
    Recorded,
}

/// Files whose names are digests, and the package.
pub(super) fn files(bundle: &Bundle<'_>, findings: &mut Findings) -> Result<(), BundleError> {
    for (folder, suffix) in [("contexts/", ".json"), ("anchors/", "")] {
        for (name, rest) in bundle.below(folder) {
            let digest = rest.strip_suffix(suffix).and_then(hex::decode::<32>);
            let same = digest == Some(bundle.digest(name)?);
            findings.require(same, Replayable, "file-digest", format!("`{name}` does not have the digest in its name"));
        }
    }
    if bundle.below(bundle::PACKAGE).next().is_none() {
        findings.warn(Replayable, "package-withheld", "the policy package is not in the bundle");
    }
    Ok(())
}

/// What is kept of a context document: it is read once, however many streams begin in it.
#[derive(Clone, Copy)]
struct Known {
    mode: Mode,
    /// Of the policy package that OPEN names.
    package: bool,
    /// SHA-256 of the id.
    id: [u8; 32],
}

/// The context documents that streams began in; none of those that are malformed.
#[derive(Default)]
pub(super) struct Contexts(BTreeMap<[u8; 32], Option<Known>>);

impl Contexts {
    /// The context document of a stream that begins there, called `id`.
    #[expect(clippy::too_many_arguments, reason = "each stands for itself")]
    pub(super) fn begin(
        &mut self,
        bundle: &Bundle<'_>,
        at: At,
        digest: &[u8; 32],
        id: Option<&str>,
        open: Option<&Session>,
        findings: &mut Findings,
        summary: &mut Summary,
    ) -> Result<(), BundleError> {
        let name = bundle::context(digest);
        if !bundle.has(&name) {
            let what = format!("the context of the stream at {at} is not there");
            findings.warn(Replayable, "context-withheld", what);
            return Ok(());
        }
        let known = match self.0.get(digest) {
            Some(known) => *known,
            None => {
                let known = read(bundle, &name, open, findings)?;
                self.0.insert(*digest, known);
                known
            }
        };
        let Some(known) = known else {
            findings.contradict(Replayable, "context-malformed", format!("`{name}` is no context document"));
            return Ok(());
        };
        match known.mode {
            Mode::Driven => summary.driven += 1,
            Mode::Recorded => summary.recorded += 1,
        }
        let what = format!("the stream at {at} was governed under another policy package");
        findings.require(known.package, Policy, "context-package", what);
        match id {
            Some(id) => {
                let what = format!("`streams.jsonl` calls the stream at {at} by another name than its context");
                findings.require(known.id == <[u8; 32]>::from(Sha256::digest(id)), Replayable, "stream-name", what);
            }
            None => findings.warn(Replayable, "stream-unnamed", format!("no line names the stream at {at}")),
        }
        Ok(())
    }
}

/// Reads a context document; `None` for one that is malformed.
fn read(
    bundle: &Bundle<'_>,
    name: &str,
    open: Option<&Session>,
    findings: &mut Findings,
) -> Result<Option<Known>, BundleError> {
    let Ok(context) = serde_json::from_slice::<Context>(&bundle.read(name)?) else { return Ok(None) };
    for anchor in &context.anchor_digests {
        let there = hex::decode(anchor).is_some_and(|digest| bundle.has(&bundle::anchor(&digest)));
        if !there {
            findings.warn(Replayable, "anchor-withheld", format!("anchor store {anchor} is not in the bundle"));
        }
    }
    let package = open.is_none_or(|open| context.package_digest == hex::encode(&open.package_digest));
    Ok(Some(Known { mode: context.mode, package, id: Sha256::digest(&context.id).into() }))
}

/// A stream whose input is not disclosed.
pub(super) fn input_withheld(at: At, findings: &mut Findings) {
    let what = format!("what the stream at {at} was given is not disclosed");
    findings.warn(Replayable, "input-withheld", what);
}

/// A record whose text is not disclosed.
pub(super) fn withheld(at: At, findings: &mut Findings) {
    findings.warn(Replayable, "span-withheld", format!("the text of {at} is not disclosed"));
}
