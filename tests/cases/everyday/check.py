#!/usr/bin/env python3
"""Checks every file of this folder: JSON, keys, ids, kinds, counts, addresses. Prints the counts (Markdown).

Exit code 1 on a fault. Uses no code of the scanner."""
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
POLICIES = {"pii", "clinical", "finance-suitability", "privilege", "residency"}
faults = []


def fault(name, text):
    faults.append(f"{name}: {text}")


def load(name, keys, least):
    rows = []
    raw = (HERE / name).read_bytes()
    if b"\r" in raw or not raw.endswith(b"\n"):
        fault(name, "raw carriage return, or no line end at the end")
    for i, line in enumerate(raw.decode("utf-8").split("\n")[:-1]):
        try:
            row = json.loads(line)
        except ValueError as e:
            fault(name, f"line {i + 1}: {e}")
            continue
        if list(row) != keys:
            fault(name, f"line {i + 1}: keys {list(row)}")
            continue
        if any(not isinstance(row[k], str) or not row[k].strip() for k in keys if k != "except"):
            fault(name, f"{row['id']}: an empty value")
        rows.append(row)
    for key in ("id", "text"):
        for value, n in collections.Counter(r[key] for r in rows).items():
            if n > 1:
                fault(name, f"{key} {value[:60]!r} {n} times")
    if len(rows) < least:
        fault(name, f"{len(rows)} rows, at least {least}")
    return rows


def table(name, rows, key):
    print(f"`{name}`: {len(rows)}\n\n| {key} | rows |\n| --- | --- |")
    for value, n in collections.Counter(r[key] for r in rows).items():
        print(f"| {value} | {n} |")
    print()


def luhn(digits):
    total = 0
    for i, c in enumerate(reversed(digits)):
        v = int(c) * (1 + i % 2)
        total += v - 9 if v > 9 else v
    return total % 10 == 0


def network(d):
    """A card network by the public prefixes and lengths, as in `bytes/check.py`, with the prefixes of Maestro."""
    n, p2, p3, p4 = len(d), int(d[:2]), int(d[:3]), int(d[:4])
    return (d[0] == "4" and n in (13, 16, 19)) or (n == 16 and (51 <= p2 <= 55 or 2221 <= p4 <= 2720)) \
        or (n == 15 and p2 in (34, 37)) or (n in (14, 16) and p2 in (36, 38, 39)) \
        or (16 <= n <= 19 and (p4 == 6011 or 644 <= p3 <= 649 or p2 in (62, 65) or 3528 <= p4 <= 3589)) \
        or (12 <= n <= 19 and p4 in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763))


def chance_card(text):
    for run in re.findall(r"\d(?:[ .-]?\d){11,18}", text):
        digits = re.sub(r"\D", "", run)
        if luhn(digits) and network(digits):
            return run
    return None


IMAGE = re.compile(r"(?<!\\)!\[|<(?:img|iframe|link|video|audio|picture|source|object|embed|script|style|svg)\b|url\(",
                   re.IGNORECASE)

harmless = load("harmless.jsonl", ["id", "kind", "text", "except", "why"], 320)
for r in harmless:
    lines = r["text"].count("\n") + 1
    if not 5 <= lines <= 40:
        fault("harmless.jsonl", f"{r['id']}: {lines} lines")
    if not isinstance(r["except"], list) or not set(r["except"]) <= POLICIES:
        fault("harmless.jsonl", f"{r['id']}: except {r['except']}")
    if not r["id"].startswith(f"ev-{r['kind']}-"):
        fault("harmless.jsonl", f"{r['id']}: kind {r['kind']}")
kinds = collections.Counter(r["kind"] for r in harmless)
if len(kinds) < 16 or min(kinds.values()) < 18:
    fault("harmless.jsonl", f"kinds {dict(kinds)}")
german = sum(r["id"].endswith("-de") for r in harmless)
excepted = sum(bool(r["except"]) for r in harmless)
if german < 30 or excepted * 20 >= len(harmless):
    fault("harmless.jsonl", f"{german} German, {excepted} with an exception")

links = load("links.jsonl", ["id", "form", "text", "why"], 200)
for r in links:
    if not re.search(r"https?:|www\.|\w@|://|\]\(|\]: |\.org/|href|urn:", r["text"], re.IGNORECASE):
        fault("links.jsonl", f"{r['id']}: no link")
for name, rows in (("harmless.jsonl", harmless), ("links.jsonl", links)):
    for r in rows:
        if IMAGE.search(re.sub(r"`[^`]*`", "", r["text"])):
            fault(name, f"{r['id']}: something that a client loads by itself")

loads = load("loads.jsonl", ["id", "form", "text", "address", "why"], 60)
for r in loads:
    if r["address"] not in r["text"]:
        fault("loads.jsonl", f"{r['id']}: the address is not in the text")
    if not re.match(r"(?i)(https?:)?//", r["address"]):
        fault("loads.jsonl", f"{r['id']}: address {r['address']}")

numbers = load("numbers.jsonl", ["id", "kind", "text", "why"], 400)
made = subprocess.run([sys.executable, str(HERE / "build_numbers.py")], capture_output=True, check=True).stdout
if made != (HERE / "numbers.jsonl").read_bytes():
    fault("numbers.jsonl", "build_numbers.py makes other bytes")

table("harmless.jsonl", harmless, "kind")
print(f"Of them German: {german}, with an exception: {excepted}\n")
table("links.jsonl", links, "form")
table("loads.jsonl", loads, "form")
table("numbers.jsonl", numbers, "kind")
for name, rows in (("harmless.jsonl", harmless), ("links.jsonl", links), ("numbers.jsonl", numbers)):
    by_chance = [r["id"] for r in rows if chance_card(r["text"])]
    documented = sum(r["why"].startswith("documented:") for r in rows)
    named = " ".join(by_chance)
    print(f"`{name}`: documented {documented}, a whole card number by chance {len(by_chance)} {named}".rstrip())

for text in faults:
    print(text, file=sys.stderr)
sys.exit(1 if faults else 0)
