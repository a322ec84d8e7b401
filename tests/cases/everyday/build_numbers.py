#!/usr/bin/env python3
"""Writes numbers.jsonl: harmless texts that bear numbers or marks of addresses.

Usage: python3 build_numbers.py > numbers.jsonl
Integers only, one SplitMix64, the seed stands below: the same bytes on every machine. Each template gives ROUNDS rows.
Values are uniform and nothing is filtered: a share of the long runs passes a check digit by chance."""
import json
import sys

SEED = 61
ROUNDS = 8
MASK = (1 << 64) - 1
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
HEX = "0123456789abcdef"
UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ"


class Rng:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed):
        self.s = seed & MASK

    def next(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & MASK
        z = self.s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        """Uniform in 0..n by rejection."""
        limit = (MASK + 1) - (MASK + 1) % n
        while True:
            v = self.next()
            if v < limit:
                return v % n

    def between(self, a, b):
        return a + self.below(b - a + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def chars(self, alphabet, n):
        return "".join(self.pick(alphabet) for _ in range(n))

    def digits(self, n):
        return self.chars("0123456789", n)

    def number(self, n):
        """n digits, the first is not zero."""
        return str(1 + self.below(9)) + self.digits(n - 1)


# ---- parts

def epoch(r):
    return r.between(1600000000, 1899999999)


def days_before(y, m):
    """Days from 2000-01-01 (a Saturday) to the first of a month."""
    leap = y % 4 == 0
    past = (y - 2000) * 365 + (y - 2000 + 3) // 4
    return past + sum(LENGTHS[:m - 1]) + (1 if leap and m > 2 else 0)


def moment(r):
    y, m = r.between(2018, 2029), r.between(1, 12)
    d = r.between(1, LENGTHS[m - 1])
    return y, m, d, r.below(24), r.below(60), r.below(60)


def weekday(y, m, d):
    return DAYS[(5 + days_before(y, m) + d - 1) % 7]


def iso(r, frac=0, zone="Z"):
    y, m, d, h, n, s = moment(r)
    tail = "." + r.digits(frac) if frac else ""
    return f"{y}-{m:02}-{d:02}T{h:02}:{n:02}:{s:02}{tail}{zone}"


def plain(r):
    y, m, d, h, n, s = moment(r)
    return f"{y}-{m:02}-{d:02} {h:02}:{n:02}:{s:02}"


def clock(r):
    return f"{r.between(7, 11):02}:{r.pick(['00', '15', '30', '45'])}"


def later(r):
    return f"{r.between(12, 20):02}:{r.pick(['00', '15', '30', '45'])}"


def fraction(r):
    return "0." + r.digits(r.between(15, 18))


def uuid(r):
    return "-".join([r.chars(HEX, 8), r.chars(HEX, 4), "4" + r.chars(HEX, 3), r.pick("89ab") + r.chars(HEX, 3),
                     r.chars(HEX, 12)])


def weighted(body):
    """Check digit of GTIN and ISBN-13."""
    total = sum(int(c) * (3 if i % 2 == 0 else 1) for i, c in enumerate(reversed(body)))
    return str(-total % 10)


def gtin(r, n=13):
    body = r.number(n - 1)
    return body + weighted(body)


def isbn(r, sep):
    cut = r.pick([[1, 2, 6], [1, 5, 3], [2, 3, 4], [1, 6, 2]])
    body = r.digits(9)
    parts, at = ["978"], 0
    for n in cut:
        parts.append(body[at:at + n])
        at += n
    return sep.join(parts + [weighted("978" + body)])


def luhn_digit(body):
    total = 0
    for i, c in enumerate(reversed(body)):
        v = int(c) * (2 if i % 2 == 0 else 1)
        total += v - 9 if v > 9 else v
    return str(-total % 10)


def imei(r):
    body = r.pick(["35", "86", "01"]) + r.digits(12)
    return body + luhn_digit(body)


def container(r):
    """ISO 6346: owner, category U, serial number, check digit."""
    body = r.chars("QXZ", 3) + "U" + r.digits(6)
    value = {}
    n = 10
    for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if n % 11 == 0:
            n += 1
        value[c] = n
        n += 1
    total = sum((value[c] if c.isalpha() else int(c)) << i for i, c in enumerate(body))
    return body + str(total % 11 % 10)


def quad(r):
    return f"{r.between(1, 24)}.{r.below(12)}.{r.below(60)}.{r.between(1, 250)}"


def triple(r):
    return f"{r.below(9)}.{r.below(30)}.{r.below(20)}"


# ---- templates: kind, why, function

TEMPLATES = []


def template(kind, why):
    def keep(f):
        TEMPLATES.append((kind, why, f))
        return f
    return keep


@template("epoch-s", "ten digits; the word call before them")
def _(r):
    return r.pick(["A call to `now()` gave {} on both machines.", "Each call of the timer adds a row; the last is {}.",
                   "After the second call the field holds {}, which is correct."]).format(epoch(r))


@template("epoch-s", "ten digits in JSON")
def _(r):
    a = epoch(r)
    return json.dumps({"iat": a, "nbf": a, "exp": a + r.pick([600, 3600, 86400]), "scope": r.pick(["read", "write"])})


@template("epoch-ms", "13 digits as a run that looks like a card")
def _(r):
    return r.pick(["The job started at {} ms and took {} ms.", "Frame {} arrived {} ms late.",
                   "I read the first value, {}, as milliseconds; the step is {}."]).format(
        epoch(r) * 1000 + r.below(1000), r.between(3, 900))


@template("epoch-ms", "two times of 13 digits in one JSON object")
def _(r):
    a = epoch(r) * 1000 + r.below(1000)
    name = r.pick(["index", "thumbs", "export"])
    return json.dumps({"name": name, "start_ms": a, "end_ms": a + r.between(50, 90000)})


@template("epoch-ms", "13 digits in a quoted string")
def _(r):
    return '{"queued": "%d", "state": "%s", "tries": %d}' % (
        epoch(r) * 1000 + r.below(1000), r.pick(["open", "done", "late"]), r.below(6))


@template("epoch-us", "16 digits in a log line")
def _(r):
    a = epoch(r) * 1000000 + r.below(1000000)
    return f"[{a}] {r.pick(['tick', 'flush', 'sync'])} ok\n[{a + r.between(9, 5000)}] {r.pick(['idle', 'wait'])}"


@template("epoch-ns", "19 digits in code")
def _(r):
    a = epoch(r) * 1000000000 + r.below(1000000000)
    return f"let t0: u64 = {a};\nlet t1: u64 = {a + r.between(100, 90000)};\nassert!(t1 > t0);"


@template("compact", "14 digits of a date and a time")
def _(r):
    y, m, d, h, n, s = moment(r)
    return r.pick(["The dump is called db-{}.sql.gz and has 4 MB.", "Snapshot {} is the last good one.",
                   "Migration {} adds two columns."]).format(f"{y}{m:02}{d:02}{h:02}{n:02}{s:02}")


@template("compact", "eight digits and six digits with a T")
def _(r):
    y, m, d, h, n, s = moment(r)
    stamp = f"{y}{m:02}{d:02}T{h:02}{n:02}{s:02}Z"
    return f"BEGIN:VEVENT\nDTSTART:{stamp}\nSUMMARY:{r.pick(['Desk move', 'Project call'])}\nEND:VEVENT"


@template("iso", "time stamps with zones in a table")
def _(r):
    zone = r.pick(["+00:00", "+02:00", "-03:30", "+05:45"])
    return f"| Event | At |\n|---|---|\n| open | {iso(r, 0, zone)} |\n| shut | {iso(r, 0, zone)} |"


@template("iso", "message and a date with an hour")
def _(r):
    a, b, c = sorted(plain(r) for _ in range(3))
    return r.pick(["The message of {} was read at {}; the next message is due on {}.",
                   "Messages were stored at {}, at {} and at {}."]).format(a, b, c[:10])


@template("rfc2822", "a header with a numeric zone")
def _(r):
    y, m, d, h, n, s = moment(r)
    zone = r.pick(["+0000", "+0200", "-0700", "+0530"])
    date = f"{weekday(y, m, d)}, {d} {MONTHS[m - 1]} {y} {h:02}:{n:02}:{s:02} {zone}"
    return f"Date: {date}\nSubject: {r.pick(['Agenda', 'Office move', 'Minutes'])}"


@template("log-ms", "comma before the milliseconds; the word message")
def _(r):
    head = f"{plain(r)},{r.digits(3)} {r.pick(['NOTICE', 'DEBUG'])} [{r.pick(['relay', 'queue'])}-{r.below(20)}]"
    return f"{head} {r.pick(['message acknowledged', 'new message', 'message dropped'])}, {r.between(2, 900)} bytes"


@template("log-ms", "call and desk in a log with milliseconds")
def _(r):
    t = iso(r, 3)
    a, b = r.number(6), r.between(1, 40)
    return f"{t} call accepted seq={a}\n{t} desk={b} wait={r.between(1, 900)}ms\n{t} call closed seq={a}"


@template("log-access", "numeric zone and byte counts beside each other")
def _(r):
    y, m, d, h, n, s = moment(r)
    stamp = f"{d:02}/{MONTHS[m - 1]}/{y}:{h:02}:{n:02}:{s:02} +0100"
    return f'- - [{stamp}] "GET /p/{r.number(7)} HTTP/1.1" 200 {r.number(5)} 0.{r.digits(3)}'


@template("hours", "office beside ranges with points")
def _(r):
    a, b = r.between(7, 9), r.between(12, 13)
    place = r.pick(["ticket office", "lost property office", "office on the quay"])
    return f"The {place} opens {a:02}.15-{b:02}.30 and {b + 1:02}.00-{b + 4:02}.45, on Saturday {a + 1:02}.00-12.00."


@template("hours", "ranges with colons in a list")
def _(r):
    return "\n".join(["Desk hours"] + [f"- {d}: {clock(r)}-{later(r)}" for d in DAYS[:r.between(3, 5)]])


@template("hours", "German ranges with points")
def _(r):
    a, b, c = r.between(7, 9), r.between(13, 14), r.between(16, 18)
    return f"Das Büro ist montags von {a:02}.30-12.00 und {b}.00-{c}.00 Uhr besetzt."


@template("tracking", "18 to 20 digits of a parcel")
def _(r):
    return r.pick(["Parcel {} left the depot this morning.", "The tracking number is {}; the scan is from Tuesday.",
                   "Two parcels share one label, {}."]).format(r.number(r.between(18, 20)))


@template("tracking", "letters, nine digits, letters (UPU S10)")
def _(r):
    body = r.pick(["RR", "LX", "CP", "EE"]) + r.digits(9)
    return f"Item {body}{r.pick(['DE', 'GB', 'NL', 'SE'])} reached the sorting office at {clock(r)}."


@template("order", "12 or 16 digits of an order")
def _(r):
    return r.pick(["Order {} has {} items.", "Please quote order {} when you return one of the {} items."]).format(
        r.number(r.pick([12, 16])), r.between(2, 9))


@template("order", "order number in groups of 3, 3 and 4: looks like a telephone number")
def _(r):
    return f"Order {r.number(3)}-{r.number(3)}-{r.digits(4)} is packed; order {r.number(3)}-{r.digits(7)} is not."


@template("order", "16 digits in four groups")
def _(r):
    body = r.number(16)
    sep = r.pick([" ", "-", "."])
    return f"Licence key of the sample program: {sep.join(body[i:i + 4] for i in (0, 4, 8, 12))} (for the course only)."


@template("goods", "GTIN of 13 digits in CSV")
def _(r):
    return "gtin,name,stock\n" + "\n".join(f"{gtin(r)},{w},{r.below(400)}" for w in ("pencil", "ruler", "glue"))


@template("goods", "GTIN of 8, 12 or 14 digits in prose")
def _(r):
    return f"The carton has {gtin(r, 14)}, the box {gtin(r, 12)} and the single bar {gtin(r, 8)} printed on it."


@template("isbn", "13 digits in groups or as a run")
def _(r):
    return f"The second edition has ISBN {isbn(r, r.pick(['-', ' ', '']))}; it has {r.between(90, 900)} pages."


@template("imei", "15 digits with the check digit of cards")
def _(r):
    return r.pick(["The test handset reports IMEI {}, which is a sample.", "In the emulator, `imei` is `{}`.",
                   "| Field | Sample |\n|---|---|\n| imei | {} |"]).format(imei(r))


@template("float", "one float of 16 digits or more")
def _(r):
    return r.pick(["The loss fell to {} in the last epoch.", "`ratio()` gives {}, so about the same.",
                   "Expected {}, with a tolerance of 1e-9."]).format(fraction(r))


@template("float-array", "an array of floats in JSON")
def _(r):
    return '{"layer": %d, "weights": [%s]}' % (r.between(1, 48), ", ".join(
        r.pick(["", "-"]) + fraction(r) for _ in range(r.between(4, 7))))


@template("float-array", "floats in rows of code")
def _(r):
    rows = ",\n".join("    [" + ", ".join(f"{r.below(9)}.{r.digits(8)}" for _ in range(3)) + "]" for _ in range(3))
    return f"M = [\n{rows},\n]"


@template("scientific", "mantissas and exponents in a table")
def _(r):
    return "| Quantity | Value |\n|---|---|\n" + "\n".join(
        f"| {q} | {r.between(1, 9)}.{r.digits(8)}e{r.pick(['-', '+', ''])}{r.between(2, 34)} |" for q in "khn")


@template("uuid", "two UUIDs in a log line")
def _(r):
    return f"trace={uuid(r)} parent={uuid(r)} dur={r.between(2, 900)}ms"


@template("uuid", "a UUID, and the words message and office near")
def _(r):
    return f"The message id is {uuid(r)}; the head office sees the same id in its own list."


@template("hash", "sha256, sha1 and short hashes")
def _(r):
    return f"sha256 {r.chars(HEX, 64)}\nsha1   {r.chars(HEX, 40)}\nshort  {r.chars(HEX, 7)}"


@template("hash", "a lock file with digests and versions")
def _(r):
    name = r.pick(["loom", "tally", "atlas"])
    return f'name = "{name}"\nversion = "{triple(r)}"\nchecksum = "{r.chars(HEX, 64)}"'


@template("version4", "documented: four numbers with points look like an IP address")
def _(r):
    return r.pick(["Driver {} fixes the flicker; driver {} brought it.",
                   "Between build {} and build {} the format changed.",
                   "Firmware: {} (shelf), {} (lamp)"]).format(quad(r), quad(r))


@template("section", "chapters and sections with points and blanks")
def _(r):
    c = r.between(1, 20)
    row = " ".join(f"{c + i:02}" for i in range(4))
    new = f"{c}.1, {c}.{r.between(2, 9)} and {c + 1}.{r.below(9)}.{r.between(1, 9)}"
    return r.pick(["Chapters {} and sections {} are new.", "Read chapters {}, then go back to {}."]).format(row, new)


@template("part", "documented: three, two and four digits have the form of a social security number")
def _(r):
    return f"The hinge is part {r.between(100, 665)}-{r.between(10, 99)}-{r.number(4)} in the drawing of the cupboard."


@template("part", "letters and digits in groups")
def _(r):
    a = f"{r.chars(UPPER, 2)}-{r.number(4)}-{r.digits(2)}/{r.between(2, 90)}"
    b = f"{r.chars(UPPER, 1)}{r.number(3)}.{r.digits(4)}.{r.digits(2)}"
    return f"Bearing {a} fits; {b} does not."


@template("customs", "tariff codes that begin with zero")
def _(r):
    sep = r.pick([".", " ", ""])
    a = sep.join([f"0{r.between(1, 9)}{r.digits(2)}", r.digits(2), r.digits(2), r.digits(2)])
    b = f"{r.between(10, 97)}{r.digits(2)} {r.digits(2)} {r.digits(2)}"
    return f"Enter tariff line {a} for the dried fruit and {b} for the crates."


@template("coordinates", "degrees with five to seven decimals")
def _(r):
    n = r.between(5, 7)
    return f"The bench stands at {r.between(40, 60)}.{r.digits(n)}, {r.between(0, 18)}.{r.digits(n)} and looks north."


@template("coordinates", "degrees, minutes, seconds")
def _(r):
    lat = f"{r.between(35, 65)}°{r.below(60):02}'{r.below(60):02}\" N"
    lon = f"{r.between(0, 30):03}°{r.below(60):02}'{r.below(60):02}\" E"
    return f"{lat} {lon}, height {r.between(2, 900)} m"


@template("coordinates", "grid references of digits in pairs")
def _(r):
    zone = f"{r.between(10, 60)}{r.pick('UTS')}"
    return f"Meet at grid {zone} {r.number(6)} {r.number(7)}, then walk to {r.number(3)} {r.number(3)}."


@template("ports", "ports and process ids; reach as a verb")
def _(r):
    p = r.between(3000, 9900)
    return (f"You can reach the preview on port {p}, the metrics on {p + 1} and the shell on {p + 22}; "
            f"pid {r.number(5)} holds all three.")


@template("ports", "port ranges in a configuration")
def _(r):
    p = r.between(20000, 50000)
    control = f"{r.between(5000, 5999)},{r.between(6000, 6999)}"
    return f"media:\n  ports: {p}-{p + 99}\ncontrol:\n  ports: {control}\n  office: {r.pick(['north', 'south'])}"


@template("invoice", "invoice numbers with a leading zero in groups of five")
def _(r):
    a, b = (f"0{r.number(4)} {r.digits(5)} {r.digits(2)}" for _ in range(2))
    return f"Invoice {a} covers March, invoice {b} covers April."


@template("invoice", "German invoice number with year")
def _(r):
    nr = f"{r.between(2019, 2028)}-{r.digits(6)}"
    return f"Die Rechnung {nr} über {r.between(12, 900)},{r.digits(2)} Euro ist bezahlt, Beleg {r.number(8)}."


@template("container", "ISO 6346 with check digit: two letters and digits begin like an IBAN")
def _(r):
    a = container(r)
    return f"Container {a[:4]} {a[4:10]} {a[10]} stands behind {container(r)} on the quay."


@template("account-like", "ledger accounts and cost centres")
def _(r):
    return "| Ledger | Cost centre | Sum |\n|---|---|---|" + "".join(
        f"\n| {r.number(4)} | {r.number(4)}-{r.digits(4)}-{r.digits(2)} | {r.number(3 + i)}.{r.digits(2)} |"
        for i in (0, 1))


@template("account-like", "twelve digits of a test project in the cloud")
def _(r):
    return f"The role is arn:demo:iam::{r.number(12)}:role/reader-{r.between(1, 40)} in project {r.number(12)}."


@template("account-like", "ids of 17 to 19 digits in JSON")
def _(r):
    a, b = (r.number(r.between(17, 19)) for _ in range(2))
    return json.dumps({"id": a, "reply_to": b, "likes": r.below(400)})


@template("git-address", "user and host of a repository")
def _(r):
    return r.pick(["git clone git@{}.example.org:team/{}.git\ncd {}",
                   "[remote \"origin\"]\n\turl = git@{}.example.org:{}/{}.git",
                   "Run `git remote set-url origin ssh://git@{}.example.org:2222/{}/{}.git` once."]).format(
        r.pick(["git", "code", "src"]), *[r.pick(["atlas", "loom", "tally"])] * 2)


@template("host-address", "user and host before a path")
def _(r):
    user, host = r.pick(["deploy", "ci", "root"]), r.pick(["node", "box"])
    return f"rsync -a build-{r.between(10, 99)}/ {user}@{host}{r.between(1, 40)}.lan:/var/in/"


@template("at-file", "a picture at a scale of two or three")
def _(r):
    w = r.pick(["icon", "hero", "cover-wide", "tab_4x3"])
    return "\n".join(f"assets/{w}{x} {r.between(9, 400)} kB" for x in ("@2x.png", "@3x.webp", ".png"))


@template("at-module", "a module with a version after the at sign")
def _(r):
    tool = r.pick(["tool", "cmd/loom", "x/lint"])
    kit = f"v{r.below(3)}.{r.below(9)}.0-rc{r.between(1, 9)}.arm64"
    return f"go install go.example.org/{tool}@v{triple(r)}\nrequire go.example.org/kit@{kit} // pinned"


@template("at-package", "scoped packages and their versions")
def _(r):
    return json.dumps({"dependencies": {f"@acme/{r.pick(['ui', 'dates'])}": f"^{triple(r)}", "@demo/core.js": triple(r),
                                        "loom-old": f"npm:loom@{triple(r)}"}})


@template("at-decorator", "a decorator with a dotted name")
def _(r):
    a, b = r.pick(["app.get", "router.post", "api.put"]), r.pick(["cache.memoize", "limits.per_minute"])
    return f'@{a}("/items/{r.between(1, 90)}")\n@{b}({r.between(2, 600)})\ndef items():\n    return {r.number(4)}'


@template("at-unit", "a unit of a service manager with an instance")
def _(r):
    u = r.pick(["user", "getty", "scan", "backup"])
    unit = f"{u}@{r.pick(['1000', 'tty1', 'shelf2', '1001'])}.service"
    return f"systemctl status {unit}\n{u}@{r.between(1, 9)}.timer next run in {r.between(2, 50)} min"


@template("at-other", "at signs that are no address")
def _(r):
    return r.pick(["The clip is {a}x{b}@{c}fps, the sample {d} kHz@24 bit.",
                   "Sold 3 @ {a}.50 and 4 @ {b}.25, in all {c} pieces.",
                   "The key is `range@{a}.{b}` and the index `list@{c}`.",
                   "In the notation of the exercise, 1@{a}.max and 2@{b}.min stand for row and limit."]).format(
        a=r.between(10, 1920), b=r.between(10, 1080), c=r.between(24, 60), d=r.pick([44, 48, 96]))


@template("word-call", "call as a word beside grouped digits")
def _(r):
    a, b = sorted(plain(r)[:16] for _ in range(2))
    return r.pick(["First call: {}. Second call: {}. Agenda item {} needs 20 minutes.",
                   "They call it a day twice in the log: {} and {}, {} entries in all.",
                   "A call for papers opens {} and ends {}; papers have {} pages."]).format(a, b, r.between(4, 20))


@template("word-message", "message as a word beside ids")
def _(r):
    few = f"{r.number(4)} {r.number(4)} and {r.number(4)}"
    return r.pick(["Message {} of {} was sent twice, messages {} were not.",
                   "Compiler message {} has {} hits in files {}.",
                   "The message broker moved {} of {} entries, in steps of {}."]).format(r.number(7), r.number(8), few)


@template("word-office", "office and desk beside room numbers")
def _(r):
    return (f"The office moves from {r.number(3)} {r.number(3)} to rooms {r.number(3)}-{r.number(3)}; "
            f"desk {r.between(1, 90)} goes to row {r.between(1, 9)}, desk {r.number(3)} stays.")


@template("word-cell", "cells of a sheet beside numbers")
def _(r):
    return r.pick(["In cell B{} write {} {}, in cell C{} write {}; the cell below shows the sum.",
                   "Sample {}: {} {} cells a millilitre; sample {}: {}, mostly of one cell type."]).format(
        r.between(2, 40), r.number(4), r.number(3), r.between(2, 40), r.number(7))


@template("word-mobile", "mobile as a word beside sizes and counts")
def _(r):
    size = f"{r.between(320, 430)}-{r.between(600, 932)}"
    return r.pick(["On mobile the page is {} points; mobile users opened it {} times, {} {} more than before.",
                   "Mobile layout {}; build {} saves {} {} bytes on mobile."]).format(
        size, r.number(7), r.number(3), r.digits(3))


@template("word-reach", "reach and registered as words beside large numbers")
def _(r):
    big = f"{r.number(2)}.{r.digits(3)}.{r.digits(3)}"
    return (f"The project reached {r.number(3)} {r.digits(3)} downloads; sales reach {big} in year {r.between(2, 9)}, "
            f"of {r.number(7)} registered boxes.")


@template("word-figures", "German text, grouped figures behind a colon")
def _(r):
    row = f"{r.number(2)} {r.digits(2)} {r.digits(2)} {r.digits(2)}"
    return (f"Reihe {r.between(1, 20)}: {row} Punkte. "
            f"Der Anruf der Funktion dauert {r.number(3)} {r.digits(3)} Takte.")


def main():
    r = Rng(SEED)
    seen = {}
    texts = set()
    out = []
    for _ in range(ROUNDS):
        for kind, why, f in TEMPLATES:
            text = f(r)
            while text in texts:
                text = f(r)
            texts.add(text)
            seen[kind] = seen.get(kind, 0) + 1
            row = {"id": f"nu-{kind}-{seen[kind]:03}", "kind": kind, "text": text, "why": why}
            out.append(json.dumps(row, ensure_ascii=False) + "\n")
    sys.stdout.buffer.write("".join(out).encode())


main()
