//! Opens a device: with an IOMMU through `vfio-ioctls`, without one by raw ioctls.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::sync::Arc;

use vfio_bindings::bindings::vfio::{VFIO_API_VERSION, VFIO_GROUP_FLAGS_VIABLE, VFIO_NOIOMMU_IOMMU, vfio_group_status};
use vfio_ioctls::{VfioContainer, VfioDevice, VfioError as Inner, VfioOps};
use vmm_sys_util::ioctl::{ioctl, ioctl_with_mut_ref, ioctl_with_ptr, ioctl_with_ref, ioctl_with_val};

use super::error::VfioError;
use super::request;
use crate::machine::pci::{Bdf, PciFunction, Sysfs, VFIO_PCI};

/// Whether an IOMMU limits the card's access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IommuMode {
    /// An IOMMU: the card can access only the memory that was mapped for it.
    Iommu,
    /// No IOMMU: the card uses physical addresses and can access all memory.
    NoIommu,
}

/// An open device. The container and the group stay open as long as the device.
pub(super) enum DeviceHandle {
    Iommu { device: VfioDevice, container: Arc<VfioContainer> },
    // Fields are dropped in this order: closing the device makes it quiet; its group is closed afterwards.
    NoIommu { device: File, _group: File, _container: File },
}

impl DeviceHandle {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        let fd = match self {
            Self::Iommu { device, .. } => device.as_raw_fd(),
            Self::NoIommu { device, .. } => device.as_raw_fd(),
        };
        // SAFETY: the descriptor belongs to `self`, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

/// Opens a function that is bound to `vfio-pci`.
pub(super) fn open(bdf: Bdf, access: IommuMode, sysfs: &Sysfs) -> Result<DeviceHandle, VfioError> {
    let function = sysfs.function(bdf)?;
    if function.driver.as_deref() != Some(VFIO_PCI) {
        let driver = function.driver.map_or_else(|| "no driver".to_owned(), |name| format!("the driver {name}"));
        return Err(VfioError::NotBound { bdf, driver });
    }
    let Some(group) = function.group else { return Err(VfioError::NoGroup(bdf)) };
    if function.noiommu != (access == IommuMode::NoIommu) {
        return Err(VfioError::OtherKind { bdf, noiommu: function.noiommu });
    }
    match access {
        IommuMode::Iommu => with_iommu(&function, group, sysfs),
        IommuMode::NoIommu => without_iommu(bdf, group),
    }
}

fn with_iommu(function: &PciFunction, group: u32, sysfs: &Sysfs) -> Result<DeviceHandle, VfioError> {
    let bdf = function.bdf;
    let fail = |step: &str, source: Inner| {
        let denied = matches!(&source, Inner::OpenContainer(e) | Inner::OpenGroup(e, _) if e.kind() == io::ErrorKind::PermissionDenied);
        let remedy = if denied {
            format!(
                "you need to read and write /dev/vfio/vfio and /dev/vfio/{group}: `chown` the group's node to your user"
            )
        } else if matches!(source, Inner::GroupViable) {
            let others = sysfs.neighbours(bdf);
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!(
                "every function of IOMMU group {group} must be without a driver or with vfio-pci; beside it: {}",
                others.join(", ")
            )
        } else {
            format!(
                "is another process using it, and are vfio-pci and vfio_iommu_type1 loaded? `portcullis card doctor {bdf}` looks"
            )
        };
        VfioError::Open { step: step.into(), remedy, source: source.into() }
    };
    let container = VfioContainer::new(None).map_err(|e| fail("open the VFIO container", e))?;
    let container = Arc::new(container);
    let ops: Arc<dyn VfioOps> = container.clone();
    let device = VfioDevice::new(&sysfs.folder(bdf), ops, false).map_err(|e| fail(&format!("open {bdf}"), e))?;
    Ok(DeviceHandle::Iommu { device, container })
}

fn without_iommu(bdf: Bdf, group: u32) -> Result<DeviceHandle, VfioError> {
    let failed = |step: &str, remedy: &str| {
        let source = io::Error::last_os_error();
        VfioError::Open { step: step.into(), remedy: remedy.into(), source: source.into() }
    };
    let file = |path: &str| {
        OpenOptions::new().read(true).write(true).open(path).map_err(|source| VfioError::Open {
            step: format!("open {path}"),
            remedy: "no-IOMMU mode needs root (CAP_SYS_RAWIO) and vfio's enable_unsafe_noiommu_mode".into(),
            source: source.into(),
        })
    };
    let container = file("/dev/vfio/vfio")?;
    let group = file(&format!("/dev/vfio/noiommu-{group}"))?;
    // SAFETY: the request takes no argument.
    let version = unsafe { ioctl(&container, request::VFIO_GET_API_VERSION()) };
    if u32::try_from(version).ok() != Some(VFIO_API_VERSION) {
        return Err(failed("agree on the version of VFIO", "this kernel speaks another one"));
    }
    let mut status = vfio_group_status { argsz: size_of::<vfio_group_status>() as u32, flags: 0 };
    // SAFETY: the request fills the structure, which contains its size.
    if unsafe { ioctl_with_mut_ref(&group, request::VFIO_GROUP_GET_STATUS(), &mut status) } < 0
        || status.flags & VFIO_GROUP_FLAGS_VIABLE == 0
    {
        return Err(failed("use the group", "it is not viable, or in use"));
    }
    let descriptor = container.as_raw_fd();
    // SAFETY: the request reads one descriptor.
    if unsafe { ioctl_with_ref(&group, request::VFIO_GROUP_SET_CONTAINER(), &descriptor) } < 0 {
        return Err(failed("put the group into a container", "is another process using it?"));
    }
    // SAFETY: the request takes a number.
    if unsafe { ioctl_with_val(&container, request::VFIO_SET_IOMMU(), VFIO_NOIOMMU_IOMMU.into()) } < 0 {
        return Err(failed(
            "use the card without an IOMMU",
            "load vfio with enable_unsafe_noiommu_mode=1 (kernels with CONFIG_VFIO_NOIOMMU)",
        ));
    }
    let name = CString::new(bdf.to_string()).unwrap_or_default();
    // SAFETY: the request reads a zero-terminated string and returns a descriptor.
    let fd = unsafe { ioctl_with_ptr(&group, request::VFIO_GROUP_GET_DEVICE_FD(), name.as_ptr()) };
    if fd < 0 {
        return Err(failed(&format!("open {bdf}"), "is another process using it?"));
    }
    // SAFETY: the descriptor is new and has no other owner.
    let device = unsafe { File::from_raw_fd(fd) };
    Ok(DeviceHandle::NoIommu { device, _group: group, _container: container })
}
