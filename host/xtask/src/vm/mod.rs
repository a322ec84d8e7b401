//! The driver in a virtual machine: a real kernel's VFIO and IOMMU, in software emulation, without root.

mod initramfs;
mod packages;

use crate::demo;
use crate::tally::Tally;
use crate::tool::{capture, cargo, run as run_command, say};
use anyhow::{Context, Result, bail, ensure};
use initramfs::Initramfs;
use packages::Packages;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MODULES: [&str; 6] = ["irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"];
/// Longest life of a machine.
const DEADLINE: Duration = Duration::from_secs(180);

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let packages = match Packages::fetch() {
        Ok(packages) => packages,
        Err(error) => {
            tally.skip("virtual machine", &format!("{error:#}"));
            return Ok(());
        }
    };
    run_command(cargo().args(["build", "--locked", "--workspace", "--bin", "vfio-edu"]))?;
    tally.check("edu: registers, interrupts, DMA both ways, none after unmap", edu(&packages));
    if packages.has_device("vfio-user-pci")? {
        demo::build()?;
        tally.check("card: self-test and a governed run through a guest's VFIO", card(&packages));
    } else {
        tally.skip(
            "the card in a virtual machine",
            "this QEMU has no vfio-user-pci; Debian's trixie-backports has one that does",
        );
    }
    Ok(())
}

fn edu(packages: &Packages) -> Result<()> {
    let mut image = base(packages)?;
    image.program("tests/vfio-edu", &binary("vfio-edu")?)?;
    image.add("tests/edu.sh", &fs::read("tests/vm/edu.sh")?);
    Machine::start("edu", packages, image, &["-device", "edu,addr=3"], &[])?.wait()
}

/// The Verilated card as a PCI device of the machine; the bundle of a run in there is verified out here.
fn card(packages: &Packages) -> Result<()> {
    let folder = std::env::current_dir()?.join("target/vm");
    let (socket, export) = (folder.join("card.sock"), folder.join("bundle.tar"));
    let mut image = base(packages)?;
    image.program("tests/portcullis", &demo::binary()?)?;
    image.add("tests/card.sh", &fs::read("tests/vm/card.sh")?);
    image.folder("tests/pii", Path::new("policies/pii"))?;
    image.add("tests/texts.jsonl", &fs::read("tests/demo/sentences.jsonl")?);
    let server = Server::start(&socket)?;
    let device =
        format!(r#"{{"driver":"vfio-user-pci","addr":"3","socket":{{"type":"unix","path":"{}"}}}}"#, socket.display());
    let serial = format!("file:{}", export.display());
    let machine = Machine::start("card", packages, image, &["-device", &device], &["-serial", &serial])?;
    machine.wait()?;
    drop(server);
    let bundle = folder.join("bundle");
    if bundle.exists() {
        fs::remove_dir_all(&bundle)?;
    }
    run_command(Command::new("tar").arg("-C").arg(&folder).arg("-xf").arg(&export))?;
    let trust = folder.join("trust/sim-roots");
    fs::create_dir_all(&trust)?;
    fs::write(trust.join("simulation.pem"), capture(Command::new(demo::binary()?).args(["ca", "simulation"]))?)?;
    let mut verify = Command::new(demo::binary()?);
    verify.arg("verify").arg(&bundle).arg("--allow-sim").arg("--trust").arg(folder.join("trust")).stdout(Stdio::null());
    let status = verify.status()?;
    // 10: all is affirmed, and simulated.
    ensure!(status.code() == Some(10), "the bundle that left the machine verifies with {status}, not 10");
    eprintln!("        ok the bundle that left the machine verifies out here");
    Ok(())
}

/// The card behind its socket; ended when it is dropped.
struct Server(Child);

impl Server {
    fn start(socket: &Path) -> Result<Self> {
        let mut command = Command::new(demo::binary()?);
        command.args(["card", "serve", "--socket"]).arg(socket).stdin(Stdio::null()).stdout(Stdio::null());
        let server = Self(command.spawn()?);
        let start = Instant::now();
        while !socket.exists() {
            ensure!(start.elapsed() < Duration::from_secs(20), "the card does not listen on {}", socket.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What every machine needs.
fn base(packages: &Packages) -> Result<Initramfs> {
    let mut image = Initramfs::default();
    image.add("init", &fs::read("tests/vm/init")?);
    image.add("bin/busybox", &fs::read(packages.busybox()?)?);
    for name in MODULES {
        if let Some(module) = packages.module(name)? {
            image.add(&format!("modules/{name}.ko"), &module);
        }
    }
    Ok(image)
}

/// A program of this build.
fn binary(name: &str) -> Result<PathBuf> {
    Ok(demo::binary()?.with_file_name(name))
}

/// A machine that runs; it is killed when it is dropped.
struct Machine {
    name: &'static str,
    child: Child,
    log: PathBuf,
    started: Instant,
}

impl Machine {
    fn start(
        name: &'static str,
        packages: &Packages,
        image: Initramfs,
        devices: &[&str],
        more: &[&str],
    ) -> Result<Self> {
        let folder = Path::new("target/vm");
        let (initrd, log) = (folder.join(format!("{name}.cpio")), folder.join(format!("{name}.log")));
        fs::write(&initrd, image.finish())?;
        let console = format!("file:{}", log.display());
        let append = format!("console=ttyS0 intel_iommu=on quiet panic=-1 test={name}");
        let mut command = packages.qemu()?;
        command.args(["-machine", "q35,accel=tcg,kernel-irqchip=split,memory-backend=memory"]);
        command.args(["-object", "memory-backend-memfd,id=memory,size=512M,share=on", "-m", "512", "-cpu", "max"]);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot"]);
        command.args(["-serial", &console, "-device", "intel-iommu,intremap=on,caching-mode=on"]);
        command.arg("-kernel").arg(packages.kernel()?).arg("-initrd").arg(&initrd).args(["-append", &append]);
        command.args(devices).args(more);
        let errors = File::create(folder.join(format!("{name}.err")))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
        Ok(Self { name, child, log, started: Instant::now() })
    }

    /// Waits for the end of the machine; an error with its console unless its test said 0.
    fn wait(mut self) -> Result<()> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "QEMU ended with {status}: {}", self.errors());
                break;
            }
            if self.started.elapsed() > DEADLINE {
                bail!("the machine runs for {DEADLINE:?}; its console:\n{}", self.console());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let console = self.console();
        let end = console.lines().find_map(|line| line.trim().strip_prefix("VM-END "));
        let end =
            end.with_context(|| format!("the machine stopped early; its console:\n{console}{}", self.errors()))?;
        ensure!(end == "0", "the test in the machine ended with {end}; its console:\n{console}");
        for line in console.lines().filter(|line| line.starts_with("ok ")) {
            eprintln!("        {}", line.trim());
        }
        say(&format!("the machine `{}` took {} ms", self.name, self.started.elapsed().as_millis()));
        Ok(())
    }

    fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.log.with_extension("err")).unwrap_or_default()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It has ended already, or nobody waits for it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
