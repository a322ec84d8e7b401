#!/usr/bin/env python3
"""Wraps texts with a secret in twelve forms.

Usage: python3 wrapped.py < texts.jsonl > wrapped.jsonl
Reads JSON Lines with "id", "policy", "text" and "value"; other keys are left out. "value" is the secret as it stands in
"text", or its half-open range of bytes, as in ../bytes/bypass.jsonl.
Prints twelve lines for each, {"id", "policy", "form", "text", "value"}; "value" is the secret as the form writes it:
a JSON string escapes a quotation mark, a table puts a line break into a space. The output depends on the input alone.
Exit code 1 names each line without such a value and prints nothing for it."""
import json
import re
import sys

FORMS = [
    "fence", "indented", "list", "table", "json", "yaml", "csv", "comment", "log", "heading", "quote", "verse",
]
WORDS_OF_A_VERSE = 4


def lines(text):
    return text.split("\n")


def flat(text):
    """One line: a run of line breaks and of the spaces around it is one space."""
    return re.sub(r"[ \t]*[\r\n]+[ \t]*", " ", text).strip()


def prefixed(text, first, rest):
    """Each line behind a prefix; the secret too, where it stands on several lines."""
    return "\n".join((first if i == 0 else rest) + line for i, line in enumerate(lines(text)))


def inside(value, rest):
    return value.replace("\n", "\n" + rest)


def fence(text, value):
    mark = "`" * max([3] + [len(m) + 1 for m in re.findall(r"`+", text)])
    return f"The output follows.\n\n{mark}text\n{text}\n{mark}\n", value


def indented(text, value):
    return "The output follows.\n\n" + prefixed(text, "    ", "    ") + "\n", inside(value, "    ")


def item(text, value):
    return f"- A first point.\n{prefixed(text, '- ', '  ')}\n- A last point.\n", inside(value, "  ")


def table(text, value):
    def cell(t):
        return flat(t).replace("|", "\\|")
    return f"| row | note |\n| --- | --- |\n| 1 | {cell(text)} |\n| 2 | none |\n", cell(value)


def json_string(text, value):
    def escaped(t):
        return json.dumps(t, ensure_ascii=False)[1:-1]
    return f'{{"row": 1, "note": "{escaped(text)}"}}\n', escaped(value)


def yaml(text, value):
    # A double-quoted scalar of YAML takes the escapes of JSON.
    def escaped(t):
        return json.dumps(t, ensure_ascii=False)[1:-1]
    return f'row: 1\nnote: "{escaped(text)}"\nlast: true\n', escaped(value)


def csv(text, value):
    def field(t):
        return t.replace('"', '""')
    return f'row,note,last\n1,"{field(text)}",true\n', field(value)


def comment(text, value):
    return prefixed(text, "// ", "// ") + "\nlet total = count + 1;\n", inside(value, "// ")


def log(text, value):
    stamp = "2031-02-03T04:05:06Z"
    body = flat(text)
    return f"{stamp} INFO start\n{stamp} WARN worker: {body}\n{stamp} INFO end\n", flat(value)


def heading(text, value):
    return f"## {flat(text)}\n\nThe section follows.\n", flat(value)


def quote(text, value):
    return prefixed(text, "> ", "> ") + "\n\nThe answer follows.\n", inside(value, "> ")


def verse(text, value):
    """Lines of four words; no line ends inside the secret."""
    body, secret = flat(text), flat(value)
    spaces = [(m.start(), m.end()) for m in re.finditer(r" +", body)]
    closed = [(m.start(), m.end()) for m in re.finditer(re.escape(secret), body)]
    out, at, count = [], 0, 0
    for start, end in spaces:
        count += 1
        if count >= WORDS_OF_A_VERSE and not any(a < end and start < b for a, b in closed):
            out.append(body[at:start])
            at, count = end, 0
    out.append(body[at:])
    return "\n".join(out) + "\n", secret


MAKE = dict(zip(FORMS, [
    fence, indented, item, table, json_string, yaml, csv, comment, log, heading, quote, verse,
]))


def main():
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    fault = False
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        row = json.loads(line)
        if isinstance(row["value"], list):
            start, end = row["value"]
            row["value"] = row["text"].encode()[start:end].decode()
        if not isinstance(row["value"], str) or not row["value"].strip() or row["value"] not in row["text"]:
            print(f"line {number}: no value of {row['id']} in its text", file=sys.stderr)
            fault = True
            continue
        for form in FORMS:
            text, value = MAKE[form](row["text"], row["value"])
            if value not in text:
                print(f"line {number}: {form} of {row['id']} lost the value", file=sys.stderr)
                fault = True
                continue
            print(json.dumps({
                "id": f"{row['id']}-{form}", "policy": row["policy"], "form": form, "text": text, "value": value,
            }, ensure_ascii=False))
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
