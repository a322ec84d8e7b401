#!/usr/bin/env python3
"""Splices texts: the beginning of a biography, then sentences of another biography or of another domain's text.

    drift.py --seed 1 --host biographies.jsonl --donor biographies.jsonl --kind biography > spliced.jsonl
    drift.py --seed 1 --host biographies.jsonl --donor answers.jsonl --skip biography --kind domain > spliced.jsonl
    drift.py --host biographies.jsonl --whole > whole.jsonl          the same texts unspliced, for false halts
    drift.py --self-test

Files: JSON Lines with "text" (or FActScore's "output") and, if known, "id" and "subject" (or "topic"); or plain
text with an empty line between texts. Output: {"id", "kind", "host", "donor", "subject", "text", "splice",
"starts", "end", "before", "foreign"}: `splice` and `end` are byte offsets of the foreign part, `starts` those of its
sentences; `before` and `foreign` count sentences. Integer arithmetic only; the same seed and files give the same output.
"""

import argparse
import json
import re
import sys

from generators import Random

ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|No|vs|etc|al"
    r"|e\.g|i\.e|[A-Z]|[A-Z]\.[A-Z])\.$"
)


def sentences(text):
    """Ranges of sentences: after . ! ? and closing marks, before white space and what can begin a sentence."""
    out, start = [], 0
    for m in re.finditer(r"[.!?][\"')\]”’]*(?:\[\d+\])*(?=\s+[\"'(\[“]?[A-ZÀ-Þ0-9]|\s*$)|\n+", text):
        piece = text[start : m.end()]
        if not m.group().startswith("\n") and m.end() < len(text) and ABBREVIATION.search(piece):
            continue
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            out.append((start + lead, start + len(piece.rstrip())))
        start = m.end()
    if text[start:].strip():
        piece = text[start:]
        out.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
    return out


def load(paths):
    texts = []
    for path in paths:
        body = open(path, encoding="utf-8").read()
        if path.endswith((".jsonl", ".json")):
            for n, line in enumerate(body.splitlines()):
                if line.strip():
                    row = json.loads(line)
                    text = row.get("text") or row.get("output")
                    if isinstance(text, str) and text.strip():
                        texts.append(
                            {
                                "id": str(row.get("id", n)),
                                "text": text,
                                "subject": row.get("subject") or row.get("topic"),
                            }
                        )
        else:
            for n, part in enumerate(re.split(r"\n\s*\n", body)):
                if part.strip():
                    texts.append({"id": f"{path.rsplit('/', 1)[-1]}-{n}", "text": part.strip(), "subject": None})
    return texts


def splice(host, donor, kind, seed, least, foreign, resume):
    """One spliced text, or None where the host or the donor is too short."""
    own, other = sentences(host["text"]), sentences(donor["text"])
    if len(own) < least or len(other) < foreign:
        return None
    rng = Random(seed, f"{kind}\n{host['text']}\n{donor['text']}")
    most = max(least, len(own) - 1) if resume else len(own)
    before = least + rng.below(most - least + 1)
    first = rng.below(len(other) - foreign + 1)
    head = host["text"][own[0][0] : own[before - 1][1]]
    middle = " ".join(donor["text"][a:b] for a, b in other[first : first + foreign])
    tail = host["text"][own[before][0] : own[-1][1]] if resume and before < len(own) else ""
    text = head + " " + middle + (" " + tail if tail else "")
    start = len((head + " ").encode("utf-8"))
    starts, at = [], start
    for a, b in other[first : first + foreign]:
        starts.append(at)
        at += len((donor["text"][a:b] + " ").encode("utf-8"))
    return {
        "id": f"{kind}-{host['id']}-{donor['id']}",
        "kind": kind,
        "host": host["id"],
        "donor": donor["id"],
        "subject": host["subject"],
        "text": text,
        "splice": start,
        "starts": starts,
        "end": start + len(middle.encode("utf-8")),
        "before": before,
        "foreign": foreign,
    }


def run(hosts, donors, kind, seed, least, foreign, resume, each):
    out = []
    for host in hosts:
        able = [
            d
            for d in donors
            if d["text"] != host["text"]
            and (d["subject"] is None or d["subject"] != host["subject"])
            and len(sentences(d["text"])) >= foreign
        ]
        rng = Random(seed, f"{kind} of\n{host['text']}")
        for _ in range(min(each, len(able))):
            donor = able.pop(rng.below(len(able)))
            row = splice(host, donor, kind, seed, least, foreign, resume)
            if row:
                out.append(row)
    return out


def self_test():
    bio = [
        {
            "id": "a",
            "subject": "Elin Rask",
            "text": "Elin Rask was a painter. She lived in Lund. She painted boats. "
            "Dr. Holm bought one. She died in 1978.",
        },
        {
            "id": "b",
            "subject": "Bo Lind",
            "text": "Bo Lind sold seeds. He kept bees. He lived in Porto.\nHe wrote to J. K. Moss. He had no car.",
        },
    ]
    cook = [{"id": "c", "subject": None, "text": "Boil the rice. Add the beans! Is it done? Serve it with crème."}]
    assert [len(sentences(t["text"])) for t in bio + cook] == [5, 5, 4]
    for donors, kind in ((bio, "biography"), (cook, "domain")):
        for resume in (False, True):
            for seed in range(20):
                rows = run(bio, donors, kind, seed, 3, 3, resume, 1)
                assert rows == run(bio, donors, kind, seed, 3, 3, resume, 1)
                assert len(rows) == 2
                for row in rows:
                    data = row["text"].encode()
                    head, middle = data[: row["splice"]].decode(), data[row["splice"] : row["end"]].decode()
                    host = next(t for t in bio if t["id"] == row["host"])
                    donor = next(t for t in donors if t["id"] == row["donor"])
                    assert host is not donor and host["text"].startswith(head.strip())
                    assert row["starts"] == [row["splice"] + len(middle[:a].encode()) for a, _ in sentences(middle)]
                    assert len(sentences(head)) == row["before"] >= 3 and len(sentences(middle)) == row["foreign"] == 3
                    assert all(
                        donor["text"][a:b] in middle or middle[a:b] in donor["text"] for a, b in sentences(middle)
                    )
                    rest = data[row["end"] :].decode().strip()
                    assert not rest or resume and host["text"].endswith(rest)
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--host", action="append", default=[])
    parser.add_argument("--donor", action="append", default=[])
    parser.add_argument("--kind", choices=["biography", "domain"], default="biography")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=3, help="sentences of the host before the splice, at least")
    parser.add_argument("--foreign", type=int, default=4, help="foreign sentences")
    parser.add_argument("--each", type=int, default=1, help="splices per host")
    parser.add_argument("--skip", action="append", default=[], help="leave out donors whose id holds this")
    parser.add_argument("--resume", action="store_true", help="go on with the host after the foreign part")
    args = parser.parse_args()
    if args.self_test:
        self_test()
        return
    hosts = load(args.host)
    if args.whole:
        rows = [
            {
                "id": f"whole-{h['id']}",
                "kind": "whole",
                "host": h["id"],
                "donor": None,
                "subject": h["subject"],
                "text": h["text"],
                "splice": None,
                "starts": [],
                "end": None,
                "before": len(sentences(h["text"])),
                "foreign": 0,
            }
            for h in hosts
        ]
    else:
        donors = [d for d in load(args.donor) if not any(s in d["id"] for s in args.skip)]
        rows = run(hosts, donors, args.kind, args.seed, args.least, args.foreign, args.resume, args.each)
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    print(f"{len(rows)} texts", file=sys.stderr)


if __name__ == "__main__":
    main()
