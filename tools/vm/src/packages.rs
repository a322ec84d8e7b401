//! QEMU and a kernel as Debian packages, unpacked into `target/vm`: nothing is installed, and no root is needed.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::tool::{capture, say};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "target/vm";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The release whose QEMU has `vfio-user-pci`, and its kernel.
const WANTED: &[&str] = &["trixie", "trixie-backports"];

/// What a folder is to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// QEMU and a kernel.
    Machine,
    /// A kernel with its source and what modules of it are built with.
    Source,
}

/// A folder with the packages' files.
pub(crate) struct Packages {
    root: PathBuf,
}

impl Packages {
    /// Fetches them once: from the release that has everything, else from the system's own.
    pub(crate) fn fetch() -> Result<Self> {
        let packages = Self::at("root")?;
        if packages.complete() {
            return Ok(packages);
        }
        let (archive, own) = archive()?;
        say("fetching QEMU and a kernel as Debian packages into target/vm (about 75 MB, once)");
        let mut problems = Vec::new();
        for suites in [WANTED, &[own.as_str()]] {
            match packages.fetch_from(&archive, suites, Content::Machine) {
                Ok(()) => return Ok(packages),
                Err(error) => problems.push(format!("{}: {error:#}", suites.join(" "))),
            }
        }
        bail!("no release has the packages:\n{}", problems.join("\n"))
    }

    /// The kernel of this system's release, whose modules this system's compiler can build, with its source.
    pub(crate) fn source() -> Result<Self> {
        let packages = Self::at("source")?;
        if !packages.complete() {
            let (archive, own) = archive()?;
            say("fetching a kernel and its source as Debian packages into target/vm (about 180 MB, once)");
            packages.fetch_from(&archive, &[own.as_str()], Content::Source)?;
        }
        Ok(packages)
    }

    fn at(name: &str) -> Result<Self> {
        Ok(Self { root: std::env::current_dir()?.join(FOLDER).join(name) })
    }

    fn complete(&self) -> bool {
        self.root.join("complete").exists()
    }

    /// Where the files are, as they would stand under `/`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn fetch_from(&self, archive: &str, suites: &[&str], content: Content) -> Result<()> {
        let apt = Path::new(FOLDER).join("apt");
        for folder in [&apt, &self.root] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        for folder in ["state/lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(apt.join(folder))?;
        }
        fs::create_dir_all(&self.root)?;
        // Nothing is installed in this view, so that every library comes along.
        fs::write(apt.join("status"), "")?;
        let signed = if Path::new(KEYRING).exists() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
        let sources = format!(
            "Types: deb\nURIs: {archive}\nSuites: {}\nComponents: main\nArchitectures: amd64\n{signed}",
            suites.join(" ")
        );
        fs::write(apt.join("packages.sources"), sources)?;
        let apt = apt.canonicalize()?;
        let get = |args: &[&str]| {
            let mut command = Command::new("apt-get");
            for (option, place) in [
                ("Dir::State", "state"),
                ("Dir::Cache", "cache"),
                ("Dir::State::status", "status"),
                ("Dir::Etc::sourcelist", "packages.sources"),
                ("Dir::Etc::sourceparts", "parts"),
            ] {
                command.arg("-o").arg(format!("{option}={}", apt.join(place).display()));
            }
            command.args(["-qq", "-y", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]);
            capture(
                command.args(["-o", "APT::Install-Recommends=0"]).args(args).current_dir(apt.join("cache/archives")),
            )
        };
        get(&["update"])?;
        let last = suites.last().context("a release")?;
        if content == Content::Machine {
            get(&["--download-only", "-t", last, "install", "qemu-system-x86"])?;
        }
        let kernel = get(&["-s", "install", "linux-image-cloud-amd64"])?;
        let kernel = kernel
            .lines()
            .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
            .find(|name| name.starts_with("linux-image-") && *name != "linux-image-cloud-amd64")
            .context("the release has no cloud kernel")?
            .to_owned();
        get(&["download", &kernel, "busybox-static"])?;
        if content == Content::Source {
            let headers = kernel.replace("linux-image-", "linux-headers-");
            get(&["--download-only", "install", &headers])?;
            get(&["--download-only", "install", "linux-source"])?;
        }
        for entry in fs::read_dir(apt.join("cache/archives"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "deb") {
                capture(Command::new("dpkg-deb").arg("-x").arg(&path).arg(&self.root))?;
            }
        }
        fs::remove_dir_all(&apt)?;
        self.kernel()?;
        fs::write(self.root.join("complete"), suites.join(" "))?;
        Ok(())
    }

    /// QEMU with the libraries that came with it.
    pub(crate) fn qemu(&self) -> Result<Command> {
        let find = |names: &[&str]| {
            let found = names.iter().map(|name| self.root.join(name)).find(|path| path.exists());
            found.with_context(|| format!("the packages hold no {}", names.join(" or ")))
        };
        let loader = find(&["usr/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"])?;
        let program = find(&["usr/bin/qemu-system-x86_64"])?;
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|l| self.root.join(l));
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(std::env::join_paths(libraries)?).arg(program);
        for data in ["usr/share/qemu", "usr/share/seabios"] {
            command.arg("-L").arg(self.root.join(data));
        }
        Ok(command)
    }

    /// Whether QEMU has a device, and what it says about it.
    pub(crate) fn has_device(&self, device: &str) -> Result<bool> {
        let devices = capture(self.qemu()?.args(["-machine", "none", "-device", "help"]))?;
        Ok(devices.contains(&format!("name \"{device}\"")))
    }

    /// The kernel's image.
    pub(crate) fn kernel(&self) -> Result<PathBuf> {
        let entries = fs::read_dir(self.root.join("boot"))?.flatten();
        let found = entries.map(|e| e.path()).find(|p| p.to_string_lossy().contains("/vmlinuz-"));
        found.context("the packages hold no kernel")
    }

    /// BusyBox, linked statically.
    pub(crate) fn busybox(&self) -> Result<PathBuf> {
        let found = ["usr/bin/busybox", "bin/busybox"].map(|p| self.root.join(p)).into_iter().find(|p| p.exists());
        found.context("the packages hold no busybox")
    }

    /// A kernel module, unpacked, or nothing where the kernel has it built in.
    pub(crate) fn module(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(path) = find_module(&self.root, name)? else { return Ok(None) };
        if path.extension().is_some_and(|e| e == "ko") {
            return Ok(Some(fs::read(path)?));
        }
        let output = Command::new(self.busybox()?).arg("xzcat").arg(&path).output()?;
        ensure!(output.status.success() && !output.stdout.is_empty(), "cannot unpack {}", path.display());
        Ok(Some(output.stdout))
    }
}

fn find_module(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        let file = entry.file_name();
        let file = file.to_string_lossy();
        if file == format!("{name}.ko") || file == format!("{name}.ko.xz") {
            return Ok(Some(path));
        }
        let inside = ["usr", "lib", "modules", "kernel", "drivers", "vfio", "pci", "virt"];
        let kernel = path.components().any(|c| c.as_os_str() == "modules");
        if entry.file_type()?.is_dir()
            && (kernel || inside.contains(&file.as_ref()))
            && let Some(found) = find_module(&path, name)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Debian's archive as this system's apt reaches it, and the release that the system is.
fn archive() -> Result<(String, String)> {
    ensure!(
        ["apt-get", "dpkg-deb"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok()),
        "QEMU and a kernel are taken from Debian's packages, and apt-get or dpkg-deb is not here"
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
