//! Where results go: determinations to stdout, admitted text to a file.

use crate::failure::Failure;
use portcullis_gate::Finished;
use portcullis_policy::image::hex;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Stdout, Write};
use std::path::Path;

/// How admitted text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One JSON object a text: `{"id", "text"}`.
    JsonLines,
    /// The bytes.
    Plain,
}

/// Writes the results of one run.
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    json: bool,
    admitted: Option<(BufWriter<File>, Shape)>,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    id: &'a str,
    summary: &'a portcullis_gate::Summary,
}

#[derive(Serialize)]
struct AdmittedLine<'a> {
    id: &'a str,
    text: &'a str,
}

impl Output {
    pub(crate) fn new(json: bool, file: Option<&Path>, shape: Shape) -> Result<Self, Failure> {
        let admitted = file.map(File::create).transpose()?.map(|f| (BufWriter::new(f), shape));
        Ok(Self { stdout: BufWriter::new(std::io::stdout()), json, admitted })
    }

    /// Writes one finished stream: its determinations in order, its summary, its admitted text.
    pub(crate) fn write(&mut self, finished: &Finished, text: Option<&str>) -> Result<(), Failure> {
        if self.json {
            for determination in &finished.determinations {
                serde_json::to_writer(&mut self.stdout, determination)?;
                self.stdout.write_all(b"\n")?;
            }
            serde_json::to_writer(&mut self.stdout, &SummaryLine { id: &finished.id, summary: &finished.summary })?;
            self.stdout.write_all(b"\n")?;
        } else {
            self.text(finished, text)?;
        }
        if let Some((file, shape)) = &mut self.admitted {
            match shape {
                Shape::Plain => file.write_all(finished.released.as_bytes())?,
                Shape::JsonLines => {
                    serde_json::to_writer(&mut *file, &AdmittedLine { id: &finished.id, text: &finished.released })?;
                    file.write_all(b"\n")?;
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, finished: &Finished, text: Option<&str>) -> Result<(), Failure> {
        let summary = &finished.summary;
        writeln!(
            self.stdout,
            "{} ({}): {} admitted, {} rejected, {} decomposed",
            finished.id,
            summary.mode.name(),
            summary.admitted,
            summary.rejected,
            summary.decomposed
        )?;
        for d in &finished.determinations {
            let what = d.determination.map_or("fault", |d| d.name());
            let indent = "  ".repeat(usize::from(d.parent.is_some()));
            let span = text
                .and_then(|t| t.get(d.range()))
                .map_or_else(|| format!("bytes {}..{}", d.start, d.end), |s| format!("{s:?}"));
            write!(self.stdout, "  {indent}{what:<9} {span}")?;
            match (d.stage.filter(|_| d.rule.is_some()), &d.rule, &d.reason) {
                (Some(stage), Some(rule), Some(reason)) => {
                    writeln!(self.stdout, "  [{} {rule}: {reason}]", stage.name())?
                }
                (None, Some(rule), Some(reason)) => writeln!(self.stdout, "  [{rule}: {reason}]")?,
                _ => writeln!(self.stdout)?,
            }
        }
        if let Some(why) = &summary.stopped {
            writeln!(self.stdout, "  stopped: {why}")?;
        }
        writeln!(self.stdout, "  => {:?}", finished.released)?;
        Ok(())
    }

    /// Flushes everything.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdout.flush()?;
        if let Some((mut file, _)) = self.admitted {
            file.flush()?;
        }
        Ok(())
    }
}

/// A digest for people.
pub(crate) fn digest(bytes: &[u8; 32]) -> String {
    hex(bytes)
}
