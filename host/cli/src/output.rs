//! Writes results: determinations to stdout, admitted text to a file.

use crate::failure::Failure;
use anyhow::Context;
use portcullis_core::hex;
use portcullis_core::wire::Determination as Verdict;
use portcullis_gate::{DecidingField, Determination, Event, EventKind, Judgement, Summary};
use portcullis_report::escape::printable;
use portcullis_report::terminal::{Terminal, Tone};
use portcullis_verify::console::{Stdout, json_line, stdout_terminal};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One JSON object per text: `{"id", "text"}`.
    JsonLines,
    Plain,
}

/// Writes the results of one run: to stdout in the order of the input, to the file as early as its format allows.
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    terminal: Terminal,
    json: bool,
    admitted: Option<(BufWriter<File>, Shape)>,
    /// Streams that are not printed yet, by their numbers.
    streams: BTreeMap<u64, Stream>,
    next: u64,
}

/// The data about a stream until it is printed.
#[derive(Default)]
struct Stream {
    id: String,
    /// The lines of its determinations. A determination itself is many times longer than its line.
    lines: String,
    released: Vec<Released>,
    summary: Option<Summary>,
}

/// Released bytes: text, or a tool call.
enum Released {
    Text(String),
    Call(String),
}

impl Stream {
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
    fn line(&self) -> Result<AdmittedLine<'_>, Failure> {
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
    determination: &'a Determination,
    #[serde(skip_serializing_if = "<[DecidingField]>::is_empty")]
    fields: &'a [DecidingField],
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    id: &'a str,
    summary: &'a Summary,
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

impl Output {
    pub(crate) fn new(json: bool, file: Option<&Path>, shape: Shape) -> Result<Self, Failure> {
        let create = |path: &Path| File::create(path).with_context(|| format!("cannot write `{}`", path.display()));
        let admitted = file.map(create).transpose()?.map(|f| (BufWriter::new(f), shape));
        let stdout = BufWriter::new(Stdout);
        Ok(Self { stdout, terminal: stdout_terminal(), json, admitted, streams: BTreeMap::new(), next: 0 })
    }

    /// Handles one event. Released bytes of a plain text are written at once, and so are the determinations as JSON
    /// whose stream has its turn; all other output waits for its stream's turn, or for its summary.
    pub(crate) fn event(&mut self, event: Event) -> Result<(), Failure> {
        let stream = self.streams.entry(event.stream).or_default();
        match event.what {
            EventKind::Begun { id, .. } => stream.id = id,
            EventKind::Determined(judged) => {
                if self.json {
                    let Judgement { determination, fields, .. } = &*judged;
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
            EventKind::Released { text, calls, .. } => {
                if let Some((file, Shape::Plain)) = &mut self.admitted {
                    file.write_all(text.as_bytes())?;
                    file.flush()?;
                }
                stream.release(&text, &calls);
            }
            EventKind::Ended { id, summary, .. } => {
                stream.id = id;
                stream.summary = Some(summary);
            }
            EventKind::Proposed(_)
            | EventKind::Deferred { .. }
            | EventKind::Expired { .. }
            | EventKind::RolledBack { .. }
            | EventKind::Drift { .. } => {}
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
    fn write(&mut self, stream: &Stream, summary: &Summary) -> Result<(), Failure> {
        if self.json {
            self.stdout.write_all(stream.lines.as_bytes())?;
            writeln!(self.stdout, "{}", json_line(&SummaryLine { id: &stream.id, summary })?)?;
        } else {
            self.text(stream, summary)?;
        }
        if let Some((file, Shape::JsonLines)) = &mut self.admitted {
            writeln!(file, "{}", json_line(&stream.line()?)?)?;
        }
        Ok(())
    }

    fn text(&mut self, stream: &Stream, summary: &Summary) -> Result<(), Failure> {
        let terminal = self.terminal;
        let Summary { mode, admitted, rejected, decomposed, .. } = summary;
        let (id, mode) = (terminal.paint(Tone::Strong, printable(&stream.id)), mode.name());
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
    pub(crate) fn line(&mut self, text: &impl std::fmt::Display) -> Result<(), Failure> {
        Ok(writeln!(self.stdout, "{}", self.terminal.wrap(2, &text.to_string()))?)
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdout.flush()?;
        if let Some((mut file, _)) = self.admitted {
            file.flush()?;
        }
        Ok(())
    }
}

/// A determination for people, as a line that is wrapped.
fn determination_line(terminal: Terminal, Judgement { determination: d, text: span, .. }: &Judgement) -> String {
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
const fn tone(verdict: Option<Verdict>) -> Tone {
    match verdict {
        Some(Verdict::Admit) => Tone::Good,
        Some(Verdict::Decompose) => Tone::Warning,
        Some(Verdict::Reject | Verdict::None) | None => Tone::Bad,
    }
}

pub(crate) fn digest(bytes: &[u8; 32]) -> String {
    hex::encode(bytes)
}

/// The two digests of a policy, with the same names in all commands.
pub(crate) fn digests(package: &str, policy: &str) -> String {
    format!("package digest {package}\npolicy digest  {policy}")
}
