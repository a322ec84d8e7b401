//! `portcullis manual`: writes manual pages and completions for packages.

use crate::failure::{CommandFailure, SUCCESS};
use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Shells with completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes the manual pages of all commands of `program`, of the verifier and of the proxy into `man1`, and their
/// completions into one folder per shell.
pub(crate) fn write(folder: &Path, program: Command) -> Result<u8, CommandFailure> {
    let made =
        |path: &Path| fs::create_dir_all(path).with_context(|| format!("cannot make the folder `{}`", path.display()));
    let pages = folder.join("man1");
    made(&pages)?;
    let others = [
        portcullis_verify::command(),
        #[cfg(feature = "services")]
        portcullis_proxy::program::command(),
    ];
    for command in std::iter::once(program).chain(others) {
        let name = command.get_name().to_owned();
        for shell in SHELLS {
            let place = folder.join(shell.to_string());
            made(&place)?;
            clap_complete::generate_to(shell, &mut command.clone(), &name, &place)
                .with_context(|| format!("cannot write to `{}`", place.display()))?;
        }
        // The `help` subcommand would add a second page for each command.
        clap_mangen::generate_to(command.disable_help_subcommand(true), &pages)
            .with_context(|| format!("cannot write to `{}`", pages.display()))?;
    }
    outln!("{}: manual pages and completions", folder.display());
    Ok(SUCCESS)
}
