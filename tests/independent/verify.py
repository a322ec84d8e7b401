"""Checks a Portcullis bundle, or the proof of a receipt, up to the first contradiction.

Written from docs/reference/formats alone.

python3 verify.py BUNDLE --trust DIR [--allow sim] [--allow not-enforced] [--at SECOND]
python3 verify.py PROOF --receipt FILE --text FILE --trust DIR [--allow-sim] [--at SECOND]
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

from formats import LITTER, MAPPINGS, Refused, SIM_MARKS, certify, check, check_approval, commitment, fits, formatting
from formats import hexes, leaf_hash, mapping_version, path_root, read_context, read_image, read_json, read_note, read_ticket
from formats import MARKS, is_revoked, read_trust, read_withholding, reading, sha, sim_marks, text, uint
from records import ADMIT, ALARM, BEGIN, CLOSE, CLOSING, END, FALSE_TEXTS, HEARTBEAT, Log, OPEN, PASS, REFUSED, VERDICT
from records import check_checkpoints, check_lanes, check_signed, lane_head, read_checkpoint, read_record


def check_notes(notes, ticket, checkpoints, warnings):
    """What needs no record and no checkpoint, but their number."""
    before = None
    for name, note in notes.items():
        check(int(name[8:16]) == note.serial < checkpoints, "witness-serial", name)
        if before:
            ordered = note.time >= before.time and note.index - before.index >= note.serial - before.serial
            check(ordered, "witness-order", name)
        here = (ticket.key_id, ticket.seat, ticket.serial)
        check((note.origin, note.seat, note.ticket) == here, "witness-session", name)
        check(ticket.validity[0] <= note.time <= ticket.validity[1], "ticket-validity", name)
        before = note
    if ticket.self_issued or not {0, checkpoints - 1} <= {note.serial for note in notes.values()}:
        warnings.add("no-witness")


def check_heartbeats(notes, ticket, checkpoints, all_sizes, logs, warnings):
    by_serial = {note.serial: note for note in notes.values()}
    for serial, note in by_serial.items():
        check(note.checkpoint == checkpoints[serial].digest, "witness-checkpoint", f"checkpoint {serial}")
    for log in logs:
        check(log.limits == ticket.limits, "heartbeat-limits")
        check(log.gap is None, "heartbeat-gap", log.gap)
        free = 0
        for r in (r for r in log.records if r.type == HEARTBEAT):
            given = range(free, sum(sizes[log.lane] <= r.index for sizes in all_sizes))
            used = [s for s in given if s in by_serial and by_serial[s].nonce == r.nonce != 0]
            if used:
                free = used[0] + 1
            elif all(s in by_serial for s in given):
                raise Refused("heartbeat-nonce", f"lane {log.lane}, record {r.index}")
            else:
                warnings.add("heartbeat-unwitnessed")


MB, DIGEST, SERIAL = 1 << 20, "[0-9a-f]{64}", "00[0-9]{6}"
CAPS = {
    "manifest.json|README.md": 64 * MB,  # and the files of the package
    "ticket.cose|policy/approval.cose": 65536,
    f"checkpoints/{SERIAL}.cose": 17296,
    f"device/(cert|chain).pem|contexts/{DIGEST}.json|witness/{SERIAL}.note": MB,
    f"withheld/{SERIAL}.cose": 64 * MB,
    "policy/image.bin": 192 + 2 * 65535 * 192,
    "records/lane-[0-7].bin": 192 << 32,
    "records/heads.bin": 384_000_000,
    f"anchors/{DIGEST}": 16 << 30,
    "(streams|inputs|spans|receipts)(-[1-7])?.jsonl": 1 << 52,
}
NEEDED = ["manifest.json", "ticket.cose", "device/cert.pem", "device/chain.pem", "policy/image.bin"]
NEEDED += ["records/lane-0.bin", "checkpoints/00000000.cose"]
MANIFEST_ENTRY = {"path": text, "size": uint(64), "sha256": hexes(32)}


def read_bundle(folder):
    """Names, caps and the manifest. Gives the files: path in the bundle to path, size and SHA-256."""
    files = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.name in LITTER or path.name.startswith("._"):
            raise OSError(f"{name} was left there by a file manager")
        if path.is_dir() and not path.is_symlink():
            check(any(path.iterdir()), "not-a-bundle", name)
            continue
        package = re.fullmatch("policy/package/(.+)", name)
        part = r"[\w\-. ]+"  # \w is short of Other_Alphabetic, which the standard library does not know
        known = not package or len(package[1].encode()) <= 512 and package[1].count("/") <= 10
        known &= not package or all(re.fullmatch(part, p) and p[0] != "." for p in package[1].split("/"))
        caps = [cap for pattern, cap in CAPS.items() if re.fullmatch(pattern.replace(".", r"\."), name) or package]
        known &= path.is_file() and not path.is_symlink() and bool(caps) and path.stat().st_size <= caps[0]
        check(known, "not-a-bundle", name)
        with path.open("rb") as file:
            files[name] = (path, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
    check(all(name in files for name in NEEDED), "not-a-bundle", "a file is missing")
    package = sum(name.startswith("policy/package/") for name in files)
    check(package <= 4096 and len(files) <= 4_000_000, "not-a-bundle", "too many files")
    with reading("manifest"):
        manifest = read_json(files["manifest.json"][0].read_bytes())
        listed = [{"path": p, "size": files[p][1], "sha256": files[p][2]} for p in sorted(files, key=str.encode)]
        listed = [entry for entry in listed if entry["path"] != "manifest.json"]
        check(
            fits(manifest, {"schema": "portcullis/bundle/1", "files": [MANIFEST_ENTRY]}) and manifest["files"] == listed
        )
    for name in files:
        if name.startswith(("contexts/", "anchors/")):
            check(files[name][2] == name.split("/")[1][:64], "file-digest", name)
    return files


KIND = {"text", "call"}
LINES = {
    "streams": ({"index": uint(64), "stream": uint(64), "id": text}, (BEGIN,)),
    "inputs": ({"index": uint(64), "input": lambda value: True}, (BEGIN,)),
    "spans": ({"index": uint(64), "salt": hexes(16), "kind": KIND, "held": text, "text": text}, (VERDICT, END, REFUSED)),
    "receipts": ({"serial": uint(64), "lane": uint(8), "index": uint(64), "salt": hexes(16), "kind": KIND}, (VERDICT, END)),
}
# What a line means that does not say it.
DEFAULTS = {"spans": {"kind": "text"}, "receipts": {"kind": "text"}}


def read_lines(files, kind, log):
    """The lines of one kind about the records of a lane: log index to line."""
    name, lines = kind + (f"-{log.lane}" if log.lane else "") + ".jsonl", {}
    with reading("not-a-bundle", name):
        data = files[name][0].read_bytes() if name in files else b""
        check(not data or data.endswith(b"\n"))
        for raw in data.split(b"\n")[:-1]:
            line = DEFAULTS.get(kind, {}) | read_json(raw)
            check(fits(line, LINES[kind][0]) and line["index"] > max(lines, default=-1))
            check(len(raw) < (64 * MB if kind in ("spans", "inputs") else MB))
            lines[line["index"]] = line
    for index in lines:
        about = index < len(log.records) and log.records[index].type in LINES[kind][1]
        check(about, "line-without-record", f"{name}, index {index}")
    return lines


def hidden(log, withheld):
    """Indices of the records of the withheld streams: of the slot of each, up to the next BEGIN there."""
    begun, found = {}, set()
    for r in (r for r in log.records if r.type in (BEGIN, VERDICT, END, REFUSED)):
        if r.type == BEGIN:
            begun[r.slot] = r.index
        if (log.lane, begun.get(r.slot)) in withheld:
            found.add(r.index)
    return found


def check_texts(files, log, ticket, withheld, warnings):
    """Spans, receipts, stream lines and contexts of one lane. Gives the contexts: log index of BEGIN to document."""
    streams, inputs, spans, receipts = (read_lines(files, kind, log) for kind in LINES)
    withheld, documents = hidden(log, withheld), {}
    check(not withheld & {*inputs, *spans, *receipts}, "withheld-disclosed", f"lane {log.lane}")
    for index, line in spans.items():
        r, held, span = log.records[index], line["held"].encode(), line["text"].encode()
        where, salt = f"lane {log.lane}, span {index}", bytes.fromhex(line["salt"])
        check(commitment(line["kind"], salt, held + span) == r.commitment, "span-commitment", where)
        long = r.length == 65535 and r.validation != PASS
        shape = bool(held) == r.raw[8] & 1 and (len(span) == r.length or long)
        shape &= not r.raw[8] & 4 or line["kind"] == "call"
        check(r.type == REFUSED or (shape if r.type == VERDICT else not span), "span-shape", where)
        check(r.type != END or formatting(line["held"]), "end-not-formatting", where)
    for index, line in receipts.items():
        r, where = log.records[index], f"lane {log.lane}, receipt {index}"
        check(r.type == END or r.determination == ADMIT, "receipt-not-admitted", where)
        check((line["serial"], line["lane"]) == (ticket.serial, log.lane), "receipt-session", where)
        same = index not in spans or all(spans[index][key] == line[key] for key in ("salt", "kind"))
        check(same, "receipt-salt", where)
    begins = [r for r in log.records if r.type == BEGIN]
    for number, r in enumerate(begins):
        where, name = f"lane {log.lane}, BEGIN {r.index}", f"contexts/{r.commitment.hex()}.json"
        check(not ticket.contexts or r.commitment in ticket.contexts, "context-not-permitted", where)
        check(r.index not in streams or streams[r.index]["stream"] == number, "stream-number", where)
        doc = read_context(files[name][0].read_bytes()) if name in files else None
        if doc:
            documents[r.index] = doc
            profile = bytes.fromhex(doc["profile_digest"])
            check(not ticket.profiles or profile in ticket.profiles, "profile-not-permitted", where)
            check(doc["package_digest"] == log.records[0].package.hex(), "context-package", where)
            check(r.index not in streams or streams[r.index]["id"] == doc["id"], "stream-name", where)
            warnings |= {"anchor-withheld" for digest in doc["anchor_digests"] if "anchors/" + digest not in files}
        else:
            warnings |= {"profile-unknown"} if ticket.profiles else set()
            missing = {"context-withheld"} if r.index not in withheld else set()
            warnings |= {"context-version"} if name in files else missing
        if r.index in withheld:
            warnings.add("withheld")
        else:
            warnings |= {"stream-unnamed"} if r.index not in streams else set()
            warnings |= {"input-withheld"} if r.index not in inputs else set()
    warnings |= {"text-refused" for r in log.records if r.type == REFUSED and r.fault in FALSE_TEXTS}
    keeps = {}  # By slot: whether its stream cannot take admitted text back.
    for r in log.records:
        if r.type == BEGIN:
            doc = documents.get(r.index)
            driven = doc and doc["mode"].startswith("driven")
            keeps[r.slot] = doc is not None and (doc["release"] == "span" or not driven)
        kept = log.opening is not None and r.type == VERDICT and keeps[r.slot]
        forgotten = r.before & ~r.said & ~log.opening if kept else 0
        check(not forgotten, "class-omitted", f"lane {log.lane}, record {r.index}")
    if any(r.type in (VERDICT, END) and r.index not in {*spans, *withheld} for r in log.records):
        warnings.add("span-withheld")
    return documents


def check_ids(documents, all_sizes, warnings):
    """Streams in the order of the first checkpoints over them, then of lanes, then of their lane's log."""
    seen = set()
    for lane, index in sorted(documents, key=lambda at: (sum(sizes[at[0]] <= at[1] for sizes in all_sizes), at)):
        document = documents[lane, index]
        if document["id"] in seen and document["predecessor"] is None:
            warnings.add("id-twice")
        seen.add(document["id"])


def verify_bundle(folder, trust, allow_sim=False, time=None, allow_not_enforced=False):
    """The warnings. Raises Refused with the first contradiction."""
    files, warnings = read_bundle(folder), set()
    data = {name: path.read_bytes() for name, (path, *_) in files.items() if not name.startswith("anchors/")}
    names = sorted(name for name in files if name.startswith("checkpoints/"))
    lanes = sum(name.startswith("records/lane-") for name in files)
    check([int(name[12:20]) for name in names] == list(range(len(names))), "not-a-bundle", "checkpoints")
    check(
        lanes in (1, 2, 4, 8) and all(f"records/lane-{lane}.bin" in files for lane in range(lanes)),
        "not-a-bundle",
        "lanes",
    )
    check(
        all(int(name.split("-")[1][0]) < lanes for name in files if re.fullmatch("[a-z]+-[1-7].jsonl", name)),
        "not-a-bundle",
    )
    heads = data.get("records/heads.bin", b"")
    check(
        len(heads) == (48 * lanes * len(names) if lanes > 1 else 0) and ("records/heads.bin" in data) == (lanes > 1),
        "not-a-bundle",
    )

    notes = {}
    for name in sorted(name for name in files if name.startswith("witness/")):
        with reading("witness-note", name):
            notes[name] = read_note(data[name], trust)
    time = next((note.time for note in notes.values()), time)
    ticket, image = read_ticket(data["ticket.cose"], trust, time), read_image(data["policy/image.bin"])
    card = certify(data["device/cert.pem"], data["device/chain.pem"], trust, time, allow_sim)
    seen = [note.time for note in notes.values() if note.serial == len(names) - 1]
    check(not is_revoked(trust, card.key, seen[-1] if seen else None if notes else time), "certificate")
    warnings |= {"certificate-time"} if time is None else set()
    check(ticket.key_id == sha(card.key), "ticket-key")
    check(ticket.policy == image.digest, "ticket-policy")
    check_notes(notes, ticket, len(names), warnings)
    if "policy/approval.cose" in data:
        check_approval(data["policy/approval.cose"], image.digest, trust)
    withheld = set()
    for number, name in enumerate(sorted(name for name in files if name.startswith("withheld/"))):
        check(int(name[9:17]) == number, "withholding-malformed", name)
        withheld |= set(read_withholding(data[name], ticket, trust, warnings))
    package = {name[15:]: files[name][1:] for name in files if name.startswith("policy/package/")}
    warnings |= set() if package else {"package-withheld"}
    if image.known:
        read_records(files, data, (notes, ticket, image, card, withheld, package, lanes, names, heads), warnings)
    else:
        warnings |= {"unknown-version"} | sim_marks(card)
    for mark in sorted(warnings & SIM_MARKS):
        check(allow_sim, mark)
    return warnings - ({"not-enforced"} if allow_not_enforced else set())


def read_records(files, data, known, warnings):
    """What depends on the layouts of the card: records, checkpoints, lines, and what they are compared with."""
    notes, ticket, image, card, withheld, package, lanes, names, heads = known
    check(not ticket.text_lane or image.opening is not None, "text-lane")
    mapping = mapping_version(package, image.package) if package else None
    check(mapping or not package, "package-digest")
    warnings |= {"mapping-version"} if package and mapping not in MAPPINGS else set()
    logs = []
    for lane in range(lanes):
        log, raw = Log(lane, lanes, image.rows, image.opening), data[f"records/lane-{lane}.bin"]
        for at in range(0, len(raw) // 192 * 192, 192):
            log.add(raw[at : at + 192])
        check(len(raw) % 192 == 0, "records-truncated", f"lane {lane}")
        logs.append(log)
    check_lanes(logs)
    for r in (r for log in logs for r in log.records):
        if r.type in (OPEN, CLOSE):
            check(r.policy == image.digest, "open-policy" if r.type == OPEN else "close-policy")
            check(r.package == image.package, "session-package")
            check(r.type != OPEN or r.features == (image.opening is not None), "open-features")
            check(r.latched[32:64] == ticket.digest, "open-ticket")
        check(r.type != ALARM, "alarm", f"lane {r.lane}, record {r.index}")

    checkpoints = [read_checkpoint(data[name]) for name in names]
    for number, c in enumerate(checkpoints):
        check(c.lanes == lanes, "checkpoint-lanes", f"checkpoint {number}")
        check_signed(c, card, ticket, f"checkpoint {number}")
        check(c.policy == image.digest, "checkpoint-policy", f"checkpoint {number}")
        check(not c.fault, "alarm", f"checkpoint {number}")
        warnings |= sim_marks(card, c)
    all_sizes = check_checkpoints(checkpoints, heads, logs)
    check_heartbeats(notes, ticket, checkpoints, all_sizes, logs, warnings)
    documents = {}
    for log in logs:
        found = check_texts(files, log, ticket, withheld, warnings)
        documents |= {(log.lane, index): document for index, document in found.items()}
    check_ids(documents, all_sizes, warnings)
    prevents = {"driven", "driven_conversation", "held"}
    warnings |= {"not-enforced"} if any(doc["mode"] not in prevents for doc in documents.values()) else set()
    begins = {(r.lane, r.index) for log in logs for r in log.records if r.type == BEGIN}
    check(withheld <= begins, "withholding-stream")
    warnings |= {"not-closed"} if checkpoints[-1].state != CLOSING else set()
    warnings |= {"unsigned-tail"} if any(n < len(log.records) for n, log in zip(all_sizes[-1], logs)) else set()


PROOF = {"schema": "portcullis/receipt-proof/1", "record": hexes(192), "path": [hexes(32)], "checkpoint": hexes(17296)}
PROOF |= {"head": {"size": uint(64), "path": [hexes(32)]}, "ticket": text, "certificate": text, "chain": text}


def verify_proof(proof, receipt, shown, trust, allow_sim=False, time=None):
    """The warnings; "not-judged" is among them where the record is an END. The codes are those of bundles."""
    with reading("not-a-proof"):
        check(len(proof) <= MB)
        proof, receipt = read_json(proof), DEFAULTS["receipts"] | read_json(receipt)
        head = proof.get("head", {"size": 0, "path": []})
        check(fits(proof | {"head": head}, PROOF) and fits(receipt, LINES["receipts"][0]))
        r, path = read_record(bytes.fromhex(proof["record"])), list(map(bytes.fromhex, proof["path"]))
        c, message = read_checkpoint(bytes.fromhex(proof["checkpoint"])), bytes.fromhex(proof["ticket"])
    check((r.lane, r.index) == (receipt["lane"], receipt["index"]), "receipt-session")
    check(r.type == END or r.type == VERDICT and r.determination == ADMIT, "receipt-not-admitted")
    check(commitment(receipt["kind"], bytes.fromhex(receipt["salt"]), shown) == r.commitment, "span-commitment")
    if r.type == END:
        check(formatting(shown.decode("utf-8", "replace")), "end-not-formatting")
    with reading("checkpoint-root"):
        check(("head" in proof) == (c.lanes > 1))
        size = head["size"] if c.lanes > 1 else c.size
        root = path_root(leaf_hash(r.raw), r.index, size, path)
        node = leaf_hash(lane_head(r.lane, size, root))
        check(path_root(node, r.lane, c.lanes, list(map(bytes.fromhex, head["path"]))) == c.root)
    ticket = read_ticket(message, trust, time)
    check(ticket.serial == receipt["serial"], "receipt-session")
    card = certify(proof["certificate"].encode(), proof["chain"].encode(), trust, time, allow_sim)
    warnings = sim_marks(card, c)
    check(allow_sim or not warnings, min(warnings, default=""))
    check(c.policy == ticket.policy, "checkpoint-policy")
    check(ticket.key_id == sha(card.key), "ticket-key")
    check_signed(c, card, ticket)
    warnings |= {"certificate-time"} if time is None else set()
    warnings |= {"no-witness"} if ticket.self_issued else set()
    return warnings | ({"not-judged"} if r.type == END else set())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evidence", type=Path)
    parser.add_argument("--trust", type=Path, required=True)
    parser.add_argument("--receipt", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--allow", action="append", choices=["sim", "not-enforced"], default=[])
    parser.add_argument("--allow-sim", action="append_const", const="sim", dest="allow")
    parser.add_argument("--at", type=int)
    options = parser.parse_args()
    allow_sim = "sim" in options.allow
    try:
        trust = read_trust(options.trust)
        if options.receipt:
            inputs = [file.read_bytes() for file in (options.evidence, options.receipt, options.text)]
            warnings = verify_proof(*inputs, trust, allow_sim, options.at)
        elif not any(options.evidence.iterdir()):
            raise OSError("the folder is empty")
        else:
            allow_not_enforced = "not-enforced" in options.allow
            warnings = verify_bundle(options.evidence, trust, allow_sim, options.at, allow_not_enforced)
    except Refused as refused:
        print("contradicted", *refused.args)
        return 3
    except Exception as error:
        print(f"error: {error!r}", file=sys.stderr)
        return 1
    simulated = warnings & SIM_MARKS
    print("simulated" if simulated else "warned" if warnings else "affirmed", *sorted(warnings))
    return 10 if warnings & MARKS else 5 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
