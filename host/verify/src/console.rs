//! Writes the output of commands to stdout and stderr, and determines the exit code.
//!
//! The result of a command decides its exit code. If stdout or stderr fails, another code never becomes 0:
//!
//! - A closed pipe is not reported. The command runs to its end without further output, and its code stays.
//! - Any other failed write to stdout, such as on a full disk, is reported on stderr. It changes code 0 to 1 and keeps
//!   every other code.
//! - A failed write to stderr is ignored.

use portcullis_report::escape::{self, printable};
use portcullis_report::terminal::{TerminalLayout, TerminalTone};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::OnceLock;
use terminal_size::terminal_size_of;

/// The first failure to write to stdout; after it, output is dropped.
static STDOUT_FAILURE: OnceLock<io::Error> = OnceLock::new();

/// The choice of the command line. If it is not set, [`ColourChoice::Auto`] applies.
static COLOUR: OnceLock<ColourChoice> = OnceLock::new();

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal that shows colours, unless the environment has NO_COLOR.
    #[default]
    Auto,
    /// Always, also in files and pipes.
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
    color: ColourChoice,
}

impl ColourArg {
    /// Sets the colour for the whole process. Only the first call has an effect.
    pub fn set(self) {
        let _ = COLOUR.set(self.color);
    }
}

/// The option with the choice of the command line, for another program of this project. It has no words for
/// [`ColourChoice::Auto`], which is the default there, too.
pub(crate) fn colour_words() -> &'static [&'static str] {
    match COLOUR.get().copied().unwrap_or_default() {
        ColourChoice::Auto => &[],
        ColourChoice::Always => &["--color", "always"],
        ColourChoice::Never => &["--color", "never"],
    }
}

/// Colour and width of stdout.
#[must_use]
pub fn stdout_terminal() -> TerminalLayout {
    terminal(&io::stdout())
}

/// Colour and width of stderr.
#[must_use]
pub fn stderr_terminal() -> TerminalLayout {
    terminal(&io::stderr())
}

fn terminal(stream: &(impl IsTerminal + AsFd)) -> TerminalLayout {
    let is_terminal = stream.is_terminal();
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let colour = match COLOUR.get().copied().unwrap_or_default() {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        // See https://no-color.org. `TERM=dumb` means that the terminal does not know escape sequences.
        ColourChoice::Auto => {
            is_terminal && set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb")
        }
    };
    let size = if is_terminal { terminal_size_of(stream) } else { None };
    TerminalLayout { colour, columns: size.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0) }
}

/// Standard output. Writing never fails: after a failure, output is dropped, and [`exit`] returns a suitable code.
#[derive(Clone, Copy, Debug, Default)]
pub struct InfallibleStdout;

impl InfallibleStdout {
    /// Whether a write has failed. A command that only produces output can then stop.
    #[must_use]
    pub fn is_gone(self) -> bool {
        STDOUT_FAILURE.get().is_some()
    }
}

impl Write for InfallibleStdout {
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

/// Keeps the error if it is the first.
fn keep(error: io::Error) {
    let _ = STDOUT_FAILURE.set(error);
}

/// Writes a line to stdout.
pub fn say(text: impl Display) {
    let _ = writeln!(InfallibleStdout, "{text}");
}

/// A value as one line of JSON that is safe for a terminal: see [`escape::json`]. Errors: JSON cannot represent it.
pub fn json_line(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escape::json)
}

/// A value as indented JSON that is safe for a terminal: see [`escape::json`]. Errors: JSON cannot represent it.
pub fn json_pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escape::json)
}

/// Writes a line to stderr.
pub fn warn(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes an error to stderr, wrapped to the terminal's width.
pub fn error(text: impl Display) {
    problem("error", text);
}

/// Like [`error`], with another word, such as `fault`, in place of "error".
pub fn problem(name: &str, text: impl Display) {
    let terminal = stderr_terminal();
    let text = format!("{} {text}", terminal.paint(TerminalTone::Bad, format_args!("{name}:")));
    for line in text.lines() {
        warn(terminal.wrap(2, line));
    }
}

/// An error with its causes. It is safe for a terminal, because names in it can come from a hostile bundle. A cause is
/// left out if its text has already occurred.
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

/// The exit code for a command with the result `code`. Every program calls this function last.
#[must_use]
pub fn exit(code: u8) -> ExitCode {
    let _ = InfallibleStdout.flush();
    let lost = STDOUT_FAILURE.get().filter(|error| error.kind() != ErrorKind::BrokenPipe);
    if let Some(error) = lost {
        self::error(format_args!("cannot write to stdout: {error}"));
    }
    ExitCode::from(if lost.is_some() { code.max(1) } else { code })
}
