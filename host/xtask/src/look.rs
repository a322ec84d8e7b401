//! The report in a real browser: screenshots at laptop and phone widths, light and dark, in `target/report`.

use anyhow::{Context, Result, ensure};
use portcullis_tools::demo;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{capture, say};
use std::path::Path;
use std::process::{Command, Stdio};

/// Browsers that are tried, after the one that `CHROME` names.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const VIEWS: [(&str, &str, bool); 4] = [
    ("laptop", "1280,1500", false),
    ("laptop-dark", "1280,1500", true),
    ("phone", "500,2000", false),
    ("phone-dark", "500,2000", true),
];

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let folder = Path::new("target/report");
    std::fs::create_dir_all(folder)?;
    let (ledger, page) = (folder.join("ledger"), folder.join("report.html"));
    if ledger.exists() {
        std::fs::remove_file(&ledger)?;
    }
    demo::build()?;
    capture(Command::new(demo::binary()?).args(demo::RUN).arg("--ledger").arg(&ledger))?;
    capture(Command::new(demo::binary()?).arg("report").arg(&ledger).arg("--output").arg(&page))?;
    let Some(browser) = browser() else {
        say(
            "SKIPPED: screenshots of the report; no Chromium is installed (set CHROME, or install the package chromium)",
        );
        return Ok(());
    };
    let url = format!("file://{}", page.canonicalize()?.display());
    for (name, size, dark) in VIEWS {
        let picture = folder.join(format!("{name}.png"));
        let mut command = Command::new(&browser);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]);
        command.arg(format!("--window-size={size}")).arg(format!("--screenshot={}", picture.display()));
        if dark {
            command.arg("--blink-settings=preferredColorScheme=0");
        }
        let status = command.arg(&url).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{browser} ended with {status}");
        let bytes = std::fs::metadata(&picture).context("the browser wrote no picture")?.len();
        tally.check(&format!("the report in a browser, {name}"), {
            if bytes > 20_000 { Ok(()) } else { Err(anyhow::anyhow!("the picture has {bytes} bytes: an empty page")) }
        });
    }
    say("screenshots of the report: target/report/*.png");
    Ok(())
}

fn browser() -> Option<String> {
    let named = std::env::var("CHROME").ok();
    let names = named.into_iter().chain(BROWSERS.iter().map(|b| (*b).to_owned()));
    let works = |b: &String| {
        let mut command = Command::new(b);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    names.into_iter().find(works)
}
