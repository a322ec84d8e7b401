# QEMU's edu device behind the guest's IOMMU, through the kernel's VFIO.
set -e
bdf=0000:00:03.0
# No driver has it: the program says so, and how to mend it.
if /tests/vfio-edu "$bdf" 2>/tmp/error; then echo "FAILED: a device without vfio-pci was opened"; exit 1; fi
grep -q "portcullis card bind $bdf" /tmp/error
echo vfio-pci > "/sys/bus/pci/devices/$bdf/driver_override"
echo "$bdf" > /sys/bus/pci/drivers_probe
/tests/vfio-edu "$bdf"
# The kernel saw the transfer that the IOMMU stopped.
dmesg | grep -q 'DMAR:.*fault addr'
echo "ok the IOMMU reported the access after unmap"
