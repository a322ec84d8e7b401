"""The public standards that the evidence uses, for checking only, with Python's standard library alone.

Ed25519 (RFC 8032), SLH-DSA-SHA2-128f (FIPS 205), Merkle trees (RFC 9162), deterministic CBOR (RFC 8949), COSE_Sign1 (RFC 9052),
certificates (RFC 5280), notes and proofs of transparency logs (C2SP). Nothing in this file is of Portcullis' own making. Nothing
here is a secret, and nothing runs in constant time.
"""
import base64
import hashlib
import re
import struct
from datetime import datetime, timezone

# Subject keys of certificates, as far as the key's 32 bytes (RFC 8410 and RFC 9909), in hexadecimal.
ED25519, SLH_DSA = "302a300506032b6570032100", "3030300b0609608648016503040315032100"


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# ---- Ed25519, RFC 8032, 5.1 ------------------------------------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    p, q, r, s = f - e, h - g, h + g, f + e
    return p * q % P, r * s % P, q * r % P, p * s % P


def times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def point_of(data):
    """The point that 32 bytes encode; None for another encoding, or a point of small order."""
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    point = (x, y, 1, x * y % P)
    return None if times(8, point)[0] == 0 else point


BASE = point_of(bytes([0x58]) + bytes([0x66]) * 31)


def ed25519(key, message, signature):
    """Whether this is the key's signature: strict, so R and the key are of large order and S is below the group's order."""
    public, r, s = point_of(key), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(key) != 32 or len(signature) != 64 or public is None or r is None or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    (x1, y1, z1, _), (x2, y2, z2, _) = times(s, BASE), add(r, times(k, public))
    return (x1 * z2 - x2 * z1) % P == 0 and (y1 * z2 - y2 * z1) % P == 0


# ---- SLH-DSA-SHA2-128f, pure, empty context: FIPS 205, algorithms 8, 11, 13, 17, 20, 24 ------------------------------

def digits(data, bits, count):
    """The first `count` digits of `bits` bits (algorithm 4)."""
    number, total = int.from_bytes(data, "big"), len(data) * 8
    return [number >> total - bits * (i + 1) & (1 << bits) - 1 for i in range(count)]


def slh_dsa(key, message, signature):
    if len(key) != 32 or len(signature) != 17088:
        return False
    seed, root, message = key[:16], key[16:], b"\0\0" + message

    def thash(layer, tree, kind, pair, a, b, *data):
        return sha(seed, bytes(48), struct.pack(">BQBIII", layer, tree, kind, pair, a, b), *data)[:16]

    def climb(node, index, path, base, place):
        for height, other in enumerate(path, 1):
            pair = (other, node) if index & 1 else (node, other)
            index >>= 1
            node = thash(*place, height, (base >> height) + index, *pair)
        return node

    def chunks(data):
        return [data[i:i + 16] for i in range(0, len(data), 16)]

    random, fors, layers = signature[:16], signature[16:3712], signature[3712:]
    inner = sha(random, seed, root, message)
    digest = b"".join(sha(random, seed, inner, struct.pack(">I", i)) for i in range(2))[:34]
    tree = int.from_bytes(digest[25:33], "big") & (1 << 63) - 1
    leaf = digest[33] & 7
    roots = []
    for i, index in enumerate(digits(digest[:25], 6, 33)):
        secret, *path = chunks(fors[i * 112:i * 112 + 112])
        start = thash(0, tree, 3, leaf, 0, (i << 6) + index, secret)
        roots.append(climb(start, index, path, i << 6, (0, tree, 3, leaf)))
    node = thash(0, tree, 4, leaf, 0, 0, *roots)
    for layer in range(22):
        parts = chunks(layers[layer * 608:layer * 608 + 608])
        steps = digits(node, 4, 32)
        steps += digits(struct.pack(">H", sum(15 - d for d in steps) << 4), 4, 3)
        ends = []
        for chain, (value, step) in enumerate(zip(parts, steps)):
            for at in range(step, 15):
                value = thash(layer, tree, 0, leaf, chain, at, value)
            ends.append(value)
        node = climb(thash(layer, tree, 1, leaf, 0, 0, *ends), leaf, parts[35:], 0, (layer, tree, 2, 0))
        leaf, tree = tree & 7, tree >> 3
    return node == root


# ---- Merkle trees, RFC 9162, 2.1 -------------------------------------------------------------------------------------

def leaf_hash(data):
    return sha(b"\0", data)


def root_of(leaves):
    """The root over leaf hashes, by the definition of section 2.1.1."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\1", root_of(leaves[:k]), root_of(leaves[k:]))


def root_from_path(leaf, index, size, path):
    """The root that an inclusion proof leads to (section 2.1.3.2); None for a proof of another length."""
    if not 0 <= index < size:
        return None
    at, last, node = index, size - 1, leaf
    for other in path:
        if last == 0:
            return None
        if at & 1 or at == last:
            node = sha(b"\1", other, node)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            node = sha(b"\1", node, other)
        at, last = at >> 1, last >> 1
    return node if last == 0 else None


# ---- encodings -------------------------------------------------------------------------------------------------------

def cbor(data):
    """The one item that `data` is, in deterministic CBOR (RFC 8949, 4.2.1); ValueError for other bytes. A tag is (number, item)."""
    def item(at):
        major, info = data[at] >> 5, data[at] & 31
        width = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
        if info > 27 or len(data) < at + 1 + width:
            raise ValueError("a head that is not one")
        value = int.from_bytes(data[at + 1:at + 1 + width], "big") if width else info
        if width and value < (24 if width == 1 else 1 << width * 4):
            raise ValueError("not the shortest form")
        at += 1 + width
        if major == 0:
            return value, at
        if major in (2, 3):
            if at + value > len(data):
                raise ValueError("ends early")
            content = data[at:at + value]
            return content if major == 2 else content.decode(), at + value
        if major == 6:
            content, at = item(at)
            return (value, content), at
        if major not in (4, 5):
            raise ValueError("a type that no message has")
        items = []
        for _ in range(value * (major - 3)):
            content, at = item(at)
            items.append(content)
        if major == 4:
            return items, at
        if items[::2] != sorted(set(items[::2])):
            raise ValueError("keys doubled or out of order")
        return dict(zip(items[::2], items[1::2])), at

    try:
        found, end = item(0)
    except (IndexError, TypeError) as error:
        raise ValueError("ends early") from error
    if end != len(data):
        raise ValueError("bytes follow")
    return found


def der(data):
    """The elements that `data` is a row of, as (tag, content, all bytes); ValueError where it is not DER."""
    found = []
    while data:
        if len(data) < 2 or data[0] & 31 == 31:
            raise ValueError("not DER")
        width = data[1] & 127 if data[1] & 128 else 0
        length = int.from_bytes(data[2:2 + width], "big") if width else data[1]
        end = 2 + width + length
        if width and (width > 4 or length < max(128, 1 << 8 * (width - 1))) or data[1] == 128 or end > len(data):
            raise ValueError("not DER")
        found.append((data[0], data[2 + width:end], data[:end]))
        data = data[end:]
    return found


def unbase64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not base64")
    return data


def cose_sign1(data):
    """Unprotected header, payload, signed bytes and signature of a COSE_Sign1 message with EdDSA (RFC 9052, 4.2 and 4.4)."""
    tag, (protected, header, payload, signature) = cbor(data)
    if tag != 18 or protected != b"\xa1\x01\x27" or type(header) is not dict or len(signature) != 64:
        raise ValueError("not a COSE_Sign1 message with EdDSA")
    size = len(payload)
    head = bytes([0x40 + size]) if size < 24 else bytes([0x58, size]) if size < 256 else b"\x59" + size.to_bytes(2, "big")
    return header, payload, b"\x84\x6aSignature1\x43\xa1\x01\x27\x40" + head + payload, signature


# ---- certificates: RFC 5280, with RFC 8410 and RFC 9909 --------------------------------------------------------------

def read_certificates(pem):
    text = pem.decode("ascii").strip()
    blocks = re.findall(r"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+?)\s+-----END CERTIFICATE-----\s*", text)
    if len(pem) > 64 << 10 or re.sub(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\s*", "", text):
        raise ValueError("not certificates in PEM")
    return [read_certificate(base64.b64decode("".join(block.split()), validate=True)) for block in blocks]


def read_certificate(data):
    (_, body, _), = der(data)
    (_, fields, signed), (_, _, algorithm), (_, signature, _) = der(body)
    version, serial, inner, issuer, validity, subject, key, *more = der(fields)
    c = {"issuer": issuer[2], "subject": subject[2], "signed": signed, "signature": signature[1:], "key": key[2][-32:],
         "kind": key[2][:-32].hex(), "extensions": {}, "critical": set(), "times": []}
    for tag, value, _ in der(validity[1]):
        form = "%y%m%d%H%M%SZ" if tag == 0x17 else "%Y%m%d%H%M%SZ"
        year = b"" if tag != 0x17 else b"20" if value < b"50" else b"19"
        c["times"].append(datetime.strptime((year + value).decode(), "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc).timestamp())
    (tag, wrapped, _), = more
    for _, extension, _ in der(der(wrapped)[0][1]):
        (_, oid, _), *flag, (_, value, _) = der(extension)
        if oid.hex() in c["extensions"] or (flag and oid.hex() not in ("551d13", "551d0f")):
            raise ValueError("an extension twice, or an unknown critical one")
        c["extensions"][oid.hex()] = value
        c["critical"] |= {oid.hex()} if flag else set()
    ed = bytes.fromhex("300506032b6570")
    if version[2] != b"\xa0\3\2\1\2" or algorithm != ed or inner[2] != ed or signature[0] or len(signature) != 65 or tag != 0xa3:
        raise ValueError("not of this profile")
    return c


# ---- notes: C2SP tlog-proof, signed-note, tlog-checkpoint, tlog-cosignature ------------------------------------------

def tlog_proof(data, witnesses):
    """Origin, extra data, index and time of a proof that one of `witnesses`, (name, key), cosigned and that includes its data."""
    proof, note = data.decode().split("\n\n", 1)
    first, extra, index, *path = proof.split("\n")
    text, signatures = note.rsplit("\n\n", 1)
    origin, size, root = text.split("\n")
    entry, number, total, times = unbase64(extra[6:]), int(index[6:]), int(size), []
    plain = (extra[:6], index, size, signatures[-1:]) == ("extra ", f"index {number}", str(total), "\n")
    signatures = [line.split(" ") for line in signatures[:-1].split("\n")]
    if first != "c2sp.org/tlog-proof@v1" or not plain or len(data) > 16 << 10 or len(signatures) > 16:
        raise ValueError("not a proof of this form")
    for name, key in witnesses:
        for dash, who, blob in signatures:
            blob = unbase64(blob)
            if (dash, who, blob[:4]) == ("\u2014", name, sha(name.encode(), b"\n\4", key)[:4]):
                times.append(int.from_bytes(blob[4:12], "big"))
                if not ed25519(key, f"cosignature/v1\ntime {times[-1]}\n{text}\n".encode(), blob[12:]):
                    raise ValueError("a signature of a known witness does not verify")
    if not times or root_from_path(leaf_hash(entry), number, total, [unbase64(line) for line in path]) != unbase64(root):
        raise ValueError("no known witness, or not included")
    return origin, entry, number, times[0]
