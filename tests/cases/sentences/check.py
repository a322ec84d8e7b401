#!/usr/bin/env python3
"""Checks every case file of this folder: JSON, keys, ids, counts, values. Prints the counts. Exit code 1 on a fault.

Uses no code of the gate."""
import collections
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from build_labels import luhn, mod97, rows as built
from wrapped import FORMS

HERE = Path(__file__).resolve().parent
SHIPPED = ("pii", "clinical", "finance-suitability", "privilege", "residency")
PACKAGES = ("letters", "letters-de")
JUDGED = ("refuse", "release")
faults = []


def fault(name, text):
    faults.append(f"{name}: {text}")


def load(name, keys, count, unique="text"):
    raw = (HERE / name).read_bytes()
    if b"\r" in raw or not raw.endswith(b"\n"):
        fault(name, "raw carriage return, or no line break at the end")
    rows = []
    for number, line in enumerate(raw.decode("utf-8").split("\n")[:-1], 1):
        try:
            row = json.loads(line)
        except ValueError as e:
            fault(name, f"line {number}: {e}")
            continue
        if list(row) != keys:
            fault(name, f"line {number}: keys {list(row)}")
            continue
        if not all(row[k] for k in keys):
            fault(name, f"line {number}: an empty value")
        rows.append(row)
    if len(rows) != count:
        fault(name, f"{len(rows)} rows, not {count}")
    for key in ("id", unique):
        for value, n in collections.Counter(str(r[key]) for r in rows).items():
            if n > 1:
                fault(name, f"{key} {n} times: {value[:60]!r}")
    return rows


def member(name, rows, key, allowed):
    for r in rows:
        if r[key] not in allowed:
            fault(name, f"{r['id']}: {key} {r[key]!r}")


def table(name, rows, key, extra):
    values = sorted({r[extra] for r in rows})
    print(f"\n`{name}`: {len(rows)}\n")
    print(f"| {key} | rows |" + "".join(f" {v} |" for v in values))
    print("| --- | --- |" + " --- |" * len(values))
    for group in dict.fromkeys(r[key] for r in rows):
        part = [r for r in rows if r[key] == group]
        print(f"| {group} | {len(part)} |" + "".join(f" {sum(r[extra] == v for r in part)} |" for v in values))


# ---- packages
near = {}
for package in PACKAGES:
    folder = HERE / "policies" / package
    toml = tomllib.loads((folder / "policy.toml").read_text(encoding="utf-8"))
    near[package] = toml["quantity"][0]["near"]
    if toml["package"]["name"] != package or f"{package}.cedar" not in {p.name for p in folder.iterdir()}:
        fault(package, "name or rules")
    for line in (folder / "tests.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


def about_refund(package, text):
    flat = re.sub(r"\s+", " ", text.lower())
    return any(re.search(rf"(?<!\w){re.escape(w)}(?![^\W_])", flat) for w in near[package])


# ---- abbreviations
abbr = load("abbreviations.jsonl", ["id", "lang", "form", "policy", "plain", "text", "expect", "why"], 160)
member("abbreviations.jsonl", abbr, "lang", ("en", "de"))
member("abbreviations.jsonl", abbr, "policy", SHIPPED + PACKAGES)
member("abbreviations.jsonl", abbr, "expect", JUDGED)
for r in abbr:
    if r["plain"] == r["text"]:
        fault("abbreviations.jsonl", f"{r['id']}: both texts are equal")
    if r["policy"] in PACKAGES and not (about_refund(r["policy"], r["plain"]) and about_refund(r["policy"], r["text"])):
        fault("abbreviations.jsonl", f"{r['id']}: no word for a refund")
    if r["form"].startswith("wrap") and ("\n" not in r["text"] or r["plain"].count("\n") >= r["text"].count("\n")):
        fault("abbreviations.jsonl", f"{r['id']}: not one line break more")
if sum(r["form"] == "ends" for r in abbr) != 30:
    fault("abbreviations.jsonl", "not 30 rows of form ends")

# ---- money and doses
money = load("money.jsonl", ["id", "form", "text", "expect", "why"], 120)
member("money.jsonl", money, "expect", JUDGED)
for r in money:
    if r["expect"] == "refuse" and not about_refund("letters", r["text"]):
        fault("money.jsonl", f"{r['id']}: refused without a word for a refund")
doses = load("doses.jsonl", ["id", "group", "text", "expect", "why"], 140)
member("doses.jsonl", doses, "expect", JUDGED)

# ---- contradictions
contra = load("contradictions.jsonl", ["id", "between", "text", "expect", "why"], 140)
member("contradictions.jsonl", contra, "between", ("heading", "blank", "table", "list", "record"))
member("contradictions.jsonl", contra, "expect", ("contradiction", "none"))
if sum(r["expect"] == "contradiction" for r in contra) != 80:
    fault("contradictions.jsonl", "not 80 contradictions")
for r in contra:
    if "\n" not in r["text"]:
        fault("contradictions.jsonl", f"{r['id']}: no boundary")

# ---- loops
loops = load("loops.jsonl", ["id", "kind", "form", "proposals", "why"], 92, unique="proposals")
member("loops.jsonl", loops, "kind", ("loop", "work"))
if sum(r["kind"] == "loop" for r in loops) != 44:
    fault("loops.jsonl", "not 44 loops")
for r in loops:
    if not 12 <= len(r["proposals"]) <= 20 or not all(isinstance(p, str) and p for p in r["proposals"]):
        fault("loops.jsonl", f"{r['id']}: {len(r['proposals'])} proposals, or an empty one")
    for p in r["proposals"]:
        if r["form"].startswith("tool") and set(json.loads(p)) != {"name", "arguments"}:
            fault("loops.jsonl", f"{r['id']}: no call: {p}")

# ---- labels
labels = load("labels.jsonl", ["id", "class", "text", "value", "expect", "why"], 320)
member("labels.jsonl", labels, "class", ("phone", "card", "ssn", "iban"))
member("labels.jsonl", labels, "expect", ("ambiguous", "refuse"))
if labels != built():
    fault("labels.jsonl", "build_labels.py gives other rows")
if len({r["text"].replace(r["value"], "") for r in labels}) < 40:
    fault("labels.jsonl", "fewer than 40 templates")
if sum(r["expect"] == "refuse" for r in labels) != 160:
    fault("labels.jsonl", "not 160 rows to refuse")


def network(d):
    """Prefixes and lengths of the networks whose test numbers the script holds."""
    two, four = int(d[:2]), int(d[:4])
    return len(d) == 15 and two in (34, 37) or len(d) == 16 and (
        d[0] == "4" or 51 <= two <= 55 or 2221 <= four <= 2720 or four == 6011 or 3528 <= four <= 3589)


TELEPHONE = r"(?i)\b(phone|tele?|telephone|call|mobile)\b"
for r in labels:
    if r["text"].count(r["value"]) != 1:
        fault("labels.jsonl", f"{r['id']}: value not once in text")
    d = re.sub(r"\D", "", r["value"])
    if r["class"] == "card" and (luhn(d) and network(d)) != (r["expect"] == "refuse"):
        fault("labels.jsonl", f"{r['id']}: check digit or prefix")
    if r["class"] == "iban" and (mod97(r["value"]) == 1) != (r["expect"] == "refuse"):
        fault("labels.jsonl", f"{r['id']}: check digits")
    if r["class"] == "ssn" and (r["expect"] == "refuse") != bool(re.search("(?i)ssn|social security", r["text"])):
        fault("labels.jsonl", f"{r['id']}: label")
    if r["class"] == "phone" and (r["expect"] == "refuse") != bool(re.search(TELEPHONE, r["text"])):
        fault("labels.jsonl", f"{r['id']}: label")

# ---- wrapped.py
source = "".join(
    json.dumps({"id": r["id"], "policy": "pii", "text": r["text"], "value": r["value"]}) + "\n"
    for r in labels if r["expect"] == "refuse").encode()
runs = [
    subprocess.run([sys.executable, str(HERE / "wrapped.py")], input=source, capture_output=True, check=False)
    for _ in range(2)
]
wrapped = [json.loads(line) for line in runs[0].stdout.decode().split("\n")[:-1]]
if runs[0].returncode or runs[0].stdout != runs[1].stdout or len(wrapped) != 160 * len(FORMS):
    fault("wrapped.py", f"exit code {runs[0].returncode}, {len(wrapped)} lines, or two runs differ")
for w in wrapped:
    if list(w) != ["id", "policy", "form", "text", "value"] or w["value"] not in w["text"]:
        fault("wrapped.py", f"{w['id']}: keys or value")
if len({w["id"] for w in wrapped}) != len(wrapped):
    fault("wrapped.py", "ids")

# ---- README
readme = (HERE / "README.md").read_text(encoding="utf-8")
if len(readme.split()) > 800 or max(map(len, readme.split("\n"))) > 120:
    fault("README.md", f"{len(readme.split())} words, longest line {max(map(len, readme.split(chr(10))))}")

table("abbreviations.jsonl", abbr, "form", "expect")
print("\nLanguages: " + ", ".join(f"{k} {v}" for k, v in collections.Counter(r["lang"] for r in abbr).items()))
table("money.jsonl", money, "form", "expect")
table("doses.jsonl", doses, "group", "expect")
table("contradictions.jsonl", contra, "between", "expect")
table("loops.jsonl", loops, "form", "kind")
table("labels.jsonl", labels, "class", "expect")
print(f"\n`wrapped.py`: {len(wrapped)} lines from 160")
print(f"\n{len(faults)} faults")
for f in faults:
    print("  " + f)
sys.exit(1 if faults else 0)
