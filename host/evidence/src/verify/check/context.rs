//! Checks contexts: the context document of each stream, whether the ticket permits it, and the stream's profile.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::ticket::Ticket;
use crate::verify::code::Code;
use crate::verify::findings::{At, Findings};
use crate::verify::report::{ProfileUse, Summary};
use portcullis_core::context::{ContextDocument, ContextError, Mode, Release};
use portcullis_core::hex::{self, Hex};
use portcullis_core::state::Profile;
use portcullis_core::wire::SessionFields;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A context document. It is read once, even if many streams use it.
#[derive(Clone, Copy)]
enum Document {
    Read(DocumentFacts),
    Version(u32),
    Malformed,
}

/// The fields of a context document that the checks need.
#[derive(Clone, Copy)]
struct DocumentFacts {
    mode: Mode,
    profile: Hex<32>,
    /// Whether no rollback can remove admitted text.
    kept: bool,
    continues: bool,
    /// Whether the document names the policy package that OPEN names.
    package: bool,
    /// SHA-256 of the id.
    id: [u8; 32],
}

/// Facts from the context document of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Governed {
    /// Digest of the stream's profile.
    pub(crate) profile: Hex<32>,
    /// Whether no rollback can remove admitted text.
    pub(crate) kept: bool,
}

/// The context documents of all streams, and the ids of these streams. Memory grows with the number of documents, not
/// with the log.
#[derive(Default)]
pub(crate) struct Contexts {
    documents: BTreeMap<[u8; 32], Document>,
    /// SHA-256 of each id.
    ids: BTreeSet<[u8; 32]>,
}

impl Contexts {
    /// Checks the context document of a new stream named `id`, also of a withheld stream. `None` if the
    /// document cannot be read.
    #[expect(clippy::too_many_arguments, reason = "each stands for itself")]
    pub(crate) fn begin(
        &mut self,
        bundle: &Bundle<'_>,
        at: At,
        digest: &[u8; 32],
        id: Option<&str>,
        (open, withheld): (Option<&SessionFields>, bool),
        findings: &mut Findings,
        summary: &mut Summary,
    ) -> Result<Option<Governed>, BundleError> {
        let name = bundle::context(digest);
        if !bundle.has(&name) {
            if !withheld {
                let what = format!("the context of the stream at {at} is not there");
                findings.add(Code::ContextWithheld, what);
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
            Document::Read(known) => known,
            Document::Version(found) => {
                let what = format!("`{name}` is of version {found}; verify with a release that reads it");
                findings.add(Code::ContextVersion, what);
                summary.profile_unknown += 1;
                return Ok(None);
            }
            Document::Malformed => {
                findings.add(Code::ContextMalformed, format_args!("`{name}` is not a context document"));
                summary.profile_unknown += 1;
                return Ok(None);
            }
        };
        let mode = match known.mode {
            Mode::Driven => &mut summary.modes.driven,
            Mode::DrivenConversation => &mut summary.modes.driven_conversation,
            Mode::Held => &mut summary.modes.held,
            Mode::Recorded => &mut summary.modes.recorded,
            Mode::Observed => &mut summary.modes.observed,
        };
        *mode += 1;
        summary.continued += u64::from(known.continues);
        if let Some(profile) = summary.profiles.get_mut(&known.profile) {
            profile.streams += 1;
        }
        findings.require(known.package, Code::ContextPackage, || {
            format!("the stream at {at} was governed under another policy package")
        });
        // A stream that continues another stream has the id of that stream.
        if !self.ids.insert(known.id) && !known.continues {
            let what =
                format!("the stream at {at} has the id of another stream: the id does not tell which one is meant");
            findings.add(Code::IdTwice, what);
        }
        let named = id.is_none_or(|id| known.id == <[u8; 32]>::from(Sha256::digest(id)));
        findings.require(named, Code::StreamName, || {
            format!("`streams.jsonl` calls the stream at {at} by another name than its context")
        });
        Ok(Some(Governed { profile: known.profile, kept: known.kept }))
    }
}

/// Reads a context document, and adds its profile to the summary.
fn read(
    bundle: &Bundle<'_>,
    name: &str,
    digest: &[u8; 32],
    open: Option<&SessionFields>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<Document, BundleError> {
    let bytes = bundle.read(name)?;
    // Hash the bytes that are parsed: the file may have changed since its name was checked.
    if <[u8; 32]>::from(Sha256::digest(&bytes)) != *digest {
        return Ok(Document::Malformed);
    }
    let context = match ContextDocument::parse(&bytes) {
        Ok(context) => context,
        Err(ContextError::Version { found }) => return Ok(Document::Version(found)),
        Err(ContextError::Malformed(_)) => return Ok(Document::Malformed),
    };
    for anchor in &context.anchor_digests {
        if !bundle.has(&bundle::anchor(&anchor.0)) {
            findings.add(Code::AnchorWithheld, format_args!("anchor store {anchor} is not in the bundle"));
        }
    }
    let package = open.is_none_or(|open| context.package_digest.0 == open.package_digest);
    let (profile, continues) = (context.profile_digest, context.predecessor.is_some());
    let Profile { domain, audience, temporal, epistemic, register, .. } = context.profile;
    let used = ProfileUse { streams: 0, domain, audience, temporal, epistemic, register };
    summary.profiles.entry(profile).or_insert(used);
    let id = Sha256::digest(&context.id).into();
    // Only the gate's own loop with an engine goes back, and never beyond released text.
    let kept = context.release == Release::Span || !matches!(context.mode, Mode::Driven | Mode::DrivenConversation);
    Ok(Document::Read(DocumentFacts { mode: context.mode, profile, kept, continues, package, id }))
}

/// Checks that the ticket permits a stream's context.
pub(crate) fn permitted(digest: &[u8; 32], ticket: Option<&Ticket>) -> Findings {
    let permitted = ticket.is_none_or(|ticket| ticket.contexts.is_empty() || ticket.contexts.contains(digest));
    Findings::unless(permitted, Code::ContextNotPermitted, || {
        format!("a stream began in context {}, which the ticket does not permit", hex::encode(digest))
    })
}

/// Checks the profile of the stream at `at`; `None` if its context document is missing.
pub(crate) fn profile(at: At, profile: Option<Hex<32>>, ticket: Option<&Ticket>) -> Findings {
    let Some(ticket) = ticket.filter(|ticket| !ticket.profiles.is_empty()) else { return Findings::default() };
    match profile {
        Some(profile) => Findings::unless(ticket.profiles.contains(&profile.0), Code::ProfileNotPermitted, || {
            format!("the stream at {at} was governed under profile {profile}, which the ticket does not permit")
        }),
        None => Findings::unless(false, Code::ProfileUnknown, || {
            format!("the ticket permits certain profiles only; that of the stream at {at} cannot be seen")
        }),
    }
}
