//! Checks contexts: the context document of each stream, whether the ticket permits it, and the stream's profile.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::ticket::SessionTicket;
use crate::verify::code::Code;
use crate::verify::findings::{At, VerifyFindings};
use crate::verify::report::{EvidenceSummary, ProfileUse};
use portcullis_core::context::{ContextDocument, ContextDocumentError, ReleaseMode, StreamMode};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::SessionFields;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A context document. It is read once, even if many streams use it.
#[derive(Clone, Copy)]
enum ContextDocumentResult {
    Read(DocumentFacts),
    Version(u32),
    Malformed,
}

/// The fields of a context document that the checks need.
#[derive(Clone, Copy)]
struct DocumentFacts {
    mode: StreamMode,
    profile: HexBytes<32>,
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
pub(crate) struct StreamContextFacts {
    /// Digest of the stream's profile.
    pub(crate) profile: HexBytes<32>,
    /// Whether no rollback can remove admitted text.
    pub(crate) kept: bool,
}

/// The context documents of all streams, and the ids of these streams. Memory grows with the number of documents, not
/// with the log.
#[derive(Default)]
pub(crate) struct ContextDocumentSet {
    documents: BTreeMap<[u8; 32], ContextDocumentResult>,
    /// SHA-256 of each id.
    ids: BTreeSet<[u8; 32]>,
}

impl ContextDocumentSet {
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
        findings: &mut VerifyFindings,
        summary: &mut EvidenceSummary,
    ) -> Result<Option<StreamContextFacts>, BundleError> {
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
            ContextDocumentResult::Read(known) => known,
            ContextDocumentResult::Version(found) => {
                let what = format!("`{name}` is of version {found}; verify with a release that reads it");
                findings.add(Code::ContextVersion, what);
                summary.profile_unknown += 1;
                return Ok(None);
            }
            ContextDocumentResult::Malformed => {
                findings.add(Code::ContextMalformed, format_args!("`{name}` is not a context document"));
                summary.profile_unknown += 1;
                return Ok(None);
            }
        };
        let mode = match known.mode {
            StreamMode::Driven => &mut summary.modes.driven,
            StreamMode::DrivenConversation => &mut summary.modes.driven_conversation,
            StreamMode::Held => &mut summary.modes.held,
            StreamMode::Recorded => &mut summary.modes.recorded,
            StreamMode::Observed => &mut summary.modes.observed,
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
        Ok(Some(StreamContextFacts { profile: known.profile, kept: known.kept }))
    }
}

/// Reads a context document, and adds its profile to the summary.
fn read(
    bundle: &Bundle<'_>,
    name: &str,
    digest: &[u8; 32],
    open: Option<&SessionFields>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<ContextDocumentResult, BundleError> {
    let bytes = bundle.read(name)?;
    // Hash the bytes that are parsed: the file may have changed since its name was checked.
    if <[u8; 32]>::from(Sha256::digest(&bytes)) != *digest {
        return Ok(ContextDocumentResult::Malformed);
    }
    let context = match ContextDocument::parse(&bytes) {
        Ok(context) => context,
        Err(ContextDocumentError::Version { found }) => return Ok(ContextDocumentResult::Version(found)),
        Err(ContextDocumentError::Malformed(_)) => return Ok(ContextDocumentResult::Malformed),
    };
    for anchor in &context.anchor_digests {
        if !bundle.has(&bundle::anchor(&anchor.0)) {
            findings.add(Code::AnchorWithheld, format_args!("anchor store {anchor} is not in the bundle"));
        }
    }
    let package = open.is_none_or(|open| context.package_digest.0 == open.package_digest);
    let (profile, continues) = (context.profile_digest, context.predecessor.is_some());
    let AgentProfile { domain, audience, temporal, epistemic, register, .. } = context.profile;
    let used = ProfileUse { streams: 0, domain, audience, temporal, epistemic, register };
    summary.profiles.entry(profile).or_insert(used);
    let id = Sha256::digest(&context.id).into();
    // Only the gate's own loop with an engine goes back, and never beyond released text.
    let kept = context.release == ReleaseMode::Span
        || !matches!(context.mode, StreamMode::Driven | StreamMode::DrivenConversation);
    Ok(ContextDocumentResult::Read(DocumentFacts { mode: context.mode, profile, kept, continues, package, id }))
}

/// Checks that the ticket permits a stream's context.
pub(crate) fn permitted(digest: &[u8; 32], ticket: Option<&SessionTicket>) -> VerifyFindings {
    let permitted = ticket.is_none_or(|ticket| ticket.contexts.is_empty() || ticket.contexts.contains(digest));
    VerifyFindings::unless(permitted, Code::ContextNotPermitted, || {
        format!("a stream began in context {}, which the ticket does not permit", hex::encode(digest))
    })
}

/// Checks the profile of the stream at `at`; `None` if its context document is missing.
pub(crate) fn profile(at: At, profile: Option<HexBytes<32>>, ticket: Option<&SessionTicket>) -> VerifyFindings {
    let Some(ticket) = ticket.filter(|ticket| !ticket.profiles.is_empty()) else { return VerifyFindings::default() };
    match profile {
        Some(profile) => {
            VerifyFindings::unless(ticket.profiles.contains(&profile.0), Code::ProfileNotPermitted, || {
                format!("the stream at {at} was governed under profile {profile}, which the ticket does not permit")
            })
        }
        None => VerifyFindings::unless(false, Code::ProfileUnknown, || {
            format!("the ticket permits certain profiles only; that of the stream at {at} cannot be seen")
        }),
    }
}
