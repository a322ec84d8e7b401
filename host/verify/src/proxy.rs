//! The command `proxy`: starts the program `portcullis-proxy`, which was a part of this program before.

use crate::console;
use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The program that stands beside this one.
const PROGRAM: &str = "portcullis-proxy";
const USAGE: u8 = 2;

/// Arguments of `proxy`: those of the other program.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_long_help = "Example:
  portcullis-verify proxy --gateway https://gate.example.org/v1 --trust trust")]
pub struct ProxyLaunchArgs {
    /// Arguments of `portcullis-proxy`, such as `--help`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Replaces this process by the program, if the program stands in the folder of this one. Otherwise it prints which
/// program is needed, and returns the code of usage. Errors: the program cannot be started.
pub(crate) fn run(args: &ProxyLaunchArgs) -> anyhow::Result<u8> {
    let own = std::env::current_exe().context("cannot find the folder of this program")?;
    let program = own.with_file_name(PROGRAM);
    if !program.exists() {
        console::error(format_args!(
            "`proxy` is a program of its own, `{PROGRAM}`, which takes the same arguments; `{}` does not exist",
            program.display()
        ));
        return Ok(USAGE);
    }
    console::problem("warning", format_args!("`portcullis-verify proxy` starts `{PROGRAM}`: use that program instead"));
    let failed = Command::new(&program).args(console::colour_words()).args(&args.arguments).exec();
    Err(failed).with_context(|| format!("cannot start `{}`", program.display()))
}
