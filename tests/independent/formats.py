"""Reads the files of a bundle and their signatures, as docs/reference/formats says. For verify.py."""

import base64
import hashlib
import hmac
import json
import re
import struct
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import cbor2
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_public_key

FORMATS = Path(__file__).parents[2] / "docs/reference/formats"
RELEASES = [line.split() for line in (FORMATS / "releases.txt").read_text().splitlines() if not line.startswith("#")]
MAPS, MAPPINGS = {release[-1] for release in RELEASES}, {int(release[2]) for release in RELEASES}
NO_ROW = 65535
PERMIT = 1
SIM_MARKS = {"sim-flag", "sim-key", "sim-root", "sim-design"}
# Warnings with which the exit code is 10.
MARKS = SIM_MARKS | {"not-enforced"}


LITTER = ".DS_Store .Spotlight-V100 .Trashes .fseventsd __MACOSX Thumbs.db desktop.ini .directory".split()


class Refused(Exception):
    """The first contradiction: a reason code of docs/reference/verify.md, and where it was found."""


def check(condition, code="", where=""):
    if not condition:
        raise Refused(code, where)


@contextmanager
def reading(code, where=""):
    """Whatever fails while hostile bytes are read is a contradiction with this code."""
    try:
        yield
    except Exception as error:
        raise error if isinstance(error, Refused) and error.args[0] else Refused(code, where)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def leaf_hash(data):
    return sha(b"\0", data)


def tree_root(leaves):
    while len(leaves) > 1:
        pairs = [leaves[i : i + 2] for i in range(0, len(leaves), 2)]
        leaves = [sha(b"\1", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return leaves[0] if leaves else sha()


def path_root(node, index, size, path):
    """RFC 9162, 2.1.3.2: the root that an inclusion proof leads to."""
    check(index < size and len(path) <= 65)
    last = size - 1
    for sibling in path:
        check(last > 0 and len(sibling) == 32)
        left = index & 1 or index == last
        node = sha(b"\1", sibling, node) if left else sha(b"\1", node, sibling)
        while left and index and not index & 1:
            index, last = index >> 1, last >> 1
        index, last = index >> 1, last >> 1
    check(last == 0)
    return node


PRIME, Y8 = 2**255 - 19, 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD83D3D706A17C7
SMALL_ORDER = {0, 1, PRIME - 1, Y8, PRIME - Y8}  # the y coordinates of the eight points


def ed25519(key, message, signature):
    """Strict. OpenSSL checks S and the equation without the cofactor, but takes points of small order."""
    points = [int.from_bytes(point, "little") % 2**255 for point in (key, signature[:32])]
    if any(y >= PRIME or y in SMALL_ORDER for y in points):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


def cbor(data):
    value = cbor2.loads(data)
    check(cbor2.dumps(value, canonical=True) == data)  # one content has one encoding
    return value


def cose(message):
    """COSE_Sign1 with EdDSA: unprotected header, payload, what is signed, signature."""
    check(message[:1] == b"\xd2")
    protected, unprotected, payload, signature = cbor(message[1:])
    check(protected == b"\xa1\x01\x27" and type(payload) is bytes and octets(64)(signature))
    return unprotected, cbor(payload), cbor2.dumps(["Signature1", protected, b"", payload]), signature


def read_json(data):
    def pairs(items):
        check(len(dict(items)) == len(items))
        return dict(items)

    def number(text):
        return -0.0 if text == "-0" else int(text)  # "-0" is no integer of these formats

    value = json.loads(
        data.decode(), object_pairs_hook=pairs, parse_int=number, parse_constant=lambda name: check(False)
    )
    json.dumps(value, ensure_ascii=False).encode()  # refuses lone surrogates
    return value


def fits(value, shape):
    """Whether a JSON or CBOR value has a shape: dict and list of shapes, a set of words, a function, or the value."""
    if type(shape) is dict:
        same = type(value) is dict and set(value) == set(shape) and len(set(map(type, [*value, *shape]))) == 1
        return same and all(fits(value[key], shape[key]) for key in shape)
    if type(shape) is list:
        return type(value) is list and all(fits(item, shape[0]) for item in value)
    if type(shape) is set:
        return type(value) in (str, type(None)) and value in shape
    return bool(shape(value)) if callable(shape) else type(value) is type(shape) and value == shape


def uint(bits):
    return lambda value: type(value) is int and 0 <= value < 1 << bits


def octets(size):
    return lambda value: type(value) is bytes and len(value) == size


def hexes(size):
    return lambda value: type(value) is str and re.fullmatch("[0-9a-f]{%d}" % (2 * size), value)


def text(value):
    return type(value) is str


def text_or_null(value):
    return type(value) in (str, type(None))


def unbase64(text):
    check(base64.b64encode(base64.b64decode(text)).decode() == text)
    return base64.b64decode(text)


KEY_NAME = r"[^\s+\x00-\x1f\x7f-\x9f]+"


def read_verifier_key(text):
    """A C2SP verifier key: name, key id, public key."""
    name, key_id, key = re.fullmatch(rf"({KEY_NAME})\+([0-9a-f]{{8}})\+(\S+)\s*", text).groups()
    check(sha(name.encode(), b"\n", unbase64(key))[:4].hex() == key_id and unbase64(key)[0] == 4)
    return name, bytes.fromhex(key_id), unbase64(key)[1:]


REVOKED = "(key [0-9a-f]{64}|design [0-9a-f]{32})(?:(?<=key .{64}) since (0|[1-9][0-9]*))?"


def read_trust(folder):
    """The trust folder. Whatever is wrong with it is an operational error, as is a root in the other's folder."""
    try:
        return trust_in(folder)
    except Exception as error:
        raise OSError(f"the trust folder: {error!r}") from error


def trust_in(folder):
    trust = SimpleNamespace(revoked={}, roots=[], sim_roots=[], issuers=[], approvers=[], withholders=[], witnesses=[])
    check(all(p.name.replace("-", "_") in vars(trust) for p in folder.iterdir() if p.is_dir()))
    for path in sorted([*folder.glob("*/*"), *(p for p in folder.iterdir() if not p.is_dir())]):
        kind, data = path.parent.name, path.read_bytes()
        if path == folder / "revoked.txt":
            for line in (line for line in re.split("\r?\n", data.decode()) if line and line[0] != "#"):
                entry, since = re.fullmatch(REVOKED, line).groups()
                check(not since or int(since) < 1 << 64)
                trust.revoked[entry] = min(int(since or 0), trust.revoked.get(entry, 1 << 64))
        elif kind in ("roots", "sim-roots") and path.suffix == ".pem":
            (root,) = read_pem(data)
            check((root.raw.get(CLASS) == b"\n\1\0") == (kind == "sim-roots") and root.authority and issued(root, root))
            (trust.sim_roots if kind == "sim-roots" else trust.roots).append(root)
        elif kind in ("issuers", "approvers", "withholders") and path.suffix == ".pub":
            check(data.count(b"-----BEGIN ") == 1)
            getattr(trust, kind).append(load_pem_public_key(data).public_bytes_raw())
        else:
            check(kind == "witnesses" and path.suffix == ".pub")
            trust.witnesses.append(read_verifier_key(data.decode()))
    return trust


def is_revoked(trust, key, time=None):
    """Whether signatures of a key do not count that are older than a time; without a time, none is."""
    entry = "key " + sha(key).hex()
    return entry in trust.revoked and (time is None or time >= trust.revoked[entry])


ED25519, OF_64_BYTES = bytes.fromhex("300506032b6570"), b"\3\x41\0"
AUTHORITY_KEY = bytes.fromhex("302a300506032b6570032100")
CARD_KEY = bytes.fromhex("3030300b0609608648016503040315032100")
CONSTRAINTS, USAGE = b"\6\3\x55\x1d\x13", b"\6\3\x55\x1d\x0f"
DESIGN, CLASS, SUPERVISED = (bytes.fromhex("060a2b0601040181fd5901") + bytes([n]) for n in (1, 2, 3))


def der_items(raw):
    """The elements inside of a DER element. The X.509 library has checked lengths and types before."""

    def content(at):
        length, start = raw[at + 1], at + 2
        if length & 128:
            length, start = int.from_bytes(raw[start : start + (length & 127)], "big"), start + (length & 127)
        return start, start + length

    items, (at, end) = [], content(0)
    while at < end:
        items.append(raw[at : content(at)[1]])
        at = content(at)[1]
    return items


def read_certificate(der):
    c, extensions, critical = x509.load_der_x509_certificate(der), {}, set()
    body, algorithm, signature = der_items(der)
    version, _, inner, issuer, _, subject, spki, *_, last = der_items(body)
    check(version == b"\xa0\3\2\1\2" and inner == algorithm == ED25519 and signature == OF_64_BYTES + c.signature)
    check(c.public_bytes(Encoding.DER) == der and last[0] == 0xA3)
    for extension in der_items(der_items(last)[0]):
        oid, *flag, value = der_items(extension)
        check(oid not in extensions and flag in ([], [b"\1\1\xff"]))
        check(not flag or oid in (CONSTRAINTS, USAGE))
        extensions[oid] = value[2:] if value[1] < 128 else value[2 + (value[1] & 127) :]
        critical |= {oid} if flag else set()
    check(0 < c.serial_number < 1 << 159)
    # DER has no other form of these two: FALSE is left out, and the last bit of a usage is set.
    constraints = rb"0.(\x01\x01\xff)?(?:\x02\x01([\x00-\x7f]))?"
    ca, length = re.fullmatch(constraints, extensions.get(CONSTRAINTS, b"0\0"), re.S).groups()
    check(ca or not length)
    usage = extensions[USAGE]
    check(usage[:2] in (b"\3\2", b"\3\3") and usage[-1] & -usage[-1] == 1 << usage[2])
    times = c.not_valid_before_utc.timestamp(), c.not_valid_after_utc.timestamp()
    signs, certifies, authority = usage[3] & 128, usage[3] & 4, ca and CONSTRAINTS in critical and usage[3] & 4
    return SimpleNamespace(**locals(), key=spki[-32:], prefix=spki[:-32], raw=extensions)


def read_pem(data):
    """RFC 7468, strict: lines of 64 characters; nothing but white space after a block, nothing before the first."""
    lines = rb"((?:[A-Za-z0-9+/]{64}EOL)*[A-Za-z0-9+/=]{1,64}EOL)"
    block = rb"-----BEGIN CERTIFICATE-----EOL%s-----END CERTIFICATE-----[ \t\n\f\r]*" % lines
    block = block.replace(b"EOL", rb"(?:\r\n|\n|\r)")
    check(len(data) <= 65536 and (re.fullmatch(b"(?:%s)*" % block, data) or not data.strip()))
    return [read_certificate(unbase64("".join(text.decode().split()))) for text in re.findall(block, data)]


def issued(lower, upper):
    return lower.issuer == upper.subject and ed25519(upper.key, lower.body, lower.c.signature)


def certify(card_pem, chain_pem, trust, time, allow_sim):
    """The card's certificate, where its path leads to a trusted root."""
    with reading("certificate"):
        (card,), chain = read_pem(card_pem), read_pem(chain_pem)
        card.design, card.level, card.kind = card.raw[DESIGN][2:], 0, card.raw[CLASS][2]
        check(card.raw[DESIGN][:2] == b"\4\x10" and len(card.design) == 16 and card.prefix == CARD_KEY)
        check(
            card.raw[CLASS] in (b"\n\1\0", b"\n\1\1", b"\n\1\2")
            and card.raw.get(SUPERVISED, b"\1\1\xff") == b"\1\1\xff"
        )
        check(card.design[0] >> 7 == (card.kind == 0) and len(chain) <= 4)
        check(not card.ca and card.signs and not card.certifies)
        roots = trust.roots + (trust.sim_roots if allow_sim else [])
        root = next(root for root in roots if issued(([card] + chain)[-1], root) and issued(root, root))
        check((card.kind == 0) == (root.raw.get(CLASS) == b"\n\1\0"))
        for below, upper in enumerate(chain + [root]):
            check(issued(([card] + chain)[below], upper) and upper.prefix == AUTHORITY_KEY)
            check(upper.authority and (upper.length is None or upper.length[0] >= below))
            check(upper is root or upper.issuer != upper.subject)
        for c in [card, *chain, root]:
            check(time is None or c.times[0] <= time <= c.times[1])
            check(not is_revoked(trust, c.key, time if c is card else None))
        check("design " + card.design.hex() not in trust.revoked)
    return card


def sim_marks(card, checkpoint=None):
    """The marks of a checkpoint and its certificate, or those of the certificate alone."""
    checkpoint = checkpoint or SimpleNamespace(design=card.design, key_flags=0)
    secret, designs = sha(b"SIM TEST KEY - NOT FOR PRODUCTION"), []
    for design in (card.design, checkpoint.design):
        designs += [bytes([design[0] | 128]) + design[1:], bytes([design[0] & 127]) + design[1:]]
    seeds = [hmac.digest(secret, b"portcullis/slh-dsa/1\0\2" + design, "sha256")[:16] for design in designs]
    marks = {"sim-flag": checkpoint.key_flags & 1, "sim-key": card.key[:16] in seeds, "sim-root": card.kind == 0}
    marks["sim-design"] = (card.design[0] | checkpoint.design[0]) & 128
    return {mark for mark, found in marks.items() if found}


DIGESTS = [octets(32)]
TICKET = {0: 2, 1: uint(64), 2: octets(16), 3: octets(32), 4: octets(32), 5: DIGESTS, 6: uint(32), 7: uint(32)}
TICKET |= {8: octets(32), 9: [uint(64)], 10: text, 11: uint(16), 12: DIGESTS, 13: uint(1)}


def read_ticket(message, trust, time=None):
    with reading("ticket-malformed"):
        check(len(message) <= 65536)
        header, t, signed, signature = cose(message)
        check(fits(header, {4: octets(8)}) and fits(t, TICKET) and t[1] >= 1 and (t[1] > 1 or not any(t[8])))
        check(all(t[key] == sorted(set(t[key])) and len(t[key]) <= most for key, most in ((5, 1024), (12, 256))))
        check(len(t[9]) == 2 and t[9][0] <= t[9][1] and re.fullmatch("[!-~]{1,64}", t[10]))
        check(t[10] != "self" or t[6] == t[7] == 0)
    keys = [key for key in trust.issuers if sha(key)[:8] == header[4]]
    keys = [key for key in keys if t[10] == "self" or ed25519(key, signed, signature)]
    check((not keys) == (t[10] == "self") and not any(is_revoked(trust, key, time) for key in keys), "ticket-issuer")
    names = {"serial": 1, "key_id": 3, "policy": 4, "contexts": 5, "validity": 9, "seat": 11, "profiles": 12, "text_lane": 13}
    ticket = SimpleNamespace(**{name: t[key] for name, key in names.items()})
    ticket.limits, ticket.self_issued, ticket.digest = (t[6], t[7]), t[10] == "self", sha(message)
    return ticket


def check_approval(message, policy, trust):
    with reading("approval-malformed"):
        header, payload, signed, signature = cose(message)
        check(header == {} and fits(payload, {1: octets(32), 2: text}))
    check(payload[1] == policy, "approval-of-another")
    approvers = [key for key in trust.approvers if not is_revoked(trust, key)]
    check(any(ed25519(key, signed, signature) for key in approvers), "approval-untrusted")


LINE = r"[^\x00-\x1f\x7f-\x9f]+"
WITHHOLDING = {0: 1, 1: octets(32), 2: octets(32), 3: text, 4: text, 5: [[uint(64)]]}


def read_withholding(message, ticket, trust, warnings):
    """The streams that it names: lane and log index of BEGIN."""
    with reading("withholding-malformed"):
        header, w, signed, signature = cose(message)
        check(header == {} and fits(w, WITHHOLDING) and re.fullmatch(LINE, w[3]) and re.fullmatch(LINE, w[4]))
        check(len(w[3].encode()) <= 200 and len(w[4].encode()) <= 4096)
        streams = [(lane, index) for lane, index in w[5]]
        check(streams and streams == sorted(set(streams)) and streams[-1][0] < 256)
    check(w[1] == ticket.digest, "withholding-session")
    withholders = [key for key in trust.withholders if not is_revoked(trust, key)]
    warnings |= set() if any(ed25519(key, signed, signature) for key in withholders) else {"withholding-untrusted"}
    return streams


DECIMAL, BASE64 = "(0|[1-9][0-9]*)", "([A-Za-z0-9+/]+=*)"
NOTE = re.compile(
    rf"c2sp\.org/tlog-proof@v1\nextra {BASE64}\nindex {DECIMAL}\n((?:{BASE64}\n)*)\n"
    rf"(portcullis/([0-9a-f]{{64}})(?:/([1-9][0-9]*))?\n{DECIMAL}\n{BASE64}\n)\n((?:\u2014 {KEY_NAME} {BASE64}\n){{1,16}})"
)


def read_note(data, trust):
    check(len(data) <= 16384)
    entry, index, proof, _, body, origin, seat, size, root, signatures, _ = NOTE.fullmatch(data.decode()).groups()
    index, size, path, times = int(index), int(size), [unbase64(line) for line in proof.splitlines()], {}
    check(path_root(leaf_hash(unbase64(entry)), index, size, path) == unbase64(root) and size < 1 << 64)
    ticket, serial, checkpoint, nonce = struct.unpack("<QQ32sQ", unbase64(entry))
    for _, name, line in (line.split(" ") for line in signatures.splitlines()):
        key_id, time, signature = unbase64(line)[:4], int.from_bytes(unbase64(line)[4:12], "big"), unbase64(line)[12:]
        check(len(key_id) == 4)
        for place, (witness, trusted_id, key) in enumerate(trust.witnesses):
            if (name, key_id) == (witness, trusted_id):
                check(len(signature) == 64 and time < 1 << 63)
                check(ed25519(key, f"cosignature/v1\ntime {time}\n{body}".encode(), signature))
                if not is_revoked(trust, key, time):
                    times.setdefault(place, time)
    origin, seat, time = bytes.fromhex(origin), int(seat or 0), times[min(times)]
    check(seat < 1 << 16)
    return SimpleNamespace(**locals())


def prefix(mask):
    return mask & (mask + 1) == 0


def check_canonical(data, policy, entropy, first):
    """What the header declares, and the rows of both banks."""
    enumerations, classes = struct.unpack_from("<4I", data, 16), int.from_bytes(data[32:48], "little")
    check(policy and entropy and prefix(data[6]) and data[6] < 16 and prefix(classes))
    check(all(mask and prefix(mask) for mask in enumerations))
    for bank in ((0, policy), (policy, policy + entropy)):
        last = 0
        for number in range(*bank):
            row = data[first + 192 * number :][:192]
            check_row(row, data[6] << 2 | 3, enumerations, classes)
            rule = int.from_bytes(row[2:4], "little")
            check(rule >= last)
            last = rule


def check_row(row, bits, enumerations, classes):
    kind, small, mask, value = row[0], *struct.unpack_from("<HBB", row, 4)
    check(1 <= kind <= 3 and mask & ~bits == 0 and value & ~mask == 0)
    check(all(small >> at & (1 << width) - 1 for at, width in ((0, 6), (6, 3), (9, 3), (12, 4))))
    check(all(mask and mask & ~known == 0 for mask, known in zip(struct.unpack_from("<4I", row, 16), enumerations)))
    sets = [(row[1], row[8], row[9], 127)]
    masks = [int.from_bytes(row[at : at + 16], "little") for at in range(96, 192, 16)]
    for every, some, none, known in sets + [(*masks[:3], classes), (*masks[3:], classes)]:
        check((every | some | none) & ~known == 0 and every & none == 0 and some & (every | none) == 0)
        check(some.bit_count() != 1)
    ranges = [*row[10:16], *struct.unpack_from("<16H8i", row, 32)]
    ranges = list(zip(ranges[::2], ranges[1::2]))
    check(all(low <= high for low, high in ranges))
    for slot, bounds in enumerate(ranges[-4:]):
        check(bounds == (-(2**31), 2**31 - 1) or mask & value & 4 << slot)


def read_image(data):
    """The image; of one of another version, what can be known of it."""
    with reading("image-malformed"):
        check(data[:4] == b"PCMI" and data[4])
        if data[4] != 1:
            return SimpleNamespace(known=False, digest=sha(data))
        *_, parts, policy, entropy, zeros = struct.unpack_from("<4s4B2HI", data)
        check(parts < 2 and zeros == 0 and not any(data[48:64]))
        check(len(data) == 128 + 64 * parts + 192 * (policy + entropy))
        known = data[64:96].hex() in MAPS
        opening = int.from_bytes(data[160:176], "little") if parts else None
        check(not parts or any(data[176:180]) and not any(data[180:192]))
        if known:
            check_canonical(data, policy, entropy, 128 + 64 * parts)
        check(not known or (opening or 0) & ~int.from_bytes(data[32:48], "little") == 0)
        # A class that opens gates opens at least one, and closes none.
        opens = closes = 0
        for row in range(128 + 64 * parts, len(data), 192):
            conditions = [int.from_bytes(data[at : at + 16], "little") for at in range(row + 96, row + 192, 16)]
            present = conditions[0] | conditions[1] | conditions[3] | conditions[4]
            absent = conditions[2] | conditions[5]
            permits = data[row] == PERMIT
            opens |= present if permits else absent
            closes |= absent if permits else present
        check(not known or (opening or 0) & ~(opens & ~closes) == 0)
    rows, package = (policy, entropy), data[96:128]
    return SimpleNamespace(known=known, rows=rows, digest=sha(data), package=package, opening=opening)


def mapping_version(listing, digest):
    """The mapping under which the files (path: size and SHA-256 in hexadecimal) have this package digest."""
    lines = "".join(f"{listing[p][1]}  {listing[p][0]}  {p}\n" for p in sorted(listing, key=str.encode)).encode()
    return next((n for n in range(1, 1001) if sha(b"portcullis package 1, mapping %d\n" % n, lines) == digest), None)


PROFILE = {"intent": text, "domain": text_or_null, "audience": text_or_null, "temporal": text_or_null}
PROFILE |= {"epistemic": {"standard", "high_precision", "exploratory", None}, "register": text_or_null, "facts": [text]}
TASK = {"intent": text, "facts": [text]}
CONTEXT_DOCUMENT = {"version": 3, "mode": {"driven", "driven_conversation", "held", "recorded", "observed"}}
CONTEXT_DOCUMENT |= {"granularity": {"token", "span", "step"}, "on_refuse": {"skip", "stop"}}
CONTEXT_DOCUMENT |= {"release": {"span", "checkpoint", "end"}, "max_proposals": uint(32), "policy": text}
CONTEXT_DOCUMENT |= {"package_digest": hexes(32), "profile": PROFILE, "profile_digest": hexes(32), "task": TASK}
CONTEXT_DOCUMENT |= {"anchor_digests": [hexes(32)], "predecessor": lambda v: v is None or hexes(32)(v), "id": text}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def read_context(data):
    """The document, or None where it is of another version."""
    with reading("context-malformed"):
        doc = read_json(data)
        if uint(32)(doc["version"]) and doc["version"] != 3:
            return None
        check(fits(doc, CONTEXT_DOCUMENT) and list(doc) == list(CONTEXT_DOCUMENT) and compact(doc) == data)
        check(list(doc["profile"]) == list(PROFILE) and list(doc["task"]) == list(TASK))
        check(doc["profile_digest"] == sha(compact(doc["profile"])).hex())
    return doc


FORMATTING = "9-D 20-2F 3A-40 5B-60 7B-7E 85 A0 A1 AB B7 BB BF 1680 2000-200A 2010-2015 2018-2022 2026 2028 2029 202F"
FORMATTING += " 2039 203A 205F 3000-3002 3008-3011"
RANGES = [[int(end, 16) for end in part.split("-")] for part in FORMATTING.split()]


def formatting(held):
    return all(any(ends[0] <= ord(character) <= ends[-1] for ends in RANGES) for character in held)


def commitment(kind, salt, text):
    return sha({"text": b"portcullis/span/1\0", "call": b"portcullis/call/1\0"}[kind], salt, struct.pack("<I", len(text)), text)
