"""Checks a stream proof: that a card admitted just this text, in this order, from BEGIN to END.

Written from docs/reference/formats, with the standard library of Python alone: readers of an answer can run it without
installing anything. It stops at the first thing that does not hold.

python3 stream_proof.py PROOF --trust DIR [--allow-sim] [--at SECOND] [--text FILE]
"""

import argparse
import base64
import hashlib
import hmac
import json
import re
import struct
import sys
import zlib
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

MB = 1 << 20
BEGIN, VERDICT, NOTE, END = 2, 3, 4, 5
ADMIT = 3


class Refused(Exception):
    """What does not hold."""


def check(condition, what):
    if not condition:
        raise Refused(what)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# Ed25519, RFC 8032, section 5.1.7. Keys and points of small order, and encodings that are not canonical, are refused.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def add(a, b):
    x, y = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    t, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 == (a[1] * b[2] - b[1] * a[2]) % P


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    found = (x, y, 1, x * y % P)
    return None if same(times(8, found), (0, 1, 1, 0)) else found


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519(key, message, signature):
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return same(times(s, BASE), add(r, times(k, a)))


# SLH-DSA-SHA2-128f, FIPS 205, with an empty context. Addresses are compressed (section 11.2).

N, H, LAYERS, HEIGHT, A, K = 16, 66, 22, 3, 6, 33
LENGTH = 35
WOTS_HASH, WOTS_KEY, TREE, FORS_TREE, FORS_ROOTS = range(5)


def slh_dsa(key, message, signature):
    seed, root = key[:N], key[N:]
    if len(signature) != N * (1 + K * (1 + A) + H + LAYERS * LENGTH) or len(key) != 2 * N:
        return False
    prefix = seed + bytes(64 - N)

    def address(layer, tree, kind, *words):
        return struct.pack(">BQB3I", layer, tree, kind, *words)

    def hashed(adrs, *parts):
        return sha(prefix, adrs, *parts)[:N]

    pieces = [signature[at : at + N] for at in range(0, len(signature), N)]
    message = b"\0\0" + message
    inner = sha(pieces[0], seed, root, message)
    digest, counter = b"", 0
    while len(digest) < 34:
        digest += sha(pieces[0], seed, inner, struct.pack(">I", counter))
        counter += 1
    md, tree, leaf = digest[:25], int.from_bytes(digest[25:33], "big") % 2**63, digest[33] % 2**HEIGHT

    def climb(node, index, path, adrs):
        for level, sibling in enumerate(path):
            pair = (sibling, node) if index & 1 else (node, sibling)
            index >>= 1
            node = hashed(adrs(level + 1, index), *pair)
        return node

    bits, roots, at = int.from_bytes(md, "big") >> (200 - K * A), [], 1
    for number in range(K):
        index = bits >> (A * (K - 1 - number)) & (2**A - 1)
        secret, path = pieces[at], pieces[at + 1 : at + 1 + A]
        at += 1 + A

        def adrs(level, place, number=number):
            return address(0, tree, FORS_TREE, leaf, level, (number << (A - level)) + place)

        roots.append(climb(hashed(adrs(0, index), secret), index, path, adrs))
    node = hashed(address(0, tree, FORS_ROOTS, leaf, 0, 0), *roots)

    for layer in range(LAYERS):
        digits = [nibble for byte in node for nibble in (byte >> 4, byte & 15)]
        total = sum(15 - digit for digit in digits) << 4
        digits += [total >> 12 & 15, total >> 8 & 15, total >> 4 & 15]
        ends = []
        for chain, digit in enumerate(digits):
            value = pieces[at + chain]
            for step in range(digit, 15):
                value = hashed(address(layer, tree, WOTS_HASH, leaf, chain, step), value)
            ends.append(value)
        at += LENGTH
        node = hashed(address(layer, tree, WOTS_KEY, leaf, 0, 0), *ends)
        path, at = pieces[at : at + HEIGHT], at + HEIGHT

        def adrs(level, place, layer=layer, tree=tree):
            return address(layer, tree, TREE, 0, level, place)

        node = climb(node, leaf, path, adrs)
        tree, leaf = tree >> HEIGHT, tree % 2**HEIGHT
    return hmac.compare_digest(node, root)


# CBOR and COSE_Sign1, as far as tickets use them: one content has one encoding.


def cbor_item(data, at):
    first, at = data[at], at + 1
    major, number = first >> 5, first & 31
    if number >= 24:
        check(number < 28, "a CBOR length of no length")
        size = 1 << (number - 24)
        number = int.from_bytes(data[at : at + size], "big")
        check(len(data) >= at + size and number >= (24, 1 << 8, 1 << 16, 1 << 32)[number_class(size)], "a long length")
        at += size
    if major == 0:
        return number, at
    if major in (2, 3):
        check(len(data) - at >= number, "a text that is cut")
        item = data[at : at + number]
        return (item if major == 2 else item.decode()), at + number
    if major == 4:
        items = []
        for _ in range(number):
            item, at = cbor_item(data, at)
            items.append(item)
        return items, at
    check(major == 5, "a kind of CBOR that no ticket has")
    pairs, before = {}, None
    for _ in range(number):
        start = at
        key, at = cbor_item(data, at)
        check(before is None or before < (at - start, data[start:at]), "keys that are not in order")
        before = (at - start, data[start:at])
        pairs[key], at = cbor_item(data, at)
    return pairs, at


def number_class(size):
    return {1: 0, 2: 1, 4: 2, 8: 3}[size]


def cbor(data):
    item, end = cbor_item(data, 0)
    check(end == len(data), "bytes behind a CBOR item")
    return item


def byte_string(data):
    size = len(data)
    for most, form in ((24, None), (1 << 8, ">BB"), (1 << 16, ">BH"), (1 << 32, ">BI")):
        if size < most:
            head = bytes([0x40 + size]) if form is None else struct.pack(form, 0x58 + (">BB", ">BH", ">BI").index(form), size)
            return head + data
    raise Refused("a message that is too long")


def read_ticket(message, trust, time):
    check(len(message) <= 65536 and message[:1] == b"\xd2", "the ticket is no COSE_Sign1 message")
    protected, unprotected, payload, signature = cbor(message[1:])
    check(protected == b"\xa1\x01\x27" and set(unprotected) == {4} and len(unprotected[4]) == 8, "the ticket's head")
    t = cbor(payload)
    check(sorted(t) == list(range(14)) and t[0] == 2 and t[1] >= 1, "the ticket's terms")
    check(all(len(t[at]) == 32 for at in (3, 4, 8)) and t[13] in (0, 1), "the ticket's terms")
    check(re.fullmatch("[!-~]{1,64}", t[10]), "the ticket's issuer has no name")
    check(t[1] > 1 or not any(t[8]), "the first ticket follows none")
    self_issued = t[10] == "self"
    signed = b"\x84\x6aSignature1" + byte_string(protected) + b"\x40" + byte_string(payload)
    known = [key for key in trust.issuers if sha(key)[:8] == unprotected[4]]
    if self_issued:
        check(not known and t[6] == t[7] == 0, "a self-issued ticket that is none")
    else:
        signers = [key for key in known if ed25519(key, signed, signature)]
        check(signers, "the ticket's issuer is not believed")
        check(not any(is_revoked(trust, key, time) for key in signers), "the ticket's issuer is revoked")
    return SimpleNamespace(
        serial=t[1], key=t[3], policy=t[4], contexts=t[5], profiles=t[12], self_issued=self_issued, digest=sha(message)
    )


# X.509 in DER, as far as device certificates use it.

EDDSA = bytes.fromhex("300506032b6570")
AUTHORITY_KEY = bytes.fromhex("302a300506032b6570032100")
CARD_KEY = bytes.fromhex("3030300b0609608648016503040315032100")
CONSTRAINTS, USAGE = bytes.fromhex("0603551d13"), bytes.fromhex("0603551d0f")
DESIGN, CLASS, SUPERVISED = (bytes.fromhex("060a2b0601040181fd5901") + bytes([n]) for n in (1, 2, 3))


def der(raw, at=0):
    """Where the content of the element at a place begins and ends."""
    length, start = raw[at + 1], at + 2
    if length & 128:
        count = length & 127
        check(1 <= count <= 4, "a DER length")
        length = int.from_bytes(raw[start : start + count], "big")
        start += count
        check(length >= 128 and length >= 1 << 8 * (count - 1), "a DER length that is not the shortest")
    check(start + length <= len(raw), "a DER element that is cut")
    return start, start + length


def items(raw):
    found, (at, end) = [], der(raw)
    check(end == len(raw), "bytes behind a DER element")
    while at < end:
        stop = der(raw, at)[1]
        found.append(raw[at:stop])
        at = stop
    check(at == end, "DER elements that do not end together")
    return found


def instant(raw):
    text = raw[2:].decode()
    check(raw[0] in (0x17, 0x18) and re.fullmatch(r"\d{12}Z" if raw[0] == 0x17 else r"\d{14}Z", text), "a time")
    if raw[0] == 0x17:
        text = ("19" if int(text[:2]) >= 50 else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()


def read_certificate(raw):
    body, algorithm, signature = items(raw)
    version, _, inner, issuer, validity, subject, spki, *_, last = items(body)
    check(version == b"\xa0\3\2\1\2" and inner == algorithm == EDDSA and last[0] == 0xA3, "a form of certificate")
    check(signature[:3] == b"\3\x41\0", "a signature of another kind")
    extensions, critical = {}, set()
    (listed,) = items(last)
    for extension in items(listed):
        oid, *flag, value = items(extension)
        check(oid not in extensions and flag in ([], [b"\1\1\xff"]), "an extension twice")
        check(not flag or oid in (CONSTRAINTS, USAGE), "a critical extension that nobody knows")
        start, end = der(value)
        extensions[oid] = value[start:end]
        critical |= {oid} if flag else set()
    constraints = re.fullmatch(rb"0.(\x01\x01\xff)?(?:\x02\x01([\x00-\x7f]))?", extensions.get(CONSTRAINTS, b"0\0"), re.S)
    usage = extensions[USAGE]
    check(constraints and usage[:2] in (b"\3\2", b"\3\3"), "an extension of another form")
    ca, length = constraints.groups()
    times = tuple(map(instant, items(validity)))
    return SimpleNamespace(
        body=body, signature=signature[3:], issuer=issuer, subject=subject, times=times, key=spki[-32:],
        prefix=spki[:-32], raw=extensions, ca=ca, length=length, signs=usage[3] & 128, certifies=usage[3] & 4,
        authority=ca and CONSTRAINTS in critical and usage[3] & 4,
    )


def read_pem(text):
    block = r"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----\s*"
    check(len(text) <= 65536 and re.fullmatch(f"(?:{block})*", text), "text that is no certificate")
    return [read_certificate(base64.b64decode("".join(found.split()), validate=True)) for found in re.findall(block, text)]


def issued(lower, upper):
    return lower.issuer == upper.subject and ed25519(upper.key, lower.body, lower.signature)


def read_trust(folder):
    """Roots, roots of simulations, issuers, and what is revoked."""
    roots, sim_roots = [], []
    for name, found in (("roots", roots), ("sim-roots", sim_roots)):
        for path in sorted(folder.glob(f"{name}/*.pem")):
            (root,) = read_pem(path.read_text())
            check((root.raw.get(CLASS) == b"\n\1\0") == (name == "sim-roots"), f"{path} belongs in the other folder")
            found.append(root)
    issuers = []
    for path in sorted(folder.glob("issuers/*.pub")):
        lines = path.read_text().split("-----")
        key = base64.b64decode("".join(lines[2].split()), validate=True)
        check(lines[1] == "BEGIN PUBLIC KEY" and key[:12] == AUTHORITY_KEY and len(key) == 44, f"{path} holds no key")
        issuers.append(key[12:])
    revoked = folder / "revoked.txt"
    lines = re.split("\r?\n", revoked.read_bytes().decode()) if revoked.exists() else []
    since = {}
    for line in lines:
        words = line.split(" ")
        if line and not line.startswith("#"):
            dated = len(words) == 4 and words[0] == "key" and words[2] == "since"
            check(re.fullmatch("key [0-9a-f]{64}|design [0-9a-f]{32}", " ".join(words[:2])), "revoked.txt")
            check(len(words) == 2 or dated and re.fullmatch("0|[1-9][0-9]{0,19}", words[3]), "revoked.txt")
            time = int(words[3]) if dated else 0
            check(time < 1 << 64, "revoked.txt")
            since[" ".join(words[:2])] = min(time, since.get(" ".join(words[:2]), time))
    return SimpleNamespace(roots=roots, sim_roots=sim_roots, issuers=issuers, revoked=since)


def is_revoked(trust, key, time):
    since = trust.revoked.get("key " + sha(key).hex())
    return since is not None and (time is None or time >= since)


def certify(card_pem, chain_pem, trust, time, allow_sim):
    (card,), chain = read_pem(card_pem), read_pem(chain_pem)
    design, kind = card.raw[DESIGN], card.raw[CLASS]
    check(design[:2] == b"\4\x10" and len(design) == 18 and card.prefix == CARD_KEY, "the card's certificate")
    check(kind in (b"\n\1\0", b"\n\1\1", b"\n\1\2"), "a class that no card has")
    check(card.raw.get(SUPERVISED, b"\1\1\xff") == b"\1\1\xff" and len(chain) <= 4, "the card's certificate")
    card.design, card.kind = design[2:], kind[2]
    check(card.design[0] >> 7 == (card.kind == 0), "a simulated design in the certificate of a card, or the reverse")
    check(not card.ca and card.signs and not card.certifies, "the card's certificate certifies others")
    path = [card, *chain]
    roots = trust.roots + (trust.sim_roots if allow_sim else [])
    root = next((root for root in roots if issued(path[-1], root) and issued(root, root)), None)
    check(root, "no root of the trust folder vouches for the card")
    check((card.kind == 0) == (root.raw.get(CLASS) == b"\n\1\0"), "a root of simulations vouches for a card")
    for below, upper in enumerate([*chain, root]):
        check(issued(path[below], upper) and upper.prefix == AUTHORITY_KEY, "the chain of certificates")
        check(upper.authority and (upper.length is None or upper.length[0] >= below), "the chain of certificates")
        check(upper is root or upper.issuer != upper.subject, "the chain of certificates")
    for one in [*path, root]:
        check(time is None or one.times[0] <= time <= one.times[1], "a certificate that is not valid at that time")
        check(not is_revoked(trust, one.key, time if one is card else None), "a revoked key")
    check("design " + card.design.hex() not in trust.revoked, "a revoked design")
    return card


# Trees, records and checkpoints.


def leaf_hash(data):
    return sha(b"\0", data)


def path_root(node, index, size, path):
    """RFC 9162, 2.1.3.2: the root that an inclusion proof leads to."""
    check(index < size and len(path) <= 65, "an inclusion proof of another tree")
    last = size - 1
    for sibling in path:
        check(last > 0, "an inclusion proof that is too long")
        left = index & 1 or index == last
        node = sha(b"\1", sibling, node) if left else sha(b"\1", node, sibling)
        while left and index and not index & 1:
            index, last = index >> 1, last >> 1
        index, last = index >> 1, last >> 1
    check(last == 0, "an inclusion proof that is too short")
    return node


COSE_HEAD, COSE_BODY = bytes.fromhex("d28447a1013a00011170a058c0"), bytes.fromhex("5942c0")
SIGNED_HEAD = b"\x84\x6aSignature1" + COSE_HEAD[2:10] + b"\x40" + COSE_HEAD[11:]


def read_checkpoint(message):
    check(message[:13] == COSE_HEAD and message[205:208] == COSE_BODY and len(message) == 17296, "no checkpoint")
    c = SimpleNamespace(raw=message[13:205], signature=message[208:])
    magic, version, c.key_flags, c.state, c.lanes, _, c.size, _ = struct.unpack_from("<4s4B3Q", c.raw)
    c.root, c.policy, c.ticket, c.design, _, _, c.epoch, c.fault = struct.unpack_from("<32s32s32s16s16sQIH", c.raw, 32)
    check(magic == b"PCKP" and version == 1 and c.key_flags < 8 and not any(c.raw[174:]), "no checkpoint")
    check(c.lanes in (1, 2, 4, 8) and c.state in (2, 3, 4, 5), "no checkpoint")
    return c


def check_signed(c, card, ticket):
    check(c.ticket == ticket.digest and c.policy == ticket.policy, "a checkpoint of another session")
    check(c.design == card.design and ticket.key == sha(card.key), "a checkpoint of another card")
    check((c.key_flags & 1, c.key_flags & 2, not c.key_flags & 3)[card.kind], "a key of another class")
    check(slh_dsa(card.key, SIGNED_HEAD + c.raw, c.signature), "the card did not sign this checkpoint")


def is_simulated(card, c):
    secret, seeds = sha(b"SIM TEST KEY - NOT FOR PRODUCTION"), []
    for design in (card.design, c.design):
        for one in (bytes([design[0] | 128]) + design[1:], bytes([design[0] & 127]) + design[1:]):
            seeds.append(hmac.digest(secret, b"portcullis/slh-dsa/1\0\2" + one, "sha256")[:16])
    return bool(c.key_flags & 1 or card.key[:16] in seeds or card.kind == 0 or (card.design[0] | c.design[0]) & 128)


FORMATTING = "9-D 20-2F 3A-40 5B-60 7B-7E 85 A0 A1 AB B7 BB BF 1680 2000-200A 2010-2015 2018-2022 2026 2028 2029 202F"
FORMATTING += " 2039 203A 205F 3000-3002 3008-3011"
RANGES = [[int(end, 16) for end in part.split("-")] for part in FORMATTING.split()]


def is_formatting(text):
    return all(any(ends[0] <= ord(character) <= ends[-1] for ends in RANGES) for character in text)


KINDS = {"text": b"portcullis/span/1\0", "call": b"portcullis/call/1\0"}


def read_json(data):
    def pairs(found):
        check(len(dict(found)) == len(found), "a key twice")
        return dict(found)

    return json.loads(data.decode(), object_pairs_hook=pairs)


def hexes(value, size=None):
    check(type(value) is str and re.fullmatch("([0-9a-f]{2})*", value), "no hexadecimal")
    check(size is None or len(value) == 2 * size, "hexadecimal of another length")
    return bytes.fromhex(value)


def keys(value, needed, more=()):
    check(type(value) is dict and set(needed) <= set(value) <= {*needed, *more}, "a key that is missing, or unknown")
    return value


def uint(value):
    check(type(value) is int and 0 <= value < 1 << 64, "no number")
    return value


PROFILE = ["intent", "domain", "audience", "temporal", "epistemic", "register", "facts"]
CONTEXT = ["version", "mode", "granularity", "on_refuse", "release", "max_proposals", "policy", "package_digest"]
CONTEXT += ["profile", "profile_digest", "task", "anchor_digests", "predecessor", "id"]


def read_context(text):
    document = read_json(text.encode())

    def compact(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    check(document["version"] == 3, "a context document of another version")
    check(list(document) == CONTEXT and compact(document) == text, "not as a context document is written")
    check(list(document["profile"]) == PROFILE and list(document["task"]) == ["intent", "facts"], "a context document")
    check(document["profile_digest"] == sha(compact(document["profile"]).encode()).hex(), "another profile")
    return document


def verify(data, trust, allow_sim=False, time=None):
    """What the stream released, piece by piece; how many mutations were refused; whether a simulated card says so."""
    check(len(data) <= 64 * MB, "a proof that is too long")
    proof = keys(
        read_json(data),
        ["schema", "context", "records", "spans", "checkpoint", "ticket", "certificate", "chain"],
        ["head"],
    )
    check(proof["schema"] == "portcullis/stream-proof/1", "another schema")
    c = read_checkpoint(hexes(proof["checkpoint"]))
    ticket = read_ticket(hexes(proof["ticket"]), trust, time)
    card = certify(proof["certificate"], proof["chain"], trust, time, allow_sim)
    simulated = is_simulated(card, c)
    check(allow_sim or not simulated, "a simulated card")
    check_signed(c, card, ticket)
    document = read_context(proof["context"])
    check(("head" in proof) == (c.lanes > 1), "the lane's head")
    head = keys(proof.get("head", {"size": c.size, "path": []}), ["size", "path"])
    head_path = [hexes(one, 32) for one in head["path"]]

    spans, pieces, refused, before = iter(proof["spans"]), [], 0, None
    for entry in proof["records"]:
        keys(entry, ["record", "path"])
        raw = hexes(entry["record"], 192)
        version, kind, determination = struct.unpack_from("<3B", raw, 128)
        lane, _, epoch, index = struct.unpack_from("<2BIQ", raw, 138)
        slot, sequence = struct.unpack_from("<HI", raw, 2)
        here = SimpleNamespace(lane=lane, epoch=epoch, slot=slot, index=index, sequence=sequence, kind=kind)
        check(version == 1 and kind in (BEGIN, VERDICT, NOTE, END), "a record that is of no entry")
        check(zlib.crc32(raw[:124]) == int.from_bytes(raw[124:128], "little"), "an entry that is damaged")
        if before is None:
            check(kind == BEGIN and sequence == 0, "the stream's beginning is missing")
        else:
            same_stream = (lane, epoch, slot) == (before.lane, before.epoch, before.slot)
            check(same_stream and before.index < index and before.kind != END, "a record of another stream")
            check(kind != BEGIN and sequence == before.sequence + 1, "a record is missing")
        check(kind != VERDICT or raw[8] < 8, "flags that no page names")
        root = path_root(leaf_hash(raw), index, uint(head["size"]), [hexes(one, 32) for one in entry["path"]])
        lane_head = struct.pack("<B7xQ", lane, head["size"]) + root
        check(path_root(leaf_hash(lane_head), lane, c.lanes, head_path) == c.root, "a record that was not signed")
        if kind == BEGIN:
            check(raw[92:124] == sha(proof["context"].encode()), "the context document of another stream")
            check(not ticket.contexts or raw[92:124] in ticket.contexts, "a context that the ticket does not permit")
            profile = bytes.fromhex(document["profile_digest"])
            check(not ticket.profiles or profile in ticket.profiles, "a profile that the ticket does not permit")
        elif kind == END or (kind == VERDICT and determination == ADMIT):
            line = keys(next(spans, None), ["index", "salt", "held", "text"], ["kind"])
            named = line.get("kind", "text")
            held, text = line["held"].encode(), line["text"].encode()
            check(uint(line["index"]) == index and named in KINDS, "the text of a record is missing")
            whole = held + text
            digest = sha(KINDS[named], hexes(line["salt"], 16), struct.pack("<I", len(whole)), whole)
            check(digest == raw[92:124], "another text than the one that was admitted")
            if kind == END:
                check(not text and is_formatting(line["held"]), "text that no rule looked at")
            else:
                length = int.from_bytes(raw[34:36], "little")
                check(bool(held) == raw[8] & 1 and len(text) == length, "a text that is cut in another place")
                check(not raw[8] & 4 or named == "call", "a text in the place of a tool call")
            pieces += [("text", line["held"]), (named, line["text"])]
        elif kind == VERDICT:
            refused += 1
        before = here
    check(before is not None and before.kind == END, "the stream's end is missing")
    check(next(spans, None) is None, "a text that no record admits")
    released = []
    for kind, text in ((kind, text) for kind, text in pieces if text):
        if kind == "text" and released and released[-1][0] == "text":
            released[-1] = ("text", released[-1][1] + text)
        else:
            released.append((kind, text))
    return SimpleNamespace(
        released=released, refused=refused, document=document, simulated=simulated, self_issued=ticket.self_issued
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("proof", type=Path)
    parser.add_argument("--trust", type=Path, required=True)
    parser.add_argument("--text", type=Path, help="what the reader got, byte for byte")
    parser.add_argument("--allow-sim", action="store_true")
    parser.add_argument("--at", type=int)
    options = parser.parse_args()
    try:
        trust = read_trust(options.trust)
    except Exception as error:
        print(f"error: the trust folder: {error!r}", file=sys.stderr)
        return 1
    try:
        facts = verify(options.proof.read_bytes(), trust, options.allow_sim, options.at)
        if options.text:
            whole = "".join(text for _, text in facts.released).encode()
            check(whole == options.text.read_bytes(), "another text than the one that was admitted")
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        print("contradicted:", error if isinstance(error, Refused) else f"no stream proof ({error!r})")
        return 3
    for kind, text in facts.released:
        print(f"{kind}: {json.dumps(text)}")
    warned = facts.self_issued or options.at is None
    print("simulated" if facts.simulated else "warned" if warned else "affirmed")
    return 10 if facts.simulated else 5 if warned else 0


if __name__ == "__main__":
    sys.exit(main())
