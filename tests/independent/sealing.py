"""Bundles of a simulated card, changed and signed anew: its key is public. For changes.py."""

import base64
import functools
import hmac
import json
import re
import struct
import zlib
from pathlib import Path

import cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from slhdsa import SecretKey, sha2_128f
from slhdsa.lowlevel.addresses import Address
from slhdsa.lowlevel.xmss import XMSS

import formats
import records
from formats import leaf_hash, sha
from records import BEGIN, CLOSE, END, HEARTBEAT, OPEN, REFUSED, VERDICT


@functools.cache
def sim_key(design):
    """The key of a simulated card, as checkpoint.md derives it."""
    label, secret = b"portcullis/slh-dsa/1\0", sha(b"SIM TEST KEY - NOT FOR PRODUCTION")
    seeds = [hmac.digest(secret, label + bytes([i]) + design, "sha256")[:16] for i in range(3)]
    root = XMSS(sha2_128f).node(seeds[0], 0, sha2_128f.h_m, seeds[2], Address(sha2_128f.d - 1, 0))
    return SecretKey((*seeds, root), sha2_128f)


def private_key(path):
    der = base64.b64decode("".join(Path(path).read_text().split("\n")[1:-2]))
    return Ed25519PrivateKey.from_private_bytes(der[16:48])


def tree_path(leaves, index):
    """RFC 9162, 2.1.3.1."""
    if len(leaves) < 2:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if index < k:
        return tree_path(leaves[:k], index) + [formats.tree_root(leaves[k:])]
    return tree_path(leaves[k:], index - k) + [formats.tree_root(leaves[:k])]


class Bundle:
    def __init__(self, folder, issuer_key=None, witness_key=None):
        self.files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
        self.issuer_key, self.witness_key = (key and private_key(key) for key in (issuer_key, witness_key))
        names = sorted(self.files)
        self.logs = [bytearray(self.files[n]) for n in names if n.startswith("records/lane")]
        self.checkpoints = [bytearray(self.files[n][13:205]) for n in names if n.startswith("checkpoints/")]
        self.design = bytes(self.checkpoints[0][128:144])
        self.notes = {}  # file name: index, time, entry (ticket, serial, digest, nonce)
        for name in (n for n in names if n.startswith("witness/")):
            lines = self.files[name].decode().split("\n")
            signature = next(line for line in lines if line.startswith("\u2014")).split()
            self.witness = signature[1]
            entry = struct.unpack("<QQ32sQ", base64.b64decode(lines[1][6:]))
            self.notes[name] = [int(lines[2][6:]), int.from_bytes(base64.b64decode(signature[2])[4:12], "big"), *entry]

    def find(self, kind, which=0, lane=0):
        """Index of a record by its type."""
        log = self.logs[lane]
        return [i for i in range(len(log) // 192) if log[192 * i + 129] == kind][which]

    def record(self, index, offset, data, lane=0):
        """Writes into a record, and makes the checksum of an entry anew."""
        at = 192 * index
        self.logs[lane][at + offset : at + offset + len(data)] = data
        if self.logs[lane][at + 129] in records.OPCODES:
            self.logs[lane][at + 124 : at + 128] = struct.pack("<I", zlib.crc32(self.logs[lane][at : at + 124]))

    def lines(self, name, edit):
        lines = [json.loads(line) for line in self.files[name].splitlines()]
        edit(lines)
        self.files[name] = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()

    def ticket(self, **edits):
        """Other values under keys (k1=... is key 1), signed anew, and bound by every session record and checkpoint."""
        _, header, payload, signature = cbor2.loads(self.files["ticket.cose"][1:])
        payload = cbor2.loads(payload) | {int(key[1:]): value for key, value in edits.items()}
        self.bind_ticket(payload, header, signature)

    def bind_ticket(self, payload, header, signature):
        payload = cbor2.dumps(payload, canonical=True)
        if self.issuer_key:
            signature = self.issuer_key.sign(cbor2.dumps(["Signature1", b"\xa1\1\x27", b"", payload]))
        self.files["ticket.cose"] = b"\xd2" + cbor2.dumps([b"\xa1\1\x27", header, payload, signature])
        digest = sha(self.files["ticket.cose"])
        for log in self.logs:
            for at in range(0, len(log), 192):
                if log[at + 129] in (OPEN, CLOSE, records.HEARTBEAT, records.ALARM):
                    log[at + 64 : at + 96] = digest
        for body in self.checkpoints:
            body[96:128] = digest

    def withhold(self, number, streams, **edits):
        """A withholding under this number, by somebody whom nobody knows."""
        payload = {0: 1, 1: sha(self.files["ticket.cose"]), 2: bytes(32), 3: "clerk", 4: "erased", 5: streams}
        payload = cbor2.dumps(payload | {int(key[1:]): value for key, value in edits.items()}, canonical=True)
        signed = cbor2.dumps(["Signature1", b"\xa1\1\x27", b"", payload])
        signature = Ed25519PrivateKey.from_private_bytes(bytes(32)).sign(signed)
        self.files[f"withheld/{number:08}.cose"] = b"\xd2" + cbor2.dumps([b"\xa1\1\x27", {}, payload, signature])

    def context(self, edit):
        """Another context document for the first stream, bound by its BEGIN."""
        index = self.find(BEGIN)
        old = f"contexts/{self.logs[0][192 * index :][92:124].hex()}.json"
        data = edit(self.files.pop(old).decode()).encode()
        self.files[f"contexts/{sha(data).hex()}.json"] = data
        self.record(index, 92, sha(data))

    def seal(self, root=True):
        """Makes roots, heads, signatures and notes anew; `root=False` leaves the roots as they are."""
        heads = self.files.get("records/heads.bin", b"")
        leaves = [[leaf_hash(bytes(log[at : at + 192])) for at in range(0, len(log), 192)] for log in self.logs]
        made = b""
        for number, body in enumerate(self.checkpoints):
            size_at = range(48 * len(leaves) * number + 8, 48 * len(leaves) * (number + 1), 48)
            sizes = [int.from_bytes(heads[at : at + 8] if heads else body[16:24], "little") for at in size_at]
            own = [records.lane_head(lane, n, formats.tree_root(leaves[lane][:n])) for lane, n in enumerate(sizes)]
            made += b"".join(own)
            if root:
                body[32:64] = formats.tree_root(list(map(leaf_hash, own)))
            signature = sim_key(self.design).sign_pure(records.SIGNED_HEAD + body)
            self.files[f"checkpoints/{number:08}.cose"] = records.COSE_HEAD + body + records.COSE_BODY + signature
        if heads and root:
            self.files["records/heads.bin"] = made
        for name, note in self.notes.items():
            if note[3] < len(self.checkpoints) and note[4] != bytes(32):
                note[4] = sha(bytes(self.checkpoints[note[3]]))
            self.files[name] = self.sign_note(*note)

    def sign_note(self, index, time, *entry):
        data, public = struct.pack("<QQ32sQ", *entry), self.witness_key.public_key().public_bytes_raw()
        leaves = [leaf_hash(b"other")] * index + [leaf_hash(data)]
        key_id = cbor2.loads(cbor2.loads(self.files["ticket.cose"][1:])[2])[3].hex()
        encode = [base64.b64encode(x).decode() for x in (data, formats.tree_root(leaves), *tree_path(leaves, index))]
        body = f"portcullis/{key_id}\n{index + 1}\n{encode[1]}\n"
        signature = self.witness_key.sign(f"cosignature/v1\ntime {time}\n{body}".encode())
        signature = sha(self.witness.encode(), b"\n\4", public)[:4] + time.to_bytes(8, "big") + signature
        proof = f"c2sp.org/tlog-proof@v1\nextra {encode[0]}\nindex {index}\n" + "".join(x + "\n" for x in encode[2:])
        return f"{proof}\n{body}\n\u2014 {self.witness} {base64.b64encode(signature).decode()}\n".encode()

    def write(self, folder, manifest=True):
        self.files |= {f"records/lane-{lane}.bin": bytes(log) for lane, log in enumerate(self.logs) if log is not None}
        if manifest:
            names = sorted((n for n in self.files if n != "manifest.json"), key=str.encode)
            files = [{"path": n, "size": len(self.files[n]), "sha256": sha(self.files[n]).hex()} for n in names]
            self.files["manifest.json"] = json.dumps({"schema": "portcullis/bundle/1", "files": files}).encode()
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def flip(name, at):
    def change(b):
        data = bytearray(b.files[name])
        data[at] ^= 1
        b.files[name] = bytes(data)

    return change


def put(name, data):
    return lambda b: b.files.update({name: data(b.files.get(name)) if callable(data) else data})


def other_signature(pem):
    """The certificate with another last byte: a bit of its signature."""
    der = bytearray(base64.b64decode("".join(pem.decode().split("\n")[1:-2])))
    der[-1] ^= 1
    text = base64.encodebytes(der).replace(b"\n", b"")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return b"\n".join([b"-----BEGIN CERTIFICATE-----", *lines, b"-----END CERTIFICATE-----", b""])


def drop(pattern):
    return lambda b: [b.files.pop(name) for name in list(b.files) if re.fullmatch(pattern, name)]


def rename(old, new):
    return lambda b: b.files.update({new: b.files.pop(old)})


def record(kind, which, offset, data, lane=0):
    return lambda b: b.record(b.find(kind, which, lane), offset, data, lane)


def checkpoint(number, offset, data):
    return lambda b: b.checkpoints[number].__setitem__(slice(offset, offset + len(data)), data)


def ticket(**edits):
    return lambda b: b.ticket(**edits)


def context(old, new):
    return lambda b: b.context(lambda text: re.sub(old, new, text, count=1))


def line(name, number, key, value):
    return lambda b: b.lines(name + ".jsonl", lambda lines: lines[number].__setitem__(key, value))


def log(edit, lane=0):
    return lambda b: b.logs.__setitem__(lane, bytearray(edit(b.logs[lane])))


def note(serial, place, value):
    return lambda b: b.notes[f"witness/{serial:08}.note"].__setitem__(place, value)


def judged(b, determination):
    return next(
        i for i in range(len(b.logs[0]) // 192) if b.logs[0][192 * i + 129 :][:2] == bytes([VERDICT, determination])
    )


def last_verdict(b, offset, data):
    """Writes into a verdict whose stream had one before."""
    at, seen = b.find(VERDICT, -1), {}
    for i in range(at + 1):
        if b.logs[0][192 * i + 129] == VERDICT:
            slot = bytes(b.logs[0][192 * i + 2 :][:2])
            at = i if slot in seen else at
            seen[slot] = i
    b.record(at, offset, data)


def receipt_of_refused(b):
    """One receipt alone, for a span that was not admitted."""
    b.lines("receipts.jsonl", lambda lines: lines.__delitem__(slice(1, None)) or lines[0].update(index=judged(b, 2)))


def keep_first(b):
    drop("checkpoints/0000000[1-9].cose")(b)
    del b.checkpoints[1:]


def limit_latched(b, limit):
    for kind in (OPEN, CLOSE):
        record(kind, 0, 104, bytes([limit]))(b)
    for number in range(sum(b.logs[0][at] == HEARTBEAT for at in range(129, len(b.logs[0]), 192))):
        record(HEARTBEAT, number, 104, bytes([limit]))(b)


def letters_under_end(b):
    at = b.find(END)
    b.record(at, 92, formats.commitment("text", bytes(16), b"x"))
    b.lines("spans.jsonl", lambda lines: next(x for x in lines if x["index"] == at).update(salt="00" * 16, held="x"))


def no_last_checkpoint(b):
    b.files.pop(f"checkpoints/{len(b.checkpoints) - 1:08}.cose")
    b.checkpoints.pop()


def nothing_left(b):
    """Takes out what withholding the first stream of lane 0 takes out."""
    begin, slots = b.find(BEGIN), []
    for index in range(begin, len(b.logs[0]) // 192):
        raw = b.logs[0][192 * index :][:192]
        if raw[129] in (VERDICT, END, REFUSED, BEGIN) and raw[2:4] == b.logs[0][192 * begin :][2:4]:
            slots.append(index)
            if raw[129] == END:
                break
    for name in ("inputs", "spans", "receipts"):
        b.lines(f"{name}.jsonl", lambda lines: lines.__setitem__(slice(None), [x for x in lines if x["index"] not in slots]))
    b.files.pop(f"contexts/{b.logs[0][192 * begin :][92:124].hex()}.json")
    return [0, begin]


def withheld(edit=None, **edits):
    """Withholds the first stream; `edit` changes the streams that the statement names."""

    def change(b):
        stream = nothing_left(b)
        b.withhold(0, edit(stream) if edit else [stream], **edits)

    return change


def image(at, data):
    """Another table image, which the ticket permits."""

    def change(b):
        old = b.files["policy/image.bin"]
        b.files["policy/image.bin"] = old[:at] + data + old[at + len(data) :]
        b.ticket(k4=sha(b.files["policy/image.bin"]))

    return change


def one_id(b):
    """The first stream gets the id of the second one."""
    second = json.dumps(json.loads(b.files["streams.jsonl"].splitlines()[1])["id"], ensure_ascii=False)
    b.context(lambda text: re.sub('"id":"[^"]*"', lambda _: f'"id":{second}', text))
    line("streams", 0, "id", json.loads(second))(b)


def as_array(name):
    """The first line holds the values of its object alone."""

    def change(b):
        lines = [json.loads(line) for line in b.files[name].splitlines()]
        lines[0] = list(lines[0].values())
        b.files[name] = "".join(json.dumps(line) + "\n" for line in lines).encode()

    return change


def receipt_of_an_end_refused(b):
    """The last END becomes REFUSED, and its receipt stays."""
    at = b.find(END, -1)
    b.record(at, 129, b"\x06\0\0\x02\x01")
    b.record(b.find(CLOSE), 112, b"\1")
    b.lines("receipts.jsonl", lambda x: x.append({"serial": 1, "lane": 0, "index": at, "salt": "0" * 32}) if x[-1]["index"] < at else 0)
