#!/usr/bin/env python3
"""Cuts of labelled values into two candidates, for values that arrive in parts.

Usage: python3 cuts.py FILE... [--types A,B] [--sample N] [--seed N] [--max-value BYTES] [--fair]
A line of FILE is {"text", "spans": [{"type", "start", "end"}]} (offsets in characters, or in bytes where "offsets" is "bytes" or
only bytes agree with a span's "value"), or a line of bypass.jsonl ({"text", "value": [start, end) in bytes}).
For each value and each cut strictly inside it, at a character border, it prints
{"id", "first", "second", "value": [start, end) in bytes of first + second}.
--types keeps these span types (default: those that have a pattern in policies/pii). --sample keeps N cuts, chosen by a seeded
integer generator. --fair leaves out rows of bypass.jsonl whose "fair" is false. Longer values than --max-value (default 400) are
left out, and the count of them is printed on stderr."""
import json
import sys

TYPES = {"CREDIT_CARD", "EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS", "US_SSN", "PHONE_NUMBER"}
MASK = (1 << 64) - 1


def splitmix(seed):
    s = seed & MASK
    while True:
        s = (s + 0x9E3779B97F4A7C15) & MASK
        z = ((s ^ (s >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def options(argv):
    opts, files, i = {"types": None, "sample": 0, "seed": 17, "max-value": 400, "fair": False}, [], 0
    while i < len(argv):
        a = argv[i]
        if a == "--fair":
            opts["fair"] = True
        elif a.startswith("--"):
            i += 1
            opts[a[2:]] = argv[i].split(",") if a == "--types" else int(argv[i])
        else:
            files.append(a)
        i += 1
    return opts, files


def byte_span(row, span):
    """Start and end in bytes of UTF-8, whatever the file counts in."""
    text, s, e = row["text"], span["start"], span["end"]
    if row.get("offsets") == "bytes":
        return s, e
    want = span.get("value")
    if want is not None and text[s:e] != want and text.encode()[s:e] == want.encode():
        return s, e
    return len(text[:s].encode()), len(text[:e].encode())


def values(row, kinds, fair):
    if "value" in row:
        if row.get("fair", True) or not fair:
            yield row["value"][0], row["value"][1]
        return
    for span in row.get("spans", []):
        if span["type"] in kinds:
            yield byte_span(row, span)


def cuts(files, opts):
    kinds, left_out = set(opts["types"] or TYPES), 0
    for name in files:
        for number, line in enumerate(open(name, encoding="utf-8")):
            if not line.strip():
                continue
            row = json.loads(line)
            raw = row["text"].encode()
            for k, (s, e) in enumerate(values(row, kinds, opts["fair"])):
                if e - s > opts["max-value"]:
                    left_out += 1
                    continue
                for at in range(s + 1, e):
                    if raw[at] & 0xC0 == 0x80:
                        continue
                    yield {"id": "cut-%s-%d-%d" % (row.get("id", number), k, at - s), "first": raw[:at].decode(),
                           "second": raw[at:].decode(), "value": [s, e]}
    if left_out:
        print("left out %d values that are too long" % left_out, file=sys.stderr)


def main():
    opts, files = options(sys.argv[1:])
    if not files:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    rows = list(cuts(files, opts))
    if opts["sample"] and opts["sample"] < len(rows):
        rng, keep = splitmix(opts["seed"]), list(range(len(rows)))
        for i in range(opts["sample"]):
            j = i + next(rng) % (len(keep) - i)
            keep[i], keep[j] = keep[j], keep[i]
        rows = [rows[i] for i in sorted(keep[:opts["sample"]])]
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
