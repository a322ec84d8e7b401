#!/usr/bin/env python3
"""Changes an honest bundle in one place at a time. verify.py must refuse each for the reason that stands beside it.

    changes.py BUNDLE --trust FOLDER
"""
import argparse
import json
import pathlib
import sys
import tempfile
import zlib

import verify
from standards import sha

CHANGES = []


def change(code, whole=True):
    """Registers a change; `whole`: the manifest is made to fit, so that another check has to find it."""
    def register(function):
        CHANGES.append((code, whole, function))
        return function
    return register


def record_of(files, kind, determination=None):
    """Offset in lane 0's log of the first record of a kind."""
    log = files["records/lane-0.bin"]
    return next(at for at in range(0, len(log), 192) if log[at + 129] == kind and determination in (None, log[at + 130]))


def put(files, name, at, data):
    files[name] = files[name][:at] + data + files[name][at + len(data):]


def flip(files, name, at):
    put(files, name, at, bytes([files[name][at] ^ 1]))


def seal(files, at):
    """Makes the checksum of the descriptor at this offset fit."""
    put(files, "records/lane-0.bin", at + 124, zlib.crc32(files["records/lane-0.bin"][at:at + 124]).to_bytes(4, "little"))


def edit(files, name, number, **values):
    """Sets keys of one line."""
    lines = files[name].splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **values}).encode()
    files[name] = b"\n".join(lines) + b"\n"


def last(files):
    return max(name for name in files if name.startswith("checkpoints/"))


@change("manifest", whole=False)
def damaged(files):
    flip(files, "README.md", 0)


@change("not-a-bundle")
def another_file(files):
    files["notes.txt"] = b""


@change("not-a-bundle")
def a_missing_checkpoint(files):
    del files["checkpoints/00000000.cose"]


@change("not-a-bundle")
def a_doubled_key(files):
    files["spans.jsonl"] = files["spans.jsonl"].replace(b'"text":', b'"text":"","text":', 1)


@change("image-malformed")
def a_row_cut(files):
    files["policy/image.bin"] = files["policy/image.bin"][:-1]


@change("ticket-policy")
def another_map(files):
    flip(files, "policy/image.bin", 64)


@change("package-digest")
def another_package(files):
    files["policy/package/policy.toml"] += b"\n"


@change("ticket-policy")
def another_row(files):
    flip(files, "policy/image.bin", 128 + 20)


@change("ticket-malformed")
def a_ticket_with_more(files):
    files["ticket.cose"] += b"\0"


@change("open-ticket")
def another_ticket(files):
    flip(files, "ticket.cose", len(files["ticket.cose"]) - 1)


@change("certificate")
def another_certificate(files):
    flip(files, "device/cert.pem", 400)


@change("approval-malformed")
def no_approval(files):
    files["policy/approval.cose"] = files["ticket.cose"]


@change("witness-note")
def no_note(files):
    files["witness/00000000.note"] = b"c2sp.org/tlog-proof@v1\n"


@change("file-digest")
def another_context(files):
    files[min(name for name in files if name.startswith("contexts/"))] += b" "


@change("record-entry")
def a_flipped_bit(files):
    flip(files, "records/lane-0.bin", record_of(files, verify.VERDICT) + 100)


@change("span-commitment")
def another_commitment(files):
    at = record_of(files, verify.VERDICT)
    flip(files, "records/lane-0.bin", at + 100)
    seal(files, at)


@change("checkpoint-root")
def another_descriptor(files):
    at = record_of(files, verify.VERDICT)
    flip(files, "records/lane-0.bin", at + 20)
    seal(files, at)


@change("record-answer")
def a_reject_made_an_admit(files):
    put(files, "records/lane-0.bin", record_of(files, verify.VERDICT, 1) + 130, b"\3")


@change("record-layout")
def an_unknown_record(files):
    put(files, "records/lane-0.bin", record_of(files, verify.VERDICT) + 129, b"\x0a")


@change("record-index")
def a_record_left_out(files):
    log, at = files["records/lane-0.bin"], record_of(files, verify.VERDICT)
    files["records/lane-0.bin"] = log[:at] + log[at + 192:]


@change("records-missing")
def the_end_left_out(files):
    files["records/lane-0.bin"] = files["records/lane-0.bin"][:-192]


@change("records-truncated")
def a_record_cut(files):
    files["records/lane-0.bin"] = files["records/lane-0.bin"][:-1]


@change("record-after-end")
def a_second_close(files):
    log = files["records/lane-0.bin"]
    files["records/lane-0.bin"] += log[-192:-48] + (len(log) // 192).to_bytes(8, "little") + log[-40:]


@change("close-policy")
def other_tables_at_the_end(files):
    flip(files, "records/lane-0.bin", record_of(files, verify.CLOSE))


@change("checkpoint-signature")
def another_signature(files):
    flip(files, last(files), 5000)


@change("checkpoint-signature")
def another_boot(files):
    for name in [name for name in files if name.startswith("checkpoints/")]:
        flip(files, name, 13 + 144)


@change("checkpoint-session")
def two_boots(files):
    flip(files, last(files), 13 + 144)


@change("checkpoint-malformed")
def another_framing(files):
    flip(files, last(files), 1)


@change("checkpoint-serial")
def one_checkpoint_twice(files):
    files[last(files)] = files["checkpoints/00000000.cose"]


@change("span-commitment")
def another_text(files):
    edit(files, "spans.jsonl", 0, text="Nothing of the kind.")


@change("span-commitment")
def another_salt(files):
    edit(files, "spans.jsonl", 0, salt="00" * 16)


@change("receipt-not-admitted")
def a_receipt_for_a_refusal(files):
    index = record_of(files, verify.VERDICT, 1) // 192
    receipts = [json.loads(line) for line in files["receipts.jsonl"].splitlines()] + [{"serial": 1, "lane": 0, "index": index, "salt": "00" * 16}]
    receipts.sort(key=lambda receipt: receipt["index"])
    files["receipts.jsonl"] = b"".join(json.dumps(receipt).encode() + b"\n" for receipt in receipts)


@change("receipt-session")
def a_receipt_of_another_session(files):
    edit(files, "receipts.jsonl", 0, serial=2)


@change("receipt-salt")
def a_receipt_of_another_text(files):
    edit(files, "receipts.jsonl", 0, salt="00" * 16)


@change("stream-name")
def a_stream_renamed(files):
    edit(files, "streams.jsonl", 0, id="another")


@change("stream-number")
def a_stream_renumbered(files):
    edit(files, "streams.jsonl", 0, stream=7)


@change("span-shape")
def another_border(files):
    span = json.loads(files["spans.jsonl"].splitlines()[0])
    edit(files, "spans.jsonl", 0, held=span["held"] + span["text"][:3], text=span["text"][3:])


@change("line-without-record")
def a_line_about_nothing(files):
    edit(files, "streams.jsonl", 0, index=0)


def verdict(files, trust):
    """What verify.py says of these files: a reason code, or `accepted`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        try:
            verify.check_bundle(pathlib.Path(folder), trust, True, None, set())
        except verify.Refusal as refusal:
            return refusal.args[0]
    return "accepted"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("--trust", type=pathlib.Path, required=True)
    args = parser.parse_args()
    trust, (honest, _, _) = verify.read_trust(args.trust, True), verify.read_files(args.bundle)
    failed = [("unchanged", "accepted", found)] if (found := verdict(honest, trust)) != "accepted" else []
    for code, whole, function in CHANGES:
        files = dict(honest)
        function(files)
        if whole:
            listed = [{"path": n, "size": len(files[n]), "sha256": sha(files[n]).hex()} for n in verify.bytewise(files) if n != "manifest.json"]
            files["manifest.json"] = json.dumps({"schema": "portcullis/bundle/1", "files": listed}).encode()
        if (found := verdict(files, trust)) != code:
            failed.append((function.__name__, code, found))
    for name, code, found in failed:
        print(f"FAILED {name}: {found}, not {code}")
    print(f"{len(CHANGES)} changed bundles, {len(failed)} not refused as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
