//! Replayable: everything from which a replay makes descriptors and verdicts again is there. The replay itself is another program's.

use super::{Findings, Property::Policy, Property::Replayable, Summary};
use crate::bundle::{self, Bundle, BundleError};
use crate::hex;
use portcullis_core::wire::Session;
use serde::Deserialize;

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

/// The context document of a stream that begins at record `index`.
pub(super) fn context(
    bundle: &Bundle<'_>,
    index: u64,
    digest: &[u8; 32],
    id: Option<&str>,
    open: Option<&Session>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<(), BundleError> {
    let name = bundle::context(digest);
    if !bundle.has(&name) {
        findings.warn(
            Replayable,
            "context-withheld",
            format!("the context of the stream at record {index} is not there"),
        );
        return Ok(());
    }
    let Ok(context) = serde_json::from_slice::<Context>(&bundle.read(&name)?) else {
        findings.contradict(Replayable, "context-malformed", format!("`{name}` is no context document"));
        return Ok(());
    };
    match context.mode {
        Mode::Driven => summary.driven += 1,
        Mode::Recorded => summary.recorded += 1,
    }
    let same = open.is_none_or(|open| context.package_digest == hex::encode(&open.package_digest));
    let what = format!("the stream at record {index} was governed under another policy package");
    findings.require(same, Policy, "context-package", what);
    for anchor in &context.anchor_digests {
        let there = hex::decode(anchor).is_some_and(|digest| bundle.has(&bundle::anchor(&digest)));
        if !there {
            findings.warn(Replayable, "anchor-withheld", format!("anchor store {anchor} is not in the bundle"));
        }
    }
    match id {
        Some(id) => {
            let what = format!("`streams.jsonl` calls the stream at record {index} by another name than its context");
            findings.require(id == context.id, Replayable, "stream-name", what);
        }
        None => findings.warn(Replayable, "stream-unnamed", format!("no line names the stream at record {index}")),
    }
    Ok(())
}

/// A stream whose input is not disclosed.
pub(super) fn input_withheld(index: u64, findings: &mut Findings) {
    let what = format!("what the stream at record {index} was given is not disclosed");
    findings.warn(Replayable, "input-withheld", what);
}

/// A record whose text is not disclosed.
pub(super) fn withheld(index: u64, findings: &mut Findings) {
    findings.warn(Replayable, "span-withheld", format!("the text of record {index} is not disclosed"));
}
