//! QEMU and a kernel from Debian packages, unpacked into `target/vm`. Nothing is installed, and root is not needed.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::debian::{DebianArchiveView, archive};
use portcullis_tools::tool::{capture, say};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "target/vm";
/// The suites to try first, because their QEMU has `vfio-user-pci`. The kernel comes from the same suite.
const WANTED: &[&str] = &["trixie", "trixie-backports"];

/// The content that a folder must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VmFolderContent {
    Machine,
    /// A kernel with its source, and the packages to build its modules.
    Source,
}

/// A folder with the packages' files.
pub(crate) struct Packages {
    root: PathBuf,
}

impl Packages {
    /// Fetches the packages once: from a suite in [`WANTED`], or else from the system's own release.
    pub(crate) fn fetch() -> Result<Self> {
        let packages = Self::at("root")?;
        if packages.complete() {
            return Ok(packages);
        }
        let (archive, own) = archive()?;
        say("fetching QEMU and a kernel as Debian packages into target/vm (about 75 MB, once)");
        let mut problems = Vec::new();
        for suites in [WANTED, &[own.as_str()]] {
            match packages.fetch_from(&archive, suites, VmFolderContent::Machine) {
                Ok(()) => return Ok(packages),
                Err(error) => problems.push(format!("{}: {error:#}", suites.join(" "))),
            }
        }
        bail!("no release has the packages:\n{}", problems.join("\n"))
    }

    /// The kernel of this system's release, with its source. This system's compiler can build its modules.
    pub(crate) fn source() -> Result<Self> {
        let packages = Self::at("source")?;
        if !packages.complete() {
            let (archive, own) = archive()?;
            say("fetching a kernel and its source as Debian packages into target/vm (about 180 MB, once)");
            packages.fetch_from(&archive, &[own.as_str()], VmFolderContent::Source)?;
        }
        Ok(packages)
    }

    fn at(name: &str) -> Result<Self> {
        Ok(Self { root: std::env::current_dir()?.join(FOLDER).join(name) })
    }

    fn complete(&self) -> bool {
        self.root.join("complete").exists()
    }

    /// The root of the unpacked files.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn fetch_from(&self, archive: &str, suites: &[&str], content: VmFolderContent) -> Result<()> {
        if self.root.exists() {
            fs::remove_dir_all(&self.root)?;
        }
        let view = DebianArchiveView::new(&Path::new(FOLDER).join("apt"), archive, suites)?;
        let last = suites.last().context("a release")?;
        if content == VmFolderContent::Machine {
            view.get(&["--download-only", "-t", last, "install", "qemu-system-x86"])?;
        }
        let kernel = view.get(&["-s", "install", "linux-image-cloud-amd64"])?;
        let kernel = kernel
            .lines()
            .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
            .find(|name| name.starts_with("linux-image-") && *name != "linux-image-cloud-amd64")
            .context("the release has no cloud kernel")?
            .to_owned();
        view.get(&["download", &kernel, "busybox-static"])?;
        if content == VmFolderContent::Source {
            let headers = kernel.replace("linux-image-", "linux-headers-");
            view.get(&["--download-only", "install", &headers])?;
            view.get(&["--download-only", "install", "linux-source"])?;
        }
        view.unpack(&self.root, &[])?;
        self.kernel()?;
        fs::write(self.root.join("complete"), suites.join(" "))?;
        Ok(())
    }

    /// QEMU, run with the fetched libraries.
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

    /// Whether QEMU's own list of devices contains this device.
    pub(crate) fn has_device(&self, device: &str) -> Result<bool> {
        let devices = capture(self.qemu()?.args(["-machine", "none", "-device", "help"]))?;
        Ok(devices.contains(&format!("name \"{device}\"")))
    }

    pub(crate) fn kernel(&self) -> Result<PathBuf> {
        let entries = fs::read_dir(self.root.join("boot"))?.flatten();
        let found = entries.map(|e| e.path()).find(|p| p.to_string_lossy().contains("/vmlinuz-"));
        found.context("the packages hold no kernel")
    }

    pub(crate) fn busybox(&self) -> Result<PathBuf> {
        let found = ["usr/bin/busybox", "bin/busybox"].map(|p| self.root.join(p)).into_iter().find(|p| p.exists());
        found.context("the packages hold no busybox")
    }

    /// A kernel module, unpacked; `None` if it is built into the kernel.
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
