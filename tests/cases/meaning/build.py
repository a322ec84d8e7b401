#!/usr/bin/env python3
"""Builds the JSON Lines files and coverage.md from the hand-written sources in src/.

The sources are short text forms so that byte ranges need not be counted by hand. Ids follow the order of the
sources: append, do not insert, and ids stay stable.
"""

import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
SRC = HERE / "src"


def lines(name):
    return (SRC / name).read_text(encoding="utf-8").split("\n")


def write(name, rows):
    with open(HERE / name, "w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def unescape(text):
    text = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m.group(1), 16)), text)
    return text.replace("\\n", "\n")


def marked(text):
    """Takes {{...}} out of a text; returns the text and the byte ranges that the marks held."""
    out, ranges, start = b"", [], None
    for piece in re.split(r"(\{\{|\}\})", text):
        if piece == "{{":
            assert start is None, text
            start = len(out)
        elif piece == "}}":
            ranges.append([start, len(out)])
            start = None
        else:
            out += piece.encode("utf-8")
    assert start is None, text
    return out.decode("utf-8"), ranges


def hand():
    rows, count = [], {}
    for name in ("hand1.txt", "hand2.txt", "hand_lineage.txt"):
        head = None
        for line in lines(name):
            if line.startswith("# "):
                head = line[2:].split(" | ")
            elif line:
                group, kind = head[0].split("/")
                count[group] = count.get(group, 0) + 1
                text, refuse = marked(unescape(line))
                row = {
                    "id": f"hand-{group}-{count[group]:03}",
                    "group": group,
                    "policy": None if head[1] == "-" else head[1],
                    "text": text,
                    "refuse": refuse,
                    "why": head[2],
                }
                for extra in head[3:]:
                    if extra == "open":
                        row["closed_world"] = False
                    elif extra.startswith("store: "):
                        row["store"] = [json.loads(extra[len("store: ") :])]
                    else:
                        sys.exit(f"{name}: {extra}")
                assert bool(refuse) == (kind in ("conflict", "refuse")), row
                rows.append(row)
                head = None
    write("hand.jsonl", rows)


def splits():
    rows, row = [], None
    for line in lines("splits.txt"):
        if not line:
            continue
        if line.startswith("# "):
            policy, scope, offends = line[2:].split(" | ")
            row = {
                "id": f"split-{len(rows) + 1:03}",
                "policy": policy,
                "scope": scope,
                "offends": offends,
                "facts": [],
                "text": None,
                "unsafe_remainders": [],
                "acceptable": [""],
                "why": None,
            }
            rows.append(row)
            continue
        key, value = line.split(": ", 1)
        if key == "T":
            row["text"] = value
        elif key == "E":
            row["entity"] = value
        elif key == "W":
            row["why"] = value
        else:
            row[{"F": "facts", "U": "unsafe_remainders", "A": "acceptable"}[key]].append(value)
    write("splits.jsonl", rows)


DOMAINS = [
    ("clinical", "clinical"),
    ("finance", "finance-suitability"),
    ("privilege", "privilege"),
    ("residency", "residency"),
    ("biography", "biography"),
    ("pii", "pii"),
    ("general", None),
]


def answers():
    rows = []
    for domain, policy in DOMAINS:
        texts = [l for l in lines(f"ans_{domain}.txt") if l]
        for i, text in enumerate(texts, 1):
            disclaimer = text.startswith("! ")
            row = {
                "id": f"answer-{domain}-{i:03}",
                "policy": policy,
                "text": unescape(text[2:] if disclaimer else text),
                "disclaimer": disclaimer,
            }
            if domain == "biography":
                row["closed_world"] = False
            rows.append(row)
    write("answers.jsonl", rows)


def paraphrases():
    rows = []
    for name in ("para1.txt", "para2.txt"):
        for line in lines(name):
            if not line:
                continue
            key, value = line.split(": ", 1)
            if key == "P":
                rows.append(
                    {
                        "id": f"para-{len(rows) + 1:03}",
                        "passage": value,
                        "source": None,
                        "true": [],
                        "false": [],
                    }
                )
            elif key == "S":
                source, section = value.split(" | ")
                rows[-1]["source"] = {"source": source, "section": section}
            elif key == "T":
                rows[-1]["true"].append(value)
            else:
                kind, text = value.split(" | ", 1)
                rows[-1]["false"].append({"text": text, "kind": kind})
    write("paraphrases.jsonl", rows)


def polarity():
    rows = []
    for line in lines("polarity.txt"):
        if line:
            policy, cls, affirmed, text, why = line.split(" | ")
            rows.append(
                {
                    "id": f"polarity-{len(rows) + 1:03}",
                    "policy": policy,
                    "class": cls,
                    "text": text,
                    "affirmed": affirmed == "1",
                    "why": why,
                }
            )
    write("polarity.jsonl", rows)


def vocabulary():
    rows, cover = [], []
    for domain in ("clinical", "finance", "privilege", "residency"):
        policy, rules, count = None, {}, 0
        for line in lines(f"voc_{domain}.txt"):
            if line.startswith("POLICY "):
                policy = line[7:]
            elif line.startswith("R "):
                key, section, covered, statement, note = line[2:].split(" | ")
                rules[key] = (section, statement, len(cover))
                cover.append([policy, section, statement, covered, note, 0])
            elif line.startswith("E "):
                key, entry, refuse, accept = line[2:].split(" | ")
                section, statement, place = rules[key]
                count += 1
                cover[place][5] += 1
                rows.append(
                    {
                        "id": f"vocab-{domain}-{count:03}",
                        "policy": policy,
                        "rule": statement,
                        "section": section,
                        "entry": entry,
                        "refuse": refuse,
                        "accept": accept,
                    }
                )
    write("vocabulary.jsonl", rows)
    out = [
        "# Coverage by rule, as proposed",
        "",
        '"Yes": the entries reach what the rule names in ordinary wording. "Partly": only the listed forms. "No": the',
        "rule turns on something that words do not show. No professional reviewed the rules, the entries or the",
        "judgements. The statements are paraphrases; the texts of the rules decide.",
    ]
    titles = {
        "clinical": "Health: identifiers (HIPAA privacy rule, safe harbour)",
        "finance-suitability": "Suitability: FINRA 2210 and 2214",
        "privilege": "Privilege: attorney-client privilege and work product (United States)",
        "residency": "Residency: GDPR chapter V",
    }
    seen = None
    for policy, section, statement, covered, note, entries in cover:
        if policy != seen:
            out += ["", f"## {titles[policy]}", ""]
            seen = policy
        out += [
            f"**{section}** - covered: {covered}, {entries} {'entry' if entries == 1 else 'entries'}.",
            *textwrap.wrap(statement, 118),
            *textwrap.wrap(f"Reach: {note}.", 118),
            "",
        ]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"
    (HERE / "coverage.md").write_text(text, encoding="utf-8")


for step in (hand, splits, answers, paraphrases, polarity, vocabulary):
    step()
