//! `portcullis bitstream …`: what a bitstream is made of, and whether it is that.
//!
//! A manifest has two parts. `[design]` names the sources; `cargo xtask gen` makes it, and this program carries the one of its own sources.
//! `[build]` and `[[file]]` say what was built of them, with which tool and which kind of key; `seal` adds them.

mod sources;

use crate::failure::{Failure, SUCCESS};
use anyhow::{Context, bail, ensure};
use portcullis_core::hex;
use portcullis_core::wire::{MAP_DIGEST, key_flags};
use portcullis_verify::console::json_line;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A check contradicts the manifest.
const CONTRADICTED: u8 = 3;
/// Nothing built, or a file that the manifest names is not there.
const WARNED: u8 = 5;
/// The key is the one that everybody knows.
const TEST_KEY: u8 = 10;
const MANIFEST: &str = "manifest.toml";
const SCHEMA: u32 = 1;
/// The tables are loaded by the host; no policy is fixed in the bitstream.
const LOADABLE: &str = "loadable";

/// The manifests of this program's own sources.
const KNOWN: [&str; 4] = [
    include_str!("../../../bitstreams/aws_f2/manifest.toml"),
    include_str!("../../../bitstreams/alveo_u55c/manifest.toml"),
    include_str!("../../../bitstreams/alveo_u250/manifest.toml"),
    include_str!("../../../bitstreams/ecp5/manifest.toml"),
];

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Compare a manifest with this program's sources and with the files beside it. Exit code 3 where they differ or the key is not what
    /// it claims, 10 for a test key, 5 where nothing was built or a file is missing.
    Verify {
        /// Folder with `manifest.toml`.
        dir: PathBuf,
        /// Root of a checkout: the digests of its sources are made again and compared too.
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the manifest of what was just built from these sources.
    Seal(Seal),
}

#[derive(clap::Args)]
pub(crate) struct Seal {
    /// Folder that gets `manifest.toml`; the files stand in it.
    dir: PathBuf,
    /// Target, as the folders of `bitstreams` are named.
    #[arg(long)]
    target: String,
    /// Commit that was built, 40 hexadecimal digits.
    #[arg(long, value_name = "HEX")]
    commit: String,
    /// Tool that built it, with its version.
    #[arg(long, value_name = "NAME VERSION")]
    tool: String,
    /// Kind of key in it.
    #[arg(long, value_enum)]
    key: Key,
    /// Digest of the policy that is fixed in it; without it the tables are loadable.
    #[arg(long, value_name = "HEX")]
    policy: Option<String>,
    /// Regional and global id of the AFI, on F2.
    #[arg(long, num_args = 2, value_names = ["AFI", "AGFI"])]
    afi: Option<Vec<String>>,
    /// Names of the files that were built.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// Whose secret is in the bitstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Key {
    /// The public test secret.
    Test,
    /// One of this card alone.
    Device,
    /// One of every card that has this image.
    Class,
}

impl Key {
    /// The card's key flags. Every shell has a boot nonce of zero, hence NO_TRNG.
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
struct Manifest {
    schema: u32,
    target: String,
    design: Design,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<Build>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    file: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Design {
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
    key: Key,
    key_flags: u16,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    afi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agfi: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: String,
}

/// One thing that was looked at.
struct Check {
    name: String,
    /// What was found, and what is wrong with it.
    found: String,
    /// The exit code that it asks for.
    outcome: u8,
}

pub(crate) fn run(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Verify { dir, source, json } => verify(dir, source.as_deref(), *json),
        Command::Seal(seal) => {
            self::seal(seal)?;
            verify(&seal.dir, None, false)
        }
    }
}

fn known(target: &str) -> anyhow::Result<Manifest> {
    for text in KNOWN {
        let manifest: Manifest = toml::from_str(text).context("a manifest of this program's own")?;
        if manifest.target == target {
            return Ok(manifest);
        }
    }
    bail!("unknown target `{target}`; this program knows aws_f2, alveo_u55c, alveo_u250, ecp5")
}

fn verify(dir: &Path, source: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let path = dir.join(MANIFEST);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let (target, checks) = match toml::from_str::<Manifest>(&text) {
        Ok(manifest) => (manifest.target.clone(), checks(dir, source, &manifest)?),
        Err(error) => {
            let found = format!("`{}` is not a manifest: {error}", path.display());
            (String::new(), vec![Check { name: "manifest".to_owned(), found, outcome: CONTRADICTED }])
        }
    };
    let code = [CONTRADICTED, TEST_KEY, WARNED]
        .into_iter()
        .find(|code| checks.iter().any(|check| check.outcome == *code))
        .unwrap_or(SUCCESS);
    let word = |outcome| match outcome {
        CONTRADICTED => "contradicted",
        TEST_KEY => "test key",
        WARNED => "warned",
        _ => "ok",
    };
    if json {
        let list: Vec<_> = checks
            .iter()
            .map(|c| serde_json::json!({ "check": c.name, "result": word(c.outcome), "found": c.found }))
            .collect();
        outln!("{}", json_line(&serde_json::json!({ "target": target, "result": word(code), "checks": list }))?);
    } else {
        for check in &checks {
            outln!("{:<13} {:<17} {}", word(check.outcome), check.name, check.found);
        }
    }
    Ok(code)
}

/// Everything that a manifest claims, one check each.
fn checks(dir: &Path, source: Option<&Path>, manifest: &Manifest) -> anyhow::Result<Vec<Check>> {
    let mut checks = Vec::new();
    let mut add = |name: &str, found: String, outcome: u8| checks.push(Check { name: name.to_owned(), found, outcome });
    if manifest.schema != SCHEMA {
        add("schema", format!("{}, this program reads {SCHEMA}", manifest.schema), CONTRADICTED);
        return Ok(checks);
    }
    let Ok(own) = known(&manifest.target) else {
        add("target", format!("`{}` is no target of this program", manifest.target), CONTRADICTED);
        return Ok(checks);
    };
    add("target", manifest.target.clone(), SUCCESS);
    let digests = [
        ("design id", &manifest.design.design_id, own.design.design_id),
        ("map digest", &manifest.design.map_digest, hex::encode(&MAP_DIGEST)),
        ("layout digest", &manifest.design.layout_digest, own.design.layout_digest),
        ("registers digest", &manifest.design.registers_digest, own.design.registers_digest),
        ("shell digest", &manifest.design.shell_digest, own.design.shell_digest.clone()),
    ];
    for (name, found, wanted) in digests {
        if *found == wanted {
            add(name, found.clone(), SUCCESS);
        } else {
            let remedy = "built from other sources: use the program of that commit, or build again";
            add(name, format!("{found}, this program's is {wanted}; {remedy}"), CONTRADICTED);
        }
    }
    if manifest.design.shell_sources != own.design.shell_sources {
        add("shell sources", "not the files that this program's shell is made of".to_owned(), CONTRADICTED);
    }
    if let Some(root) = source {
        let (design, shell) = (&manifest.design, &own.design.shell_sources);
        for (name, wanted, found) in [
            ("source design", &design.design_id, sources::design_id(root)?),
            ("source layout", &design.layout_digest, sources::file(root, sources::LAYOUT)?),
            ("source registers", &design.registers_digest, sources::file(root, sources::REGISTERS)?),
            ("source shell", &design.shell_digest, sources::list(root, shell)?),
        ] {
            if found == *wanted {
                add(name, found, SUCCESS);
            } else {
                let root = root.display();
                add(
                    name,
                    format!("`{root}` gives {found}, the manifest says {wanted}: a source was changed"),
                    CONTRADICTED,
                );
            }
        }
    }
    let Some(build) = &manifest.build else {
        let files = if manifest.file.is_empty() { SUCCESS } else { CONTRADICTED };
        add("build", "nothing was built; the sources are as this program knows them".to_owned(), WARNED.max(files));
        if files == CONTRADICTED {
            add("files", "the manifest names files and no build".to_owned(), CONTRADICTED);
        }
        return Ok(checks);
    };
    let commit_ok = hex::is_hex(&build.commit, 40);
    add("commit", build.commit.clone(), if commit_ok { SUCCESS } else { CONTRADICTED });
    add("tool", build.tool.clone(), if build.tool.trim().is_empty() { CONTRADICTED } else { SUCCESS });
    let policy_ok = build.policy == LOADABLE || hex::is_hex(&build.policy, 64);
    add("policy", build.policy.clone(), if policy_ok { SUCCESS } else { CONTRADICTED });
    match (&build.afi, &build.agfi) {
        (None, None) => {}
        (Some(afi), Some(agfi)) => {
            let ok = manifest.target == "aws_f2" && is_id(afi, "afi-") && is_id(agfi, "agfi-");
            add("image", format!("{afi} {agfi}"), if ok { SUCCESS } else { CONTRADICTED });
        }
        _ => add("image", "an AFI has two ids: afi-… and agfi-…".to_owned(), CONTRADICTED),
    }
    match key_problem(&manifest.target, build) {
        Some(problem) => add("key", problem, CONTRADICTED),
        None if build.key == Key::Test => {
            add("key", "test: anybody can sign as this card; for trials only".to_owned(), TEST_KEY);
        }
        None => add("key", format!("{:?}", build.key).to_lowercase(), SUCCESS),
    }
    if manifest.file.is_empty() {
        add("files", "the manifest names a build and no file".to_owned(), CONTRADICTED);
    }
    for entry in &manifest.file {
        let (found, outcome) = file(dir, entry)?;
        add(&entry.name, found, outcome);
    }
    Ok(checks)
}

/// Why the key cannot be what the manifest says.
fn key_problem(target: &str, build: &Build) -> Option<String> {
    let production = build.key != Key::Test;
    if build.key == Key::Test && build.production {
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
    if target == "aws_f2" && build.key == Key::Device {
        return Some("an AFI is the same on every card: its key is of kind `class`".to_owned());
    }
    if target == "ecp5" && production {
        return Some("ecp5 is for timing only and has no card".to_owned());
    }
    None
}

fn file(dir: &Path, entry: &Entry) -> anyhow::Result<(String, u8)> {
    if !is_plain(&entry.name) {
        return Ok(("not the name of a file beside the manifest".to_owned(), CONTRADICTED));
    }
    if !hex::is_hex(&entry.sha256, 64) {
        return Ok((format!("`{}` is no SHA-256", entry.sha256), CONTRADICTED));
    }
    let path = dir.join(&entry.name);
    if !path.exists() {
        return Ok(("not here, so not compared".to_owned(), WARNED));
    }
    let found = sources::sha256(&path)?;
    if found == entry.sha256 {
        return Ok((found, SUCCESS));
    }
    Ok((format!("{found}, the manifest says {}", entry.sha256), CONTRADICTED))
}

fn seal(seal: &Seal) -> anyhow::Result<()> {
    let mut manifest = known(&seal.target)?;
    ensure!(hex::is_hex(&seal.commit, 40), "`{}` is no commit: 40 hexadecimal digits are", seal.commit);
    ensure!(!seal.tool.trim().is_empty(), "the tool has no name");
    let policy = seal.policy.as_deref().unwrap_or(LOADABLE);
    ensure!(policy == LOADABLE || hex::is_hex(policy, 64), "`{policy}` is no policy digest: 64 hexadecimal digits are");
    for name in &seal.files {
        ensure!(is_plain(name), "`{name}` is no name of a file in `{}`", seal.dir.display());
        manifest.file.push(Entry { name: name.clone(), sha256: sources::sha256(&seal.dir.join(name))? });
    }
    let afi = seal.afi.as_deref().unwrap_or_default();
    if let [afi, agfi] = afi {
        ensure!(seal.target == "aws_f2", "only aws_f2 has an AFI");
        ensure!(
            is_id(afi, "afi-") && is_id(agfi, "agfi-"),
            "`{afi} {agfi}` are no ids of an AFI: afi-… and agfi-… with 17 digits are"
        );
    }
    let build = Build {
        commit: seal.commit.clone(),
        tool: seal.tool.clone(),
        production: seal.key != Key::Test,
        key: seal.key,
        key_flags: seal.key.flags(),
        policy: policy.to_owned(),
        afi: afi.first().cloned(),
        agfi: afi.get(1).cloned(),
    };
    if let Some(problem) = key_problem(&seal.target, &build) {
        bail!("{problem}");
    }
    manifest.build = Some(build);
    let path = seal.dir.join(MANIFEST);
    let text = format!("# Written by `portcullis bitstream seal`.\n{}", toml::to_string(&manifest)?);
    std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Whether the name is one of a file in the same folder.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != MANIFEST && Path::new(name).file_name().is_some_and(|n| n == name)
}

/// Whether this is an id as AWS gives them.
fn is_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|digits| hex::is_hex(digits, 17))
}
