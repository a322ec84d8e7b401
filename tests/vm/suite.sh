# The tests of a device on the gate's card behind the guest's IOMMU, one after the other: there is one card.
bdf=0000:00:03.0
export HOME=/tmp
/tests/portcullis card bind "$bdf" || exit 1
export PORTCULLIS_TEST_BDF="$bdf"
failed=0
for program in /tests/suite/*; do
    "$program" --ignored --test-threads=1 vfio:: || failed=1
done
exit "$failed"
