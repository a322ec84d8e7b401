//! What a command writes to stdout and stderr, and its exit code.
//!
//! The result of a command decides its exit code. Whatever happens to stdout or stderr never turns another code into 0:
//!
//! - A closed pipe is quiet. The command runs to its end, its further output is dropped, and its code stays.
//! - Any other failure to write, such as a full disk, is reported on stderr. It turns code 0 into 1 and leaves every
//!   other code.
//! - A failure to write to stderr is ignored.

use portcullis_report::escape::{self, printable};
use portcullis_report::terminal::{Terminal, Tone};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::OnceLock;
use terminal_size::terminal_size_of;

/// Why stdout takes no more output: the first failure.
static STDOUT_FAILURE: OnceLock<io::Error> = OnceLock::new();

/// When output is coloured; [`When::Auto`] until [`colour`] sets it.
static COLOUR: OnceLock<When> = OnceLock::new();

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// On a terminal that shows colours, unless the environment has NO_COLOR.
    #[default]
    Auto,
    /// In files and pipes too.
    Always,
    /// Not at all.
    Never,
}

/// The option that every command has.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ColourArg {
    /// When to colour output; `auto` is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(help_heading = "Global options")]
    color: When,
}

impl ColourArg {
    /// Sets this for the whole process. The first call counts.
    pub fn set(self) {
        let _ = COLOUR.set(self.color);
    }
}

/// How lines on stdout are set.
#[must_use]
pub fn stdout_terminal() -> Terminal {
    terminal(&io::stdout())
}

/// How lines on stderr are set.
#[must_use]
pub fn stderr_terminal() -> Terminal {
    terminal(&io::stderr())
}

fn terminal(stream: &(impl IsTerminal + AsFd)) -> Terminal {
    let is_terminal = stream.is_terminal();
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let colour = match COLOUR.get().copied().unwrap_or_default() {
        When::Always => true,
        When::Never => false,
        // https://no-color.org, and a terminal that interprets nothing.
        When::Auto => is_terminal && set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb"),
    };
    let size = if is_terminal { terminal_size_of(stream) } else { None };
    Terminal { colour, columns: size.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0) }
}

/// Standard output. Writing to it never fails; output that cannot be written is dropped, and [`exit`] considers that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdout;

impl Stdout {
    /// Whether output no longer reaches a reader. A command whose output is its only result can then stop.
    #[must_use]
    pub fn is_gone(self) -> bool {
        STDOUT_FAILURE.get().is_some()
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone() {
            return Ok(bytes.len());
        }
        match io::stdout().write(bytes) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                keep(error);
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.is_gone()
            && let Err(error) = io::stdout().flush()
        {
            keep(error);
        }
        Ok(())
    }
}

/// The first of two failures counts.
fn keep(error: io::Error) {
    let _ = STDOUT_FAILURE.set(error);
}

/// Writes a line to stdout.
pub fn say(text: impl Display) {
    let _ = writeln!(Stdout, "{text}");
}

/// A value as JSON in one line, safe for a terminal: see [`escape::json`]. Errors: a value that JSON cannot hold.
pub fn json_line(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escape::json)
}

/// A value as JSON in many lines, safe for a terminal: see [`escape::json`]. Errors: a value that JSON cannot hold.
pub fn json_pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escape::json)
}

/// Writes a line to stderr.
pub fn warn(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes an error to stderr, wrapped to its terminal.
pub fn error(text: impl Display) {
    problem("error", text);
}

/// The same under another name, such as `fault`.
pub fn problem(name: &str, text: impl Display) {
    let terminal = stderr_terminal();
    let text = format!("{} {text}", terminal.paint(Tone::Bad, format_args!("{name}:")));
    for line in text.lines() {
        warn(terminal.wrap(2, line));
    }
}

/// An error with its causes, printable in a terminal: names in it can come from a hostile bundle. A cause whose words
/// are in the text already is left out.
#[must_use]
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    printable(&text)
}

/// The exit code of a command that came to the result `code`. The last call of every program.
#[must_use]
pub fn exit(code: u8) -> ExitCode {
    let _ = Stdout.flush();
    let lost = STDOUT_FAILURE.get().filter(|error| error.kind() != ErrorKind::BrokenPipe);
    if let Some(error) = lost {
        self::error(format_args!("cannot write to stdout: {error}"));
    }
    ExitCode::from(if lost.is_some() { code.max(1) } else { code })
}
