//! Bitstream manifests: writes them, and checks them against sources and files.

use crate::error::BitstreamError;
use crate::sources::{LAYOUT, REGISTERS, SourceCheckout, sha256};
use portcullis_core::hex;
use portcullis_core::wire::{MAP_DIGEST, key_flags};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the manifest's file.
pub const MANIFEST: &str = "manifest.toml";
const SCHEMA: u32 = 1;
/// The value of a manifest's field for the policy if the bitstream contains no policy and the host loads the tables.
const LOADABLE: &str = "loadable";

/// The manifests of this program's own sources.
const KNOWN: [&str; 4] = [
    include_str!("../../../bitstreams/aws_f2/manifest.toml"),
    include_str!("../../../bitstreams/alveo_u55c/manifest.toml"),
    include_str!("../../../bitstreams/alveo_u250/manifest.toml"),
    include_str!("../../../bitstreams/ecp5/manifest.toml"),
];

/// The kind of device secret that the bitstream contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BitstreamKeyKind {
    /// The public test secret.
    Test,
    Device,
    /// One secret, which is the same in every card with this image.
    Class,
}

impl BitstreamKeyKind {
    /// The key flags that the card reports. The boot nonce is zero on every shell, so NO_TRNG is always set.
    const fn flags(self) -> u16 {
        match self {
            Self::Test => key_flags::SIM | key_flags::NO_TRNG,
            Self::Device => key_flags::NO_TRNG,
            Self::Class => key_flags::CLASS_KEY | key_flags::NO_TRNG,
        }
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct BitstreamManifest {
    schema: u32,
    target: String,
    design: DesignDigests,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<Build>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    file: Vec<BitstreamFile>,
}

#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DesignDigests {
    design_id: String,
    map_digest: String,
    layout_digest: String,
    registers_digest: String,
    shell_digest: String,
    shell_sources: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Build {
    commit: String,
    tool: String,
    production: bool,
    key: BitstreamKeyKind,
    key_flags: u16,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    afi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agfi: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct BitstreamFile {
    name: String,
    sha256: String,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitstreamCheckOutcome {
    Good,
    /// There is no build, or a file that the manifest names is missing.
    Warned,
    /// The check passed, but the key is the public test key.
    TestKey,
    Contradicted,
}

/// One check, with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitstreamCheck {
    pub name: String,
    pub found: String,
    pub outcome: BitstreamCheckOutcome,
}

/// A build for which a manifest is to be written.
#[derive(Clone, Debug)]
pub struct BitstreamSealRequest<'a> {
    /// Folder of the files; the manifest is written into it.
    pub dir: &'a Path,
    /// Target: the name of a folder in `bitstreams`.
    pub target: &'a str,
    /// Commit, 40 hexadecimal digits.
    pub commit: &'a str,
    pub tool: &'a str,
    pub key: BitstreamKeyKind,
    /// Digest of the policy tables in the bitstream; `None` if the host loads the tables.
    pub policy: Option<&'a str>,
    /// Regional and global id of the AFI (Amazon FPGA image); only on F2.
    pub afi: Option<(&'a str, &'a str)>,
    pub files: &'a [String],
}

fn known(target: &str) -> Result<BitstreamManifest, BitstreamError> {
    let mut manifests = KNOWN.iter().filter_map(|text| toml::from_str::<BitstreamManifest>(text).ok());
    manifests.find(|manifest| manifest.target == target).ok_or_else(|| BitstreamError::Target(target.to_owned()))
}

/// Compares a manifest with this program's sources, with the files in its folder, and with the checkout `source`. Also
/// returns the target.
pub fn verify(dir: &Path, source: Option<&Path>) -> Result<(String, Vec<BitstreamCheck>), BitstreamError> {
    let path = dir.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|source| BitstreamError::Read { path: path.clone(), source })?;
    match toml::from_str::<BitstreamManifest>(&text) {
        Ok(manifest) => Ok((manifest.target.clone(), checks(dir, source, &manifest)?)),
        Err(error) => {
            let found = format!("`{}` is not a manifest: {error}", path.display());
            Ok((
                String::new(),
                vec![BitstreamCheck {
                    name: "manifest".to_owned(),
                    found,
                    outcome: BitstreamCheckOutcome::Contradicted,
                }],
            ))
        }
    }
}

/// The checks of all claims of a manifest.
fn checks(
    dir: &Path,
    source: Option<&Path>,
    manifest: &BitstreamManifest,
) -> Result<Vec<BitstreamCheck>, BitstreamError> {
    let mut checks = Vec::new();
    let mut add = |name: &str, found: String, outcome: BitstreamCheckOutcome| {
        checks.push(BitstreamCheck { name: name.to_owned(), found, outcome })
    };
    if manifest.schema != SCHEMA {
        add("schema", format!("{}, this program reads {SCHEMA}", manifest.schema), BitstreamCheckOutcome::Contradicted);
        return Ok(checks);
    }
    let Ok(own) = known(&manifest.target) else {
        add(
            "target",
            format!("`{}` is not a target of this program", manifest.target),
            BitstreamCheckOutcome::Contradicted,
        );
        return Ok(checks);
    };
    add("target", manifest.target.clone(), BitstreamCheckOutcome::Good);
    let digests = [
        ("design id", &manifest.design.design_id, own.design.design_id),
        ("map digest", &manifest.design.map_digest, hex::encode(&MAP_DIGEST)),
        ("layout digest", &manifest.design.layout_digest, own.design.layout_digest),
        ("registers digest", &manifest.design.registers_digest, own.design.registers_digest),
        ("shell digest", &manifest.design.shell_digest, own.design.shell_digest.clone()),
    ];
    for (name, found, wanted) in digests {
        if *found == wanted {
            add(name, found.clone(), BitstreamCheckOutcome::Good);
        } else {
            let remedy = "built from other sources: use the program of that commit, or build again";
            add(name, format!("{found}, this program's is {wanted}; {remedy}"), BitstreamCheckOutcome::Contradicted);
        }
    }
    if manifest.design.shell_sources != own.design.shell_sources {
        add(
            "shell sources",
            "not the files that this program's shell is made of".to_owned(),
            BitstreamCheckOutcome::Contradicted,
        );
    }
    if let Some(root) = source {
        let (design, shell, sources) = (&manifest.design, &own.design.shell_sources, SourceCheckout::new(root));
        for (name, wanted, found) in [
            ("source design", &design.design_id, hex::encode(&sources.design_id()?)),
            ("source layout", &design.layout_digest, sources.file(LAYOUT)?),
            ("source registers", &design.registers_digest, sources.file(REGISTERS)?),
            ("source shell", &design.shell_digest, sources.list(shell)?),
        ] {
            if found == *wanted {
                add(name, found, BitstreamCheckOutcome::Good);
            } else {
                let root = root.display();
                add(
                    name,
                    format!("`{root}` gives {found}, the manifest says {wanted}: a source was changed"),
                    BitstreamCheckOutcome::Contradicted,
                );
            }
        }
    }
    let Some(build) = &manifest.build else {
        add(
            "build",
            "nothing was built; the sources are as this program knows them".to_owned(),
            BitstreamCheckOutcome::Warned,
        );
        if !manifest.file.is_empty() {
            add("files", "the manifest names files and no build".to_owned(), BitstreamCheckOutcome::Contradicted);
        }
        return Ok(checks);
    };
    let commit_ok = hex::is_hex(&build.commit, 40);
    add(
        "commit",
        build.commit.clone(),
        if commit_ok { BitstreamCheckOutcome::Good } else { BitstreamCheckOutcome::Contradicted },
    );
    add(
        "tool",
        build.tool.clone(),
        if build.tool.trim().is_empty() { BitstreamCheckOutcome::Contradicted } else { BitstreamCheckOutcome::Good },
    );
    let policy_ok = build.policy == LOADABLE || hex::is_hex(&build.policy, 64);
    add(
        "policy",
        build.policy.clone(),
        if policy_ok { BitstreamCheckOutcome::Good } else { BitstreamCheckOutcome::Contradicted },
    );
    match (&build.afi, &build.agfi) {
        (None, None) => {}
        (Some(afi), Some(agfi)) => {
            let ok = manifest.target == "aws_f2" && is_id(afi, "afi-") && is_id(agfi, "agfi-");
            add(
                "image",
                format!("{afi} {agfi}"),
                if ok { BitstreamCheckOutcome::Good } else { BitstreamCheckOutcome::Contradicted },
            );
        }
        _ => add("image", "an AFI has two ids: afi-… and agfi-…".to_owned(), BitstreamCheckOutcome::Contradicted),
    }
    match key_problem(&manifest.target, build) {
        Some(problem) => add("key", problem, BitstreamCheckOutcome::Contradicted),
        None if build.key == BitstreamKeyKind::Test => {
            add(
                "key",
                "test: anybody can sign as this card; for trials only".to_owned(),
                BitstreamCheckOutcome::TestKey,
            );
        }
        None => add("key", format!("{:?}", build.key).to_lowercase(), BitstreamCheckOutcome::Good),
    }
    if manifest.file.is_empty() {
        add("files", "the manifest names a build and no file".to_owned(), BitstreamCheckOutcome::Contradicted);
    }
    for entry in &manifest.file {
        let (found, outcome) = file(dir, entry)?;
        add(&entry.name, found, outcome);
    }
    Ok(checks)
}

/// The reason why the manifest's statement about the key cannot be true; `None` if it can.
fn key_problem(target: &str, build: &Build) -> Option<String> {
    let production = build.key != BitstreamKeyKind::Test;
    if build.key == BitstreamKeyKind::Test && build.production {
        return Some(
            "a test key is marked as production: everybody knows its secret; build with a secret of its own".to_owned(),
        );
    }
    if build.production != production {
        return Some("a key of its own is marked as not for production".to_owned());
    }
    if build.key_flags != build.key.flags() {
        let wanted = build.key.flags();
        return Some(format!("key flags are {:#04x}, a key of this kind has {wanted:#04x}", build.key_flags));
    }
    if target == "aws_f2" && build.key == BitstreamKeyKind::Device {
        return Some("an AFI is the same on every card: its key is of kind `class`".to_owned());
    }
    if target == "ecp5" && production {
        return Some("ecp5 is for timing only and has no card".to_owned());
    }
    None
}

fn file(dir: &Path, entry: &BitstreamFile) -> Result<(String, BitstreamCheckOutcome), BitstreamError> {
    if !is_plain(&entry.name) {
        return Ok(("not the name of a file beside the manifest".to_owned(), BitstreamCheckOutcome::Contradicted));
    }
    if !hex::is_hex(&entry.sha256, 64) {
        return Ok((format!("`{}` is not a SHA-256 digest", entry.sha256), BitstreamCheckOutcome::Contradicted));
    }
    let path = dir.join(&entry.name);
    if !path.exists() {
        return Ok(("not here, so not compared".to_owned(), BitstreamCheckOutcome::Warned));
    }
    let found = sha256(&path)?;
    if found == entry.sha256 {
        return Ok((found, BitstreamCheckOutcome::Good));
    }
    Ok((format!("{found}, the manifest says {}", entry.sha256), BitstreamCheckOutcome::Contradicted))
}

/// Writes the manifest of files that were built from this program's sources.
pub fn seal(seal: &BitstreamSealRequest<'_>) -> Result<(), BitstreamError> {
    let mut manifest = known(seal.target)?;
    let ensure =
        |holds: bool, what: &dyn Fn() -> String| if holds { Ok(()) } else { Err(BitstreamError::Seal(what())) };
    ensure(hex::is_hex(seal.commit, 40), &|| format!("`{}` is not a commit: 40 hexadecimal digits are", seal.commit))?;
    ensure(!seal.tool.trim().is_empty(), &|| "the tool has no name".to_owned())?;
    let policy = seal.policy.unwrap_or(LOADABLE);
    let is_policy = policy == LOADABLE || hex::is_hex(policy, 64);
    ensure(is_policy, &|| format!("`{policy}` is not a policy digest: 64 hexadecimal digits are"))?;
    for name in seal.files {
        ensure(is_plain(name), &|| format!("`{name}` is not the name of a file in `{}`", seal.dir.display()))?;
        manifest.file.push(BitstreamFile { name: name.clone(), sha256: sha256(&seal.dir.join(name))? });
    }
    if let Some((afi, agfi)) = seal.afi {
        ensure(seal.target == "aws_f2", &|| "only aws_f2 has an AFI".to_owned())?;
        ensure(is_id(afi, "afi-") && is_id(agfi, "agfi-"), &|| {
            format!("`{afi} {agfi}` are no ids of an AFI: afi-… and agfi-… with 17 digits are")
        })?;
    }
    let build = Build {
        commit: seal.commit.to_owned(),
        tool: seal.tool.to_owned(),
        production: seal.key != BitstreamKeyKind::Test,
        key: seal.key,
        key_flags: seal.key.flags(),
        policy: policy.to_owned(),
        afi: seal.afi.map(|(afi, _)| afi.to_owned()),
        agfi: seal.afi.map(|(_, agfi)| agfi.to_owned()),
    };
    if let Some(problem) = key_problem(seal.target, &build) {
        return Err(BitstreamError::Seal(problem));
    }
    manifest.build = Some(build);
    let path: PathBuf = seal.dir.join(MANIFEST);
    let text = toml::to_string(&manifest).map_err(|error| BitstreamError::Seal(error.to_string()))?;
    let text = format!("# Written by `portcullis bitstream seal`.\n{text}");
    std::fs::write(&path, text).map_err(|source| BitstreamError::Write { path, source })
}

/// Whether the name is a plain file name other than that of the manifest.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != MANIFEST && Path::new(name).file_name().is_some_and(|n| n == name)
}

/// Whether the text has the form of an AWS id.
fn is_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|digits| hex::is_hex(digits, 17))
}
