//! Finds the conditions on a machine that prevent the use of a card, and names remedies.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access as Mode, access};
use rustix::process::{Resource, geteuid, getrlimit};

use crate::machine::pci::{Bdf, PciFunction, Sysfs, VFIO_PCI};

/// Upper bound of the memory that a session locks for its rings, in bytes.
const LOCKED: u64 = 64 << 20;
/// Upper bound of the huge pages that a session without an IOMMU needs: one for each ring of eight lanes, and one for
/// the checkpoint ring.
const HUGE_PAGES: u64 = 32;

/// The result of one examination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    pub what: &'static str,
    pub found: String,
    /// The remedy, as a command if possible; absent if there is no problem.
    pub remedy: Option<String>,
}

/// The machine's files, or a copy of them for tests.
#[derive(Debug)]
pub struct CardDoctor {
    root: PathBuf,
    /// Bytes of memory that this process may lock; `None` means no limit.
    locked: Option<u64>,
}

impl Default for CardDoctor {
    fn default() -> Self {
        // The limit does not apply to root.
        let locked = if geteuid().is_root() { None } else { getrlimit(Resource::Memlock).current };
        Self { root: "/".into(), locked }
    }
}

impl CardDoctor {
    /// A machine whose `/sys` and `/proc` are below `root`.
    #[must_use]
    pub fn at(root: &Path, locked: Option<u64>) -> Self {
        Self { root: root.into(), locked }
    }

    /// Examines everything that a card at `bdf` needs, in the order in which problems have to be solved.
    #[must_use]
    pub fn examine(&self, bdf: Bdf) -> Vec<DoctorFinding> {
        let sysfs = Sysfs::at(&self.root.join("sys"));
        let function = match sysfs.function(bdf) {
            Ok(function) => function,
            Err(error) => {
                let remedy = Some("`portcullis card list` names the cards; after loading an image, rescan: `echo 1 > /sys/bus/pci/rescan`".into());
                return vec![DoctorFinding { what: "PCI function", found: error.to_string(), remedy }];
            }
        };
        let obstacles = sysfs.obstacles(&function);
        let bound_already = function.driver.as_deref() == Some(VFIO_PCI);
        if !obstacles.is_empty() && !bound_already {
            let remedy = "leave it to its driver; `portcullis card list` names the cards of this machine".into();
            return vec![DoctorFinding { what: "PCI function", found: obstacles.join("; "), remedy: Some(remedy) }];
        }
        let kind = if function.has_card_ids() { "a Portcullis card by its ids" } else { "not known by its ids" };
        let mut found = vec![
            DoctorFinding {
                what: "PCI function",
                found: format!("{bdf} is {:04x}:{:04x}, {kind}", function.vendor, function.device),
                remedy: None,
            },
            self.module(),
            self.iommu(&function),
            bound(&function),
        ];
        if let Some(group) = function.group {
            found.push(neighbours(&sysfs, &function));
            found.push(self.node("VFIO's node", "vfio", group));
            let name = if function.noiommu { format!("noiommu-{group}") } else { group.to_string() };
            found.push(self.node("group's node", &name, group));
        }
        found.push(if function.noiommu { self.huge_pages() } else { self.memlock() });
        found
    }

    fn module(&self) -> DoctorFinding {
        let there = self.root.join("sys/bus/pci/drivers").join(VFIO_PCI).exists();
        DoctorFinding {
            what: "module vfio-pci",
            found: if there { "loaded" } else { "not loaded" }.into(),
            remedy: (!there).then(|| "`modprobe vfio-pci`".into()),
        }
    }

    fn iommu(&self, function: &PciFunction) -> DoctorFinding {
        let text = fs::read_to_string(self.root.join("sys/module/vfio/parameters/enable_unsafe_noiommu_mode"));
        let unsafe_mode = text.is_ok_and(|t| t.trim() == "Y");
        let (found, remedy) = match (function.group, function.noiommu) {
            (Some(group), false) => (format!("group {group}"), None),
            (Some(group), true) => (format!("none; no-IOMMU group {group}, in which the card reaches all memory"), None),
            (None, _) if unsafe_mode => ("none; no-IOMMU mode is on".into(), Some("bind the card to vfio-pci (below)".into())),
            (None, _) => (
                "the function is in no group".into(),
                Some("switch the IOMMU on in the firmware and with `intel_iommu=on` on the kernel's command line (AMD: on by default); a machine that has none, as on EC2: `modprobe vfio enable_unsafe_noiommu_mode=1` and `--card vfio-noiommu:`".into()),
            ),
        };
        DoctorFinding { what: "IOMMU", found, remedy }
    }

    fn node(&self, what: &'static str, name: &str, group: u32) -> DoctorFinding {
        let path = self.root.join("dev/vfio").join(name);
        let shown = Path::new("/dev/vfio").join(name).display().to_string();
        let (found, remedy) = if !path.exists() {
            (format!("{shown} is not there"), Some("load the modules and bind the card (above)".into()))
        } else if access(&path, Mode::READ_OK | Mode::WRITE_OK).is_ok() {
            (format!("{shown} can be read and written"), None)
        } else {
            (
                format!("{shown} is not yours"),
                Some(format!(
                    "`sudo chown $USER /dev/vfio/{group}`; /dev/vfio/vfio is everybody's by default: `sudo chmod 666 /dev/vfio/vfio`"
                )),
            )
        };
        DoctorFinding { what, found, remedy }
    }

    fn memlock(&self) -> DoctorFinding {
        let enough = self.locked.is_none_or(|bytes| bytes >= LOCKED);
        DoctorFinding {
            what: "locked memory",
            found: self.locked.map_or_else(|| "no limit".into(), |bytes| format!("at most {} KiB", bytes / 1024)),
            remedy: (!enough)
                .then(|| format!("`ulimit -l {}`, or a line `memlock` in /etc/security/limits.conf", LOCKED / 1024)),
        }
    }

    fn huge_pages(&self) -> DoctorFinding {
        let path = self.root.join("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        let free = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        DoctorFinding {
            what: "huge pages",
            found: format!("{free} of 2 MiB are free"),
            remedy: (free < HUGE_PAGES).then(|| format!("`sysctl vm.nr_hugepages={}`", 2 * HUGE_PAGES)),
        }
    }
}

fn bound(function: &PciFunction) -> DoctorFinding {
    let ok = function.driver.as_deref() == Some(VFIO_PCI);
    DoctorFinding {
        what: "driver",
        found: function.driver.clone().unwrap_or_else(|| "none".into()),
        remedy: (!ok).then(|| format!("`portcullis card bind {}` (as root)", function.bdf)),
    }
}

fn neighbours(sysfs: &Sysfs, function: &PciFunction) -> DoctorFinding {
    // VFIO accepts a group if each function has no driver or one of these. Bridges (`pcieport`) do not perform DMA.
    let fine =
        |driver: &Option<String>| driver.as_deref().is_none_or(|d| [VFIO_PCI, "pcieport", "pci-stub"].contains(&d));
    let neighbours = sysfs.neighbours(function.bdf);
    let all = neighbours.len();
    let busy: Vec<PciFunction> = neighbours
        .into_iter()
        .filter_map(|bdf| sysfs.function(bdf).ok())
        .filter(|other| !fine(&other.driver))
        .collect();
    // The advice never includes binding a device that the machine uses for something else.
    let used = busy.iter().any(|other| !other.has_card_ids() && !other.bdf.is_beside(function.bdf));
    let commands: Vec<String> = busy.iter().map(|other| bind_command(sysfs, other)).collect();
    let remedy = if used {
        "the whole group must go to vfio-pci, and other devices of this machine are in it: move the card to a slot that has a \
         group of its own"
            .to_owned()
    } else {
        format!("the whole group goes to vfio-pci: {}", commands.join(", "))
    };
    DoctorFinding {
        what: "rest of the group",
        found: format!("{all} other functions, {} with a driver of their own", busy.len()),
        remedy: (!busy.is_empty()).then_some(remedy),
    }
}

/// The command that binds another function of the card's own board to `vfio-pci`.
fn bind_command(sysfs: &Sysfs, other: &PciFunction) -> String {
    let force = if sysfs.obstacles(other).is_empty() { "" } else { " --force" };
    format!("`portcullis card bind {}{force}`", other.bdf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn missing(doctor: &CardDoctor, bdf: Bdf) -> Vec<&'static str> {
        doctor.examine(bdf).into_iter().filter(|f| f.remedy.is_some()).map(|f| f.what).collect()
    }

    #[test]
    fn each_step_of_mending_leaves_one_complaint_less() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let bdf: Bdf = "0000:03:00.0".parse().unwrap();
        let doctor = CardDoctor::at(root, Some(64 << 10));
        assert_eq!(missing(&doctor, bdf), ["PCI function"]);
        let folder = "sys/bus/pci/devices/0000:03:00.0";
        put(root, &format!("{folder}/vendor"), "0x10ee");
        put(root, &format!("{folder}/device"), "0x7c01");
        assert_eq!(missing(&doctor, bdf), ["module vfio-pci", "IOMMU", "driver", "locked memory"]);
        put(root, "sys/bus/pci/drivers/vfio-pci/bind", "");
        let other = "sys/bus/pci/devices/0000:03:00.1";
        put(root, &format!("{other}/vendor"), "0x10ee");
        put(root, &format!("{other}/device"), "0x5020");
        put(root, "sys/bus/pci/drivers/xclmgmt/bind", "");
        fs::create_dir_all(root.join("sys/kernel/iommu_groups/7/devices/0000:03:00.1")).unwrap();
        let link = |to: &str, from: String| std::os::unix::fs::symlink(root.join(to), root.join(from)).unwrap();
        link("sys/kernel/iommu_groups/7", format!("{folder}/iommu_group"));
        link("sys/bus/pci/drivers/xclmgmt", format!("{other}/driver"));
        assert_eq!(
            missing(&doctor, bdf),
            ["driver", "rest of the group", "VFIO's node", "group's node", "locked memory"]
        );
        let group = doctor.examine(bdf).into_iter().find(|f| f.what == "rest of the group").unwrap();
        assert!(group.remedy.unwrap().contains("portcullis card bind 0000:03:00.1"));
        fs::remove_file(root.join(other).join("driver")).unwrap();
        link("sys/bus/pci/drivers/vfio-pci", format!("{folder}/driver"));
        put(root, "dev/vfio/vfio", "");
        put(root, "dev/vfio/7", "");
        assert_eq!(missing(&doctor, bdf), ["locked memory"]);
        assert_eq!(missing(&CardDoctor::at(root, None), bdf), [""; 0]);
        // Without an IOMMU, huge pages are needed.
        put(root, "sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
        assert_eq!(missing(&doctor, bdf), ["group's node", "huge pages"]);
        put(root, "dev/vfio/noiommu-7", "");
        put(root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "32\n");
        assert_eq!(missing(&doctor, bdf), [""; 0]);
    }
    /// The doctor does not advise to bind a device without the ids of a card: it may be a disk or network controller.
    #[test]
    fn a_foreign_device_is_named_first_and_binding_it_is_not_advised() {
        let dir = tempfile::tempdir().unwrap();
        let bdf: Bdf = "0000:00:04.0".parse().unwrap();
        put(dir.path(), "sys/bus/pci/devices/0000:00:04.0/vendor", "0x1af4");
        put(dir.path(), "sys/bus/pci/devices/0000:00:04.0/device", "0x1045");
        let findings = CardDoctor::at(dir.path(), None).examine(bdf);
        assert_eq!(findings.len(), 1, "{findings:?}");
        let remedy = findings[0].remedy.clone().unwrap();
        assert!(findings[0].found.contains("1af4:1045") && findings[0].found.contains("not the ids"), "{findings:?}");
        assert!(!remedy.contains("card bind"), "{remedy}");

        // The device 0000:00:04.0 shares an IOMMU group with a card: the advice is to move the card to another slot.
        let card: Bdf = "0000:03:00.0".parse().unwrap();
        put(dir.path(), "sys/bus/pci/devices/0000:03:00.0/vendor", "0x10ee");
        put(dir.path(), "sys/bus/pci/devices/0000:03:00.0/device", "0x7c01");
        put(dir.path(), "sys/bus/pci/drivers/virtio-pci/bind", "");
        fs::create_dir_all(dir.path().join("sys/kernel/iommu_groups/7/devices/0000:00:04.0")).unwrap();
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(dir.path().join(to), dir.path().join("sys/bus/pci/devices").join(from)).unwrap();
        };
        link("sys/kernel/iommu_groups/7", "0000:03:00.0/iommu_group");
        link("sys/bus/pci/drivers/virtio-pci", "0000:00:04.0/driver");
        let findings = CardDoctor::at(dir.path(), None).examine(card);
        let group = findings.iter().find(|f| f.what == "rest of the group").unwrap().remedy.clone().unwrap();
        assert!(group.contains("slot") && !group.contains("0000:00:04.0"), "{group}");
    }
}
