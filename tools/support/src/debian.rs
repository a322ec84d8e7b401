//! Debian packages, fetched with this system's apt and unpacked into a folder. They are not installed, and root rights
//! are not needed.

use crate::tool::{capture, say};
use anyhow::{Context, Result, ensure};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Debian's archive and the release of this system, as its apt configuration gives them. Errors: the system is not
/// Debian, or has no archive configured.
pub fn archive() -> Result<(String, String)> {
    ensure!(
        ["apt-get", "dpkg-deb"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok()),
        "the programs are taken from Debian's packages, and apt-get or dpkg-deb is not here"
    );
    let targets = capture(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]))?;
    targets
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (uri, release) = (fields.next()?, fields.next()?);
            let plain = !release.contains(['-', '/']);
            (plain && uri.trim_end_matches('/').ends_with("/debian")).then(|| (uri.to_owned(), release.to_owned()))
        })
        .next()
        .context("this system's apt knows no archive of Debian")
}

/// The folder with the program `name` of the Debian package with this name; `None` if the machine has the program. The
/// package is unpacked into `folder` once. Errors: as [`fetch`]; the unpacked program does not start.
pub fn program(name: &str, folder: &Path) -> Result<Option<PathBuf>> {
    let version = |program: &Path| capture(Command::new(program).arg("--version"));
    if version(Path::new(name)).is_ok() {
        return Ok(None);
    }
    let bin = folder.join("bin");
    let wrapper = bin.join(name);
    if !wrapper.exists() {
        say(&format!("fetching {name} as a Debian package into {} (once)", folder.display()));
        fetch(&[name], folder)?;
        fs::create_dir_all(&bin)?;
        // The wrapper is the last file: without it, the package is fetched again.
        let unfinished = folder.join("wrapper");
        let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let start = "#!/bin/sh\nroot=$(dirname \"$0\")/../root\n";
        let start = format!("{start}LD_LIBRARY_PATH=\"$root/{libraries}\" exec \"$root/usr/bin/{name}\" \"$@\"\n");
        fs::write(&unfinished, start)?;
        fs::set_permissions(&unfinished, Permissions::from_mode(0o755))?;
        fs::rename(unfinished, &wrapper)?;
    }
    version(&wrapper).with_context(|| format!("Debian's {name} does not start here; remove {}", folder.display()))?;
    Ok(Some(bin.canonicalize()?))
}

/// Unpacks a Debian package and its libraries into `folder` once; returns the root of the unpacked files. `None` if the
/// package is installed: the machine has `file`, a path of the package relative to `/`. Errors: as [`fetch`].
pub fn unpacked(package: &str, file: &str, folder: &Path) -> Result<Option<PathBuf>> {
    if Path::new("/").join(file).exists() {
        return Ok(None);
    }
    let done = folder.join("root");
    if !done.join(file).exists() {
        say(&format!("fetching {package} as a Debian package into {} (once)", folder.display()));
        // The folder gets its name only after everything is unpacked.
        let unfinished = folder.join("unfinished");
        fs::rename(fetch(&[package], &unfinished)?, &done)?;
        fs::remove_dir_all(unfinished)?;
    }
    Ok(Some(done.canonicalize()?))
}

/// Makes `folder` anew and unpacks these packages and their libraries into its folder `root`, which is returned. The C
/// library is left out: the programs use that of this system. Errors: as [`archive`], [`DebianArchiveView::new`] and
/// [`DebianArchiveView::unpack`]; a package does not exist.
pub fn fetch(packages: &[&str], folder: &Path) -> Result<PathBuf> {
    let (archive, own) = archive()?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let view = DebianArchiveView::new(&folder.join("apt"), &archive, &[own.as_str()])?;
    view.get(&[&["--download-only", "install"], packages].concat())?;
    let root = folder.join("root");
    view.unpack(&root, &["libc6_"])?;
    Ok(root)
}

/// A view of the archive in which no package is installed, so that a program is fetched with all its libraries.
pub struct DebianArchiveView {
    folder: PathBuf,
}

impl DebianArchiveView {
    /// Creates the view in `folder` in place of an old view, and fetches the lists of these suites. Errors: the folder
    /// is not writable, or the archive is not reachable.
    pub fn new(folder: &Path, archive: &str, suites: &[&str]) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for part in ["state/lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("status"), "")?;
        let signed = if Path::new(KEYRING).exists() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
        let suites = suites.join(" ");
        let sources =
            format!("Types: deb\nURIs: {archive}\nSuites: {suites}\nComponents: main\nArchitectures: amd64\n{signed}");
        fs::write(folder.join("packages.sources"), sources)?;
        let view = Self { folder: folder.canonicalize()? };
        view.get(&["update"])?;
        Ok(view)
    }

    /// Runs apt-get; it stores packages in the view's cache. Errors: apt-get fails; the error contains its output.
    pub fn get(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new("apt-get");
        for (option, place) in [
            ("Dir::State", "state"),
            ("Dir::Cache", "cache"),
            ("Dir::State::status", "status"),
            ("Dir::Etc::sourcelist", "packages.sources"),
            ("Dir::Etc::sourceparts", "parts"),
        ] {
            command.arg("-o").arg(format!("{option}={}", self.folder.join(place).display()));
        }
        command.args(["-qq", "-y", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]);
        command.args(["-o", "APT::Install-Recommends=0"]).args(args).current_dir(self.cache());
        capture(&mut command)
    }

    /// Unpacks every fetched package into `root`, except packages whose file name begins with an element of `without`.
    /// Then removes the view. Errors: a package cannot be unpacked.
    pub fn unpack(self, root: &Path, without: &[&str]) -> Result<()> {
        fs::create_dir_all(root)?;
        for entry in fs::read_dir(self.cache())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".deb") && !without.iter().any(|start| name.starts_with(start)) {
                capture(Command::new("dpkg-deb").arg("-x").arg(&path).arg(root))?;
            }
        }
        Ok(fs::remove_dir_all(&self.folder)?)
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache/archives")
    }
}
