"""Makes the proof of every stream of a bundle, and shows that stream_proof.py takes them and nothing else.

python3 stream_proofs.py BUNDLE TRUST
"""

import copy
import json
import struct
import sys
from pathlib import Path

import stream_proof
from stream_proof import BEGIN, END, NOTE, VERDICT, Refused, is_formatting, leaf_hash, read_checkpoint, read_trust, sha, verify


def subtree(leaves):
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\1", subtree(leaves[:half]), subtree(leaves[half:]))


def inclusion(leaves, index):
    """RFC 9162, 2.1.3.1."""
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if index < half:
        return [*inclusion(leaves[:half], index), subtree(leaves[half:])]
    return [*inclusion(leaves[half:], index - half), subtree(leaves[:half])]


def lines(path):
    text = path.read_text() if path.exists() else ""
    return {line["index"]: line for line in map(json.loads, text.splitlines())}


def proofs(bundle):
    """The proof of each stream that ended under the last checkpoint."""
    message = sorted((bundle / "checkpoints").iterdir())[-1].read_bytes()
    c = read_checkpoint(message)
    logs = []
    for lane in range(c.lanes):
        raw = (bundle / f"records/lane-{lane}.bin").read_bytes()
        logs.append([raw[at : at + 192] for at in range(0, len(raw), 192)])
    sizes = [c.size]
    if c.lanes > 1:
        heads = (bundle / "records/heads.bin").read_bytes()[-48 * c.lanes :]
        sizes = [int.from_bytes(heads[48 * lane + 8 : 48 * lane + 16], "little") for lane in range(c.lanes)]
    signed = [list(map(leaf_hash, log[:size])) for log, size in zip(logs, sizes)]
    heads = [struct.pack("<B7xQ", lane, sizes[lane]) + subtree(signed[lane]) for lane in range(c.lanes)]
    for lane, log in enumerate(logs):
        spans, open_streams = lines(bundle / ("spans.jsonl" if lane == 0 else f"spans-{lane}.jsonl")), {}
        for index, raw in enumerate(log[: sizes[lane]]):
            kind, slot = raw[129], struct.unpack_from("<H", raw, 2)[0]
            if kind == BEGIN:
                open_streams[slot] = []
            if kind in (BEGIN, VERDICT, NOTE, END) and slot in open_streams:
                open_streams[slot].append((index, raw))
            if kind != END or slot not in open_streams:
                continue
            stream = open_streams.pop(slot)
            admitted = [i for i, r in stream if r[129] == END or (r[129] == VERDICT and r[130] == 3)]
            if not all(i in spans for i in admitted):
                continue
            context = bundle / f"contexts/{stream[0][1][92:124].hex()}.json"
            proof = {
                "schema": "portcullis/stream-proof/1",
                "context": context.read_text(),
                "records": [{"record": r.hex(), "path": [h.hex() for h in inclusion(signed[lane], i)]} for i, r in stream],
                "spans": [spans[i] for i in admitted],
                "checkpoint": message.hex(),
                "ticket": (bundle / "ticket.cose").read_bytes().hex(),
                "certificate": (bundle / "device/cert.pem").read_text(),
                "chain": (bundle / "device/chain.pem").read_text(),
            }
            if c.lanes > 1:
                path = inclusion(list(map(leaf_hash, heads)), lane)
                proof["head"] = {"size": sizes[lane], "path": [h.hex() for h in path]}
            yield proof


def flipped(text, at=0):
    """Hexadecimal with another digit."""
    return text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]


def lies(proof, other):
    """Changed proofs, each with what was done."""

    def change(what, edit):
        changed = copy.deepcopy(proof)
        edit(changed)
        return what, changed

    admits = len(proof["spans"]) - 1
    yield change("no beginning", lambda p: p["records"].pop(0))
    yield change("no end", lambda p: (p["records"].pop(), p["spans"].pop()))
    yield change("an end twice", lambda p: p["records"].append(p["records"][-1]))
    yield change("records the other way round", lambda p: p["records"].reverse())
    for at in range(1, len(proof["records"]) - 1):
        yield change(f"record {at} is missing", lambda p, at=at: p["records"].pop(at))
    for at in range(len(proof["records"])):
        for digit in (3, 60, 200, 300):
            def edit(p, at=at, digit=digit):
                p["records"][at]["record"] = flipped(p["records"][at]["record"], digit)
            yield change(f"record {at} is changed at digit {digit}", edit)
        if proof["records"][at]["path"]:
            def edit(p, at=at):
                p["records"][at]["path"][0] = flipped(p["records"][at]["path"][0])
            yield change(f"the path of record {at} is changed", edit)
            yield change(f"the path of record {at} is shorter", lambda p, at=at: p["records"][at]["path"].pop())
    for at in range(admits):
        yield change(f"text {at} is missing", lambda p, at=at: p["spans"].pop(at))
        yield change(f"text {at} is another", lambda p, at=at: p["spans"][at].update(text=p["spans"][at]["text"] + "x"))
        yield change(f"text {at} has another salt", lambda p, at=at: p["spans"][at].update(salt=flipped(p["spans"][at]["salt"])))
        if proof["spans"][at]["text"]:
            def edit(p, at=at):
                line = p["spans"][at]
                line.update(held=line["held"] + line["text"][0], text=line["text"][1:])
            yield change(f"text {at} is cut elsewhere", edit)
    if admits > 1:
        yield change("texts in another order", lambda p: p["spans"].insert(0, p["spans"].pop(1)))
    yield change("a text twice", lambda p: p["spans"].append(p["spans"][-1]))
    yield change("another context", lambda p: p.update(context=p["context"].replace('"id":"', '"id":"x', 1)))
    yield change("another signature", lambda p: p.update(checkpoint=flipped(p["checkpoint"], 5000)))
    yield change("another root", lambda p: p.update(checkpoint=flipped(p["checkpoint"], 2 * (13 + 32))))
    yield change("another ticket", lambda p: p.update(ticket=flipped(p["ticket"], len(p["ticket"]) // 2)))
    yield change("another schema", lambda p: p.update(schema="portcullis/stream-proof/2"))
    yield change("a key that nobody knows", lambda p: p.update(note="trust me"))
    yield change("no ticket", lambda p: p.pop("ticket"))
    if other:
        yield change("the context of another stream", lambda p: p.update(context=other["context"]))
        yield change("the texts of another stream", lambda p: p.update(spans=other["spans"]))
        yield change("the records of another stream", lambda p: p.update(records=other["records"]))
        yield change("a record of another stream", lambda p: p["records"].insert(1, other["records"][1]))
        yield change("two streams", lambda p: (p["records"].extend(other["records"]), p["spans"].extend(other["spans"])))


def refused(proof, trust, allow_sim=True):
    try:
        verify(json.dumps(proof, ensure_ascii=False).encode(), trust, allow_sim)
    except Refused:
        return True
    except (KeyError, ValueError, IndexError, TypeError, AttributeError, struct.error):
        return True
    return False


def vectors():
    """RFC 8032, 7.1, test 2; and what is no signature."""
    key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    good = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert stream_proof.ed25519(key, b"\x72", good)
    assert not stream_proof.ed25519(key, b"\x73", good)
    assert not stream_proof.ed25519(key, b"\x72", good[:-1] + bytes([good[-1] | 128])), "S is not below L"
    assert not stream_proof.ed25519(b"\1" + bytes(31), b"\x72", good), "a key of small order"
    assert is_formatting(" \u2014\n") and not is_formatting("a")


def main():
    bundle, trust = Path(sys.argv[1]), read_trust(Path(sys.argv[2]))
    vectors()
    made = list(proofs(bundle))
    assert made, "the bundle has no stream that ended and is disclosed"
    wrong = tried = 0
    for number, proof in enumerate(made):
        data = json.dumps(proof, ensure_ascii=False).encode()
        facts = verify(data, trust, True)
        assert facts.simulated and facts.document["id"], facts
        assert "".join(text for _, text in facts.released) == "".join(s["held"] + s["text"] for s in proof["spans"])
        assert refused(proof, trust, False), "a simulated card, though nobody asked for one"
        other = made[number - 1] if len(made) > 1 else None
        for what, lie in lies(proof, other):
            tried += 1
            if lie != proof and not refused(lie, trust):
                wrong += 1
                print(f"stream {number}: {what}: taken for true")
    print(f"{len(made)} honest stream proofs hold, {tried - wrong} of {tried} changed ones do not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
