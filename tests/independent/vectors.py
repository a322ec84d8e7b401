#!/usr/bin/env python3
"""Checks the test vectors of docs/reference/formats with the code of verify.py, which was written from those pages.

    vectors.py docs/reference/formats/vectors.json
"""
import hmac
import json
import pathlib
import sys
import tempfile
import zlib

import verify
from standards import cose_sign1, ed25519, leaf_hash, read_certificates, root_from_path, root_of, sha, tlog_proof
from verify import Refusal, Rules, u


def judge(log, records):
    """How far a log keeps the rules, and the code of the rule that its next record breaks."""
    rules = Rules(log["rows"], log["lane"], log["lanes"])
    for at, record in enumerate(records):
        try:
            rules.next(record)
        except Refusal as refusal:
            return at, refusal.args[0]
    return len(records), "ok"


def not_read(read, data):
    try:
        read(data)
    except (ValueError, KeyError):
        return True
    return False


def patched(record, offset, value, sealed):
    record = record[:offset] + value + record[offset + len(value):]
    return record[:124] + zlib.crc32(record[:124]).to_bytes(4, "little") + record[128:] if sealed else record


def check(vectors):
    for c in vectors["commitments"]:
        salt = hmac.digest(bytes.fromhex(c["salt_key"]), c["stream"].to_bytes(8, "little") + c["sequence"].to_bytes(4, "little"), "sha256")[:16]
        yield "salt", salt.hex() == c["salt"]
        yield "commitment", verify.commitment(salt, (c["held"] + c["text"]).encode()).hex() == c["commitment"]
    for c in vectors["contexts"]:
        text = c["text"].encode()
        yield "context digest", sha(text).hex() == c["digest"]
        yield "profile digest", verify.read_context(text)["profile_digest"] == c["profile_digest"]
        yield "another version", verify.read_context(text.replace(b'"version":3', b'"version":4', 1)) is None
        for old, new in [("{", "{ "), ('"mode":', '"model":'), ('"facts":[]', '"facts":["x"]'), ('"release":"span",', "")]:
            yield f"another document: {new}", not_read(verify.read_context, c["text"].replace(old, new, 1).encode())
    for tree in vectors["trees"]:
        leaves = [leaf_hash(i.to_bytes(8, "little")) for i in range(tree["size"])]
        yield "root", root_of(leaves).hex() == tree["root"]
        for index, path in enumerate(tree["paths"]):
            path = [bytes.fromhex(node) for node in path]
            yield "inclusion", root_from_path(leaves[index], index, tree["size"], path).hex() == tree["root"]
            wrong = [root_from_path(leaves[index], n, tree["size"], path) for n in range(tree["size"] + 1) if n != index]
            yield "inclusion elsewhere", tree["root"] not in [node.hex() for node in wrong if node]
    package = vectors["package"]
    files = {f"policy/package/{f['path']}": f["text"].encode() for f in package["files"]}
    image = verify.check_image({**files, "policy/image.bin": bytes.fromhex(package["image"])}, set())
    yield "package digest", image["package"].hex() == package["digest"]
    yield "mapping version", image["mapping"] == package["mapping"]
    yield "policy digest", image["digest"].hex() == package["policy_digest"]
    for key in vectors["keys"]:
        seeds = [hmac.digest(verify.SIM_SECRET, b"portcullis/slh-dsa/1\0" + bytes([i]) + bytes.fromhex(key["design_id"]), "sha256")[:16].hex()
                 for i in range(3)]
        yield "seeds", seeds == [key["sk_seed"], key["sk_prf"], key["pk_seed"]] and key["public_key"].startswith(key["pk_seed"])
    yield from check_signed(vectors["signed"])
    with tempfile.TemporaryDirectory() as folder:
        yield from check_proofs(vectors, pathlib.Path(folder))
    for log in vectors["logs"]:
        records = [bytes.fromhex(record) for record in log["records"]]
        yield log["name"], judge(log, records) == (len(records), "ok")
        for number, offset, value, sealed, at, code in log["cases"]:
            changed = [*records[:number], patched(records[number], offset, bytes.fromhex(value), sealed), *records[number + 1:]]
            yield f"{log['name']}: record {number}, byte {offset} = {value}: {code} at {at}", judge(log, changed) == (at, code)
    yield from check_combinations(vectors)


def check_signed(signed):
    issuer = bytes.fromhex(signed["issuer_key"])
    expected, ticket = signed["ticket"], verify.read_ticket(bytes.fromhex(signed["ticket"]["message"]))
    for key in ("serial", "records", "ticks", "validity", "issuer", "seat", "text_lane"):
        yield f"ticket's {key}", ticket[key] == expected[key]
    yield "ticket's contexts", [digest.hex() for digest in ticket["contexts"]] == expected["contexts"]
    yield "ticket's profiles", [digest.hex() for digest in ticket["profiles"]] == expected["profiles"]
    yield "ticket digest", ticket["digest"].hex() == expected["digest"]
    yield "ticket's issuer", verify.check_issuer(ticket, {"issuers": [issuer]}) is True
    header, payload, message, signature = cose_sign1(bytes.fromhex(signed["approval"]["message"]))
    policy, name = verify.read_map(payload, [bytes, str])
    yield "approval", (header, policy.hex(), name) == ({}, signed["approval"]["policy"], signed["approval"]["name"])
    yield "approval's signature", ed25519(issuer, message, signature)
    note = signed["note"]
    name, _, key = note["witness"].split("+", 2)
    origin, entry, index, time = tlog_proof(note["text"].encode(), [(name, verify.unbase64(key)[1:])])
    found = (origin, u(entry, 0, 8), u(entry, 8, 8), entry[16:48].hex(), u(entry, 48, 8), index, time)
    yield "note", found == (f"portcullis/{note['key_id']}", *(note[k] for k in ("ticket", "serial", "checkpoint", "nonce", "index", "time")))
    expected, checkpoint = signed["checkpoint"], verify.read_checkpoint(bytes.fromhex(signed["checkpoint"]["message"]))
    yield "checkpoint digest", checkpoint["digest"].hex() == expected["digest"]
    yield "checkpoint", all(checkpoint[key] == expected[key] for key in ("serial", "size", "tick"))
    key = bytes.fromhex(expected["public_key"])
    yield "checkpoint's signature", verify.is_signed(checkpoint, key)
    yield "another signature", not verify.is_signed({**checkpoint, "signature": bytes(17088)}, key)
    yield "another checkpoint", not verify.is_signed({**checkpoint, "data": bytes(192)}, key)
    expected = signed["certificate"]
    trust = {"roots": read_certificates(expected["root"].encode()), "revoked": set()}
    device = verify.check_certificate(expected["certificate"].encode(), expected["chain"].encode(), trust, None)
    yield "certificate", (device["design"].hex(), device["class"]) == (expected["design_id"], expected["class"])
    yield "key id", sha(device["key"]).hex() == expected["key_id"]


def check_proofs(vectors, folder):
    signed = vectors["signed"]
    trust = {"roots": read_certificates(signed["certificate"]["root"].encode()), "revoked": set(),
             "issuers": [bytes.fromhex(signed["issuer_key"])]}

    def refused(proof, receipt, text, at):
        try:
            verify.check_proof(json.dumps(proof).encode(), json.dumps(receipt).encode(), text.encode(), trust, False, at)
        except Refusal as refusal:
            return refusal.args[0]
        return None

    for vector in vectors["proofs"]:
        proof, receipt, text, at = (vector[key] for key in ("proof", "receipt", "text", "at"))
        yield "proof", refused(proof, receipt, text, at) is None
        yield "another text", refused(proof, receipt, text + " ", at) == "another-text"
        yield "another record", refused(proof, {**receipt, "index": receipt["index"] + 1}, text, at) == "another-record"
        yield "another session", refused(proof, {**receipt, "serial": 9}, text, at) == "another-session"
        yield "a path too short", refused({**proof, "path": proof["path"][1:]}, receipt, text, at) == "not-included"
        yield "another certificate", refused({**proof, "chain": ""}, receipt, text, at) == "certificate"
        yield "not valid then", refused(proof, receipt, text, 0) == "certificate"


def check_combinations(vectors):
    """Every combination that a VERDICT or a REFUSED record may have, and no other."""
    log = vectors["logs"][0]
    records = [bytes.fromhex(record) for record in log["records"]]
    at = next(n for n, record in enumerate(records) if record[129] == verify.VERDICT)
    legal = {tuple(combination) for combination in vectors["verdicts"]}
    rows = [(p, e) for p in (0xffff, 0, 1) for e in (0xffff, 0, 1)]
    for combination in [(d, s, v, l, *row) for d in range(5) for s in range(6) for v in range(5) for l in range(5) for row in rows]:
        d, s, v, l, p, e = combination
        record = patched(patched(records[at], 88, bytes([v]), False), 90, bytes([l]), True)
        record = record[:130] + bytes([d, s]) + record[132:134] + p.to_bytes(2, "little") + e.to_bytes(2, "little") + record[138:]
        yield f"verdict {combination}", (judge(log, [*records[:at], record])[1] == "ok") == (combination in legal)
    at = next(n for n, record in enumerate(records) if record[129] == verify.REFUSED)
    for crc, name in [(0, "crc_right"), (1, "crc_wrong")]:
        for fault in range(0x600):
            record = patched(records[at], 132, fault.to_bytes(2, "little"), False)
            record = record[:124] + bytes([record[124] ^ crc]) + record[125:]
            yield f"refused {fault:#06x} {name}", (judge(log, [*records[:at], record])[1] == "ok") == (fault in vectors["refusals"][name])


if __name__ == "__main__":
    results = list(check(json.loads(pathlib.Path(sys.argv[1]).read_text())))
    for name, holds in results:
        if not holds:
            print(f"FAILED {name}")
    print(f"{sum(holds for _, holds in results)} of {len(results)} vectors hold")
    sys.exit(0 if all(holds for _, holds in results) else 1)
