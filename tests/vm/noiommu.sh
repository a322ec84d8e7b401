# The gate's card where there is no IOMMU: only when it is asked for by name, with physical addresses in huge pages.
bdf=0000:00:03.0
export HOME=/tmp
echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode || exit 1
/tests/portcullis card bind "$bdf" || exit 1
if /tests/portcullis card selftest --card "vfio-noiommu:$bdf" 2>/tmp/error; then echo "FAILED: nobody allowed it"; exit 1; fi
grep -q -e "--allow-noiommu" /tmp/error || { cat /tmp/error; exit 1; }
if /tests/portcullis card selftest --card "vfio:$bdf" 2>/tmp/error; then echo "FAILED: there is no IOMMU"; exit 1; fi
grep -q "vfio-noiommu:" /tmp/error || { cat /tmp/error; exit 1; }
# No huge page is there yet.
if /tests/portcullis card selftest --card "vfio-noiommu:$bdf" --allow-noiommu 2>/tmp/error; then echo "FAILED: without huge pages"; exit 1; fi
grep -q "sysctl vm.nr_hugepages" /tmp/error || { cat /tmp/error; exit 1; }
echo 64 > /proc/sys/vm/nr_hugepages
/tests/portcullis card doctor "$bdf" || exit 1
/tests/portcullis card selftest --card "vfio-noiommu:$bdf" --allow-noiommu || exit 1
echo "ok self-test without an IOMMU"
card="vfio-noiommu:$bdf"
allow=--allow-noiommu
kills=20
. /tests/suite.sh
