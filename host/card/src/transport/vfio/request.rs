//! Numbers of VFIO's ioctls (kernel: `include/uapi/linux/vfio.h`).
#![allow(non_snake_case, reason = "names are the kernel's")]

use vmm_sys_util::ioctl_io_nr;

/// `VFIO_TYPE`, the type of VFIO's ioctls. `VFIO_BASE` is added to each number.
const TYPE: u32 = b';' as u32;
const BASE: u32 = 100;

ioctl_io_nr!(VFIO_GET_API_VERSION, TYPE, BASE);
ioctl_io_nr!(VFIO_SET_IOMMU, TYPE, BASE + 2);
ioctl_io_nr!(VFIO_GROUP_GET_STATUS, TYPE, BASE + 3);
ioctl_io_nr!(VFIO_GROUP_SET_CONTAINER, TYPE, BASE + 4);
ioctl_io_nr!(VFIO_GROUP_GET_DEVICE_FD, TYPE, BASE + 6);
ioctl_io_nr!(VFIO_DEVICE_GET_REGION_INFO, TYPE, BASE + 8);
ioctl_io_nr!(VFIO_DEVICE_SET_IRQS, TYPE, BASE + 10);
ioctl_io_nr!(VFIO_DEVICE_RESET, TYPE, BASE + 11);
ioctl_io_nr!(VFIO_IOMMU_GET_INFO, TYPE, BASE + 12);
