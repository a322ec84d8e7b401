#!/usr/bin/env python3
"""Recomputes the root of every checkpoint from the records (RFC 9162, 2.1.1). Exit code 0: all are the signed ones."""
import hashlib
import pathlib
import struct
import sys

RECORD, HEAD, BEFORE = 192, 48, 23  # Bytes of a record, of a lane's head; bytes before the checkpoint in what is signed.
sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()


class Lane:
    def __init__(self, path):
        self.path, self.records, self.peaks, self.size = path, open(path, "rb"), [], 0

    def read(self, upto):  # Complete subtrees, largest first.
        while self.size < upto:
            record = self.records.read(RECORD)
            if len(record) != RECORD:
                sys.exit(f"{self.path.name} ends at record {self.size}")
            node = (1, sha(b"\0", record))
            while self.peaks and self.peaks[-1][0] == node[0]:
                node = (2 * node[0], sha(b"\1", self.peaks.pop()[1], node[1]))
            self.peaks.append(node)
            self.size += 1

    def head(self, number):  # The lane, 7 zeros, its number of records, its root: the subtrees joined from the right.
        right = self.peaks[-1][1] if self.peaks else sha()
        for _, left in reversed(self.peaks[:-1]):
            right = sha(b"\1", left, right)
        return struct.pack("<QQ", number, self.size) + right


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
wanted = [path.read_bytes()[BEFORE:] for path in sorted((folder / "checkpoints").glob("*.tbs"))]
lanes = [Lane(path) for path in sorted((folder / "records").glob("lane-*.bin"))]
heads = (folder / "records/heads.bin").read_bytes() if len(lanes) > 1 else b""
good = bool(wanted) and len(heads) in (0, HEAD * len(lanes) * len(wanted))
for serial, checkpoint in enumerate(wanted):
    (size,) = struct.unpack_from("<Q", checkpoint, 16)
    for number, lane in enumerate(lanes):  # A lane's share is in the heads; with one lane it is everything.
        at = (serial * len(lanes) + number) * HEAD + 8
        lane.read(struct.unpack_from("<Q", heads, at)[0] if heads else size)
    # The signed root is that of the tree over the heads of the lanes.
    nodes = [sha(b"\0", lane.head(number)) for number, lane in enumerate(lanes)]
    while len(nodes) > 1:
        nodes = [sha(b"\1", left, right) for left, right in zip(nodes[::2], nodes[1::2])]
    same = checkpoint[7] == len(lanes) and sum(lane.size for lane in lanes) == size and nodes == [checkpoint[32:64]]
    print(f"checkpoint {serial}: {size} records: {'OK' if same else 'FAILED'}")
    good = good and same
rest = sum(len(lane.records.read()) // RECORD for lane in lanes)
print(f"{rest} records follow the last checkpoint and are not signed" if rest else "every record is signed for")
sys.exit(0 if good else 1)
