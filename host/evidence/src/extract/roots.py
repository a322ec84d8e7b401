#!/usr/bin/env python3
"""Recomputes the root of every checkpoint from records.bin (RFC 9162, 2.1.1). Exit code 0: all are the signed ones."""
import hashlib
import pathlib
import struct
import sys

RECORD, HEAD = 192, 23  # Bytes of a record; bytes before the checkpoint in what is signed.
sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()


def root(peaks):  # Complete subtrees, largest first, joined from the right.
    right = peaks[-1][1]
    for _, left in reversed(peaks[:-1]):
        right = sha(b"\1", left, right)
    return right


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
wanted = [path.read_bytes()[HEAD:] for path in sorted((folder / "checkpoints").glob("*.tbs"))]
peaks, size, good = [], 0, bool(wanted)
with open(folder / "records.bin", "rb") as records:
    for serial, checkpoint in enumerate(wanted):
        (upto,) = struct.unpack_from("<Q", checkpoint, 16)
        while size < upto:
            record = records.read(RECORD)
            if len(record) != RECORD:
                sys.exit(f"checkpoint {serial}: records.bin ends at record {size}")
            node = (1, sha(b"\0", record))
            while peaks and peaks[-1][0] == node[0]:
                node = (2 * node[0], sha(b"\1", peaks.pop()[1], node[1]))
            peaks.append(node)
            size += 1
        # The signed root is that of a tree over one lane head: lane 0, size, root of the lane's tree.
        lane = struct.pack("<QQ", 0, size) + root(peaks) if peaks else b""
        same = size == upto and sha(b"\0", lane) == checkpoint[32:64]
        print(f"checkpoint {serial}: {upto} records: {'OK' if same else 'FAILED'}")
        good = good and same
    rest = len(records.read()) // RECORD
print(f"{rest} records follow the last checkpoint and are not signed" if rest else "every record is signed for")
sys.exit(0 if good else 1)
