"""Changes good bundles in one place at a time, and compares what verify.py and the program say of each.

python3 changes.py --program portcullis [--plain BUNDLE TRUST] [--lanes BUNDLE TRUST]
                   [--witness BUNDLE TRUST ISSUER_KEY WITNESS_KEY]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from formats import MARKS, Refused, read_trust
from records import BEGIN, CLOSE, END, HEARTBEAT, OPEN, VERDICT
from sealing import Bundle, as_array, checkpoint, context, drop, flip, image, judged, keep_first, last_verdict, letters_under_end
from sealing import limit_latched, line, log, no_last_checkpoint, note, nothing_left, one_id, other_signature, put
from sealing import receipt_of_an_end_refused
from sealing import receipt_of_refused, record, rename, ticket, withheld
from verify import verify_bundle

GOLDEN = Path(__file__).parents[1] / "golden/0.1.0"


BAD, GARBAGE, CP = b"\xff" * 32, b"\xd2\x84", "checkpoints/00000000.cose"
NOT = "not-a-bundle"
# What is changed, the code that must be reported ("w " before a warning), how. Then: roots and signatures made anew.
RAW = [
    ("README changed, old manifest", "manifest", put("README.md", b"x")),
    ("a file of an unknown name", NOT, put("more.txt", b"x")),
    ("no ticket", NOT, drop("ticket.cose")),
    ("no checkpoint 0", NOT, drop(CP)),
    ("a second log alone", NOT, put("records/lane-2.bin", b"")),
    ("heads.bin with one lane", NOT, put("records/heads.bin", bytes(48))),
    ("log cut within a record", "records-truncated", log(lambda x: x[:-1])),
    ("last record dropped", "records-missing", log(lambda x: x[:-192])),
    ("a record doubled", "record-index", log(lambda x: x[:384] + x[192:])),
    ("record type 10", "record-layout", log(lambda x: x[:321] + b"\n" + x[322:])),
    ("a commitment without its checksum", "record-entry", log(lambda x: x[:292] + b"\1" + x[293:])),
    ("tick of CLOSE", "checkpoint-root", log(lambda x: x[:-34] + b"\1" + x[-33:])),
    ("signature of checkpoint 0", "checkpoint-signature", flip(CP, 9000)),
    ("framing of checkpoint 0", "checkpoint-malformed", flip(CP, 3)),
    ("root in checkpoint 0", "checkpoint-signature", flip(CP, 13 + 40)),
    ("state 1 in checkpoint 0", "checkpoint-malformed", put(CP, lambda x: x[:19] + b"\1" + x[20:])),
    ("checkpoint 1 in place of 0", "checkpoint-serial", lambda b: put(CP, b.files[CP.replace("0.", "1.")])(b)),
    ("reserved byte of the image", "image-malformed", flip("policy/image.bin", 7)),
    ("map digest of the image", "ticket-policy", flip("policy/image.bin", 64)),
    ("package digest of the image", "ticket-policy", flip("policy/image.bin", 96)),
    ("depth limit of the image", "ticket-policy", flip("policy/image.bin", 5)),
    ("a row of the image", "image-malformed", flip("policy/image.bin", 300)),
    ("a file of the package", "package-digest", put("policy/package/policy.toml", b"x")),
    ("package withheld", "w package-withheld", drop("policy/package/.*")),
    ("signature of the certificate", "certificate", put("device/cert.pem", other_signature)),
    ("text in the certificate's file", "certificate", put("device/cert.pem", lambda x: b"x\n" + x)),
    (
        "card's certificate as intermediate",
        "certificate",
        lambda b: put("device/chain.pem", b.files["device/cert.pem"])(b),
    ),
    ("ticket with a byte behind it", "ticket-malformed", put("ticket.cose", lambda x: x + b"\0")),
    ("an approval that is none", "approval-malformed", put("policy/approval.cose", GARBAGE)),
    ("contexts withheld", "w context-withheld", drop("contexts/.*")),
    ("a context under another name", "file-digest", put(f"contexts/{'0' * 64}.json", b"{}")),
    ("a witness note that is none", "witness-note", put("witness/00000000.note", b"x")),
    ("text of a span", "span-commitment", line("spans", 0, "text", "x")),
    ("kind of a span", "span-commitment", line("spans", 0, "kind", "call")),
    ("kind of a receipt", "receipt-salt", line("receipts", 0, "kind", "call")),
    ("a span of no kind", NOT, line("spans", 0, "kind", "")),
    ("salt of a span", "span-commitment", line("spans", 0, "salt", "0" * 32)),
    (
        "held and text of a span moved",
        "span-shape",
        lambda b: b.lines("spans.jsonl", lambda x: x[0].update(held=x[0]["text"], text="")),
    ),
    ("upper case in a salt", NOT, line("spans", 0, "salt", "A" * 32)),
    ("a key too many in a line", NOT, line("spans", 0, "more", 1)),
    ("lines out of order", NOT, lambda b: b.lines("spans.jsonl", lambda x: x.reverse())),
    ("no line feed at the end", NOT, put("spans.jsonl", lambda x: x[:-1])),
    ("a key twice", NOT, put("spans.jsonl", lambda x: x.replace(b'{"', b'{"text":"","', 1))),
    ("a span of OPEN", "line-without-record", line("spans", 0, "index", 0)),
    ("spans withheld", "w span-withheld", drop("spans.jsonl")),
    ("inputs withheld", "w input-withheld", drop("inputs.jsonl")),
    ("streams withheld", "w stream-unnamed", drop("streams.jsonl")),
    ("number of a stream", "stream-number", line("streams", 0, "stream", 3)),
    ("name of a stream", "stream-name", line("streams", 0, "id", "other")),
    ("serial of a receipt", "receipt-session", line("receipts", 0, "serial", 77)),
    ("lane of a receipt", "receipt-session", line("receipts", 0, "lane", 1)),
    ("salt of a receipt", "receipt-salt", line("receipts", 0, "salt", "0" * 32)),
    ("a receipt of a refused text", "receipt-not-admitted", receipt_of_refused),
    ("a receipt of BEGIN", "line-without-record", line("receipts", 0, "index", 1)),
    ("a line that is an array", NOT, as_array("spans.jsonl")),
    ("contexts and names of streams withheld", "w stream-unnamed", drop("contexts/.*|streams.jsonl")),
    ("a stream withheld", "w withheld", withheld()),
    ("a stream withheld by nobody", "w withholding-untrusted", withheld()),
    ("a stream withheld with its name", "w withheld", lambda b: [withheld()(b), b.lines("streams.jsonl", lambda x: x.pop(0))]),
    ("a withheld stream whose texts are there", "withheld-disclosed", lambda b: b.withhold(0, [[0, 1]])),
    ("texts that are missing without a withholding", "w span-withheld", nothing_left),
    ("a withholding of another session", "withholding-session", withheld(k1=BAD)),
    ("a withholding under number 1", "withholding-malformed", lambda b: b.withhold(1, [nothing_left(b)])),
    ("a withholding of nothing", "withholding-malformed", withheld(lambda stream: [])),
    ("a stream withheld twice over", "withholding-malformed", withheld(lambda stream: [stream, stream])),
    ("a withheld stream in lane 256", "withholding-malformed", withheld(lambda stream: [stream, [256, 1]])),
    ("a withheld stream in no lane", "withholding-stream", withheld(lambda stream: [stream, [7, 1]])),
    ("a withheld stream that began elsewhere", "withholding-stream", withheld(lambda stream: [[0, 0], stream])),
    ("a reason of two lines", "withholding-malformed", withheld(k4="a\nb")),
    ("a name of 201 bytes", "withholding-malformed", withheld(k3="a" * 201)),
    ("version 2 of a withholding", "withholding-malformed", withheld(k0=2)),
]
SEALED = [
    ("layout version of the image", "w unknown-version", image(4, b"\2")),
    ("layout version 0", "image-malformed", image(4, b"\0")),
    ("register map of the image", "w unknown-version", image(64, BAD)),
    ("classes of the image with a gap", "image-malformed", image(32, b"\xfd")),
    ("an empty row", "image-malformed", image(128, b"\0")),
    ("rules out of order", "image-malformed", image(130, b"\xff")),
    ("no category allowed", "image-malformed", image(132, b"\xc0\xff")),
    ("a value outside its mask", "image-malformed", image(134, b"\0\1")),
    ("an empty range", "image-malformed", image(138, b"\2\1")),
    ("a field both required and forbidden", "image-malformed", image(129, b"\1\0\0\xff\xff\0\0\0\1")),
    ("a bound on an absent quantity", "image-malformed", image(195, b"\0")),
    ("two streams of one id", "w id-twice", one_id),
    ("a receipt of what was refused", "line-without-record", receipt_of_an_end_refused),
    ("white space in a context", "context-malformed", context(",", ", ")),
    ("mode of a context", "context-malformed", context('"mode":"[a-z]+"', '"mode":"other"')),
    (
        "a key of a context moved",
        "context-malformed",
        context('("release":"[a-z]+"),("max_proposals":[0-9]+)', r"\2,\1"),
    ),
    ("profile digest of a context", "context-malformed", context('("profile_digest":").', r"\1x")),
    ("version of a context", "w context-version", context('"version":[0-9]+', '"version":99')),
    ("version of a context is text", "context-malformed", context('"version":[0-9]+', '"version":"3"')),
    ("package of a context", "context-package", context('("package_digest":")[0-9a-f]{64}', r"\g<1>" + "0" * 64)),
    (
        "an anchor store that is not there",
        "w anchor-withheld",
        context(r'("anchor_digests":)\[\]', rf'\1["{"0" * 64}"]'),
    ),
    ("package digest of CLOSE", "record-latched", record(CLOSE, 0, 32, BAD)),
    ("policy digest of CLOSE", "close-policy", record(CLOSE, 0, 0, BAD)),
    ("policy digest of OPEN", "open-policy", record(OPEN, 0, 0, BAD)),
    ("package digest of all", "session-package", lambda b: [record(kind, 0, 32, BAD)(b) for kind in (OPEN, CLOSE)]),
    ("ticket digest of all", "open-ticket", lambda b: [record(kind, 0, 64, BAD)(b) for kind in (OPEN, CLOSE)]),
    ("open streams of CLOSE", "record-open-streams", record(CLOSE, 0, 112, b"\1")),
    ("cause of CLOSE", "record-answer", record(CLOSE, 0, 116, b"\5\3")),
    ("features of OPEN", "record-layout", record(OPEN, 0, 118, b"\2")),
    ("CLOSE is an ALARM", "alarm", lambda b: [record(CLOSE, 0, 116, b"\5\3")(b), record(CLOSE, 0, 129, b"\x09")(b)]),
    ("tick of a verdict is 0", "record-tick", record(VERDICT, 1, 152, bytes(8))),
    ("epoch of a verdict", "record-session", record(VERDICT, 0, 140, BAD[:4])),
    ("index of a verdict", "record-index", record(VERDICT, 0, 144, b"\0")),
    ("a second OPEN", "record-open", record(VERDICT, 0, 129, b"\1")),
    ("slot of a verdict", "stream-slot", record(VERDICT, 0, 2, b"\x70\x01")),
    ("sequence of a verdict", "stream-sequence", record(VERDICT, 0, 4, b"\x70")),
    ("epistemic mode of a stream's last verdict", "stream-context", lambda b: last_verdict(b, 14, b"\1")),
    ("a refused text admitted", "record-answer", lambda b: b.record(judged(b, 2), 130, b"\3")),
    ("row of a verdict out of range", "record-answer", record(VERDICT, 0, 134, b"\xf0\0")),
    ("opcode of a verdict", "record-entry", record(VERDICT, 0, 1, b"\4")),
    ("refused for spent credit", "record-answer", record(END, 0, 129, b"\x06\0\0\x01\x02")),
    ("length of an admitted text", "span-shape", lambda b: b.record(judged(b, 3), 34, BAD[:2])),
    ("letters under END", "end-not-formatting", letters_under_end),
    ("policy of a checkpoint", "checkpoint-policy", checkpoint(-1, 64, BAD)),
    ("ticket of a checkpoint", "checkpoint-ticket", checkpoint(-1, 96, BAD)),
    ("design of a checkpoint", "checkpoint-design", checkpoint(-1, 128, BAD[:16])),
    ("key flags of a checkpoint", "checkpoint-class", checkpoint(-1, 5, b"\0")),
    ("lanes of a checkpoint", "checkpoint-lanes", checkpoint(-1, 7, b"\x08")),
    ("boot nonce of a checkpoint", "checkpoint-session", checkpoint(-1, 144, BAD[:16])),
    ("epoch of a checkpoint", "checkpoint-session", checkpoint(-1, 168, BAD[:4])),
    ("epoch of the only checkpoint", "checkpoint-records", lambda b: [keep_first(b), checkpoint(0, 168, BAD[:4])(b)]),
    ("tick of a checkpoint is 0", "checkpoint-order", checkpoint(-1, 24, bytes(8))),
    ("serial of a checkpoint", "checkpoint-serial", checkpoint(-1, 8, b"\x55")),
    ("the last checkpoint in state run", "checkpoint-state", checkpoint(-1, 6, b"\3")),
    ("the first checkpoint in state run", "checkpoint-state", checkpoint(0, 6, b"\3")),
    ("fault in a checkpoint", "alarm", checkpoint(-1, 172, b"\5\3")),
    ("reserved byte of a checkpoint", "checkpoint-malformed", checkpoint(-1, 191, b"\1")),
    ("no last checkpoint", "w not-closed", no_last_checkpoint),
    ("ticket of another card", "ticket-key", ticket(k3=BAD)),
    ("ticket of another policy", "ticket-policy", ticket(k4=BAD)),
    ("ticket permits another context", "context-not-permitted", ticket(k5=[BAD])),
    ("contexts of the ticket not ascending", "ticket-malformed", ticket(k5=[BAD, BAD])),
    ("validity of the ticket ends before it begins", "ticket-malformed", ticket(k9=[5, 4])),
    ("serial 0", "ticket-malformed", ticket(k1=0)),
    ("a number as a fraction", "ticket-malformed", ticket(k6=0.0)),
    ("issuer with a blank", "ticket-malformed", ticket(k10="a b")),
    ("issuer that is not trusted", "ticket-issuer", ticket(k10="somebody")),
    ("a key too many in the ticket", "ticket-malformed", ticket(k14=0)),
]
VERSION_2 = [
    ("version of the ticket", "ticket-malformed", ticket(k0=3)),
    ("ticket permits another profile", "profile-not-permitted", ticket(k12=[BAD])),
    ("ticket needs the text lane", "text-lane", ticket(k13=1)),
]
LANES = [
    ("a head", "checkpoint-heads", flip("records/heads.bin", 20)),
    ("no heads", NOT, drop("records/heads.bin")),
    ("a log missing", NOT, lambda b: [b.files.pop("records/lane-3.bin"), b.logs.__setitem__(3, None)]),
    ("lines of a lane that is not there", NOT, put("spans-7.jsonl", b"")),
    ("two logs swapped", "record-session", lambda b: b.logs.__setitem__(slice(1, 3), b.logs[2:0:-1])),
]
LANES_SEALED = [
    ("OPEN of a lane under another policy", "lane-session", record(OPEN, 0, 0, BAD, 1)),
    ("CLOSE of a lane under another policy", "lane-session", record(CLOSE, 0, 0, BAD, 1)),
    ("slot of another lane", "stream-lane", record(BEGIN, 0, 2, b"\2", 1)),
]
WITNESS = [
    ("signature of a note", "witness-note", flip("witness/00000001.note", -9)),
    ("name of a note", "witness-serial", rename("witness/00000001.note", "witness/00000077.note")),
    ("a note withheld", "w heartbeat-unwitnessed", drop("witness/00000001.note")),
    ("the first note withheld", "w no-witness", drop("witness/00000000.note")),
    ("ticket's signature", "ticket-issuer", flip("ticket.cose", -1)),
]
WITNESS_SEALED = [
    ("nonce of a note", "heartbeat-nonce", note(0, 5, 12345)),
    ("nonce of a HEARTBEAT", "heartbeat-nonce", record(HEARTBEAT, 0, 96, BAD[:8])),
    ("validity of the ticket before the note", "ticket-validity", ticket(k9=[1, 2])),
    ("time of a note goes back", "witness-order", lambda b: note(1, 1, b.notes["witness/00000000.note"][1] - 1)(b)),
    ("ticket of a note", "witness-session", note(1, 2, 99)),
    ("checkpoint of a note", "witness-checkpoint", note(1, 4, bytes(32))),
    ("limits of the ticket", "heartbeat-limits", ticket(k6=11)),
    ("limit that was passed", "heartbeat-gap", lambda b: [ticket(k6=2)(b), limit_latched(b, 2)]),
    ("limits in CLOSE", "record-latched", record(CLOSE, 0, 104, b"\1")),
    ("heartbeat becomes OPEN", "record-open", record(HEARTBEAT, 0, 129, b"\1")),
    ("ticket of the operator", "ticket-malformed", ticket(k10="self")),
]


def program_says(program, folder, trust, allow_sim):
    """Exit code and reason codes; warnings have "w " before them."""
    options = ["--allow-sim"] if allow_sim else []
    done = subprocess.run(
        [program, "verify", folder, "--trust", trust, "--json", *options], capture_output=True, text=True
    )
    try:
        properties = json.loads(done.stdout)["properties"].values()
    except (ValueError, KeyError):
        return done.returncode, {NOT if done.returncode == 3 else "error"}
    marks = {"warned": "w ", "contradicted": ""}
    return done.returncode, {marks[r["status"]] + r["code"] for p in properties for r in p["reasons"]}


def verifier_says(folder, trust, allow_sim):
    try:
        found = verify_bundle(folder, read_trust(trust), allow_sim)
    except Refused as refused:
        return 3, {refused.args[0]}
    except OSError:
        return 1, {"error"}
    return 10 if found & MARKS else 5 if found else 0, {"w " + code for code in found}


def compare(name, code, change, base, options, seal, allow_sim=True):
    folder, trust, *keys = map(Path, base)
    bundle = Bundle(folder, *keys)
    change(bundle)
    if seal:
        bundle.seal()
    with tempfile.TemporaryDirectory() as made:
        bundle.write(Path(made), name != "README changed, old manifest")
        own_exit, own = verifier_says(Path(made), trust, allow_sim)
        exit_code, codes = program_says(options.program, made, trust, allow_sim)
    same = own_exit == exit_code and (own_exit != 3 or own <= codes)
    outcome = "same" if same else "DIFFERENT"
    outcome += "" if code is None or code in own else ", NOT AS EXPECTED"
    print(f"{outcome:10} {name}: {code}; verify.py {own_exit} {sorted(own)}, program {exit_code} {sorted(codes)}")
    return outcome == "same"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--plain", nargs=2, default=[GOLDEN / "bundle", GOLDEN / "trust"])
    parser.add_argument("--lanes", nargs=2)
    parser.add_argument("--witness", nargs=4)
    options = parser.parse_args()
    todo = [(options.plain, RAW, False), (options.plain, SEALED + VERSION_2, True)]
    todo += [(options.lanes, LANES, False), (options.lanes, LANES_SEALED, True)] if options.lanes else []
    todo += [(options.witness, WITNESS, False), (options.witness, WITNESS_SEALED, True)] if options.witness else []
    results = [compare("simulated, not asked for", "certificate", lambda b: b, options.plain, options, False, False)]
    for base, changes, seal in todo:
        results.append(compare("nothing", None, lambda b: b, base, options, seal))
        results += [compare(*change, base, options, seal) for change in changes]
    print(f"{results.count(True)} of {len(results)} as expected and the same")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
