# The tests of a device on the gate's card, one after the other: there is one card.
bdf=0000:00:03.0
export HOME=/tmp
[ -e "/sys/bus/pci/drivers/vfio-pci/$bdf" ] || /tests/portcullis card bind "$bdf" || exit 1
export PORTCULLIS_TEST_BDF="$bdf"
failed=0
# shellcheck disable=SC2046 # words
/tests/card --ignored --test-threads=1 $(cat /tests/modules) || failed=1

# A driver may be killed at any moment from when it holds the card: the card serves the next, and the memory comes back.
card=${card:-vfio:$bdf}
kills=${kills:-5}
while [ "$kills" -gt 0 ]; do
    # shellcheck disable=SC2086 # none or one word
    /tests/portcullis card bench --card "$card" $allow --verdicts 1000000 >/dev/null 2>/tmp/error &
    pid=$!
    waits=100
    until ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "/dev/vfio/[^v]"; do
        waits=$((waits - 1))
        [ "$waits" -gt 0 ] || { echo "FAILED: the driver does not open the card"; cat /tmp/error; exit 1; }
        usleep 100000
    done
    usleep "$((RANDOM % 2500 * 1000))"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    # 128 + 9: it did not end by itself before.
    [ $? = 137 ] || { echo "FAILED: the driver ended by itself"; cat /tmp/error; failed=1; }
    # shellcheck disable=SC2086
    /tests/portcullis card info --card "$card" $allow >/dev/null || failed=1
    kills=$((kills - 1))
done
# shellcheck disable=SC2086
/tests/portcullis card selftest --card "$card" $allow >/dev/null || failed=1
[ "$failed" = 0 ] && echo "ok the card serves after drivers were killed"
grep -E "HugePages_(Total|Free)" /proc/meminfo
[ "$(sed -n 's/HugePages_Total: *//p' /proc/meminfo)" = "$(sed -n 's/HugePages_Free: *//p' /proc/meminfo)" ] || failed=1
exit "$failed"
