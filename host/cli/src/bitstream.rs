//! `portcullis bitstream …`: write and verify bitstream manifests.

use crate::failure::{CommandFailure, SUCCESS, WARNED};
use portcullis_bitstream::manifest::{self, BitstreamCheckOutcome, BitstreamKeyKind, BitstreamSealRequest};
use portcullis_verify::console::json_line;
use std::path::{Path, PathBuf};

const CONTRADICTED: u8 = 3;
/// Exit code: the bitstream has the public test key.
const TEST_KEY: u8 = 10;

#[derive(clap::Subcommand)]
pub(crate) enum BitstreamCommand {
    /// Compare a manifest with this program's sources and with the files beside it. Exit code 3 where they differ or
    /// the key is not what it claims, 10 for a test key, 5 where nothing was built or a file is missing.
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
    /// Write the manifest of a file that was just built from these sources.
    Seal(SealArgs),
}

#[derive(clap::Args)]
pub(crate) struct SealArgs {
    /// Folder that gets `manifest.toml`; the files are in it.
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
    key: KeyArg,
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

/// The owner of the secret in the bitstream.
#[derive(Clone, Copy, clap::ValueEnum)]
enum KeyArg {
    /// The public test secret.
    Test,
    /// One of this card alone.
    Device,
    /// One of every card that has this image.
    Class,
}

impl From<KeyArg> for BitstreamKeyKind {
    fn from(arg: KeyArg) -> Self {
        match arg {
            KeyArg::Test => Self::Test,
            KeyArg::Device => Self::Device,
            KeyArg::Class => Self::Class,
        }
    }
}

pub(crate) fn run(command: &BitstreamCommand) -> Result<u8, CommandFailure> {
    match command {
        BitstreamCommand::Verify { dir, source, json } => verify(dir, source.as_deref(), *json),
        BitstreamCommand::Seal(args) => {
            let afi = match args.afi.as_deref() {
                Some([afi, agfi]) => Some((&**afi, &**agfi)),
                _ => None,
            };
            manifest::seal(&BitstreamSealRequest {
                dir: &args.dir,
                target: &args.target,
                commit: &args.commit,
                tool: &args.tool,
                key: args.key.into(),
                policy: args.policy.as_deref(),
                afi,
                files: &args.files,
            })
            .map_err(anyhow::Error::from)?;
            verify(&args.dir, None, false)
        }
    }
}

fn verify(dir: &Path, source: Option<&Path>, json: bool) -> Result<u8, CommandFailure> {
    let (target, checks) = manifest::verify(dir, source).map_err(anyhow::Error::from)?;
    let worst = [BitstreamCheckOutcome::Contradicted, BitstreamCheckOutcome::TestKey, BitstreamCheckOutcome::Warned]
        .into_iter()
        .find(|outcome| checks.iter().any(|check| check.outcome == *outcome))
        .unwrap_or(BitstreamCheckOutcome::Good);
    let (code, word) = (code(worst), word(worst));
    if json {
        let list: Vec<_> = checks
            .iter()
            .map(|c| serde_json::json!({ "check": c.name, "result": self::word(c.outcome), "found": c.found }))
            .collect();
        outln!("{}", json_line(&serde_json::json!({ "target": target, "result": word, "checks": list }))?);
    } else {
        for check in &checks {
            outln!("{:<13} {:<17} {}", self::word(check.outcome), check.name, check.found);
        }
    }
    Ok(code)
}

const fn code(outcome: BitstreamCheckOutcome) -> u8 {
    match outcome {
        BitstreamCheckOutcome::Good => SUCCESS,
        BitstreamCheckOutcome::Warned => WARNED,
        BitstreamCheckOutcome::TestKey => TEST_KEY,
        BitstreamCheckOutcome::Contradicted => CONTRADICTED,
    }
}

const fn word(outcome: BitstreamCheckOutcome) -> &'static str {
    match outcome {
        BitstreamCheckOutcome::Good => "ok",
        BitstreamCheckOutcome::Warned => "warned",
        BitstreamCheckOutcome::TestKey => "test key",
        BitstreamCheckOutcome::Contradicted => "contradicted",
    }
}
