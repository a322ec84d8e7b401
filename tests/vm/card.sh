# The gate's card behind the guest's IOMMU, through the kernel's VFIO: the whole self-test, then a governed run whose bundle
# leaves the machine by its second serial port.
set -e
bdf=0000:00:03.0
export HOME=/tmp
/tests/portcullis card bind "$bdf"
/tests/portcullis card list
/tests/portcullis card doctor "$bdf"
/tests/portcullis card selftest --card "vfio:$bdf"
echo "ok self-test through the kernel's VFIO"
/tests/portcullis run --card "vfio:$bdf" --policy /tests/pii --input /tests/texts.jsonl --bundle /tmp/bundle
echo "ok a governed run through the kernel's VFIO"
stty -F /dev/ttyS1 raw -echo
tar -C /tmp -cf /dev/ttyS1 bundle
/tests/portcullis card unbind "$bdf"
echo "ok the bundle has left"
