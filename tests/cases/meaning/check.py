#!/usr/bin/env python3
"""Checks the case files: JSON, keys, ids, byte ranges, subsequences, counts. Exit code 1 on a fault."""

import collections
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = []
ABBREVIATION = re.compile(r"(?:^|[\s(\"])(?:Mr|Dr|St|Art|al|No|no|v|vs|[A-Z]|U\.S|U\.S\.C|u\.s\.c)\.$")
MARKER = re.compile(r"(?:\d{1,2}[.)]|[a-z]\))$")


def fault(where, what):
    FAULTS.append(f"{where}: {what}")


def sentences(text):
    """Byte ranges of sentences: lines first, then after . ! ? before white space. Not a model of the gate."""
    found, base = [], 0
    for line in re.split(r"(\n)", text):
        if line != "\n":
            start = 0
            for m in re.finditer(r"[.!?][\"')\]”]*(?=\s|$)", line):
                piece = line[start : m.end()]
                if ABBREVIATION.search(piece) and m.end() < len(line):
                    continue
                if MARKER.search(piece.strip()) and len(piece.strip()) <= 3:
                    continue
                if re.match(r"\s+[a-z0-9]", line[m.end() :]) and not re.match(r"\s+[a-z]\w+ ", line[m.end() :]):
                    continue
                found.append((base, start, m.end(), line))
                start = m.end()
            if line[start:].strip():
                found.append((base, start, len(line), line))
        base += len(line)
    out = []
    for offset, a, b, line in found:
        piece = line[a:b]
        a += len(piece) - len(piece.lstrip())
        b -= len(piece) - len(piece.rstrip())
        out.append((len(text[: offset + a].encode()), len(text[: offset + b].encode())))
    return out


def words(text):
    return re.findall(r"[\w#@]+", text.lower())


def subsequence(part, whole):
    it = iter(words(whole))
    return all(w in it for w in words(part))


def load(name, keys, optional=()):
    rows, ids = [], set()
    for n, line in enumerate((HERE / name).read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            fault(f"{name}:{n}", error)
            continue
        if set(keys) - set(row) or set(row) - set(keys) - set(optional):
            fault(row.get("id"), f"keys {sorted(row)}")
        if row["id"] in ids:
            fault(row["id"], "id twice")
        ids.add(row["id"])
        rows.append(row)
    return rows


def distinct(name, texts):
    for text, n in collections.Counter(texts).items():
        if n > 1:
            fault(name, f"{n} times: {text!r}")


def report(name, rows, key):
    counts = collections.Counter(key(r) for r in rows)
    print(f"{name}: {len(rows)}; " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items(), key=str)))


def hand():
    rows = load("hand.jsonl", ["id", "group", "policy", "text", "refuse", "why"], ["store", "closed_world"])
    for row in rows:
        data, whole = row["text"].encode(), sentences(row["text"])
        for start, end in row["refuse"]:
            try:
                data[:start].decode(), data[start:end].decode(), data[end:].decode()
            except UnicodeDecodeError:
                fault(row["id"], "range inside a character")
            if (start, end) not in whole:
                fault(row["id"], f"not a sentence: {data[start:end].decode(errors='replace')!r}; {whole}")
        if row["refuse"] != sorted(row["refuse"]):
            fault(row["id"], "ranges out of order")
    distinct("hand.jsonl", [r["text"] for r in rows])
    report("hand.jsonl", rows, lambda r: (r["group"], "refuse" if r["refuse"] else "accept"))
    return len(rows) >= 220


def splits():
    keys = ["id", "policy", "scope", "offends", "facts", "text", "unsafe_remainders", "acceptable", "why"]
    rows = load("splits.jsonl", keys, ["entity"])
    for row in rows:
        for part in row["unsafe_remainders"] + row["acceptable"]:
            if not subsequence(part, row["text"]):
                fault(row["id"], f"not part of the text: {part!r}")
        bad = {" ".join(words(p)) for p in row["unsafe_remainders"]}
        good = {" ".join(words(p)) for p in row["acceptable"]}
        if bad & good:
            fault(row["id"], f"both safe and unsafe: {bad & good}")
        if len(bad) != len(row["unsafe_remainders"]) or not bad or not row["why"]:
            fault(row["id"], "remainders missing or twice, or no reason")
        if (row["policy"] == "biography") != bool(row["facts"]) or bool(row["facts"]) != ("entity" in row):
            fault(row["id"], "facts")
    distinct("splits.jsonl", [r["text"] for r in rows])
    report("splits.jsonl", rows, lambda r: r["policy"])
    report("splits.jsonl", rows, lambda r: r["scope"])
    return len(rows) >= 140


def answers():
    rows = load("answers.jsonl", ["id", "policy", "text", "disclaimer"], ["closed_world"])
    for row in rows:
        n = len(sentences(row["text"]))
        if not 2 <= n <= (7 if "\n" in row["text"] else 5):
            fault(row["id"], f"{n} sentences: {row['text']!r}")
    distinct("answers.jsonl", [r["text"] for r in rows])
    report("answers.jsonl", rows, lambda r: r["id"].split("-")[1])
    report("answers.jsonl, disclaimers", [r for r in rows if r["disclaimer"]], lambda r: r["id"].split("-")[1])
    return all(n == 90 for n in collections.Counter(r["id"].split("-")[1] for r in rows).values())


def paraphrases():
    rows = load("paraphrases.jsonl", ["id", "passage", "source", "true", "false"])
    kinds = {"negated", "verb", "subject", "modifier", "year", "number", "swapped"}
    for row in rows:
        if not 3 <= len(sentences(row["passage"])) <= 6:
            fault(row["id"], "passage length")
        if len(row["true"]) != 4 or len(row["false"]) != 4 or set(row["source"]) != {"source", "section"}:
            fault(row["id"], "shape")
        used = [f["kind"] for f in row["false"]]
        if set(used) - kinds or len(set(used)) != 4:
            fault(row["id"], f"kinds {used}")
        for twin in row["false"]:
            digits = set(re.findall(r"\d+", twin["text"])) - set(re.findall(r"\d+", row["passage"]))
            if twin["kind"] == "year" and not digits:
                fault(row["id"], f"no new year: {twin['text']}")
    distinct("paraphrases.jsonl", [t for r in rows for t in r["true"] + [f["text"] for f in r["false"]]])
    print(
        f"paraphrases.jsonl: {len(rows)} passages, {sum(len(r['true']) for r in rows)} true; false "
        + ", ".join(
            f"{k} {v}" for k, v in sorted(collections.Counter(f["kind"] for r in rows for f in r["false"]).items())
        )
    )
    return len(rows) == 60


def polarity():
    rows = load("polarity.jsonl", ["id", "policy", "class", "text", "affirmed", "why"])
    distinct("polarity.jsonl", [r["text"] for r in rows])
    report("polarity.jsonl", rows, lambda r: (r["policy"], r["class"]))
    report("polarity.jsonl", rows, lambda r: "affirmed" if r["affirmed"] else "not affirmed")
    return len(rows) >= 150


def vocabulary():
    rows = load("vocabulary.jsonl", ["id", "policy", "rule", "section", "entry", "refuse", "accept"])
    for row in rows:
        if row["refuse"] == row["accept"]:
            fault(row["id"], "one sentence twice")
        stems = [w[:5] for w in words(re.sub(r"\(.*\)", "", row["entry"])) if len(w) > 2]
        if stems and not any(s in row["refuse"].lower() for s in stems):
            fault(row["id"], f"{row['entry']!r} not in {row['refuse']!r}")
    distinct("vocabulary.jsonl", [t for r in rows for t in (r["refuse"], r["accept"])])
    distinct("vocabulary.jsonl", [(r["policy"], r["entry"]) for r in rows])
    report("vocabulary.jsonl", rows, lambda r: r["policy"])
    cover = (HERE / "coverage.md").read_text(encoding="utf-8")
    print("coverage.md: " + ", ".join(f"{k} {cover.count(f'covered: {k},')}" for k in ("yes", "partly", "no")))
    return min(collections.Counter(r["policy"] for r in rows).values()) >= 60


if __name__ == "__main__":
    for step in (hand, splits, answers, paraphrases, polarity, vocabulary):
        if not step():
            fault(step.__name__, "count")
    for line in FAULTS:
        print("FAULT", line)
    print(f"{len(FAULTS)} faults")
    sys.exit(bool(FAULTS))
