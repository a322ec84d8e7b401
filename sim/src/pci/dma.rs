//! The driver's memory maps.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use portcullis_vfio_user::{DmaRange, Errno};

use crate::SimulatedCard;
use crate::memory::{FileMemory, FilePart};
use crate::sim::{READ, WRITE};

const PAGE: u64 = 4096;
/// Largest number of maps at the same time. A virtual machine can map every page separately.
const MAPS_MAX: usize = 1 << 20;
const FILES_MAX: usize = 256;

#[derive(Debug)]
struct Range {
    size: u64,
    /// `None` for a range that is recorded although the card cannot access it.
    part: Option<(FilePart, u8, FileId)>,
}

type FileId = (u64, u64);

/// A mapped file, and the number of ranges that use it.
#[derive(Debug)]
struct MappedFile {
    memory: FileMemory,
    ranges: usize,
}

/// The maps of one driver. A file is mapped only once, even if several ranges use it.
#[derive(Debug, Default)]
pub(super) struct DmaTable {
    ranges: BTreeMap<u64, Range>,
    files: BTreeMap<FileId, MappedFile>,
}

impl DmaTable {
    /// Adds a range for the card.
    pub(super) fn map(&mut self, sim: &mut SimulatedCard, map: DmaRange, file: Option<OwnedFd>) -> Result<(), Errno> {
        let end = map.address.checked_add(map.size).ok_or(Errno::INVAL)?;
        if map.size == 0 || [map.address, map.size, map.offset].iter().any(|n| !n.is_multiple_of(PAGE)) {
            return Err(Errno::INVAL);
        }
        if self.ranges.len() >= MAPS_MAX {
            return Err(Errno::NOSPC);
        }
        if self.ranges.range(..end).next_back().is_some_and(|(at, range)| at + range.size > map.address) {
            return Err(Errno::EXIST);
        }
        let part = match file {
            Some(file) => Some(self.part(&file, map)?),
            None => None,
        };
        if let Some((part, rights, id)) = &part {
            sim.map_file(map.address, part.clone(), *rights);
            if let Some(mapped) = self.files.get_mut(id) {
                mapped.ranges += 1;
            }
        }
        self.ranges.insert(map.address, Range { size: map.size, part });
        Ok(())
    }

    fn part(&mut self, file: &OwnedFd, map: DmaRange) -> Result<(FilePart, u8, FileId), Errno> {
        let stat = rustix::fs::fstat(file)?;
        let id = (stat.st_dev, stat.st_ino);
        // A file that has grown is mapped again. The old mapping exists as long as ranges use it.
        let known = self.files.get(&id).and_then(|mapped| mapped.memory.part(map.offset, map.size));
        let part = match known {
            Some(part) => part,
            None => {
                if self.files.len() >= FILES_MAX {
                    return Err(Errno::NOSPC);
                }
                let memory = FileMemory::open(file)?;
                let part = memory.part(map.offset, map.size).ok_or(Errno::INVAL)?;
                let ranges = self.files.get(&id).map_or(0, |mapped| mapped.ranges);
                self.files.insert(id, MappedFile { memory, ranges });
                part
            }
        };
        let rights = if map.read { READ } else { 0 } | if map.write { WRITE } else { 0 };
        Ok((part, rights, id))
    }

    /// Removes all ranges between two addresses. If a range is only partly inside, this is an error, and nothing is
    /// removed.
    pub(super) fn unmap(&mut self, sim: &mut SimulatedCard, from: u128, to: u128) -> Result<(), Errno> {
        let Ok(first) = u64::try_from(from) else { return Ok(()) };
        let last = u64::try_from(to.saturating_sub(1)).unwrap_or(u64::MAX);
        if to <= from {
            return Ok(());
        }
        let before = self.ranges.range(..first).next_back();
        if before.is_some_and(|(at, range)| at + range.size > first) {
            return Err(Errno::INVAL);
        }
        let inside: Vec<_> = self.ranges.range(first..=last).map(|(at, range)| (*at, range.size)).collect();
        if inside.last().is_some_and(|(at, size)| at + (size - 1) > last) {
            return Err(Errno::INVAL);
        }
        for (at, _) in inside {
            let Some(Range { part: Some((_, _, id)), .. }) = self.ranges.remove(&at) else { continue };
            sim.unmap_file(at);
            if let Some(mapped) = self.files.get_mut(&id) {
                mapped.ranges -= 1;
                if mapped.ranges == 0 {
                    self.files.remove(&id);
                }
            }
        }
        Ok(())
    }

    /// Maps all ranges again, for a new card.
    pub(super) fn map_again(&self, sim: &mut SimulatedCard) {
        for (address, range) in &self.ranges {
            if let Some((part, rights, _)) = &range.part {
                sim.map_file(*address, part.clone(), *rights);
            }
        }
    }
}
