//! Checks the reports and a gateway's live page in a real browser: at the widths of a phone, a tablet and a laptop, in
//! light and dark colours, and printed. Screenshots and PDFs stay in `target/report`.

mod live;

use crate::browser::Browser;
use anyhow::{Context, Result, ensure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{capture, root, say, target_dir};
use portcullis_tools::{demo, setup};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Widths of the window, in CSS pixels.
const WIDTHS: [u32; 3] = [320, 768, 1280];
/// Height of a screenshot, in CSS pixels.
const HEIGHT: u32 = 2400;
/// Number of streams on the largest page.
const MANY: usize = 60;
const HARNESS: &str = include_str!("harness.js");

/// The results of the test script for a page.
#[derive(Deserialize)]
struct PageScriptResult {
    width: u32,
    columns: u32,
    height: u32,
    /// Elements whose text has too little contrast.
    faint: Vec<String>,
    /// Elements without a name for assistive tools.
    nameless: Vec<String>,
    doubled: Vec<String>,
    dangling: u32,
    folded: String,
    /// On a page with a search: how many streams it shows without a filter, with refusals only, and by name.
    streams: Option<usize>,
    refused: Option<usize>,
    named: Option<usize>,
}

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    let folder = Path::new("target/report");
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    setup::build()?;
    let pages = [ledger(folder)?, evidence(folder)?, many(folder)?];
    let browser = match Browser::find() {
        Ok(browser) => browser,
        Err(error) => {
            tally.skip("the reports in a browser", &format!("no browser: {error:#}"));
            return Ok(());
        }
    };
    let live = match live::see(&browser, folder) {
        Ok(page) => Some(page),
        Err(error) => {
            tally.check("the live page of a gateway", Err(error));
            None
        }
    };
    for page in pages.iter().chain(&live) {
        let name = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for width in WIDTHS {
            for dark in [false, true] {
                let shade = if dark { "dark" } else { "light" };
                let what = format!("{name}, {width} pixels, {shade}");
                tally.check(&what, judge(&browser, page, &format!("{name}-{width}-{shade}"), width, dark));
            }
        }
        // The live page is not meant for printing.
        if live.as_ref() != Some(page) {
            tally.check(&format!("{name}, printed"), printed(&browser, page, &name));
        }
    }
    say("the reports in a browser: target/report/*.png and *.pdf");
    Ok(())
}

fn program(name: &str) -> Result<PathBuf> {
    Ok(root()?.join(target_dir()).join("debug").join(name))
}

fn ledger(folder: &Path) -> Result<PathBuf> {
    let (ledger, page) = (folder.join("ledger"), folder.join("governed-text.html"));
    capture(Command::new(demo::binary()?).args(demo::RUN).arg("--ledger").arg(&ledger))?;
    capture(Command::new(demo::binary()?).arg("report").arg(&ledger).arg("--output").arg(&page))?;
    Ok(page)
}

/// Makes the verifier's page for a bundle of the demo's texts.
fn evidence(folder: &Path) -> Result<PathBuf> {
    let (bundle, trust, page) = (folder.join("bundle"), folder.join("trust"), folder.join("evidence.html"));
    capture(Command::new(demo::binary()?).args(demo::RUN).arg("--bundle").arg(&bundle))?;
    fs::create_dir_all(trust.join("sim-roots"))?;
    let certificate = capture(Command::new(demo::binary()?).args(["ca", "simulation"]))?;
    fs::write(trust.join("sim-roots/simulation.pem"), certificate)?;
    let mut report = Command::new(program("portcullis-verify")?);
    report.arg("report").arg(&bundle).arg("--trust").arg(&trust).arg("--allow-sim").arg("--output").arg(&page);
    let ended = report.output()?;
    ensure!(ended.status.code() == Some(10), "{}", String::from_utf8_lossy(&ended.stderr));
    Ok(page)
}

/// Makes a page of many streams, a few of them with refusals.
fn many(folder: &Path) -> Result<PathBuf> {
    let (input, ledger, page) = (folder.join("many.jsonl"), folder.join("many"), folder.join("many-streams.html"));
    let line = |number: usize| {
        let text = if number.is_multiple_of(10) { "Write to ana@example.org today." } else { "The line is closed." };
        format!("{{\"id\": \"line-{number} of the letter\", \"text\": \"{text}\"}}\n")
    };
    fs::write(&input, (1..=MANY).map(line).collect::<String>())?;
    let run = ["run", "--policy", "policies/pii", "--card", "model", "--input"];
    capture(Command::new(demo::binary()?).args(run).arg(&input).arg("--ledger").arg(&ledger))?;
    capture(Command::new(demo::binary()?).arg("report").arg(&ledger).arg("--output").arg(&page))?;
    Ok(page)
}

/// Checks a page at one width: it does not scroll sideways, its text has enough contrast, elements have names for
/// assistive tools, and the search works.
fn judge(browser: &Browser, page: &Path, name: &str, width: u32, dark: bool) -> Result<()> {
    let folder = page.parent().context("a page stands in a folder")?;
    let harness = folder.join(format!("{name}.harness.html"));
    let file = page.file_name().unwrap_or_default().to_string_lossy();
    fs::write(
        &harness,
        format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\">\
             <iframe id=\"page\" src=\"{file}\" width=\"{width}\" height=\"{HEIGHT}\" style=\"border:0;display:block\"></iframe>\
             <pre id=\"found\" style=\"display:none\"></pre><script>{HARNESS}</script>"
        ),
    )?;
    let found = found(&browser.dom(&harness, dark)?)?;
    let picture = folder.join(format!("{name}.png"));
    browser.screenshot(&harness, &picture, (width.max(500), HEIGHT), dark)?;
    ensure!(found.height > 300, "the page is {} pixels high: nothing is on it", found.height);
    ensure!(fs::metadata(&picture)?.len() > 20_000, "the picture shows next to nothing");
    let PageScriptResult { width: wide, columns, .. } = found;
    ensure!(wide <= columns, "{wide} pixels are wider than the window of {columns}: the page scrolls sideways");
    ensure!(found.faint.is_empty(), "contrast below 4.5 to 1: {:?}", found.faint);
    ensure!(found.nameless.is_empty(), "no name for assistive tools: {:?}", found.nameless);
    ensure!(found.doubled.is_empty() && found.dangling == 0, "ids: {:?}, {} dangling", found.doubled, found.dangling);
    if let (Some(streams), Some(refused), Some(named)) = (found.streams, found.refused, found.named)
        && streams == MANY
    {
        ensure!(
            (refused, named) == (MANY / 10, 1),
            "{refused} streams with refusals and {named} of one name are found"
        );
    }
    Ok(())
}

/// The JSON that the test script left in its element.
fn found(dom: &str) -> Result<PageScriptResult> {
    let start = dom.split_once("id=\"found\"").and_then(|(_, rest)| rest.split_once('>')).context("no element")?.1;
    let json = start.split_once("</pre>").context("the element ends")?.0;
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&json).with_context(|| format!("the page was not judged: `{json}`"))
}

/// Checks that text that is folded on the screen is printed, both with and without the page's script.
fn printed(browser: &Browser, page: &Path, name: &str) -> Result<()> {
    let folder = page.parent().context("a page stands in a folder")?;
    let html = fs::read_to_string(page)?;
    let without = folder.join(format!("{name}-without-script.html"));
    let (before, rest) = html.split_once("<script>").context("the page has a script")?;
    let (_, after) = rest.split_once("</script>").context("the script ends")?;
    fs::write(&without, format!("{before}{after}"))?;
    let harness = folder.join(format!("{name}-1280-light.harness.html"));
    let folded = found(&browser.dom(&harness, false)?)?.folded;
    let words: Vec<&str> = folded.split_whitespace().filter(|word| word.chars().count() > 3).collect();
    for (page, pdf) in [(page, format!("{name}.pdf")), (&without, format!("{name}-without-script.pdf"))] {
        let text = browser.print(page, &folder.join(&pdf))?;
        let text: String = text.split_whitespace().collect();
        ensure!(text.len() > 500, "{pdf} has {} characters", text.len());
        let lost: Vec<&&str> = words.iter().filter(|word| !text.contains(**word)).collect();
        ensure!(lost.is_empty(), "{pdf} lacks {} of {} folded words: {:?}", lost.len(), words.len(), lost.first());
    }
    Ok(())
}
