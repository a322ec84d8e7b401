#!/usr/bin/env python3
"""Checks a bundle, or the proof of a receipt, from docs/reference/formats alone: it shares no code with Portcullis.

    verify.py BUNDLE --trust FOLDER [--allow-sim] [--at SECOND]
    verify.py PROOF.json --receipt FILE --text FILE --trust FOLDER [--allow-sim] [--at SECOND]

Prints the warnings, or the first contradiction, by the reason codes of docs/verify.md. Exit codes: 0 affirmed,
3 contradicted, 5 warned of, 10 simulated. Needs Python 3.9 or later and nothing else. A bundle must fit into memory.
"""
import argparse
import hmac
import json
import pathlib
import re
import sys
import zlib

from standards import (ED25519, SLH_DSA, cbor, cose_sign1, ed25519, leaf_hash, read_certificates, root_from_path, root_of,
                       sha, slh_dsa, tlog_proof, unbase64)

FORMATTING = {chr(code) for first, last in [
    (0x9, 0xd), (0x20, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e), (0x85, 0x85), (0xa0, 0xa1), (0xab, 0xab), (0xb7, 0xb7), (0xbb, 0xbb),
    (0xbf, 0xbf), (0x1680, 0x1680), (0x2000, 0x200a), (0x2010, 0x2015), (0x2018, 0x2022), (0x2026, 0x2026), (0x2028, 0x2029), (0x202f, 0x202f),
    (0x2039, 0x203a), (0x205f, 0x205f), (0x3000, 0x3002), (0x3008, 0x3011)] for code in range(first, last + 1)}
OPEN, BEGIN, VERDICT, NOTE, END, REFUSED, HEARTBEAT, CLOSE, ALARM = range(1, 10)
OPENING, RUN, CLOSING, FAULT = 2, 3, 4, 5
FAULTS = {0, *range(0x101, 0x10d), 0x201, *range(0x301, 0x307), *range(0x401, 0x407)}
NO_ROW, SIM, CLASS_KEY = 0xffff, 1, 2
SIM_SECRET, SIMULATED = sha(b"SIM TEST KEY - NOT FOR PRODUCTION"), b"\n\1\0"
BASIC, USAGE, DESIGN, CLASS, SUPERVISED = "551d13", "551d0f", *(f"2b0601040181fd5901{n:02}" for n in (1, 2, 3))
RELEASES = pathlib.Path(__file__).parents[2] / "docs/reference/formats/releases.txt"
CAPS = [(re.compile(pattern, re.ASCII), cap) for pattern, cap in [
    (r"manifest\.json|README\.md", 64 << 20), (r"ticket\.cose|policy/approval\.cose", 64 << 10),
    (r"device/(cert|chain)\.pem|witness/00\d{6}\.note|contexts/[0-9a-f]{64}\.json", 1 << 20),
    (r"policy/image\.bin", 128 + 2 * 65535 * 192), (r"records/heads\.bin", 384 * 10**6),
    (r"records/lane-[0-7]\.bin", 192 << 32), (r"(streams|inputs|spans|receipts)(-[1-7])?\.jsonl", 1 << 52),
    (r"checkpoints/00\d{6}\.cose", 17296), (r"anchors/[0-9a-f]{64}", 16 << 30)]]
LINES = {"streams": {"index": int, "stream": int, "id": str}, "inputs": {"index": int, "input": dict},
         "spans": {"index": int, "salt": str, "held": str, "text": str},
         "receipts": {"serial": int, "lane": int, "index": int, "salt": str}}


class Refusal(Exception):
    """Evidence is contradicted: a reason code, and where."""


def need(holds, code, where=""):
    if not holds:
        raise Refusal(code, where)


def parsed(code, read, *args):
    """What `read` gives; where it finds other bytes than it should, `code`."""
    try:
        return read(*args)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise Refusal(code, error) from error


def u(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def strict_json(data, keys=None):
    """JSON without doubled keys; with `keys`, an object of exactly these keys and types."""
    def once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)
    value = json.loads(data, object_pairs_hook=once)
    if keys and {k: type(v) for k, v in value.items()} != keys:
        raise ValueError(f"not an object of {', '.join(keys)}")
    return value


def unhex(text, size=None):
    if not re.fullmatch("([0-9a-f]{2})*", text, re.ASCII) or size not in (None, len(text) // 2):
        raise ValueError("not bytes in lower-case hexadecimal")
    return bytes.fromhex(text)


def commitment(salt, text):
    return sha(b"portcullis/span/1\0", salt, len(text).to_bytes(4, "little"), text)


# ---- tickets, checkpoints, certificates, notes -----------------------------------------------------------------------

def read_map(payload, types, first=1):
    """The values of a CBOR map with the keys `first`, `first` + 1, … and these types."""
    content = cbor(payload)
    if {k: type(v) for k, v in content.items()} != dict(enumerate(types, first)):
        raise ValueError("other keys or types")
    return list(content.values())


def read_ticket(data):
    header, payload, signed, signature = cose_sign1(data)
    types = [int, int, bytes, bytes, bytes, list, int, int, bytes, list, str, int, list, int]
    names = "version serial nonce key policy contexts records ticks previous validity issuer seat profiles text_lane"
    t = dict(zip(names.split(), read_map(payload, types, 0)))
    sizes = [(t["nonce"], 16), (header[4], 8), *((d, 32) for d in (t["key"], t["policy"], t["previous"], *t["contexts"], *t["profiles"]))]
    validity, heartbeats = t["validity"], (t["records"], t["ticks"])
    well = len(data) <= 64 << 10 and list(header) == [4] and all(type(d) is bytes and len(d) == n for d, n in sizes)
    lists = all(t[name] == sorted(set(t[name])) and len(t[name]) <= most for name, most in [("contexts", 1024), ("profiles", 256)])
    if not (well and lists and t["version"] == 2 and t["seat"] < 1 << 16 and t["text_lane"] < 2 and max(heartbeats) < 1 << 32
            and t["serial"] >= 1 and (t["serial"] > 1 or not any(t["previous"])) and re.fullmatch("[!-~]{1,64}", t["issuer"])
            and [type(v) for v in validity] == [int, int] and validity[0] <= validity[1]
            and (t["issuer"] != "self" or heartbeats == (0, 0))):
        raise ValueError("a field of the ticket")
    return {**t, "digest": sha(data), "signed": signed, "kid": header[4], "signature": signature}


def check_issuer(ticket, trust):
    """Whether a trusted issuer stands behind the ticket; False for the operator's own."""
    keys = [key for key in trust["issuers"] if sha(key)[:8] == ticket["kid"]]
    own = ticket["issuer"] == "self"
    need(not keys if own else any(ed25519(key, ticket["signed"], ticket["signature"]) for key in keys), "ticket-issuer")
    return not own


def read_checkpoint(message):
    c = {"data": message[13:205], "signature": message[208:]}
    c["digest"], at = sha(c["data"]), 5
    for name, size in [("flags", 1), ("state", 1), ("lanes", 1), ("serial", 8), ("size", 8), ("tick", 8), ("root", 32),
                       ("policy", 32), ("ticket", 32), ("design", 16), ("boot", 16), ("nonce", 8), ("epoch", 4), ("fault", 2)]:
        c[name], at = c["data"][at:at + size] if size > 8 else u(c["data"], at, size), at + size
    framed = (len(message), message[:13].hex(), message[205:208].hex()) == (17296, "d28447a1013a00011170a058c0", "5942c0")
    well = framed and c["data"][:5] == b"PCKP\1" and c["flags"] < 8 and not any(c["data"][174:]) and c["fault"] in FAULTS
    state = {OPENING: c["fault"] == 0, RUN: c["fault"] == 0, FAULT: c["fault"] != 0, CLOSING: True}.get(c["state"])
    need(well and state and c["lanes"] in (1, 2, 4, 8), "checkpoint-malformed")
    return c


def is_signed(checkpoint, key):
    head = bytes.fromhex("846a5369676e61747572653147a1013a000111704058c0")
    return slh_dsa(key, head + checkpoint["data"], checkpoint["signature"])


def simulation(checkpoint, device):
    """The marks of a simulated card; without a checkpoint, those of its certificate."""
    designs = {checkpoint["design"], device["design"]} if checkpoint else {device["design"]}
    tagged = [b"portcullis/slh-dsa/1\0\2" + bytes([d[0] & 127 | top]) + d[1:] for d in designs for top in (0, 128)]
    public = device["key"][:16] in [hmac.digest(SIM_SECRET, text, "sha256")[:16] for text in tagged]
    marks = {"sim-flag": checkpoint and checkpoint["flags"] & SIM, "sim-key": public, "sim-root": device["class"] == 0,
             "sim-design": any(d[0] & 128 for d in designs)}
    return {code for code, found in marks.items() if found}


def is_authority(c, below):
    """Basic constraints and key usage of a certificate that signs others, with so many intermediates below it."""
    basic, usage = c["extensions"].get(BASIC, b""), c["extensions"].get(USAGE, b"\3\1\0\0")
    length = basic[7:] if len(basic) > 5 else b"\xff"
    return BASIC in c["critical"] and basic[2:5] == b"\1\1\xff" and length[0] >= below and usage[3] & 4 and c["kind"] == ED25519


def is_issued(c, issuer):
    return c["issuer"] == issuer["subject"] and ed25519(issuer["key"], c["signed"], c["signature"])


def check_certificate(leaf_pem, chain_pem, trust, at):
    """The device that a chain to a trusted root certifies."""
    (leaf,), chain = parsed("certificate", read_certificates, leaf_pem), parsed("certificate", read_certificates, chain_pem)
    of, path = leaf["extensions"], [leaf, *chain]
    design, kind = of.get(DESIGN, b""), {SIMULATED: 0, b"\n\1\1": 1, b"\n\1\2": 2}.get(of.get(CLASS))
    usage, supervised, basic = of.get(USAGE, b"\3\1\0\0")[3], of.get(SUPERVISED, b"\1\1\xff"), of.get(BASIC, b"0\0")
    need(leaf["kind"] == SLH_DSA and usage & 0x80 and not usage & 4 and basic == b"0\0", "certificate", "key or usage")
    need(len(design) == 18 and design[:2] == b"\4\x10" and kind is not None and supervised == b"\1\1\xff"
         and design[2] >> 7 == (kind == 0), "certificate", "design, class or supervision")
    well = [c["subject"] != c["issuer"] and is_authority(c, below) for below, c in enumerate(chain)]
    roots = [root for root in trust["roots"] if is_issued(path[-1], root) and is_authority(root, len(chain))]
    need(roots and len(chain) <= 4 and all(well) and all(map(is_issued, path, chain)), "certificate", "no path to a root")
    for c in [*path, roots[0]]:
        need(at is None or c["times"][0] <= at <= c["times"][1], "certificate", "not valid then")
        need(("key", sha(c["key"])) not in trust["revoked"], "certificate", "a revoked key")
    need(("design", design[2:]) not in trust["revoked"], "certificate", "a revoked design")
    need((kind == 0) == (roots[0]["extensions"].get(CLASS) == SIMULATED), "certificate", "simulated and real are mixed")
    return {"key": leaf["key"], "design": design[2:], "class": kind}


def read_note(data, witnesses):
    origin, entry, index, time = tlog_proof(data, witnesses)
    if origin[:11] != "portcullis/" or len(entry) != 56:
        raise ValueError("not a note about a card")
    return {"key": unhex(origin[11:], 32), "ticket": u(entry, 0, 8), "serial": u(entry, 8, 8), "checkpoint": entry[16:48],
            "nonce": u(entry, 48, 8), "index": index, "time": time}


def read_context(data):
    """A context document; None for one of another version."""
    c = strict_json(data)
    if type(c["version"]) is int and c["version"] != 3:
        return None
    text, words, empty = (str,), (str, type(None)), (type(None), str)
    shape = {"version": (int,), "mode": text, "granularity": text, "on_refuse": text, "release": text, "max_proposals": (int,),
             "policy": text, "package_digest": text, "profile": (dict,), "profile_digest": text, "task": (dict,),
             "anchor_digests": (list,), "predecessor": empty, "id": text}
    profile = {"intent": text, "domain": words, "audience": words, "temporal": words, "epistemic": words, "register": words, "facts": (list,)}
    for value, keys in [(c, shape), (c["profile"], profile), (c["task"], {"intent": text, "facts": (list,)})]:
        if list(value) != list(keys) or any(type(value[key]) not in keys[key] for key in keys):
            raise ValueError("other keys or types")
    values = {"mode": "driven held recorded observed", "granularity": "token span step", "on_refuse": "skip stop", "release": "span checkpoint end"}
    well = all(c[key] in known.split() for key, known in values.items())
    well = well and c["profile"]["epistemic"] in (None, "standard", "high_precision", "exploratory") and 0 <= c["max_proposals"] < 1 << 32
    digests = [c["package_digest"], c["profile_digest"], *c["anchor_digests"], *([c["predecessor"]] if c["predecessor"] else [])]
    same = json.dumps(c, ensure_ascii=False, separators=(",", ":")).encode() == data
    profile = json.dumps(c["profile"], ensure_ascii=False, separators=(",", ":")).encode()
    if not (well and same and all(unhex(digest, 32) for digest in digests) and sha(profile).hex() == c["profile_digest"]):
        raise ValueError("not a context document")
    return c


# ---- the log of a lane -----------------------------------------------------------------------------------------------

class Rules:
    """The rules of a lane's log, record by record, under an image with so many rows."""

    def __init__(self, rows, lane=0, lanes=1):
        self.rows, self.lane, self.lanes, self.streams, self.leaves = rows, lane, lanes, {}, []
        self.open = self.identity = self.alarm = self.close = self.overdrawn = None
        self.tick = self.spent = self.beat = 0

    def next(self, record):
        kind, answer, at = record[129], record[128:], f"record {len(self.leaves)} of lane {self.lane}"
        tick, rows = u(answer, 24, 8), (u(answer, 6, 2), u(answer, 8, 2))
        need(answer[0] == 1 and OPEN <= kind <= ALARM and not any(answer[32:]), "record-layout", at)
        need(u(answer, 16, 8) == len(self.leaves), "record-index", at)
        need((kind == OPEN) == (not self.leaves), "record-open", at)
        need(tick >= self.tick, "record-tick", at)
        need(self.identity in (None, answer[11:16]) and answer[10] == self.lane, "record-session", at)
        need(not self.close and (not self.alarm or kind == CLOSE), "record-after-end", at)
        bare, fault = answer[2:4] == b"\0\0" and rows == (NO_ROW, NO_ROW), u(answer, 4, 2)
        self.tick = tick
        if kind in (OPEN, HEARTBEAT, CLOSE, ALARM):
            self.session(kind, record, bare, fault, at)
        elif kind == REFUSED:
            need(fault in FAULTS, "record-layout", at)
            crc = (fault == 0x101) == (zlib.crc32(record[:124]) != u(record, 124, 4))
            caused = {0x201: self.is_spent, 0x10c: lambda: self.is_out_of_context(record)}.get(fault, lambda: True)
            need(fault >> 8 in (1, 2) and crc and caused() and bare, "record-answer", at)
        else:
            self.entry(kind, record, rows, bare, fault, at)
        self.leaves.append(leaf_hash(record))

    def session(self, kind, record, bare, fault, at):
        cause = u(record, 116, 2)
        need(not any(record[118:128]) and cause in FAULTS and bare and fault in (0, cause), "record-layout", at)
        need(cause >> 8 in (3, 4) if kind == ALARM or self.alarm else cause == 0, "record-answer", at)
        need(self.open is None or latched(record) == latched(self.open), "record-latched", at)
        need(u(record, 112, 4) == len(self.streams), "record-open-streams", at)
        if kind == OPEN:
            self.open, self.identity = record, record[139:144]
        if kind in (OPEN, HEARTBEAT):
            self.spent, self.beat = 0, self.tick
        self.alarm, self.close = record if kind == ALARM else self.alarm, record if kind == CLOSE else self.close

    def is_spent(self):
        records, ticks = u(self.open, 104, 4), u(self.open, 108, 4)
        return (records and self.spent >= records) or (ticks and self.tick - self.beat >= ticks << 16)

    def is_out_of_context(self, record):
        following, first = self.streams.get(u(record, 2, 2), (None, None))
        return record[1] == 1 and u(record, 4, 4) == following and first not in (None, context(record))

    def entry(self, kind, record, rows, bare, fault, at):
        opcode, crc = {BEGIN: 2, VERDICT: 1, NOTE: 4, END: 3}[kind], zlib.crc32(record[:124])
        need(record[:2] == bytes([1, opcode]) and not any(record[10:12]) and crc == u(record, 124, 4), "record-entry", at)
        slot, sequence = u(record, 2, 2), u(record, 4, 4)
        need(slot % self.lanes == self.lane, "stream-lane", at)
        need((slot in self.streams) != (kind == BEGIN), "stream-slot", at)
        following, first = self.streams.pop(slot, (0, None))
        need(sequence == following and (kind == END or sequence < 0xffffffff), "stream-sequence", at)
        need(kind != VERDICT or first in (None, context(record)), "stream-context", at)
        if kind != END:
            self.streams[slot] = sequence + 1, context(record) if kind == VERDICT else first
        need(record[130] <= 3 and record[131] <= 4, "record-layout", at)
        need(fault == 0 and (self.is_verdict(record, rows) if kind == VERDICT else bare), "record-answer", at)
        self.overdrawn = at if self.overdrawn is None and self.is_spent() else self.overdrawn
        self.spent += 1

    def is_verdict(self, record, rows):
        """The stages in order, each as far as the record shows its outcome: 1 pass, 2 reject, 3 decompose, None open."""
        determination, stage, (policy, entropy) = record[130], record[131], rows
        if any(row != NO_ROW and row >= count for row, count in zip(rows, self.rows)):
            return False
        outcomes = [2 if policy == NO_ROW else None, record[88], record[90], 2 if entropy == NO_ROW else None]
        before, decides = outcomes[:stage - 1] if stage else outcomes, outcomes[stage - 1] if stage else 1
        allowed = {None: (1, 2), 1: (), 2: (1,), 3: (1, 2)}.get(decides, (1,)) if stage else (3,)
        return determination in allowed and all(outcome in (None, 1) for outcome in before)


def context(record):
    return record[14:15] + record[16:19]


def latched(record):
    return record[32:96] + record[104:112]


# ---- a bundle --------------------------------------------------------------------------------------------------------

def read_trust(folder, allow_sim):
    trust = {"roots": [], "revoked": set()}
    for kind in ["roots", "sim-roots"][:1 + allow_sim]:
        for path in sorted(folder.glob(f"{kind}/*.pem")):
            (root,) = read_certificates(path.read_bytes())
            simulated = root["extensions"].get(CLASS) == SIMULATED
            need(is_authority(root, 0) and is_issued(root, root) and simulated == (kind == "sim-roots"), "trust-folder", path)
            trust["roots"].append(root)
    for kind in "issuers", "approvers":
        trust[kind] = [unbase64("".join(p.read_text().split("\n")[1:-2]))[-32:] for p in sorted(folder.glob(f"{kind}/*.pub"))]
    names = [path.read_text().strip().split("+", 2) for path in sorted(folder.glob("witnesses/*.pub"))]
    trust["witnesses"] = [(name, unbase64(key)[1:]) for name, _, key in names]
    for path in folder.glob("revoked.txt"):
        entries = [line.split(" ") for line in path.read_text().splitlines() if line and line[0] != "#"]
        trust["revoked"] = {(kind, unhex(digits)) for kind, digits in entries}
    return trust


def read_files(folder):
    """Every file by its name, and the numbers of lanes and checkpoints."""
    files = {}
    for path in pathlib.Path(folder).rglob("*"):
        name = path.relative_to(folder).as_posix()
        need(not path.is_symlink() and (path.is_dir() or path.is_file()), "not-a-bundle", name)
        if path.is_file():
            package = name.removeprefix("policy/package/")
            plain = [part and part[0] != "." and all(c.isalnum() or c in "-_. " for c in part) for part in package.split("/")]
            caps = [64 << 20] if package != name and all(plain) and len(package.encode()) <= 512 else []
            caps += [cap for pattern, cap in CAPS if pattern.fullmatch(name)]
            need(caps and path.stat().st_size <= caps[0], "not-a-bundle", name)
            files[name] = path.read_bytes()
    checkpoints, lanes = (sum(name.startswith(f) for name in files) for f in ("checkpoints/", "records/lane-"))
    needed = ["manifest.json", "ticket.cose", "device/cert.pem", "device/chain.pem", "policy/image.bin"]
    needed += [f"checkpoints/{n:08}.cose" for n in range(max(checkpoints, 1))] + [f"records/lane-{n}.bin" for n in range(lanes)]
    stray = [name for name in files if name.endswith(".jsonl") and name[-7] == "-" and int(name[-6]) >= lanes]
    heads = 48 * lanes * checkpoints if lanes > 1 else None
    found = len(files["records/heads.bin"]) if "records/heads.bin" in files else None
    need(lanes in (1, 2, 4, 8) and set(needed) <= set(files) and not stray and found == heads, "not-a-bundle", "set of files")
    manifest = parsed("manifest", strict_json, files["manifest.json"], {"schema": str, "files": list})
    listed = [{"path": n, "size": len(files[n]), "sha256": sha(files[n]).hex()} for n in bytewise(files) if n != "manifest.json"]
    need(manifest == {"schema": "portcullis/bundle/1", "files": listed}, "manifest")
    return files, lanes, checkpoints


def bytewise(names):
    return sorted(names, key=str.encode)


def read_lines(files, name, lane):
    """The lines of a lane's file, by the record that each is about."""
    found, longest = {}, (64 << 20) if name in ("spans", "inputs") else 1 << 20
    for line in files.get(f"{name}-{lane}.jsonl" if lane else f"{name}.jsonl", b"").split(b"\n")[:-1]:
        value = strict_json(line, LINES[name])
        if len(line) >= longest or value["index"] <= max(found, default=-1):
            raise ValueError("a line out of order, or too long")
        found[value["index"]] = value
    return found


def check_image(files, warnings):
    """Digest, numbers of rows, package digest and mapping version of the table image; the package fits it."""
    image = files["policy/image.bin"]
    maps = [line.split()[-1] for line in RELEASES.read_text().splitlines() if line and line[0] != "#"]
    if image[:4] == b"PCMI" and image[4:5] not in (b"", b"\0", b"\1"):
        return {"digest": sha(image), "unknown": True}
    rows = [u(image, 8, 2), u(image, 10, 2)]
    well = image[:5] == b"PCMI\1" and not any(image[7:8] + image[12:16] + image[48:64]) and len(image) == 128 + 192 * sum(rows)
    need(well, "image-malformed")
    if image[64:96].hex() not in maps:
        return {"digest": sha(image), "unknown": True}
    package = {name[15:]: data for name, data in files.items() if name.startswith("policy/package/")}
    listing = "".join(f"{sha(package[path]).hex()}  {len(package[path])}  {path}\n" for path in bytewise(package))
    fits = [n for n in range(1, 1001) if sha(f"portcullis package 1, mapping {n}\n{listing}".encode()) == image[96:128]]
    need(fits or not package, "package-digest")
    warnings |= set() if package else {"package-withheld"}
    return {"digest": sha(image), "unknown": False, "rows": rows, "package": image[96:128], "mapping": max(fits, default=None)}


def check_notes(files, checkpoints, ticket, trust, warnings):
    notes, last = {}, None
    for name in sorted(name for name in files if name.startswith("witness/")):
        note = parsed("witness-note", read_note, files[name], trust["witnesses"])
        need(name == f"witness/{note['serial']:08}.note" and note["serial"] < checkpoints, "witness-serial", name)
        grown = last is None or note["index"] - last["index"] >= note["serial"] - last["serial"]
        need(grown and (last is None or note["time"] >= last["time"]), "witness-order", name)
        need((note["key"], note["ticket"]) == (ticket["key"], ticket["serial"]), "witness-session", name)
        need(ticket["validity"][0] <= note["time"] <= ticket["validity"][1], "ticket-validity", name)
        notes[note["serial"]] = last = note
    warnings |= set() if {0, checkpoints - 1} <= set(notes) else {"no-witness"}
    return notes


class Walk:
    """One pass over checkpoints and the records under them."""

    def __init__(self, files, lanes, image, ticket, notes, warnings):
        self.ids = set()
        self.files, self.image, self.ticket, self.notes, self.warnings = files, image, ticket, notes, warnings
        self.lanes = [Rules(image["rows"], lane, lanes) for lane in range(lanes)]
        self.lines = [{name: read_lines(files, name, lane) for name in LINES} for lane in range(lanes)]
        self.beats, self.used, self.done, self.last = [[] for _ in self.lanes], [-1] * lanes, 0, None
        self.begun = [0] * lanes

    def read(self, lane, size):
        rules, log = self.lanes[lane], self.files[f"records/lane-{lane}.bin"]
        while len(rules.leaves) < size and 192 * len(rules.leaves) < len(log):
            index = len(rules.leaves)
            record = log[192 * index:192 * index + 192]
            need(len(record) == 192, "records-truncated")
            rules.next(record)
            line = {name: found.pop(index) for name, found in self.lines[lane].items() if index in found}
            self.seen(record[129], record, lane, line, f"record {index} of lane {lane}")

    def seen(self, kind, record, lane, line, at):
        if kind in (OPEN, CLOSE):
            need(record[:32] == self.image["digest"], "open-policy" if kind == OPEN else "close-policy")
            need(record[32:64] == self.image["package"], "session-package")
        if kind == OPEN:
            need(record[64:96] == self.ticket["digest"], "open-ticket")
            need((u(record, 104, 4), u(record, 108, 4)) == (self.ticket["records"], self.ticket["ticks"]), "heartbeat-limits")
        need(kind != ALARM, "alarm", at)
        if kind == HEARTBEAT:
            self.heartbeat(lane, u(record, 96, 8))
        if kind == BEGIN:
            need("streams" not in line or line["streams"]["stream"] == self.begun[lane], "stream-number", at)
            self.begun[lane] += 1
            self.begin(record[92:124], line.pop("streams", None), at)
            self.warnings |= set() if line.pop("inputs", None) else {"input-withheld"}
        if kind in (VERDICT, END, REFUSED):
            span, receipt = line.pop("spans", None), line.pop("receipts", None)
            if span:
                text = (span["held"] + span["text"]).encode()
                need(commitment(unhex(span["salt"], 16), text) == record[92:124], "span-commitment", at)
                length, saturated = u(record, 34, 2), u(record, 34, 2) == 0xffff and record[88] != 1
                fits = (record[8] & 1) == (span["held"] != "") and (saturated or length == len(span["text"].encode()))
                need(kind == REFUSED or (fits if kind == VERDICT else span["text"] == ""), "span-shape", at)
                need(kind != END or FORMATTING.issuperset(span["held"]), "end-not-formatting", at)
            self.warnings |= set() if span or kind == REFUSED else {"span-withheld"}
            if receipt:
                need((kind, record[130]) == (VERDICT, 3) or kind == END, "receipt-not-admitted", at)
                need((receipt["serial"], receipt["lane"]) == (self.ticket["serial"], lane), "receipt-session", at)
                need(not span or span["salt"] == receipt["salt"], "receipt-salt", at)
        need(not line, "line-without-record", at)

    def begin(self, digest, stream, at):
        need(not self.ticket["contexts"] or digest in self.ticket["contexts"], "context-not-permitted", at)
        document, unknown = self.files.get(f"contexts/{digest.hex()}.json"), {"profile-unknown"} if self.ticket["profiles"] else set()
        if document is None:
            return self.warnings.update({"context-withheld"} | unknown)
        context = parsed("context-malformed", read_context, document)
        if context is None:
            return self.warnings.update({"context-version"} | unknown)
        need(not unknown or unhex(context["profile_digest"], 32) in self.ticket["profiles"], "profile-not-permitted", at)
        need(context["package_digest"] == self.image["package"].hex(), "context-package", at)
        need(not stream or stream["id"] == context["id"], "stream-name", at)
        self.warnings |= {"id-twice"} if context["id"] in self.ids and not context["predecessor"] else set()
        self.ids.add(context["id"])
        here = all(f"anchors/{anchor}" in self.files for anchor in context["anchor_digests"])
        self.warnings |= (set() if here else {"anchor-withheld"}) | (set() if stream else {"stream-unnamed"})

    def heartbeat(self, lane, nonce):
        serials = range(self.used[lane] + 1, self.done)
        given = [n for n in serials if n in self.notes and nonce and self.notes[n]["nonce"] == nonce]
        need(given or not all(n in self.notes for n in serials), "heartbeat-nonce")
        self.warnings |= set() if given else {"heartbeat-unwitnessed"}
        self.used[lane] = given[0] if given else self.used[lane]
        self.beats[lane].append(nonce)

    def checkpoint(self, c, device):
        """Everything about one checkpoint, after the records under it."""
        serial, last, lanes = self.done, self.last, self.lanes
        need(c["serial"] == serial, "checkpoint-serial")
        need(c["lanes"] == len(lanes), "checkpoint-lanes")
        heads = self.files.get("records/heads.bin", b"")[48 * len(lanes) * serial:][:48 * len(lanes)]
        heads = [heads[at:at + 48] for at in range(0, len(heads), 48)]
        sizes = [u(head, 8, 8) for head in heads] or [c["size"]]
        signed = sum(sizes) == c["size"] and (not heads or root_of([leaf_hash(head) for head in heads]) == c["root"])
        need(signed, "checkpoint-heads")
        for lane, size in enumerate(sizes):
            self.read(lane, size)
        need(all(len(rules.leaves) >= size for rules, size in zip(lanes, sizes)), "records-missing")
        need(all(len(rules.leaves) == size for rules, size in zip(lanes, sizes)), "checkpoint-order")
        made = [lane_head(lane, len(rules.leaves), root_of(rules.leaves)) for lane, rules in enumerate(lanes)]
        need(root_of(made) == c["root"], "checkpoint-root")
        closed, over = [bool(r.close) for r in lanes], [bool(r.close or r.alarm) for r in lanes]
        state = last["state"] if last else None
        need({OPENING: not last and set(sizes) == {1}, RUN: state in (OPENING, RUN) and not over[0],
              FAULT: state in (OPENING, RUN, FAULT) and all(over) and not all(closed),
              CLOSING: state in (OPENING, RUN, FAULT) and all(closed)}[c["state"]], "checkpoint-state")
        need(not last or last["tick"] <= c["tick"], "checkpoint-order")
        same = all(c[key] == (last or c)[key] for key in ("design", "flags", "boot", "epoch", "ticket"))
        need(same, "checkpoint-session")
        identity = bytes([c["flags"]]) + c["epoch"].to_bytes(4, "little")
        need(all(r.identity == identity and r.tick <= c["tick"] for r in lanes), "checkpoint-records")
        need(is_signed(c, device["key"]), "checkpoint-signature")
        need(c["design"] == device["design"], "checkpoint-design")
        classes = [c["flags"] & SIM, c["flags"] & CLASS_KEY, not c["flags"] & (SIM | CLASS_KEY)]
        need(classes[device["class"]], "checkpoint-class")
        need(c["policy"] == self.image["digest"], "checkpoint-policy")
        need(c["fault"] == 0, "alarm")
        need(c["ticket"] == self.ticket["digest"], "checkpoint-ticket")
        need(serial not in self.notes or self.notes[serial]["checkpoint"] == c["digest"], "witness-checkpoint")
        self.done, self.last = serial + 1, c

    def finish(self):
        self.warnings |= set() if self.last["state"] == CLOSING else {"not-closed"}
        for lane, rules in enumerate(self.lanes):
            signed = len(rules.leaves)
            self.read(lane, 1 << 32)
            self.warnings |= set() if len(rules.leaves) == signed else {"unsigned-tail"}
            need(rules.overdrawn is None, "heartbeat-gap", rules.overdrawn)
            need(not any(self.lines[lane].values()), "line-without-record")
        need(len({(r.open[:32], latched(r.open), r.identity) for r in self.lanes}) == 1, "lane-session")
        ends = {record[116:118] for r in self.lanes for record in (r.alarm, r.close) if record}
        need(len(ends - {b"\0\0"}) < 2, "lane-session")
        most = max(self.beats, key=len)
        need(all(beats == most[:len(beats)] and len(most) - len(beats) < 2 for beats in self.beats), "lane-heartbeats")


def lane_head(lane, size, root):
    return leaf_hash(bytes([lane]) + bytes(7) + size.to_bytes(8, "little") + root)


def check_bundle(folder, trust, allow_sim, at, warnings):
    files, lanes, checkpoints = read_files(folder)
    image, ticket = check_image(files, warnings), parsed("ticket-malformed", read_ticket, files["ticket.cose"])
    need(ticket["policy"] == image["digest"], "ticket-policy")
    need(image["unknown"] or not ticket["text_lane"], "text-lane")
    warnings |= set() if check_issuer(ticket, trust) else {"no-witness"}
    notes = check_notes(files, checkpoints, ticket, trust, warnings)
    at = notes[min(notes)]["time"] if notes else at
    warnings |= {"certificate-time"} if at is None else set()
    device = check_certificate(files["device/cert.pem"], files["device/chain.pem"], trust, at)
    need(ticket["key"] == sha(device["key"]), "ticket-key")
    if "policy/approval.cose" in files:
        header, payload, signed, signature = parsed("approval-malformed", cose_sign1, files["policy/approval.cose"])
        policy, _ = parsed("approval-malformed", read_map, payload, [bytes, str])
        need(header == {} and len(policy) == 32, "approval-malformed")
        need(policy == image["digest"], "approval-of-another")
        need(any(ed25519(key, signed, signature) for key in trust["approvers"]), "approval-untrusted")
    for name in files:
        need(name[:9] != "contexts/" and name[:8] != "anchors/" or sha(files[name]).hex() in name, "file-digest", name)
    if image["unknown"]:
        marks = simulation(None, device)
        need(allow_sim or not marks, min(marks, default=""))
        # Records and checkpoints of an unknown version are not read.
        package = any(name.startswith("policy/package/") for name in files)
        warnings |= {"unknown-version"} | (set() if package else {"package-withheld"})
        return marks
    walk, marks = parsed("not-a-bundle", Walk, files, lanes, image, ticket, notes, warnings), set()
    for serial in range(checkpoints):
        checkpoint = read_checkpoint(files[f"checkpoints/{serial:08}.cose"])
        marks |= simulation(checkpoint, device)
        need(allow_sim or not marks, min(marks, default=""))
        walk.checkpoint(checkpoint, device)
    walk.finish()
    return marks


def check_proof(proof, receipt, text, trust, allow_sim, at):
    names = ["schema", "record", "path", "checkpoint", "ticket", "certificate", "chain"]
    proof, receipt = strict_json(proof), strict_json(receipt, LINES["receipts"])
    need(proof.pop("schema") == "portcullis/receipt-proof/1" and set(names[1:]) == set(proof) - {"head"}, "proof-malformed")
    record, lane, index, c = unhex(proof["record"], 192), receipt["lane"], receipt["index"], unhex(proof["checkpoint"])
    need((record[138], u(record, 144, 8)) == (lane, index), "another-record")
    need((record[129], record[130]) == (VERDICT, 3), "not-admitted")
    need(commitment(unhex(receipt["salt"], 16), text) == record[92:124], "another-text")
    c = read_checkpoint(c)
    need(("head" in proof) == (c["lanes"] > 1), "not-included")
    head = proof.get("head", {"size": c["size"], "path": []})
    root = root_from_path(leaf_hash(record), index, head["size"], [unhex(node, 32) for node in proof["path"]]) or b""
    leaf, path = lane_head(lane, head["size"], root), [unhex(node, 32) for node in head["path"]]
    need(root_from_path(leaf, lane, c["lanes"], path) == c["root"], "not-included")
    ticket = read_ticket(unhex(proof["ticket"]))
    check_issuer(ticket, trust)
    need(ticket["serial"] == receipt["serial"], "another-session")
    device = check_certificate(proof["certificate"].encode(), proof["chain"].encode(), trust, at)
    marks = simulation(c, device)
    need(allow_sim or not marks, min(marks, default=""))
    bound = (ticket["digest"], device["design"], sha(device["key"]), ticket["policy"])
    need((c["ticket"], c["design"], ticket["key"], c["policy"]) == bound and is_signed(c, device["key"]), "not-signed")
    return marks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("evidence", "--trust", "--receipt", "--text"):
        parser.add_argument(name, type=pathlib.Path, **({"required": True} if name == "--trust" else {}))
    parser.add_argument("--allow-sim", action="store_true")
    parser.add_argument("--at", type=int)
    args, warnings = parser.parse_args(), set()
    try:
        trust = read_trust(args.trust, args.allow_sim)
        if args.evidence.is_dir():
            marks = check_bundle(args.evidence, trust, args.allow_sim, args.at, warnings)
        else:
            files = [path.read_bytes() for path in (args.evidence, args.receipt, args.text)]
            marks = parsed("proof-malformed", check_proof, *files, trust, args.allow_sim, args.at)
    except Refusal as refusal:
        print("contradicted:", *refusal.args)
        return 3
    print("\n".join(f"warned: {code}" for code in sorted(warnings | marks)) or "affirmed")
    return 10 if marks else 5 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
