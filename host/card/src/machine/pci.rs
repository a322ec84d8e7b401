//! PCI functions in sysfs (kernel: `Documentation/ABI/testing/sysfs-bus-pci`).

mod identity;
mod in_use;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Vendor and device ids of this project's cards: the Alveo shell, the AWS F2 shell, the simulated card.
pub const IDS: [(u16, u16); 3] = [(0x10ee, 0x7c01), (0x1d0f, 0xf0c5), (0x1234, 0x5043)];
const BUS: &str = "bus/pci";
/// The kernel driver that gives a function to a process.
pub const VFIO_PCI: &str = "vfio-pci";

/// Address of a PCI function: domain, bus, device, function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bdf {
    domain: u16,
    bus: u8,
    device: u8,
    function: u8,
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a PCI address; one looks like 0000:03:00.0, as `lspci -D` prints it")]
pub struct BdfError(String);

impl FromStr for Bdf {
    type Err = BdfError;

    fn from_str(text: &str) -> Result<Self, BdfError> {
        let parse = || {
            let (rest, function) = text.rsplit_once('.')?;
            let (rest, device) = rest.rsplit_once(':')?;
            let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0000", rest));
            let digits = |part: &str, longest: usize| {
                let fits = !part.is_empty() && part.len() <= longest && part.bytes().all(|b| b.is_ascii_hexdigit());
                fits.then(|| u16::from_str_radix(part, 16).ok()).flatten()
            };
            let bdf = Self {
                domain: digits(domain, 4)?,
                bus: u8::try_from(digits(bus, 2)?).ok()?,
                device: u8::try_from(digits(device, 2)?).ok()?,
                function: u8::try_from(digits(function, 1)?).ok()?,
            };
            (bdf.device < 32 && bdf.function < 8).then_some(bdf)
        };
        parse().ok_or_else(|| BdfError(text.into()))
    }
}

impl fmt::Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl Bdf {
    /// Whether both addresses are functions of the same device, that is of the same board.
    pub(crate) const fn is_beside(self, other: Self) -> bool {
        self.domain == other.domain && self.bus == other.bus && self.device == other.device
    }
}

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciFunction {
    pub bdf: Bdf,
    pub vendor: u16,
    pub device: u16,
    pub driver: Option<String>,
    /// Number of its IOMMU group, if it has one.
    pub group: Option<u32>,
    /// Whether the group has no IOMMU.
    pub noiommu: bool,
}

/// The sysfs of this machine, or a copy for tests.
#[derive(Debug, Clone)]
pub struct Sysfs(PathBuf);

impl Default for Sysfs {
    fn default() -> Self {
        Self("/sys".into())
    }
}

/// Why an operation on sysfs failed.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    #[error("there is no PCI function {0}; `portcullis card list` names those that may be cards")]
    Absent(Bdf),
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{text}` to `{path}`; only root may bind drivers, and the driver's module must be loaded")]
    Write { path: PathBuf, text: String, source: io::Error },
    /// The function is not a card, or the machine is using it.
    #[error("{}; `portcullis card bind {bdf} --force` binds it all the same", reasons.join("; "))]
    Refused { bdf: Bdf, reasons: Vec<String> },
    #[error("{bdf} has the driver {got}, not {wanted}; the kernel's log says why (`dmesg | tail`)")]
    NotBound { bdf: Bdf, got: String, wanted: String },
}

impl Sysfs {
    /// A sysfs at another path.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self(root.into())
    }

    /// Folder of a function.
    #[must_use]
    pub fn folder(&self, bdf: Bdf) -> PathBuf {
        self.0.join(BUS).join("devices").join(bdf.to_string())
    }

    /// Reads a function's files. Errors: [`PciError::Absent`], [`PciError::Read`].
    pub fn function(&self, bdf: Bdf) -> Result<PciFunction, PciError> {
        let folder = self.folder(bdf);
        if !folder.exists() {
            return Err(PciError::Absent(bdf));
        }
        let group = link_name(&folder.join("iommu_group")).and_then(|name| name.parse().ok());
        let noiommu = group.is_some() && {
            let name = fs::read_to_string(folder.join("iommu_group/name")).unwrap_or_default();
            name.trim() == "vfio-noiommu"
        };
        Ok(PciFunction {
            bdf,
            vendor: hex16(&folder.join("vendor"))?,
            device: hex16(&folder.join("device"))?,
            driver: link_name(&folder.join("driver")),
            group,
            noiommu,
        })
    }

    /// All functions, in order of address; none if the machine has no PCI bus.
    pub fn functions(&self) -> Result<Vec<PciFunction>, PciError> {
        let folder = self.0.join(BUS).join("devices");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(PciError::Read { path: folder, source }),
        };
        let mut found: Vec<Bdf> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        found.sort_unstable();
        found.into_iter().map(|bdf| self.function(bdf)).collect()
    }

    /// The other functions in the IOMMU group of `bdf`.
    #[must_use]
    pub fn neighbours(&self, bdf: Bdf) -> Vec<Bdf> {
        let Ok(entries) = fs::read_dir(self.folder(bdf).join("iommu_group/devices")) else { return Vec::new() };
        let mut found: Vec<Bdf> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        found.retain(|other| *other != bdf);
        found.sort_unstable();
        found
    }

    /// The reasons against taking a function from its driver: it is not a card, or the machine is using it.
    #[must_use]
    pub fn obstacles(&self, function: &PciFunction) -> Vec<String> {
        self.foreign(function).into_iter().chain(self.uses(function.bdf)).collect()
    }

    /// Binds a card to `vfio-pci` and unbinds its present driver. With `force`, any PCI function is accepted.
    pub fn bind(&self, bdf: Bdf, force: bool) -> Result<(), PciError> {
        let function = self.function(bdf)?;
        if function.driver.as_deref() == Some(VFIO_PCI) {
            return Ok(());
        }
        let reasons = self.obstacles(&function);
        if !force && !reasons.is_empty() {
            return Err(PciError::Refused { bdf, reasons });
        }
        write(&self.folder(bdf).join("driver_override"), VFIO_PCI)?;
        if function.driver.is_some() {
            write(&self.folder(bdf).join("driver/unbind"), &bdf.to_string())?;
        }
        self.probe(bdf)?;
        let got = self.function(bdf)?.driver;
        if got.as_deref() != Some(VFIO_PCI) {
            let got = got.unwrap_or_else(|| "none".into());
            return Err(PciError::NotBound { bdf, got, wanted: VFIO_PCI.into() });
        }
        Ok(())
    }

    /// Unbinds a function from `vfio-pci`, so that the kernel can find its usual driver.
    pub fn unbind(&self, bdf: Bdf) -> Result<(), PciError> {
        if self.function(bdf)?.driver.as_deref() == Some(VFIO_PCI) {
            write(&self.folder(bdf).join("driver/unbind"), &bdf.to_string())?;
        }
        // An empty line removes the override.
        write(&self.folder(bdf).join("driver_override"), "\n")?;
        self.probe(bdf)
    }

    fn probe(&self, bdf: Bdf) -> Result<(), PciError> {
        write(&self.0.join(BUS).join("drivers_probe"), &bdf.to_string())
    }
}

fn write(path: &Path, text: &str) -> Result<(), PciError> {
    // Does not create files: a missing attribute is an error.
    let written =
        fs::OpenOptions::new().write(true).open(path).and_then(|mut f| io::Write::write_all(&mut f, text.as_bytes()));
    written.map_err(|source| PciError::Write { path: path.into(), text: text.trim().into(), source })
}

fn link_name(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.file_name()?.to_str()?.to_owned())
}

fn hex16(path: &Path) -> Result<u16, PciError> {
    let parsed = fs::read_to_string(path).and_then(|text| {
        u16::from_str_radix(text.trim().trim_start_matches("0x"), 16)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    parsed.map_err(|source| PciError::Read { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_what_lspci_prints() {
        for text in ["0000:03:00.0", "ffff:ff:1f.7"] {
            assert_eq!(text.parse::<Bdf>().unwrap().to_string(), text);
        }
        assert_eq!("3:0.1".parse::<Bdf>().unwrap().to_string(), "0000:03:00.1");
        for text in
            ["", "0000:03:00", "0000:03:20.0", "0000:03:00.8", "0:0:0:0.0", "0000:+3:00.0", "0000:03:00.0 ", "../.."]
        {
            assert!(text.parse::<Bdf>().is_err(), "{text}");
        }
    }

    #[test]
    fn functions_are_read_and_bound_as_sysfs_says() {
        let dir = tempfile::tempdir().unwrap();
        let bus = dir.path().join(BUS);
        let bdf: Bdf = "0000:03:00.0".parse().unwrap();
        let folder = bus.join("devices").join(bdf.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(dir.path().join("kernel/iommu_groups/7/devices/0000:03:00.1")).unwrap();
        fs::create_dir_all(bus.join("drivers/xdma")).unwrap();
        fs::write(folder.join("vendor"), "0x10ee\n").unwrap();
        fs::write(folder.join("device"), "0x7c01\n").unwrap();
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(dir.path().join(to), folder.join(from)).unwrap();
        link("kernel/iommu_groups/7", "iommu_group");
        link("bus/pci/drivers/xdma", "driver");
        let sysfs = Sysfs::at(dir.path());
        let function = sysfs.function(bdf).unwrap();
        assert_eq!((function.vendor, function.device, function.group), (0x10ee, 0x7c01, Some(7)));
        assert_eq!((function.driver.as_deref(), function.noiommu), (Some("xdma"), false));
        assert_eq!(sysfs.neighbours(bdf), ["0000:03:00.1".parse().unwrap()]);
        assert_eq!(sysfs.functions().unwrap().len(), 1);
        assert!(matches!(sysfs.function("0:4:0.0".parse().unwrap()), Err(PciError::Absent(_))));
        // A missing attribute is not created.
        assert!(matches!(sysfs.bind(bdf, false), Err(PciError::Write { .. })));
        assert!(!folder.join("driver_override").exists());
        // A fake kernel that accepts every write and does nothing.
        for name in ["devices/0000:03:00.0/driver_override", "drivers/xdma/unbind", "drivers_probe"] {
            fs::write(bus.join(name), "").unwrap();
        }
        assert!(matches!(sysfs.bind(bdf, false), Err(PciError::NotBound { got, .. }) if got == "xdma"));
        assert_eq!(fs::read_to_string(folder.join("driver_override")).unwrap(), VFIO_PCI);
    }
    /// A fake machine: one PCI function at 0000:00:04.0 with these ids.
    fn machine(vendor: &str, device: &str) -> (tempfile::TempDir, Sysfs, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("sys");
        let folder = sys.join(BUS).join("devices/0000:00:04.0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("vendor"), vendor).unwrap();
        fs::write(folder.join("device"), device).unwrap();
        fs::write(folder.join("driver_override"), "").unwrap();
        fs::write(sys.join(BUS).join("drivers_probe"), "").unwrap();
        (dir, Sysfs::at(&sys), folder)
    }

    fn refusal(sysfs: &Sysfs) -> String {
        match sysfs.bind("0000:00:04.0".parse().unwrap(), false) {
            Err(error @ PciError::Refused { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_function_that_is_no_card_is_left_to_its_driver() {
        for (vendor, device) in [("0x1af4", "0x1045"), ("0x10ee", "0x903f"), ("0x1d0f", "0xec20"), ("0x1234", "0x11e8")]
        {
            let (_dir, sysfs, folder) = machine(vendor, device);
            let why = refusal(&sysfs);
            assert!(why.contains("not the ids of a Portcullis card") && why.contains("--force"), "{why}");
            assert_eq!(fs::read_to_string(folder.join("driver_override")).unwrap(), "", "nothing was written");
            // With `force` the check is skipped. The fake kernel does not bind, so `bind` returns a different error.
            let forced = sysfs.bind("0000:00:04.0".parse().unwrap(), true);
            assert!(matches!(forced, Err(PciError::NotBound { .. })), "{forced:?}");
        }
    }

    #[test]
    fn a_function_with_a_cards_ids_and_another_magic_is_no_card() {
        let (_dir, sysfs, folder) = machine("0x10ee", "0x7c01");
        let bind = || sysfs.bind("0000:00:04.0".parse().unwrap(), false);
        fs::write(folder.join("resource0"), 0x1234_5678_u32.to_le_bytes()).unwrap();
        // The function's memory is disabled, so its magic register cannot be read.
        fs::write(folder.join("enable"), "0\n").unwrap();
        assert!(matches!(bind(), Err(PciError::NotBound { .. })));
        fs::write(folder.join("enable"), "1\n").unwrap();
        assert!(refusal(&sysfs).contains("0x12345678"), "{}", refusal(&sysfs));
        fs::write(folder.join("resource0"), crate::registers::magic().to_le_bytes()).unwrap();
        assert!(matches!(bind(), Err(PciError::NotBound { .. })));
    }

    #[test]
    fn a_function_in_use_is_named_with_its_use() {
        let (dir, sysfs, folder) = machine("0x10ee", "0x7c01");
        let put = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let class = |device: &Path, class: &str| {
            fs::create_dir_all(device).unwrap();
            let target = dir.path().join("sys/class").join(class);
            std::os::unix::fs::symlink(target, device.join("subsystem")).unwrap();
        };
        let interface = folder.join("virtio0/net/eth0");
        class(&interface, "net");
        put(interface.join("flags"), "0x1002\n");
        let disk = folder.join("nvme/nvme0/nvme0n1");
        class(&disk, "block");
        put(disk.join("dev"), "259:0\n");
        let part = disk.join("nvme0n1p1");
        class(&part, "block");
        put(part.join("dev"), "259:1\n");
        put(dir.path().join("proc/self/mountinfo"), "22 1 0:21 / /proc rw - proc proc rw\n");
        put(dir.path().join("proc/swaps"), "Filename Type Size Used Priority\n");
        // The interface is down and no disk is mounted, so the machine does not use the function.
        assert_eq!(sysfs.obstacles(&sysfs.function("0000:00:04.0".parse().unwrap()).unwrap()), [""; 0]);
        put(interface.join("flags"), "0x1003\n");
        assert!(refusal(&sysfs).contains("its network interface eth0 is up"), "{}", refusal(&sysfs));
        put(interface.join("flags"), "0x1002\n");
        put(dir.path().join("proc/self/mountinfo"), "30 1 259:1 / /srv rw shared:1 - ext4 /dev/nvme0n1p1 rw\n");
        assert!(refusal(&sysfs).contains("nvme0n1p1 is mounted at /srv"), "{}", refusal(&sysfs));
        // A btrfs mount has an anonymous device number; only its source names the device.
        put(dir.path().join("proc/self/mountinfo"), "30 1 0:44 / /data rw - btrfs /dev/nvme0n1 rw\n");
        assert!(refusal(&sysfs).contains("nvme0n1 is mounted at /data"), "{}", refusal(&sysfs));
        put(dir.path().join("proc/self/mountinfo"), "");
        put(dir.path().join("proc/swaps"), "Filename Type Size Used Priority\n/dev/nvme0n1 partition 8 0 -2\n");
        assert!(refusal(&sysfs).contains("nvme0n1 is swap"), "{}", refusal(&sysfs));
        put(dir.path().join("proc/swaps"), "");
        fs::create_dir_all(part.join("holders/dm-0")).unwrap();
        assert!(refusal(&sysfs).contains("nvme0n1p1 is part of dm-0"), "{}", refusal(&sysfs));
    }
}
