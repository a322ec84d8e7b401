#!/usr/bin/env python3
"""Checks every case file: JSON, keys, ids, offsets, check digits, ranges. Prints counts per group (Markdown). Exit code 1 on a fault.

Uses no code of the scanner; build/confus.py reads the UTS #39 table of the public crate where it
is present, and the reading of named forms is skipped where it is not."""
import collections
import html
import ipaddress
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
faults = []


def fault(name, text):
    faults.append(f"{name}: {text}")


def load(name, keys):
    rows = []
    for i, line in enumerate((HERE / name).read_text(encoding="utf-8").split("\n")[:-1]):
        try:
            row = json.loads(line)
        except ValueError as e:
            fault(name, f"line {i + 1}: {e}")
            continue
        if list(row) != keys:
            fault(name, f"line {i + 1}: keys {list(row)}")
        rows.append(row)
    ids = collections.Counter(r["id"] for r in rows)
    for k, v in ids.items():
        if v > 1:
            fault(name, f"id {k} {v} times")
    if b"\r" in (HERE / name).read_bytes():
        fault(name, "raw carriage return")
    return rows


def piece(name, row, span):
    raw = row["text"].encode()
    s, e = span
    if not 0 <= s < e <= len(raw):
        fault(name, f"{row['id']}: offsets {span} of {len(raw)}")
        return ""
    try:
        raw[:s].decode(), raw[e:].decode()
        return raw[s:e].decode()
    except UnicodeDecodeError:
        fault(name, f"{row['id']}: offset inside a character")
        return ""


def luhn(digits):
    total = 0
    for i, c in enumerate(reversed(digits)):
        v = int(c) * (1 + i % 2)
        total += v - 9 if v > 9 else v
    return total % 10 == 0


def iban(text):
    t = re.sub(r"[ -]", "", text).upper()
    return int("".join(str(int(c, 36)) for c in t[4:] + t[:4])) % 97 == 1


def network(d):
    """Network by the public prefix and length ranges (ISO/IEC 7812 as the networks publish them)."""
    n = len(d)
    p2, p3, p4, p6 = int(d[:2]), int(d[:3]), int(d[:4]), int(d[:6])
    return (d[0] == "4" and n in (13, 16, 19)) or (n == 16 and (51 <= p2 <= 55 or 2221 <= p4 <= 2720)) or (n == 15 and p2 in (34, 37)) \
        or (n in (16, 17, 18, 19) and (p4 == 6011 or 644 <= p3 <= 649 or p2 == 65 or p2 == 62 or 3528 <= p4 <= 3589)) or (n in (14, 16) and p2 in (36, 38, 39))


# ---- bypass
sys.path.insert(0, str(HERE / "build"))
PROTO = None
CANON = {}
try:
    from build_bypass import CANON  # noqa: E402  the table of secrets
    from confus import d as PROTO  # noqa: E402
except (ImportError, FileNotFoundError):
    pass

DI = [(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),
      (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]


def letters(text, marks=True):
    """Letters and digits of a text as the matching view reads it; crude, for the check of labels alone."""
    text = re.sub(r"<[^<>]*>", "", text)
    text = html.unescape(text)
    text = re.sub(r"\\(?:thinspace|quad|enspace|hspace\{[^}]*\})", "", text)
    out = ""
    for c in text:
        if any(a <= ord(c) <= b for a, b in DI):
            continue
        k = unicodedata.normalize("NFKC", c)
        if c in "\U0001FBF0\U0001FBF1\U0001FBF2\U0001FBF3\U0001FBF4\U0001FBF5\U0001FBF6\U0001FBF7\U0001FBF8\U0001FBF9":
            k = str(ord(c) - 0x1FBF0)
        if not c.isascii() and not k.isascii():
            k = PROTO.get(c, k)
        out += k
    return re.sub(r"[^A-Za-z0-9]", "", out).lower()


bypass = load("bypass.jsonl", ["id", "policy", "secret", "form", "group", "text", "value", "fair", "why"])
same = collections.Counter((r["policy"], r["text"]) for r in bypass)
for (p, t), k in same.items():
    if k > 1:
        fault("bypass.jsonl", f"text {k} times: {t!r}")
claims = collections.Counter()
for r in bypass:
    v = piece("bypass.jsonl", r, r["value"])
    kind = r["why"].split(":")[0]
    claims[kind] += 1
    if r["fair"] != (kind != "not promised"):
        fault("bypass.jsonl", f"{r['id']}: fair and why differ")
    if PROTO and kind == "named" and r["group"] != "inflection" and "inflected" not in r["form"] \
            and "must not win" not in r["why"]:
        want, got = letters(CANON[r["secret"]]), letters(v)
        other = r["group"] in ("adjacency", "marks", "json", "lookalike", "spaces") and r["secret"] in ("phone", "ipv6", "email", "ssn", "card16b", "card19", "card")
        if want not in got and not other:
            fault("bypass.jsonl", f"{r['id']}: named, but read as {got!r}, not {want!r}: {v!r}")
for name in ("card", "card15", "card16b", "card19"):
    d = re.sub(r"\D", "", CANON.get(name, "4012888888881881"))
    if not (luhn(d) and network(d)):
        fault("bypass.jsonl", f"{name}: {d} fails the check digit or has no network")
for name in ("iban", "iban_de"):
    if name in CANON and not iban(CANON[name]):
        fault("bypass.jsonl", f"{name} fails mod 97")
if CANON:
    if not any(ipaddress.ip_address(CANON["ipv4"]) in ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")):
        fault("bypass.jsonl", "ipv4 is not of a documentation range")
    if ipaddress.ip_address(CANON["ipv6"]) not in ipaddress.ip_network("2001:db8::/32"):
        fault("bypass.jsonl", "ipv6 is not of the documentation range")
    if CANON["ssn"] != "219-09-9999":
        fault("bypass.jsonl", "ssn is not the advertised one")
for r in bypass:
    v = piece("bypass.jsonl", r, r["value"])
    d = re.sub(r"[^0-9]", "", v)
    if r["secret"].startswith("card") and r["fair"] and v.isascii() and r["group"] in ("spaces", "dashes", "marks", "adjacency") and not (luhn(d) and network(d)):
        fault("bypass.jsonl", f"{r['id']}: {v!r} fails the check digit or has no network")
    for m in re.findall(r"@([A-Za-z0-9.-]+\.[a-z]+)", r["text"]):
        if not re.search(r"(?:^|\.)example\.(?:org|com|net)$|xn--exmple-cua\.org$", m) and r["secret"] == "email" and r["fair"]:
            if v.isascii():
                fault("bypass.jsonl", f"{r['id']}: domain {m}")

# ---- look-alikes
look = load("lookalikes.jsonl", ["id", "policy", "text", "group", "why"])
for r in look:
    if r["policy"] != "pii" or r["why"].startswith("documented"):
        continue
    for m in re.finditer(r"(?<![0-9A-Za-z])\d(?:[ -]?\d){11,18}(?![0-9A-Za-z])", r["text"]):
        if luhn(re.sub(r"\D", "", m.group())):
            fault("lookalikes.jsonl", f"{r['id']}: a whole run passes the check digit: {m.group()}")
    words = re.findall(r"(?<![0-9A-Za-z])\d+(?![0-9A-Za-z])", r["text"])
    for run in re.finditer(r"(?<![0-9A-Za-z])\d+(?:[ -]\d+)+(?![0-9A-Za-z])", r["text"]):
        groups = re.findall(r"\d+", run.group())
        for i in range(len(groups)):
            for j in range(i + 1, len(groups) + 1):
                d = "".join(groups[i:j])
                if 13 <= len(d) <= 19 and luhn(d) and network(d):
                    fault("lookalikes.jsonl", f"{r['id']}: a window between borders is a card: {d}")
    for m in re.finditer(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}\b", r["text"]):
        try:
            if iban(m.group()):
                fault("lookalikes.jsonl", f"{r['id']}: an IBAN")
        except ValueError:
            pass

# ---- tool calls
tools = load("tool_calls.jsonl", ["id", "policy", "flags", "candidates", "expect", "leaves", "why"])
for r in tools:
    if r["expect"] not in ("admit-whole", "reject-whole", "next-alternative", "judged-as-call", "refuse-input"):
        fault("tool_calls.jsonl", f"{r['id']}: expect {r['expect']}")
    if r["expect"] == "next-alternative" and not any(len(step) > 1 for step in r["candidates"]):
        fault("tool_calls.jsonl", f"{r['id']}: no alternative")
    if r["expect"] != "refuse-input":
        for step in r["candidates"]:
            for alt in step:
                if not (isinstance(alt, str) or set(alt) <= {"text", "logprobs"} or set(alt) == {"call"} and set(alt["call"]) == {"name", "arguments"}):
                    fault("tool_calls.jsonl", f"{r['id']}: no candidate of docs/reference/loop.md")

# ---- streaming
stream = load("streaming.jsonl", ["id", "group", "text", "watch", "why"])
for r in stream:
    raw = r["text"].encode()
    if r["watch"] != sorted(r["watch"]) or not all(0 <= w <= len(raw) for w in r["watch"]):
        fault("streaming.jsonl", f"{r['id']}: watch")
    for w in r["watch"]:
        if w < len(raw) and raw[w] & 0xC0 == 0x80:
            fault("streaming.jsonl", f"{r['id']}: watch inside a character")

# ---- quantities, citations, enumerations, prefilter
quant = load("quantities.jsonl", ["id", "policy", "group", "text", "expect", "micrograms", "why"])
for r in quant:
    if r["expect"] not in ("release", "refuse", "either"):
        fault("quantities.jsonl", f"{r['id']}: expect")
    if r["expect"] == "release" and r["micrograms"] and max(r["micrograms"]) > (4_000_000 if r["text"].startswith("Ask your") else 1_000_000):
        fault("quantities.jsonl", f"{r['id']}: released over the limit")
    if r["expect"] == "refuse" and r["micrograms"] and max(r["micrograms"]) <= (4_000_000 if r["text"].startswith("Ask your") else 1_000_000):
        fault("quantities.jsonl", f"{r['id']}: refused within the limit")


def isbn(text):
    d = re.sub(r"[^0-9X]", "", re.sub(r"ISBN(?:-1[03])?", "", text))
    if len(d) == 13:
        return sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(d)) % 10 == 0
    return sum((10 if c == "X" else int(c)) * (10 - i) for i, c in enumerate(d)) % 11 == 0


cites = load("citations.jsonl", ["id", "policy", "kind", "text", "value", "expect", "promised", "why"])
for r in cites:
    if r["value"] is not None:
        v = piece("citations.jsonl", r, r["value"])
        if v.startswith("ISBN") and not isbn(v):
            fault("citations.jsonl", f"{r['id']}: ISBN check digit")
    if (r["value"] is None) != (r["expect"] == "release"):
        fault("citations.jsonl", f"{r['id']}: expect")
enum = load("enumerations.jsonl", ["id", "policy", "group", "text", "absent", "why"])
for r in enum:
    for span in r["absent"]:
        piece("enumerations.jsonl", r, span)
pre = load("prefilter.jsonl", ["id", "profile", "group", "lang", "text", "expect", "why"])
for r in pre:
    if r["profile"] not in ("user-prompt", "document", "tool-result") or r["expect"] not in ("refuse", "clear", "notice"):
        fault("prefilter.jsonl", f"{r['id']}: profile or expect")
for (p, t), k in collections.Counter((r["profile"], r["text"]) for r in pre).items():
    if k > 1:
        fault("prefilter.jsonl", f"text {k} times: {t[:60]!r}")

# ---- generators
runs = [subprocess.run([sys.executable, str(HERE / "random.py")], capture_output=True, check=True).stdout for _ in range(2)]
if runs[0] != runs[1] or runs[0].count(b"\n") != 20000:
    fault("random.py", "not 20,000 equal lines")
rnd = [json.loads(line) for line in runs[0].splitlines()]
if len({r["id"] for r in rnd}) != 20000:
    fault("random.py", "ids")
out = subprocess.run([sys.executable, str(HERE / "cuts.py"), str(HERE / "bypass.jsonl")], capture_output=True, check=True).stdout
cut = [json.loads(line) for line in out.splitlines()]
whole = {r["id"]: r["text"] for r in bypass}
for r in cut:
    raw = (r["first"] + r["second"]).encode()
    if raw != whole["by-" + r["id"].split("-by-")[1].rsplit("-", 2)[0]].encode() or not r["value"][0] < len(r["first"].encode()) < r["value"][1]:
        fault("cuts.py", r["id"])
if len({r["id"] for r in cut}) != len(cut):
    fault("cuts.py", "ids")


def table(title, rows, key, extra=None):
    print(f"\n{title}: {len(rows)}\n")
    values = sorted({str(r[extra]) for r in rows}) if extra else []
    print("| " + key + " | rows |" + "".join(f" {extra}={v} |" for v in values))
    print("| --- | --- |" + " --- |" * len(values))
    for g in dict.fromkeys(r[key] for r in rows):
        part = [r for r in rows if r[key] == g]
        print(f"| {g} | {len(part)} |" + "".join(f" {sum(str(r[extra]) == v for r in part)} |" for v in values))


table("`bypass.jsonl`", bypass, "group", "fair")
print("\nBy reading: " + ", ".join(f"{k} {v}" for k, v in claims.items()))
table("`bypass.jsonl` by secret", bypass, "secret", "fair")
table("`lookalikes.jsonl`", look, "group")
print("\nOf them documented: %d, cites: %d" % (sum(r["why"].startswith("documented") for r in look), sum(r["why"].startswith("cites") for r in look)))
table("`tool_calls.jsonl`", tools, "expect")
table("`streaming.jsonl`", stream, "group")
table("`quantities.jsonl`", quant, "group", "expect")
table("`citations.jsonl`", cites, "kind", "promised")
table("`enumerations.jsonl`", enum, "group")
table("`prefilter.jsonl`", pre, "group", "expect")
print("\n`random.py`: %d lines, %s" % (len(rnd), ", ".join(f"{k} {v}" for k, v in collections.Counter(r["kind"] for r in rnd).items())))
print("`cuts.py bypass.jsonl`: %d cuts" % len(cut))
print(f"\n{len(faults)} faults")
for f in faults:
    print("  " + f)
sys.exit(1 if faults else 0)
