"""Checks docs/reference/formats/vectors.json with the functions of verify.py."""

import hmac
import itertools
import json
import struct
import sys
import zlib
from types import SimpleNamespace

from slhdsa import sha2_128f
from slhdsa.lowlevel.addresses import Address
from slhdsa.lowlevel.xmss import XMSS

import formats
import records
import verify
from formats import NO_ROW, Refused, leaf_hash, sha

unhex = bytes.fromhex
counts = {}


def same(part, made, given):
    counts[part] = counts.get(part, 0) + 1
    if made != given:
        sys.exit(f"{part}, number {counts[part]}: made {made!r}, the file has {given!r}")


def commitments(vectors):
    for v in vectors:
        salt = hmac.digest(unhex(v["salt_key"]), struct.pack("<QI", v["stream"], v["sequence"]), "sha256")[:16]
        same("commitments", salt.hex(), v["salt"])
        same("commitments", formats.commitment(v["kind"], salt, (v["held"] + v["text"]).encode()).hex(), v["commitment"])


def contexts(vectors):
    for v in vectors:
        doc = formats.read_context(v["text"].encode())
        same("contexts", sha(v["text"].encode()).hex(), v["digest"])
        same("contexts", doc["profile_digest"], v["profile_digest"])


def trees(vectors):
    for v in vectors:
        leaves = [leaf_hash(struct.pack("<Q", i)) for i in range(v["size"])]
        same("trees", formats.tree_root(leaves).hex(), v["root"])
        for index, path in enumerate(v["paths"]):
            root = formats.path_root(leaves[index], index, v["size"], list(map(unhex, path)))
            same("trees", root.hex(), v["root"])


def package(v):
    files = {f["path"]: (len(f["text"].encode()), sha(f["text"].encode()).hex()) for f in v["files"]}
    same("package", formats.mapping_version(files, unhex(v["digest"])), v["mapping"])
    image = formats.read_image(unhex(v["image"]))
    same("package", (image.package.hex(), image.digest.hex()), (v["digest"], v["policy_digest"]))


def xmss_root(seeds):
    """FIPS 205, algorithm 18: the root of the topmost XMSS tree."""
    return XMSS(sha2_128f).node(seeds[0], 0, sha2_128f.h_m, seeds[2], Address(sha2_128f.d - 1, 0))


def keys(vectors):
    secret = sha(b"SIM TEST KEY - NOT FOR PRODUCTION")
    for v in vectors:
        label = b"portcullis/slh-dsa/1\0"
        seeds = [hmac.digest(secret, label + bytes([i]) + unhex(v["design_id"]), "sha256")[:16] for i in range(3)]
        same("keys", [seed.hex() for seed in seeds], [v["sk_seed"], v["sk_prf"], v["pk_seed"]])
        same("keys", (seeds[2] + xmss_root(seeds)).hex(), v["public_key"])


def signed(v, proofs, at):
    issuer, ticket, note, checkpoint = unhex(v["issuer_key"]), v["ticket"], v["note"], v["checkpoint"]
    trust = SimpleNamespace(issuers=[issuer], approvers=[issuer], withholders=[], sim_roots=[], revoked={})
    trust.roots = formats.read_pem(v["certificate"]["root"].encode())
    trust.witnesses = [formats.read_verifier_key(note["witness"])]
    t = formats.read_ticket(unhex(ticket["message"]), trust)
    same("signed", (t.digest.hex(), t.serial, t.text_lane), (ticket["digest"], ticket["serial"], ticket["text_lane"]))
    same("signed", [d.hex() for d in t.contexts + t.profiles], ticket["contexts"] + ticket["profiles"])
    same("signed", [*t.limits, *t.validity], [ticket["records"], ticket["ticks"], *ticket["validity"]])
    formats.check_approval(unhex(v["approval"]["message"]), unhex(v["approval"]["policy"]), trust)
    w, warnings = v["withholding"], set()
    trust.withholders = [unhex(w["key"])]
    named = formats.read_withholding(unhex(w["message"]), SimpleNamespace(digest=unhex(w["ticket"])), trust, warnings)
    same("signed", ([list(stream) for stream in named], warnings), (w["streams"], set()))
    n = formats.read_note(note["text"].encode(), trust)
    made = [n.origin.hex(), n.ticket, n.serial, n.checkpoint.hex(), n.nonce, n.index, n.time]
    same("signed", made, [note[k] for k in ("key_id", "ticket", "serial", "checkpoint", "nonce", "index", "time")])
    c = records.read_checkpoint(unhex(checkpoint["message"]))
    same(
        "signed",
        [c.digest.hex(), c.serial, c.size, c.tick],
        [checkpoint[k] for k in ("digest", "serial", "size", "tick")],
    )
    certificate = v["certificate"]
    card = formats.certify(certificate["certificate"].encode(), certificate["chain"].encode(), trust, at, False)
    same(
        "signed",
        [sha(card.key).hex(), card.design.hex(), card.kind],
        [certificate[k] for k in ("key_id", "design_id", "class")],
    )
    same("signed", card.key.hex(), checkpoint["public_key"])
    records.check_signed(c, card, t)
    for p in proofs:
        proof, receipt = json.dumps(p["proof"]).encode(), json.dumps(p["receipt"]).encode()
        same("proofs", verify.verify_proof(proof, receipt, p["text"].encode(), trust, False, p["at"]), set())


def logs(vectors):
    for v in vectors:
        for record, offset, data, sealed, at, code in [[0, 0, "", False, len(v["records"]), "ok"]] + v["cases"]:
            log, found = records.Log(v["lane"], v["lanes"], v["rows"]), "ok"
            try:
                for number, raw in enumerate(map(unhex, v["records"])):
                    if number == record:
                        raw = raw[:offset] + unhex(data) + raw[offset + len(data) // 2 :]
                        if sealed:
                            raw = raw[:124] + struct.pack("<I", zlib.crc32(raw[:124])) + raw[128:]
                    log.add(raw)
            except Refused as refused:
                found = refused.args[0]
            same("logs", (len(log.records), found), (at, code))


def verdicts(vectors):
    """All combinations, legal or not, against the list of the legal ones."""
    legal, rows = set(map(tuple, vectors)), (NO_ROW, 0, 1)
    for case in itertools.product(range(5), range(6), range(5), range(5), rows, rows):
        names = ("determination", "stage", "validation", "lineage", "policy_row", "entropy_row")
        record = SimpleNamespace(**dict(zip(names, case)), fault=0)
        same("verdicts", (case, records.legal_verdict(record, (1, 1))), (case, case in legal))


def refusals(vectors, log):
    """Each fault code in a REFUSED record behind OPEN, with a right and a wrong CRC."""
    open_record, entry = unhex(log["records"][0]), unhex(log["records"][1])
    for right, legal in ((True, vectors["crc_right"]), (False, vectors["crc_wrong"])):
        found = []
        for fault in range(0x600):
            one = records.Log(log["lane"], log["lanes"], log["rows"])
            one.add(open_record)
            raw = bytearray(entry)
            raw[124] ^= not right
            raw[129], raw[132:134] = 6, struct.pack("<H", fault)
            try:
                one.add(bytes(raw))
                found.append(fault)
            except Refused:
                pass
        same("refusals", found, legal)


def main():
    v = json.loads((formats.FORMATS / "vectors.json").read_text())
    for part, check in (("commitments", commitments), ("contexts", contexts), ("trees", trees), ("package", package)):
        check(v[part])
    keys(v["keys"])
    signed(v["signed"], v["proofs"], v["proofs"][0]["at"])
    logs(v["logs"])
    verdicts(v["verdicts"])
    refusals(v["refusals"], v["logs"][0])
    print(", ".join(f"{part} {count}" for part, count in counts.items()), "- in all", sum(counts.values()))


if __name__ == "__main__":
    main()
