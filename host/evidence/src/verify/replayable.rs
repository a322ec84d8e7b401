//! Replayable: everything from which a replay makes descriptors and verdicts again is there. The replay itself is another program's.

use super::lane::At;
use super::{Findings, ProfileUse, Property::Policy, Property::Replayable, Summary};
use crate::bundle::{self, Bundle, BundleError};
use crate::hex::{self, Hex};
use portcullis_core::context::{ContextDocument, ContextError, Mode};
use portcullis_core::state::Profile;
use portcullis_core::wire::Session;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

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

/// A context document: it is read once, however many streams begin in it.
#[derive(Clone, Copy)]
enum Context {
    Read(Known),
    /// Of another version.
    Version(u32),
    Malformed,
}

/// What is kept of one that was read.
#[derive(Clone, Copy)]
struct Known {
    mode: Mode,
    profile: Hex<32>,
    continues: bool,
    /// Of the policy package that OPEN names.
    package: bool,
    /// SHA-256 of the id.
    id: [u8; 32],
}

/// The context documents that streams began in, and the ids of these streams. Both grow with the documents of the bundle, not with its log.
#[derive(Default)]
pub(super) struct Contexts {
    documents: BTreeMap<[u8; 32], Context>,
    /// SHA-256 of each id.
    ids: BTreeSet<[u8; 32]>,
}

impl Contexts {
    /// The context document of a stream that begins there, called `id`, whether or not it is withheld; gives the digest of its profile, where
    /// that can be seen.
    #[expect(clippy::too_many_arguments, reason = "each stands for itself")]
    pub(super) fn begin(
        &mut self,
        bundle: &Bundle<'_>,
        at: At,
        digest: &[u8; 32],
        id: Option<&str>,
        (open, withheld): (Option<&Session>, bool),
        findings: &mut Findings,
        summary: &mut Summary,
    ) -> Result<Option<Hex<32>>, BundleError> {
        let name = bundle::context(digest);
        if !bundle.has(&name) {
            if !withheld {
                let what = format!("the context of the stream at {at} is not there");
                findings.warn(Replayable, "context-withheld", what);
            }
            summary.profile_unknown += 1;
            return Ok(None);
        }
        let known = match self.documents.get(digest) {
            Some(known) => *known,
            None => {
                let known = read(bundle, &name, digest, open, findings, summary)?;
                self.documents.insert(*digest, known);
                known
            }
        };
        let known = match known {
            Context::Read(known) => known,
            Context::Version(found) => {
                let what = format!("`{name}` is of version {found}; verify with a release that reads it");
                findings.warn(Replayable, "context-version", what);
                summary.profile_unknown += 1;
                return Ok(None);
            }
            Context::Malformed => {
                findings.contradict(Replayable, "context-malformed", format!("`{name}` is not a context document"));
                summary.profile_unknown += 1;
                return Ok(None);
            }
        };
        let mode = match known.mode {
            Mode::Driven => &mut summary.modes.driven,
            Mode::Held => &mut summary.modes.held,
            Mode::Recorded => &mut summary.modes.recorded,
            Mode::Observed => &mut summary.modes.observed,
        };
        *mode += 1;
        summary.continued += u64::from(known.continues);
        if let Some(profile) = summary.profiles.get_mut(&known.profile) {
            profile.streams += 1;
        }
        let what = format!("the stream at {at} was governed under another policy package");
        findings.require(known.package, Policy, "context-package", what);
        // A stream that continues another one has its id.
        if !self.ids.insert(known.id) && !known.continues {
            let what =
                format!("the stream at {at} has the id of another stream: the id does not tell which one is meant");
            findings.warn(Replayable, "id-twice", what);
        }
        let named = id.is_none_or(|id| known.id == <[u8; 32]>::from(Sha256::digest(id)));
        let what = format!("`streams.jsonl` calls the stream at {at} by another name than its context");
        findings.require(named, Replayable, "stream-name", what);
        Ok(Some(known.profile))
    }
}

/// Reads a context document, and notes its profile in the summary.
fn read(
    bundle: &Bundle<'_>,
    name: &str,
    digest: &[u8; 32],
    open: Option<&Session>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<Context, BundleError> {
    let bytes = bundle.read(name)?;
    // The bytes that are parsed are the ones that BEGIN bound: the file may have changed since its name was checked.
    if <[u8; 32]>::from(Sha256::digest(&bytes)) != *digest {
        return Ok(Context::Malformed);
    }
    let context = match ContextDocument::parse(&bytes) {
        Ok(context) => context,
        Err(ContextError::Version { found }) => return Ok(Context::Version(found)),
        Err(ContextError::Malformed(_)) => return Ok(Context::Malformed),
    };
    for anchor in &context.anchor_digests {
        if !bundle.has(&bundle::anchor(&anchor.0)) {
            findings.warn(Replayable, "anchor-withheld", format!("anchor store {anchor} is not in the bundle"));
        }
    }
    let package = open.is_none_or(|open| context.package_digest.0 == open.package_digest);
    let (profile, continues) = (context.profile_digest, context.predecessor.is_some());
    let Profile { domain, audience, temporal, epistemic, register, .. } = context.profile;
    let used = ProfileUse { streams: 0, domain, audience, temporal, epistemic, register };
    summary.profiles.entry(profile).or_insert(used);
    let id = Sha256::digest(&context.id).into();
    Ok(Context::Read(Known { mode: context.mode, profile, continues, package, id }))
}

/// A stream that no line names.
pub(super) fn unnamed(at: At, findings: &mut Findings) {
    findings.warn(Replayable, "stream-unnamed", format!("no line names the stream at {at}"));
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
