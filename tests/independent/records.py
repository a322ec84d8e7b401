"""Records, logs and checkpoints: what the pages records.md, log.md and checkpoint.md say. For verify.py."""

import struct
import zlib
from types import SimpleNamespace

from slhdsa import PublicKey, sha2_128f

from formats import NO_ROW, check, leaf_hash, reading, sha, tree_root

OPEN, BEGIN, VERDICT, NOTED, END, REFUSED, HEARTBEAT, CLOSE, ALARM = range(1, 10)
OPCODES = {VERDICT: 1, BEGIN: 2, END: 3, NOTED: 4}
PASS, REJECT, ADMIT, DECOMPOSE = 1, 1, 3, 2
FAULTS = {0, *range(0x101, 0x111), 0x201, *range(0x301, 0x308), *range(0x401, 0x407)}
CRC, CONTEXT, CREDIT = 0x101, 0x10C, 0x201
TEXT_FAULTS, FALSE_TEXTS, TEXT_END = range(0x10D, 0x111), range(0x10E, 0x111), 0x110


def read_record(raw):
    r = SimpleNamespace(raw=raw, opcode=raw[1], validation=raw[88], lineage=raw[90], commitment=raw[92:124])
    r.version, r.type, r.determination, r.stage, r.fault, r.policy_row, r.entropy_row = struct.unpack_from(
        "<4B3H", raw, 128
    )
    r.lane, r.key_flags, r.epoch, r.index, r.tick = struct.unpack_from("<2BI2Q", raw, 138)
    r.slot, r.sequence = struct.unpack_from("<HI", raw, 2)
    r.length, r.context = int.from_bytes(raw[34:36], "little"), raw[14:15] + raw[16:19]
    r.crc_right = zlib.crc32(raw[:124]) == int.from_bytes(raw[124:128], "little")
    r.policy, r.package, r.latched = raw[:32], raw[32:64], raw[32:96] + raw[104:112]
    r.nonce, records, ticks, r.open_streams, r.cause = struct.unpack_from("<Q3IH", raw, 96)
    r.limits, r.outcome = (records, ticks), (r.determination, r.stage, r.policy_row, r.entropy_row)
    r.bare = r.outcome == (0, 0, NO_ROW, NO_ROW)
    r.features, r.classes = int.from_bytes(raw[118:120], "little"), int.from_bytes(raw[40:56], "little")
    r.found, r.before = int.from_bytes(raw[160:176], "little"), int.from_bytes(raw[176:], "little")
    r.said, r.textless = int.from_bytes(raw[56:72], "little"), not r.found and not r.before
    return r


def legal_verdict(r, rows):
    """The table of combinations of a VERDICT: determination, stage, host outcomes and rows."""
    policy, entropy, decompose = r.policy_row != NO_ROW, r.entropy_row != NO_ROW, r.determination == DECOMPOSE
    if r.policy_row >= rows[0] and policy or r.entropy_row >= rows[1] and entropy or r.fault:
        return False
    if r.determination == ADMIT:
        return r.stage == 0 and r.validation == r.lineage == PASS and policy and entropy
    if r.determination not in (REJECT, DECOMPOSE):
        return False
    return {
        1: policy or not decompose,
        2: policy and (r.validation == 3 if decompose else r.validation != PASS),
        3: policy and r.validation == PASS and (r.lineage == 3 if decompose else r.lineage != PASS),
        4: policy and r.validation == r.lineage == PASS and (entropy or not decompose),
    }.get(r.stage, False)


class Log:
    """The log of a lane, read record by record."""

    def __init__(self, lane, lanes, rows, opening=None):
        self.opening, self.established = opening, {}  # classes of the text lane that open gates; by slot
        self.lane, self.lanes, self.rows, self.records, self.leaves, self.gap = lane, lanes, rows, [], [], None
        self.slots, self.streams, self.beat, self.accepted = {}, 0, 0, 0  # slots: next sequence and context

    def add(self, raw):
        r, last = read_record(raw), self.records[-1] if self.records else None
        first, want = self.records[0] if last else r, self.want
        want(r.version == 1 and 1 <= r.type <= 9, "record-layout")
        want(r.index == len(self.records), "record-index")
        want((r.type == OPEN) == (last is None), "record-open")
        want(last is None or r.tick >= last.tick, "record-tick")
        want((r.epoch, r.key_flags, r.lane) == (first.epoch, first.key_flags, self.lane), "record-session")
        after = (last.type, r.type) if last else (None, r.type)
        want(after[0] not in (ALARM, CLOSE) or after == (ALARM, CLOSE), "record-after-end")
        self.limits, self.text_lane = first.limits, first.features & 1
        spent = bool(self.limits[0] and self.accepted >= self.limits[0])
        spent |= bool(self.limits[1] and r.tick - self.beat >= self.limits[1] << 16)
        if r.type in OPCODES:
            self.entry(r, spent)
        elif r.type == REFUSED:
            slot = self.slots.get(r.slot, [None, None])
            other = slot[1] not in (None, r.context) and (r.opcode, r.sequence) == (1, slot[0])
            want(r.fault in FAULTS, "record-layout")
            want(0x101 <= r.fault <= CREDIT and r.bare and (r.fault == CRC) != r.crc_right, "record-answer")
            texts = (OPCODES[END],) if r.fault == TEXT_END else (OPCODES[VERDICT], OPCODES[END])
            possible = r.fault not in TEXT_FAULTS or self.text_lane and r.opcode in texts
            want(r.textless and possible, "record-answer")
            want((spent or r.fault != CREDIT) and (other or r.fault != CONTEXT), "record-answer")
        else:
            want(not any(raw[120:128]) and r.cause in FAULTS and r.bare and r.fault in (0, r.cause), "record-layout")
            want(r.features < 2 and r.textless, "record-layout")
            ended = r.type == ALARM or r.type == CLOSE and last.type == ALARM
            want(r.cause >= 0x301 if ended else r.cause == 0, "record-answer")
            want((r.latched, r.features) == (first.latched, first.features), "record-latched")
            want(r.open_streams == self.streams, "record-open-streams")
            if r.type in (OPEN, HEARTBEAT):
                self.beat, self.accepted = r.tick, 0
        self.records.append(r)
        self.leaves.append(leaf_hash(raw))

    def want(self, condition, code):
        check(condition, code, f"lane {self.lane}, record {len(self.records)}")

    def entry(self, r, spent):
        want, slot = self.want, self.slots.get(r.slot)
        want(r.raw[0] == 1 and r.opcode == OPCODES[r.type] and not any(r.raw[10:12]) and r.crc_right, "record-entry")
        call, held = r.raw[8] & 4, r.raw[8] & 1
        want(r.type != VERDICT or r.raw[8] < 8 and (not call or self.text_lane and not held), "record-entry")
        want(r.slot % self.lanes == self.lane, "stream-lane")
        want((slot is None) == (r.type == BEGIN), "stream-slot")
        due = 0 if r.type == BEGIN else slot[0]
        want(r.sequence == due and (r.sequence < 0xFFFFFFFF or r.type == END), "stream-sequence")
        want(r.type != VERDICT or slot[1] in (None, r.context), "stream-context")
        want(r.determination <= 3 and r.stage <= 4, "record-layout")
        want(legal_verdict(r, self.rows) if r.type == VERDICT else r.bare and r.fault == 0, "record-answer")
        has_text = self.text_lane and r.type in (VERDICT, END)
        want(has_text or r.textless, "record-answer")
        known = self.established.get(r.slot, 0) if r.type in (VERDICT, END) else 0
        if has_text:
            want(r.before == known, "text-established")
            omitted = r.found & ~r.classes & ~(self.opening or 0)
            want(self.opening is None or not omitted, "record-answer" if r.type == END else "class-omitted")
        if r.type == BEGIN:
            self.established[r.slot] = 0
        elif r.determination == ADMIT:
            self.established[r.slot] = r.before | r.found
        if spent and self.gap is None:
            self.gap = f"lane {self.lane}, record {r.index}"
        self.slots[r.slot] = [due + 1, r.context if r.type == VERDICT else slot and slot[1]]
        if r.type == END:
            del self.slots[r.slot]
        self.streams, self.accepted = self.streams + (r.type == BEGIN) - (r.type == END), self.accepted + 1


COSE_HEAD, COSE_BODY = bytes.fromhex("d28447a1013a00011170a058c0"), bytes.fromhex("5942c0")
SIGNED_HEAD = b"\x84\x6aSignature1" + COSE_HEAD[2:10] + b"\x40" + COSE_HEAD[11:]
OPENING, RUN, CLOSING, FAULT = range(2, 6)


def read_checkpoint(message):
    with reading("checkpoint-malformed"):
        c = SimpleNamespace(raw=message[13:205], signature=message[208:])
        check(message[:13] == COSE_HEAD and message[205:208] == COSE_BODY and len(message) == 17296)
        magic, version, c.key_flags, c.state, c.lanes, c.serial, c.size, c.tick = struct.unpack_from("<4s4B3Q", c.raw)
        c.root, c.policy, c.ticket, c.design, c.boot, _, c.epoch, c.fault = struct.unpack_from(
            "<32s32s32s16s16sQIH", c.raw, 32
        )
        check(magic == b"PCKP" and version == 1 and c.key_flags < 8 and not any(c.raw[174:]))
        check(c.lanes in (1, 2, 4, 8))
        check({OPENING: not c.fault, RUN: not c.fault, CLOSING: True, FAULT: c.fault}[c.state] and c.fault in FAULTS)
    c.digest, c.session = sha(c.raw), (c.design, c.key_flags, c.boot, c.epoch, c.ticket)
    return c


def check_signed(c, card, ticket, where=""):
    """What holds for a checkpoint by itself."""
    key = PublicKey.from_digest(card.key, sha2_128f)
    check(key.verify_pure(SIGNED_HEAD + c.raw, c.signature), "checkpoint-signature", where)
    check(c.design == card.design, "checkpoint-design", where)
    check((c.key_flags & 1, c.key_flags & 2, not c.key_flags & 3)[card.kind], "checkpoint-class", where)
    check(c.ticket == ticket.digest, "checkpoint-ticket", where)


def lane_head(lane, size, root):
    return struct.pack("<B7xQ", lane, size) + root


def check_checkpoints(checkpoints, heads, logs):
    """Order, roots and states. Gives for each checkpoint how many records of each lane are under it."""
    before, all_sizes = None, []
    for number, c in enumerate(checkpoints):
        where, sizes = f"checkpoint {number}", [c.size]
        check(c.serial == number, "checkpoint-serial", where)
        if len(logs) > 1:
            raw = [heads[48 * k :][:48] for k in range(number * len(logs), (number + 1) * len(logs))]
            sizes = [int.from_bytes(head[8:16], "little") for head in raw]
            check(sum(sizes) == c.size and tree_root(list(map(leaf_hash, raw))) == c.root, "checkpoint-heads", where)
        check(all(size <= len(log.records) for size, log in zip(sizes, logs)), "records-missing", where)
        if before:
            check(all(old <= new for old, new in zip(all_sizes[-1], sizes)), "checkpoint-order", where)
            check(c.tick >= before.tick, "checkpoint-order", where)
            check(c.session == before.session, "checkpoint-session", where)
        made = [lane_head(log.lane, size, tree_root(log.leaves[:size])) for size, log in zip(sizes, logs)]
        check(tree_root(list(map(leaf_hash, made))) == c.root, "checkpoint-root", where)
        under = [log.records[:size] for size, log in zip(sizes, logs)]
        types = [{r.type for r in records} for records in under]
        closed, ended = all(CLOSE in t for t in types), all(t & {ALARM, CLOSE} for t in types)
        follows = {
            OPENING: before is None and set(sizes) == {1},
            RUN: before and before.state in (OPENING, RUN) and not types[0] & {ALARM, CLOSE},
            FAULT: before and before.state != CLOSING and ended and not closed,
            CLOSING: before and before.state != CLOSING and closed,
        }
        check(follows[c.state], "checkpoint-state", where)
        last = [r for records in under for r in records[-1:]]
        check(all((r.epoch, r.key_flags) == (c.epoch, c.key_flags) for r in last), "checkpoint-records", where)
        check(all(r.tick <= c.tick for r in last), "checkpoint-records", where)
        before = c
        all_sizes.append(sizes)
    return all_sizes


def check_lanes(logs):
    opens = [(r.epoch, r.key_flags, r.policy, r.latched) for log in logs for r in log.records[:1]]
    closes = {r.policy for log in logs for r in log.records if r.type == CLOSE}
    causes = {r.cause for log in logs for r in log.records if r.type in (ALARM, CLOSE)} - {0}
    check(len(set(opens)) < 2 and len(closes) < 2 and len(causes) < 2, "lane-session")
    nonces = [[r.nonce for r in log.records if r.type == HEARTBEAT] for log in logs]
    longest = max(nonces, key=len)
    check(all(longest[: len(n)] == n and len(n) >= len(longest) - 1 for n in nonces), "lane-heartbeats")
