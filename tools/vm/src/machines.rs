//! Tests the driver in a virtual machine: with a real kernel's VFIO and an emulated IOMMU, without root rights.

use crate::initramfs::Initramfs;
use crate::noiommu;
use crate::packages::Packages;
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{capture, cargo, run as run_command, say};
use portcullis_tools::{cargo_test, demo, setup};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MODULES: [&str; 6] = ["irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"];
/// Longest time that a virtual machine may run.
const DEADLINE: Duration = Duration::from_secs(180);

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    let packages = match Packages::fetch() {
        Ok(packages) => packages,
        Err(error) => {
            tally.skip("virtual machine", &format!("{error:#}"));
            return Ok(());
        }
    };
    let guest = Guest { qemu: &packages, kernel: &packages, iommu: true };
    setup::build()?;
    tally.check("edu: registers, interrupts, DMA both ways, none after unmap", edu(&guest));
    if packages.has_device("vfio-user-pci")? {
        tally.check("card: self-test and a governed run through a guest's VFIO", card(&guest));
        suite(tally, &guest, "suite", &SUITE);
    } else {
        tally.skip(
            "the card in a virtual machine",
            "this QEMU has no vfio-user-pci; Debian's trixie-backports has one that does",
        );
    }
    Ok(())
}

/// Tests the card in a virtual machine without an IOMMU. Not part of CI, because it builds a kernel module.
pub(crate) fn without_iommu(tally: &mut CheckTally) -> Result<()> {
    let (qemu, kernel) = (Packages::fetch()?, Packages::source()?);
    setup::build()?;
    suite(
        tally,
        &Guest { qemu: &qemu, kernel: &kernel, iommu: false },
        "noiommu",
        &["card_transport", "card_lifecycle"],
    );
    Ok(())
}

fn edu(guest: &Guest<'_>) -> Result<()> {
    let mut image = guest.image()?;
    image.program("tests/vfio-edu", &binary("vfio-edu")?)?;
    image.add("tests/edu.sh", &fs::read("tests/vm/edu.sh")?);
    VirtualMachine::start("edu", guest, image, &["-device", "edu,addr=3"])?.wait()?;
    Ok(())
}

/// The Verilated card is a PCI device of the virtual machine. A run inside makes a bundle, which is verified outside.
fn card(guest: &Guest<'_>) -> Result<()> {
    let folder = std::env::current_dir()?.join("target/vm");
    let (socket, export) = (folder.join("card.sock"), folder.join("bundle.tar"));
    let mut image = guest.image()?;
    image.program("tests/portcullis", &demo::binary()?)?;
    image.add("tests/card.sh", &fs::read("tests/vm/card.sh")?);
    image.folder("tests/pii", Path::new("policies/pii"))?;
    image.add("tests/texts.jsonl", &fs::read("tests/demo/sentences.jsonl")?);
    let server = VmCardServer::start(&socket)?;
    let serial = format!("file:{}", export.display());
    let machine = VirtualMachine::start("card", guest, image, &["-device", &card_device(&socket), "-serial", &serial])?;
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
    // Exit code 10: everything is affirmed, but the evidence is simulated.
    ensure!(status.code() == Some(10), "the bundle that left the machine verifies with {status}, not 10");
    eprintln!("        ok the bundle that left the machine verifies out here");
    Ok(())
}

/// The files of host/card/tests/card with tests that also run on a kernel's VFIO (`on_all!` in card_support).
const SUITE: [&str; 5] = ["card_transport", "card_lifecycle", "card_entries", "card_hostile", "card_text"];
/// Runs the device tests in the guest, on the Verilated card through the guest's VFIO. Outside, the same tests run on
/// the model, the simulation and the socket.
fn suite(tally: &mut CheckTally, guest: &Guest<'_>, title: &'static str, modules: &[&str]) {
    let result = (|| {
        let mut image = guest.image()?;
        let programs = cargo_test::programs(cargo(), None, modules)?;
        image.program("tests/card", &programs.first().context("the tests of the card")?.path)?;
        let chosen: Vec<_> = modules.iter().map(|module| format!("{module}::vfio::")).collect();
        image.add("tests/modules", chosen.join(" ").as_bytes());
        image.program("tests/portcullis", &demo::binary()?)?;
        for script in ["suite", "noiommu"] {
            image.add(&format!("tests/{script}.sh"), &fs::read(format!("tests/vm/{script}.sh"))?);
        }
        let socket = std::env::current_dir()?.join("target/vm/suite.sock");
        let _server = VmCardServer::start(&socket)?;
        VirtualMachine::start(title, guest, image, &["-device", &card_device(&socket)])?.wait()
    })();
    match result {
        Ok(console) => {
            let mut ran = 0;
            for passed in console.lines().filter_map(|line| cargo_test::passed(line.trim())) {
                tally.pass(passed);
                ran += passed;
            }
            tally.check(
                &format!("the tests of a device ran in the machine `{title}`"),
                (ran > 0).then_some(()).context("no test ran there"),
            );
        }
        Err(error) => tally.fail(&format!("the tests of a device in the machine `{title}`"), 1, &format!("{error:#}")),
    }
}

/// QEMU's option for the card at `socket`.
fn card_device(socket: &Path) -> String {
    format!(r#"{{"driver":"vfio-user-pci","addr":"3","socket":{{"type":"unix","path":"{}"}}}}"#, socket.display())
}

/// The simulated card behind its socket. Dropping it stops the server.
struct VmCardServer(Child);

impl VmCardServer {
    fn start(socket: &Path) -> Result<Self> {
        let mut command = Command::new(demo::binary()?);
        command
            .args(["card", "serve", "--test-bench", "--socket"])
            .arg(socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let server = Self(command.spawn()?);
        let start = Instant::now();
        while !socket.exists() {
            ensure!(start.elapsed() < Duration::from_secs(20), "the card does not listen on {}", socket.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for VmCardServer {
    fn drop(&mut self) {
        // The server may have ended already, so errors are ignored.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Guest<'a> {
    qemu: &'a Packages,
    kernel: &'a Packages,
    /// Whether the machine has an IOMMU.
    iommu: bool,
}

impl Guest<'_> {
    fn image(&self) -> Result<Initramfs> {
        let mut image = Initramfs::default();
        image.add("init", &fs::read("tests/vm/init")?);
        image.add("bin/busybox", &fs::read(self.kernel.busybox()?)?);
        if !self.iommu {
            // This file comes before the kernel's own file; of several files with the same name, the first is used.
            image.add("modules/vfio.ko", &fs::read(noiommu::module(self.kernel)?)?);
        }
        for name in MODULES {
            if let Some(module) = self.kernel.module(name)? {
                image.add(&format!("modules/{name}.ko"), &module);
            }
        }
        Ok(image)
    }
}

fn binary(name: &str) -> Result<PathBuf> {
    Ok(demo::binary()?.with_file_name(name))
}

/// A running virtual machine. Dropping it kills the machine.
struct VirtualMachine {
    name: &'static str,
    child: Child,
    log: PathBuf,
    started: Instant,
}

impl VirtualMachine {
    fn start(name: &'static str, guest: &Guest<'_>, image: Initramfs, devices: &[&str]) -> Result<Self> {
        let folder = Path::new("target/vm");
        let (initrd, log) = (folder.join(format!("{name}.cpio")), folder.join(format!("{name}.log")));
        fs::write(&initrd, image.finish())?;
        let console = format!("file:{}", log.display());
        let append = format!("console=ttyS0 intel_iommu=on quiet panic=-1 test={name}");
        let mut command = guest.qemu.qemu()?;
        command.args(["-machine", "q35,accel=tcg,kernel-irqchip=split,memory-backend=memory"]);
        command.args(["-object", "memory-backend-memfd,id=memory,size=512M,share=on", "-m", "512", "-cpu", "max"]);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot"]);
        command.args(["-serial", &console]);
        if guest.iommu {
            command.args(["-device", "intel-iommu,intremap=on,caching-mode=on"]);
        }
        command.arg("-kernel").arg(guest.kernel.kernel()?).arg("-initrd").arg(&initrd).args(["-append", &append]);
        command.args(devices);
        let errors = File::create(folder.join(format!("{name}.err")))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
        Ok(Self { name, child, log, started: Instant::now() })
    }

    /// Waits for the machine's end; returns its console output. Errors: the test in the machine failed.
    fn wait(mut self) -> Result<String> {
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
        Ok(console)
    }

    fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.log.with_extension("err")).unwrap_or_default()
    }
}

impl Drop for VirtualMachine {
    fn drop(&mut self) {
        // The machine has ended already, or its result is not needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
