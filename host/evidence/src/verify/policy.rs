//! Policy in force: one table image from OPEN to CLOSE, the one that the ticket names and the bundle holds.

use super::lane::At;
use super::{Findings, Property::Policy, Property::Replayable, RuleCount, Summary, Trust};
use crate::approval::Approval;
use crate::bundle::{self, Bundle, BundleError};
use crate::checkpoint::Checkpoint;
use crate::hex::{self, Hex};
use crate::record::{Counts, Refusal};
use crate::ticket::Ticket;
use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::releases;
use portcullis_core::wire::{IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, RecordType, Row, Session, Stage};
use sha2::{Digest, Sha256};
use zerocopy::FromBytes;

/// The table image of the bundle.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) digest: [u8; 32],
    pub(super) header: ImageHeader,
    rows: Vec<Row>,
}

/// What the bundle holds as its table image.
pub(super) enum Tables {
    Image(Image),
    /// An image of a layout or a register map that this verifier does not know: of the card's evidence, nothing can be read.
    Unknown(String),
    /// Not an image.
    Malformed,
}

/// Reads the image and compares the package with what its header says.
pub(super) fn image(
    bundle: &Bundle<'_>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<Tables, BundleError> {
    let bytes = bundle.read(bundle::IMAGE)?;
    let digest = Sha256::digest(&bytes).into();
    summary.policy_digest = Some(Hex(digest));
    if let Some(version) = other_layout(&bytes) {
        let what = format!("the table image is of layout version {version}, this verifier reads {LAYOUT_VERSION}");
        return Ok(Tables::Unknown(what));
    }
    let parsed = ImageHeader::read_from_prefix(&bytes).ok().and_then(|(header, rest)| {
        let rows = <[Row]>::ref_from_bytes(rest).ok()?;
        let counted = usize::from(header.policy_rows.get()) + usize::from(header.entropy_rows.get());
        let good = header.magic.get() == IMAGE_MAGIC && header.version == LAYOUT_VERSION && header.reserved_is_zero();
        (good && rows.len() == counted).then(|| (header, rows.to_vec()))
    });
    let Some((header, rows)) = parsed else {
        findings.contradict(Policy, "image-malformed", "the policy's table image is not one of this layout version");
        return Ok(Tables::Malformed);
    };
    if !releases::all().any(|release| release.map_digest == header.map_digest) {
        let map = hex::encode(&header.map_digest);
        let what = format!("the table image is for the register map {map}, of no release that this verifier knows");
        return Ok(Tables::Unknown(what));
    }
    summary.package_digest = Some(Hex(header.package_digest));
    package(bundle, &header, findings, summary)?;
    Ok(Tables::Image(Image { digest, header, rows }))
}

/// The layout version of an image that is not of this one. Magic and version stand first in every layout; there is no version 0.
#[must_use]
pub fn other_layout(image: &[u8]) -> Option<u8> {
    let [magic @ .., version] = *image.first_chunk::<5>()?;
    (magic == IMAGE_MAGIC.to_le_bytes() && ![0, LAYOUT_VERSION].contains(&version)).then_some(version)
}

/// Mapping versions that a package digest is tried with; some are of the future.
const MAPPING_VERSIONS: std::ops::RangeInclusive<u32> = 1..=1000;

/// The version of the mapping under which the bundle's package has this digest: SHA-256 over a line with the mapping version and a line
/// `SHA-256  length  path` for each file. `None` when it has it under none.
///
/// # Errors
/// [`BundleError::Io`].
pub fn mapping_version(bundle: &Bundle<'_>, package_digest: &[u8; 32]) -> Result<Option<u32>, BundleError> {
    let mut listing = String::new();
    for (name, path) in bundle.below(bundle::PACKAGE) {
        let size = bundle.names().get(name).copied().unwrap_or_default();
        listing.push_str(&format!("{}  {size}  {path}\n", hex::encode(&bundle.digest(name)?)));
    }
    let digest = |version: u32| -> [u8; 32] {
        let head = format!("portcullis package 1, mapping {version}\n");
        Sha256::new().chain_update(head).chain_update(&listing).finalize().into()
    };
    // This program's own version is the likeliest.
    Ok(std::iter::once(MAPPING_VERSION).chain(MAPPING_VERSIONS).find(|version| digest(*version) == *package_digest))
}

fn package(
    bundle: &Bundle<'_>,
    header: &ImageHeader,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<(), BundleError> {
    // A package that is not there is a matter of replay.
    if bundle.below(bundle::PACKAGE).next().is_none() {
        return Ok(());
    }
    summary.mapping_version = mapping_version(bundle, &header.package_digest)?;
    let what = "the files of the policy package are not those that the table image was built from";
    findings.require(summary.mapping_version.is_some(), Policy, "package-digest", what);
    let known = |version: &u32| releases::all().any(|release| release.mapping == *version);
    if let Some(version) = summary.mapping_version.filter(|version| !known(version)) {
        let what = format!("the package is of mapping version {version}, of no release that this program knows");
        findings.warn(Replayable, "mapping-version", what);
    }
    Ok(())
}

/// The approval of the policy, where there is one.
pub(super) fn approval(
    bundle: &Bundle<'_>,
    trust: &Trust,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<(), BundleError> {
    if !bundle.has(bundle::APPROVAL) {
        return Ok(());
    }
    let Some(approval) = Approval::parse(&bundle.read(bundle::APPROVAL)?) else {
        findings.contradict(Policy, "approval-malformed", "`policy/approval.cose` is no approval");
        return Ok(());
    };
    let same = summary.policy_digest == Some(Hex(approval.policy));
    findings.require(same, Policy, "approval-of-another", "the approval is of another table image");
    match trust.approver(&approval) {
        Some(approver) => summary.approvals.push(approver),
        None => {
            // Issuers could approve once: say what has to be done where that is meant.
            let issuer = trust.issuers.iter().find(|issuer| approval.signer([&issuer.key]).is_some());
            let hint = issuer.map_or_else(String::new, |issuer| {
                format!(
                    "; the key in `{}` did, which may issue tickets: copy it to `approvers/` if it may approve, too",
                    issuer.file
                )
            });
            let what = format!("no key of `approvers/` signed the approval of the policy{hint}");
            findings.contradict(Policy, "approval-untrusted", what);
        }
    }
    Ok(())
}

/// What OPEN and CLOSE say of the tables.
pub(super) fn session(kind: RecordType, session: &Session, image: Option<&Image>, findings: &mut Findings) {
    let Some(image) = image else { return };
    match kind {
        RecordType::Open | RecordType::Close => {
            let (code, name) =
                if kind == RecordType::Open { ("open-policy", "OPEN") } else { ("close-policy", "CLOSE") };
            let what = format!("{name} records policy digest {}", hex::encode(&session.policy_digest));
            findings.require(session.policy_digest == image.digest, Policy, code, what);
            let what = format!("{name} records package digest {}", hex::encode(&session.package_digest));
            findings.require(session.package_digest == image.header.package_digest, Policy, "session-package", what);
        }
        RecordType::Alarm => {
            let what = format!("the card stopped with fault {:#06x}", session.cause.get());
            findings.contradict(Policy, "alarm", what);
        }
        _ => {}
    }
}

/// What a checkpoint says of the tables.
pub(super) fn checkpoint(checkpoint: &Checkpoint, image: Option<&Image>, findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let serial = wire.serial.get();
    if let Some(image) = image {
        let what = format!("checkpoint {serial} is under policy digest {}", hex::encode(&wire.policy_digest));
        findings.require(wire.policy_digest == image.digest, Policy, "checkpoint-policy", what);
    }
    if wire.fault.get() != 0 {
        findings.contradict(Policy, "alarm", format!("checkpoint {serial} names fault {:#06x}", wire.fault.get()));
    }
}

/// What the ticket says of the card's text lane.
pub(super) fn text_lane(ticket: &Ticket, findings: &mut Findings) {
    let what = "the ticket requires the text lane, and no card of this layout version has one";
    findings.require(!ticket.text_lane, Policy, "text-lane", what);
}

/// What the ticket says of the tables. The digest is over the whole file, whatever its layout.
pub(super) fn ticket(ticket: &Ticket, image: &[u8; 32], findings: &mut Findings) {
    let what = format!("the ticket is for policy digest {}", hex::encode(&ticket.policy));
    findings.require(ticket.policy == *image, Policy, "ticket-policy", what);
}

/// The profile that the stream at `at` is governed under; `None` where its context document is not at hand.
pub(super) fn profile(at: At, profile: Option<Hex<32>>, ticket: Option<&Ticket>, findings: &mut Findings) {
    let Some(ticket) = ticket.filter(|ticket| !ticket.profiles.is_empty()) else { return };
    match profile {
        Some(profile) => {
            let what =
                format!("the stream at {at} was governed under profile {profile}, which the ticket does not permit");
            findings.require(ticket.profiles.contains(&profile.0), Policy, "profile-not-permitted", what);
        }
        None => {
            let what = format!("the ticket permits certain profiles only; that of the stream at {at} cannot be seen");
            findings.warn(Policy, "profile-unknown", what);
        }
    }
}

/// The context that a stream began in.
pub(super) fn context(digest: &[u8; 32], ticket: Option<&Ticket>, findings: &mut Findings) {
    let permitted = ticket.is_none_or(|ticket| ticket.contexts.is_empty() || ticket.contexts.contains(digest));
    let what = format!("a stream began in context {}, which the ticket does not permit", hex::encode(digest));
    findings.require(permitted, Policy, "context-not-permitted", what);
}

/// The rules behind the rows that decided.
pub(super) fn rules(counts: &Counts, image: Option<&Image>) -> Vec<RuleCount> {
    let rule = |refusal: &Refusal| {
        let (image, row) = (image?, usize::from(refusal.row?));
        // Policy rows stand first in an image.
        let before = if refusal.stage == Stage::Entropy { image.header.policy_rows.get().into() } else { 0 };
        image.rows.get(before + row).map(|row| row.rule.get())
    };
    let line = |(refusal, count): (&Refusal, &u64)| RuleCount {
        stage: refusal.stage,
        row: refusal.row,
        rule: rule(refusal),
        id: None,
        reason: None,
        count: *count,
    };
    counts.refusals.iter().map(line).collect()
}
