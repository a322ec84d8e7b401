//! The uses of a PCI function by the machine: mounted disks, swap, and network interfaces that are up.

use super::{Bdf, Sysfs, link_name};
use std::fs;
use std::path::{Path, PathBuf};

/// Greatest depth of folders below a function: controller, port, host, target, unit, disk, partition, with reserve.
const DEPTH: usize = 12;
/// Interface flag of `linux/if.h`: the interface is up.
const IFF_UP: u32 = 1;

impl Sysfs {
    /// Each use that a change of driver would end, in words.
    pub(super) fn uses(&self, bdf: Bdf) -> Vec<String> {
        let mut folders = Vec::new();
        below(&self.folder(bdf), DEPTH, &mut folders);
        let read = |path: &str| fs::read_to_string(self.0.join("..").join(path)).unwrap_or_default();
        let (mounts, swaps) = (read("proc/self/mountinfo"), read("proc/swaps"));
        let mut uses = Vec::new();
        for folder in &folders {
            let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
            match link_name(&folder.join("subsystem")).as_deref() {
                Some("net") if is_up(folder) => uses.push(format!("its network interface {name} is up")),
                Some("block") => uses.extend(block_use(folder, name, &mounts, &swaps)),
                _ => {}
            }
        }
        uses.sort();
        uses
    }
}

/// All folders below `folder`; links are not followed.
fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&entry.path(), depth - 1, found);
            found.push(entry.path());
        }
    }
}

fn is_up(interface: &Path) -> bool {
    let flags = fs::read_to_string(interface.join("flags")).unwrap_or_default();
    u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).is_ok_and(|flags| flags & IFF_UP != 0)
}

/// The use of a disk or partition: mounted, as swap, or by another block device (LVM, RAID, encryption).
fn block_use(folder: &Path, name: &str, mounts: &str, swaps: &str) -> Option<String> {
    let number = fs::read_to_string(folder.join("dev")).unwrap_or_default();
    let node = format!("/dev/{name}");
    // mountinfo: id, parent, major:minor, root, mount point, options, …, `-`, type, source (proc(5)).
    let mounted = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let source = fields.iter().position(|field| *field == "-").and_then(|at| fields.get(at + 2));
        let same = fields.get(2).is_some_and(|field| *field == number.trim()) || source.is_some_and(|s| *s == node);
        fields.get(4).filter(|_| same).map(ToString::to_string)
    });
    if let Some(place) = mounted {
        return Some(format!("its disk {name} is mounted at {place}"));
    }
    if swaps.lines().any(|line| line.split_whitespace().next() == Some(&*node)) {
        return Some(format!("its disk {name} is swap space"));
    }
    let holder = fs::read_dir(folder.join("holders")).ok()?.flatten().next()?;
    Some(format!("its disk {name} is part of {}", holder.file_name().to_string_lossy()))
}
