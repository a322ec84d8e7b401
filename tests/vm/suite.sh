# The tests of a device on the gate's card, one after the other: there is one card.
bdf=0000:00:03.0
export HOME=/tmp
[ -e "/sys/bus/pci/drivers/vfio-pci/$bdf" ] || /tests/portcullis card bind "$bdf" || exit 1
export PORTCULLIS_TEST_BDF="$bdf"
failed=0
for program in /tests/suite/*; do
    "$program" --ignored --test-threads=1 vfio:: || failed=1
done
# What a killed or finished process held has come back.
grep -E "HugePages_(Total|Free)" /proc/meminfo
[ "$(grep HugePages_Total /proc/meminfo | tr -dc 0-9)" = "$(grep HugePages_Free /proc/meminfo | tr -dc 0-9)" ] || failed=1
exit "$failed"
