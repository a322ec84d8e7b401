//! Writes results: determinations to stdout, admitted text to a file.

use crate::failure::CommandFailure;
use anyhow::Context;
use portcullis_core::hex;
use portcullis_core::wire::Determination as Verdict;
use portcullis_gate::{
    DecidingField, JudgementSummary, SpanDetermination, SpanJudgement, StreamEvent, StreamEventKind,
};
use portcullis_report::escape::printable;
use portcullis_report::terminal::{TerminalLayout, TerminalTone};
use portcullis_verify::console::{InfallibleStdout, json_line, stdout_terminal};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmittedFileFormat {
    /// One JSON object per text: `{"id", "text"}`.
    JsonLines,
    Plain,
}

/// Writes the results of one run: to stdout in the order of the input, to the file as early as its format allows.
pub(crate) struct RunOutput {
    stdout: BufWriter<InfallibleStdout>,
    terminal: TerminalLayout,
    json: bool,
    admitted: Option<(BufWriter<File>, AdmittedFileFormat)>,
    /// Streams that are not printed yet, by their numbers.
    streams: BTreeMap<u64, StreamOutput>,
    next: u64,
}

/// The data about a stream until it is printed.
#[derive(Default)]
struct StreamOutput {
    id: String,
    /// The lines of its determinations. A determination itself is many times longer than its line.
    lines: String,
    released: Vec<Released>,
    summary: Option<JudgementSummary>,
}

/// Released bytes: text, or a tool call.
enum Released {
    Text(String),
    Call(String),
}

impl StreamOutput {
    fn release(&mut self, text: &str, calls: &[Range<usize>]) {
        let mut from = 0;
        for call in calls {
            self.text(text.get(from..call.start).unwrap_or_default());
            self.released.push(Released::Call(text.get(call.clone()).unwrap_or_default().to_owned()));
            from = call.end;
        }
        self.text(text.get(from..).unwrap_or_default());
    }

    fn text(&mut self, text: &str) {
        match self.released.last_mut() {
            Some(Released::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.released.push(Released::Text(text.to_owned())),
        }
    }

    /// The line of a stream: its released text, and its calls with their places in the text.
    fn line(&self) -> Result<AdmittedLine<'_>, CommandFailure> {
        let mut line = AdmittedLine { id: &self.id, text: String::new(), calls: Vec::new() };
        for released in &self.released {
            match released {
                Released::Text(text) => line.text.push_str(text),
                Released::Call(call) => {
                    line.calls.push(AdmittedCall { at: line.text.len(), call: serde_json::from_str(call)? });
                }
            }
        }
        Ok(line)
    }
}

/// A determination, with the fields that its rule or reason depends on.
#[derive(Serialize)]
struct DeterminationLine<'a> {
    #[serde(flatten)]
    determination: &'a SpanDetermination,
    #[serde(skip_serializing_if = "<[DecidingField]>::is_empty")]
    fields: &'a [DecidingField],
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    id: &'a str,
    summary: &'a JudgementSummary,
}

#[derive(Serialize)]
struct AdmittedLine<'a> {
    id: &'a str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<AdmittedCall<'a>>,
}

/// An admitted tool call, byte for byte, with its place in the text.
#[derive(Serialize)]
struct AdmittedCall<'a> {
    at: usize,
    call: &'a RawValue,
}

impl RunOutput {
    pub(crate) fn new(json: bool, file: Option<&Path>, shape: AdmittedFileFormat) -> Result<Self, CommandFailure> {
        let create = |path: &Path| File::create(path).with_context(|| format!("cannot write `{}`", path.display()));
        let admitted = file.map(create).transpose()?.map(|f| (BufWriter::new(f), shape));
        let stdout = BufWriter::new(InfallibleStdout);
        Ok(Self { stdout, terminal: stdout_terminal(), json, admitted, streams: BTreeMap::new(), next: 0 })
    }

    /// Handles one event. Released bytes of a plain text are written at once, and so are the determinations as JSON
    /// whose stream has its turn; all other output waits for its stream's turn, or for its summary.
    pub(crate) fn event(&mut self, event: StreamEvent) -> Result<(), CommandFailure> {
        let stream = self.streams.entry(event.stream).or_default();
        match event.what {
            StreamEventKind::Begun { id, .. } => stream.id = id,
            StreamEventKind::Determined(judged) => {
                if self.json {
                    let SpanJudgement { determination, fields, .. } = &*judged;
                    stream.lines.push_str(&json_line(&DeterminationLine { determination, fields })?);
                    stream.lines.push('\n');
                } else {
                    stream.lines.push_str(&determination_line(self.terminal, &judged));
                }
                if self.json && event.stream == self.next {
                    self.stdout.write_all(stream.lines.as_bytes())?;
                    stream.lines.clear();
                }
            }
            StreamEventKind::Released { text, calls, .. } => {
                if let Some((file, AdmittedFileFormat::Plain)) = &mut self.admitted {
                    file.write_all(text.as_bytes())?;
                    file.flush()?;
                }
                stream.release(&text, &calls);
            }
            StreamEventKind::Ended { id, summary, .. } => {
                stream.id = id;
                stream.summary = Some(summary);
            }
            StreamEventKind::Proposed(_)
            | StreamEventKind::Deferred { .. }
            | StreamEventKind::Expired { .. }
            | StreamEventKind::RolledBack { .. }
            | StreamEventKind::Drift { .. } => {}
        }
        while let Some(entry) = self.streams.first_entry()
            && *entry.key() == self.next
            && let Some(summary) = entry.get().summary.clone()
        {
            let stream = entry.remove();
            self.next += 1;
            self.write(&stream, &summary)?;
        }
        Ok(())
    }

    /// Writes a finished stream: its determinations in order, its summary, its admitted text.
    fn write(&mut self, stream: &StreamOutput, summary: &JudgementSummary) -> Result<(), CommandFailure> {
        if self.json {
            self.stdout.write_all(stream.lines.as_bytes())?;
            writeln!(self.stdout, "{}", json_line(&SummaryLine { id: &stream.id, summary })?)?;
        } else {
            self.text(stream, summary)?;
        }
        if let Some((file, AdmittedFileFormat::JsonLines)) = &mut self.admitted {
            writeln!(file, "{}", json_line(&stream.line()?)?)?;
        }
        Ok(())
    }

    fn text(&mut self, stream: &StreamOutput, summary: &JudgementSummary) -> Result<(), CommandFailure> {
        let terminal = self.terminal;
        let JudgementSummary { mode, admitted, rejected, decomposed, .. } = summary;
        let (id, mode) = (terminal.paint(TerminalTone::Strong, printable(&stream.id)), mode.name());
        let counts = format!("{id} ({mode}): {admitted} admitted, {rejected} rejected, {decomposed} decomposed");
        writeln!(self.stdout, "{}", terminal.wrap(2, &counts))?;
        self.stdout.write_all(stream.lines.as_bytes())?;
        if let Some(why) = &summary.stopped {
            writeln!(self.stdout, "{}", terminal.wrap(4, &format!("  stopped: {}", printable(why))))?;
        }
        for released in &stream.released {
            let line = match released {
                Released::Text(text) => format!("  => {text:?}"),
                Released::Call(call) => format!("  => call {}", printable(call)),
            };
            writeln!(self.stdout, "{}", terminal.wrap(5, &line))?;
        }
        if stream.released.is_empty() {
            writeln!(self.stdout, "  => \"\"")?;
        }
        Ok(())
    }

    /// Writes a line about the whole run to stdout.
    pub(crate) fn line(&mut self, text: &impl std::fmt::Display) -> Result<(), CommandFailure> {
        Ok(writeln!(self.stdout, "{}", self.terminal.wrap(2, &text.to_string()))?)
    }

    pub(crate) fn finish(mut self) -> Result<(), CommandFailure> {
        self.stdout.flush()?;
        if let Some((mut file, _)) = self.admitted {
            file.flush()?;
        }
        Ok(())
    }
}

/// A determination for people, as a line that is wrapped.
fn determination_line(
    terminal: TerminalLayout,
    SpanJudgement { determination: d, text: span, .. }: &SpanJudgement,
) -> String {
    let what = d.determination.map_or("fault", |d| d.name());
    let what = terminal.paint(tone(d.determination), format_args!("{what:<9}"));
    let call = if d.kind.is_text() { "" } else { "call " };
    let indent = "  ".repeat(usize::from(d.parent.is_some()));
    let why = match (d.stage.filter(|_| d.rule.is_some()), &d.rule, &d.reason) {
        (Some(stage), Some(rule), Some(reason)) => {
            format!("  [{} {}: {}]", stage.name(), printable(rule), printable(reason))
        }
        (None, Some(rule), Some(reason)) => format!("  [{}: {}]", printable(rule), printable(reason)),
        _ => String::new(),
    };
    let line = format!("  {indent}{what} {call}{span:?}{why}");
    format!("{}\n", terminal.wrap(12 + indent.len(), &line))
}

/// The colour of a verdict; `None` means a fault.
const fn tone(verdict: Option<Verdict>) -> TerminalTone {
    match verdict {
        Some(Verdict::Admit) => TerminalTone::Good,
        Some(Verdict::Decompose) => TerminalTone::Warning,
        Some(Verdict::Reject | Verdict::None) | None => TerminalTone::Bad,
    }
}

pub(crate) fn digest(bytes: &[u8; 32]) -> String {
    hex::encode(bytes)
}

/// The two digests of a policy, with the same names in all commands.
pub(crate) fn digests(package: &str, policy: &str) -> String {
    format!("package digest {package}\npolicy digest  {policy}")
}
