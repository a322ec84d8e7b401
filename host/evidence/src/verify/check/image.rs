//! Checks the table image: this verifier can read it, and it was built from the package in the bundle.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::log::DecidingStage;
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::{EvidenceSummary, RuleCount};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::releases;
use portcullis_core::wire::{IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, Stage};
use portcullis_image::{BankKind, ImageError, TableImage};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The bundle's table image and its digest, which is the policy digest.
#[derive(Clone, Debug)]
pub(crate) struct BundleImage {
    pub(crate) digest: [u8; 32],
    pub(crate) tables: TableImage,
}

/// The content of the bundle's table image.
pub(crate) enum BundleImageContent {
    Image(Box<BundleImage>),
    /// The layout or register map of the image is unknown, so the card's records and checkpoints cannot be read.
    Unknown(String),
    Malformed,
}

/// Reads the image and compares the package with the image's header.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<BundleImageContent, BundleError> {
    let bytes = bundle.read(bundle::IMAGE)?;
    let digest = Sha256::digest(&bytes).into();
    summary.policy_digest = Some(HexBytes(digest));
    if let Some(version) = other_layout(&bytes) {
        let what = format!("the table image is of layout version {version}, this verifier reads {LAYOUT_VERSION}");
        return Ok(BundleImageContent::Unknown(what));
    }
    let known = |digest: &[u8; 32]| releases::all().any(|release| release.map_digest == *digest);
    let image = match TableImage::of_maps(&bytes, known) {
        Ok(image) => image,
        Err(ImageError::MapDigest { found, .. }) => {
            let what =
                format!("the table image is for the register map {found}, of no release that this verifier knows");
            return Ok(BundleImageContent::Unknown(what));
        }
        Err(error) => {
            findings.add(Code::ImageMalformed, format!("the policy's table image: {error}"));
            return Ok(BundleImageContent::Malformed);
        }
    };
    let header = image.header();
    summary.package_digest = Some(HexBytes(header.package_digest));
    summary.text_lane = Some(image.text().is_some());
    package(bundle, header, findings, summary)?;
    Ok(BundleImageContent::Image(Box::new(BundleImage { digest, tables: image })))
}

/// The layout version of an image, if it is not this program's. In every layout, magic and version come first and the
/// version is not 0.
#[must_use]
pub fn other_layout(image: &[u8]) -> Option<u8> {
    let [magic @ .., version] = *image.first_chunk::<5>()?;
    (magic == IMAGE_MAGIC.to_le_bytes() && ![0, LAYOUT_VERSION].contains(&version)).then_some(version)
}

/// Mapping versions to try for a package digest, future ones included.
const MAPPING_VERSIONS: std::ops::RangeInclusive<u32> = 1..=1000;

/// The mapping version for which the bundle's package has this digest: SHA-256 over a line with the mapping
/// version and a line `SHA-256  length  path` for each file. `None` if no version gives this digest.
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
    // Try this program's own version first, since it is the most likely one.
    Ok(std::iter::once(MAPPING_VERSION).chain(MAPPING_VERSIONS).find(|version| digest(*version) == *package_digest))
}

fn package(
    bundle: &Bundle<'_>,
    header: &ImageHeader,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<(), BundleError> {
    // A missing package makes only the replay impossible.
    if bundle.below(bundle::PACKAGE).next().is_none() {
        return Ok(());
    }
    summary.mapping_version = mapping_version(bundle, &header.package_digest)?;
    findings.require(summary.mapping_version.is_some(), Code::PackageDigest, || {
        "the files of the policy package are not those that the table image was built from".to_owned()
    });
    let known = |version: &u32| releases::all().any(|release| release.mapping == *version);
    if let Some(version) = summary.mapping_version.filter(|version| !known(version)) {
        let what = format!("the package is of mapping version {version}, of no release that this program knows");
        findings.add(Code::MappingVersion, what);
    }
    Ok(())
}

/// Names the rules of the rows that decided.
pub(crate) fn rules(counts: &BTreeMap<DecidingStage, u64>, image: Option<&BundleImage>) -> Vec<RuleCount> {
    let rule = |decided: &DecidingStage| {
        let (image, row) = (image?, usize::from(decided.row?));
        let bank = if decided.stage == Stage::Entropy { BankKind::Entropy } else { BankKind::Policy };
        image.tables.rows(bank).get(row).map(|row| row.rule.get())
    };
    let line = |(decided, count): (&DecidingStage, &u64)| RuleCount {
        stage: decided.stage,
        row: decided.row,
        rule: rule(decided),
        id: None,
        reason: None,
        count: *count,
    };
    counts.iter().map(line).collect()
}
