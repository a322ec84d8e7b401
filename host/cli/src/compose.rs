//! `portcullis policy compose`.

use crate::failure::{CommandFailure, SUCCESS};
use anyhow::{Context, anyhow};
use portcullis_policy::composition::{CompositionPlan, CompositionReport, PlannedMember};
use portcullis_policy::{PackageComposition, RowCapacity};
use portcullis_verify::console::json_line;
use std::path::{Path, PathBuf};

/// Merge packages into one image, so that one session of a card judges under each of them.
///
/// Each domain of each member becomes one value of the common enumeration `domain`, so that a member's rows match only
/// its own streams; classes that are declared alike share a number. A composition holds at most 32 domains, 128 classes
/// and the rows of one card; the first member that does not fit is named.
///
/// The composition is a folder like a package: `policy check`, `build`, `digest` and `approve` take it, and `run`,
/// `gated`, `explain`,
/// `policy eval` and `policy explain` take it with `--member NAME`. The members and their order decide every byte of
/// it.
///
/// Exit codes: 0 it was written; 1 an error; 2 usage.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  portcullis policy compose house --member ward=policies/clinical --member desk=policies/pii
  portcullis policy compose house --member ward=policies/clinical --profile ward=ward.toml
  portcullis policy compose house --plan house.toml --json
  portcullis policy check house
  portcullis run --policy house --member desk --input answers.jsonl

A plan is TOML; its paths are relative to its folder:
  version = \"1.0.0\"

  [[member]]
  name = \"ward\"
  package = \"policies/clinical\"
  profiles = [\"profiles/patients.toml\"]")]
pub(crate) struct PolicyComposeArgs {
    /// Folder to make; its name is the composition's.
    output: PathBuf,
    /// The members, from a TOML file.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["members", "profiles", "composition_version"],
        required_unless_present = "members"
    )]
    plan: Option<PathBuf>,
    /// A member: its name in the composition, and the folder of its package. Members are numbered in the order of these
    /// flags.
    #[arg(long = "member", value_name = "NAME=DIR", value_parser = pair)]
    members: Vec<(String, PathBuf)>,
    /// A profile (`agent.toml`) that a member is used with; may be given several times. The composition pins its
    /// digest, and no other profile is accepted. A member without one is used with the profile without content.
    #[arg(long = "profile", value_name = "NAME=FILE", value_parser = pair, requires = "members")]
    profiles: Vec<(String, PathBuf)>,
    /// Version of the composition.
    #[arg(long, value_name = "MAJOR.MINOR.PATCH", default_value = "1.0.0")]
    composition_version: String,
    /// The report as one JSON object: digests, what is used of the image, and the numbers of each member's domains and
    /// classes.
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), PathBuf::from(path))),
        _ => Err("expected NAME=PATH".to_owned()),
    }
}

impl PolicyComposeArgs {
    fn plan(&self) -> Result<CompositionPlan, CommandFailure> {
        if let Some(file) = &self.plan {
            return Ok(CompositionPlan::load(file)?);
        }
        let member = |(name, package): &(String, PathBuf)| PlannedMember {
            name: name.clone(),
            package: package.clone(),
            profiles: self.profiles.iter().filter(|(of, _)| of == name).map(|(_, file)| file.clone()).collect(),
        };
        if let Some((name, _)) = self.profiles.iter().find(|(of, _)| self.members.iter().all(|(name, _)| name != of)) {
            return Err(anyhow!("`--profile {name}=…`: there is no member `{name}`").into());
        }
        let members = self.members.iter().map(member).collect();
        Ok(CompositionPlan { version: self.composition_version.clone(), description: String::new(), members })
    }
}

pub(crate) fn run(args: &PolicyComposeArgs) -> Result<u8, CommandFailure> {
    let shown = args.output.display();
    let name = args.output.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("`{shown}`: a composition needs a folder with a name"))?;
    let files = args.plan()?.compose(name)?;
    let report = PackageComposition::from_files(files.clone())?.report(RowCapacity::default())?;
    // An existing folder may be in use, so it is not overwritten.
    std::fs::create_dir(&args.output).with_context(|| format!("cannot make the folder `{shown}`"))?;
    for (path, bytes) in &files {
        write(&args.output.join(path), bytes)?;
    }
    show(&report, args.json)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, bytes));
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

pub(crate) fn show(report: &CompositionReport, json: bool) -> Result<u8, CommandFailure> {
    if json {
        outln!("{}", json_line(report)?);
    } else {
        outln!("{report}");
    }
    Ok(SUCCESS)
}
