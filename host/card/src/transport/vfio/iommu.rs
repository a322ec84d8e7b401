//! Device addresses: the ranges that an IOMMU translates, and physical addresses without an IOMMU.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use bytemuck::{AnyBitPattern, try_pod_read_unaligned};
use vfio_bindings::bindings::vfio::{VFIO_IOMMU_INFO_CAPS, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE};
use vmm_sys_util::ioctl::ioctl_with_mut_ptr;

use super::error::VfioError;
use super::request;
use crate::transport::memory::{DmaMemory, PageSize};

/// Size of the buffer for the kernel's description of the IOMMU.
const INFO_BYTES: usize = 4096;

/// Device addresses that the container's IOMMU translates, as pairs of first and last.
pub(super) fn ranges<F: AsRawFd>(container: &F) -> Result<Vec<(u64, u64)>, VfioError> {
    let failed = |source| VfioError::Ioctl { what: "say which addresses the IOMMU translates", source };
    let mut words = [0_u64; INFO_BYTES / 8];
    // argsz is the low half of the first word.
    if let Some(first) = words.first_mut() {
        *first = INFO_BYTES as u64;
    }
    // SAFETY: the request fills at most `argsz` bytes; `words` has that size and is aligned for its structures.
    if unsafe { ioctl_with_mut_ptr(container, request::VFIO_IOMMU_GET_INFO(), words.as_mut_ptr()) } < 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    Ok(parse(bytemuck::cast_slice(&words))
        .unwrap_or_else(|| vec![(0, (1 << 32) - 1)])
        .into_iter()
        .filter(|(first, last)| first <= last)
        .collect())
}

/// Parses `struct vfio_iommu_type1_info` and its capabilities. `None` if they name no ranges, as before kernel 5.4.
fn parse(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    fn value<T: AnyBitPattern>(bytes: &[u8], at: usize) -> Option<T> {
        try_pod_read_unaligned(bytes.get(at..at + size_of::<T>())?).ok()
    }
    let u32_at = |at| value::<u32>(bytes, at);
    let u64_at = |at| value::<u64>(bytes, at);
    if u32_at(4)? & VFIO_IOMMU_INFO_CAPS == 0 {
        return None;
    }
    let mut at = usize::try_from(u32_at(16)?).ok()?;
    // Each capability must be at a higher address than the previous one, so the loop ends.
    while at != 0 {
        if u32::from(value::<u16>(bytes, at)?) == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE {
            let count = usize::try_from(u32_at(at + 8)?).ok()?;
            return (0..count.min(INFO_BYTES / 16))
                .map(|n| Some((u64_at(at + 16 + 16 * n)?, u64_at(at + 24 + 16 * n)?)))
                .collect();
        }
        let next = usize::try_from(u32_at(at + 4)?).ok()?;
        at = if next > at { next } else { 0 };
    }
    None
}

/// Physical address of memory in huge pages, if they are physically contiguous.
pub(super) fn physical(memory: &DmaMemory) -> io::Result<u64> {
    let pagemap = File::open("/proc/self/pagemap")?;
    let mut first = None;
    let huge = PageSize::Huge.bytes();
    for (n, offset) in (0..memory.len()).step_by(huge).enumerate() {
        let address = memory.start() as usize + offset;
        let mut entry = 0_u64;
        pagemap.read_exact_at(bytemuck::bytes_of_mut(&mut entry), (address / 4096 * 8) as u64)?;
        // Bit 63: present; bits 0 to 54: the frame (kernel: admin-guide/mm/pagemap), zero without CAP_SYS_ADMIN.
        let frame = entry & ((1 << 55) - 1);
        if entry >> 63 == 0 || frame == 0 {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let start = *first.get_or_insert(frame * 4096);
        if frame * 4096 != start + (n * huge) as u64 {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "the huge pages do not lie side by side"));
        }
    }
    first.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_followed_and_never_believed() {
        let mut bytes = vec![0_u8; INFO_BYTES];
        assert_eq!(parse(&bytes), None);
        let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(4, VFIO_IOMMU_INFO_CAPS);
        put(16, 24);
        put(24, 3); // another capability
        put(28, 48);
        put(48, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
        put(56, 2);
        put(64, 0);
        put(72, 0xfedf_ffff);
        put(80, 0xfef0_0000);
        put(88, 0xffff_ffff);
        put(92, 0x7f);
        assert_eq!(parse(&bytes), Some(vec![(0, 0xfedf_ffff), (0xfef0_0000, 0x7f_ffff_ffff)]));
        bytes[28..32].copy_from_slice(&24_u32.to_ne_bytes());
        assert_eq!(parse(&bytes), None);
        bytes[28..32].copy_from_slice(&4090_u32.to_ne_bytes());
        assert_eq!(parse(&bytes), None);
    }
}
