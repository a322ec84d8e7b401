//! A headless browser, and a program that reads the PDFs that the browser prints: installed on the machine, or else
//! Debian's packages in `target/browser`.

use anyhow::{Context, Result, ensure};
use portcullis_tools::debian;
use portcullis_tools::tool::{capture, say};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "target/browser";
const PACKAGES: [&str; 3] = ["chromium-headless-shell", "poppler-utils", "fonts-dejavu-core"];
/// Browsers to try if `CHROME` is not set.
const BROWSERS: [&str; 5] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];
/// Virtual time in milliseconds that a page has for loading.
const BUDGET: &str = "--virtual-time-budget=10000";

/// Makes pages use their dark colours.
const DARK: &str = "--blink-settings=preferredColorScheme=0";

pub(crate) struct Browser {
    chromium: OsString,
    pdftotext: OsString,
    /// Environment variables with which the unpacked programs find their libraries and fonts.
    environment: Vec<(&'static str, OsString)>,
}

impl Browser {
    /// Finds the machine's browser; otherwise fetches Debian's packages once.
    pub(crate) fn find() -> Result<Self> {
        let named = env::var("CHROME").ok();
        let names = named.iter().map(String::as_str).chain(BROWSERS);
        let works =
            |program: &str, word: &str| Command::new(program).arg(word).output().is_ok_and(|o| o.status.success());
        if let Some(chromium) = names.into_iter().find(|name| works(name, "--version"))
            && works("pdftotext", "-v")
        {
            return Ok(Self { chromium: chromium.into(), pdftotext: "pdftotext".into(), environment: Vec::new() });
        }
        Self::unpacked()
    }

    fn unpacked() -> Result<Self> {
        let folder = env::current_dir()?.join(FOLDER);
        let root = folder.join("root");
        if !folder.join("complete").exists() {
            say("fetching Chromium as Debian packages into target/browser (about 160 MB, once)");
            debian::fetch(&PACKAGES, &folder)?;
            let fonts = root.join("usr/share/fonts");
            let cache = folder.join("fonts");
            let configuration = format!(
                "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>\n",
                fonts.display(),
                cache.display()
            );
            fs::write(folder.join("fonts.conf"), configuration)?;
            fs::write(folder.join("complete"), "")?;
        }
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio"];
        let libraries = env::join_paths(libraries.map(|library| root.join(library)))?;
        let browser = Self {
            chromium: root.join("usr/lib/chromium/chromium-headless-shell").into(),
            pdftotext: root.join("usr/bin/pdftotext").into(),
            environment: vec![("LD_LIBRARY_PATH", libraries), ("FONTCONFIG_FILE", folder.join("fonts.conf").into())],
        };
        capture(browser.command(&browser.chromium).arg("--version"))
            .context("Debian's Chromium does not start here")?;
        Ok(browser)
    }

    /// The page's DOM after its scripts have run.
    pub(crate) fn dom(&self, page: &Path, dark: bool) -> Result<String> {
        self.dom_at(&url(page)?, dark)
    }

    /// The DOM of a page at this local URL.
    pub(crate) fn dom_at(&self, url: &str, dark: bool) -> Result<String> {
        let mut command = self.headless();
        if dark {
            command.arg(DARK);
        }
        capture(command.args([BUDGET, "--dump-dom"]).arg(url))
    }

    /// Writes a screenshot of the page in a window of this size.
    pub(crate) fn screenshot(&self, page: &Path, picture: &Path, size: (u32, u32), dark: bool) -> Result<()> {
        self.screenshot_at(&url(page)?, picture, size, dark)
    }

    /// Writes a screenshot of a page at this local URL.
    pub(crate) fn screenshot_at(&self, url: &str, picture: &Path, size: (u32, u32), dark: bool) -> Result<()> {
        let mut command = self.headless();
        command.args([BUDGET, "--hide-scrollbars"]).arg(format!("--window-size={},{}", size.0, size.1));
        if dark {
            command.arg(DARK);
        }
        capture(command.arg(format!("--screenshot={}", absolute(picture)?.display())).arg(url))?;
        ensure!(picture.exists(), "the browser wrote no picture");
        Ok(())
    }

    /// Prints the page as PDF and returns its text in drawing order, that is, one cell after another.
    pub(crate) fn print(&self, page: &Path, pdf: &Path) -> Result<String> {
        let print = format!("--print-to-pdf={}", absolute(pdf)?.display());
        capture(self.headless().args(["--no-pdf-header-footer", &print]).arg(url(page)?))?;
        capture(self.command(&self.pdftotext).arg("-raw").arg(pdf).arg("-"))
    }

    fn headless(&self) -> Command {
        let mut command = self.command(&self.chromium);
        // The pages are our own, and only local URLs are opened, so no sandbox is needed.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]);
        command.arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1");
        command
    }

    fn command(&self, program: &OsString) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

fn url(page: &Path) -> Result<String> {
    Ok(format!("file://{}", page.canonicalize()?.display()))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(env::current_dir()?.join(path))
}
