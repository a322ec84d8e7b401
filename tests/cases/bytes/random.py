#!/usr/bin/env python3
"""Random harmless texts for the over-blocking share: 20,000 ids, ISBNs, timestamps, figure rows, version strings.

Usage: python3 random.py [--seed N] [--count N] > random.jsonl
Integers only; the same seed gives the same bytes on every machine. It uses no module `random` (its own name hides that one).
A line is {"id", "policy", "kind", "text"}. Kinds take turns, so that each has a fifth of the count."""
import json
import sys

MASK = (1 << 64) - 1


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

    def digits(self, n):
        return "".join(str(self.below(10)) for _ in range(n))


def group(text, sizes, sep):
    out, at = [], 0
    for n in sizes:
        out.append(text[at:at + n])
        at += n
    return sep.join(part for part in out if part)


def ident(r):
    word = r.pick(["Order", "Ref", "Ticket", "Invoice", "Case", "Parcel", "Batch", "Document", "Item", "Row"])
    shape = r.below(8)
    if shape == 0:
        body = str(1 + r.below(9)) + r.digits(15)
    elif shape == 1:
        body = group(r.digits(16), [4, 4, 4, 4], " ")
    elif shape == 2:
        body = group(r.digits(16), [4, 4, 4, 4], "-")
    elif shape == 3:
        body = r.digits(r.between(12, 20))
    elif shape == 4:
        body = "".join(r.pick("0123456789abcdef") for _ in range(r.pick([7, 8, 12, 40, 64])))
    elif shape == 5:
        body = "".join(r.pick("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(r.between(8, 20)))
    elif shape == 6:
        body = group("".join(r.pick("0123456789abcdef") for _ in range(32)), [8, 4, 4, 4, 12], "-")
    else:
        body = r.pick(["RR", "LX", "CP"]) + r.digits(9) + r.pick(["DE", "GB", "US", "CN"])
    return r.pick(["%s %s has arrived.", "%s %s", "The %s is %s.", "See %s %s for more."]) % (word, body)


def isbn(r):
    if r.below(2):
        body = r.pick(["978", "979"]) + r.digits(9)
        check = (10 - sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(body)) % 10) % 10
        full, sizes = body + str(check), r.pick([[3, 1, 2, 6, 1], [3, 2, 3, 4, 1], [3, 3, 4, 2, 1], [13], [3, 10]])
    else:
        body = r.digits(9)
        check = (11 - sum(int(c) * (10 - i) for i, c in enumerate(body)) % 11) % 11
        full, sizes = body + ("X" if check == 10 else str(check)), r.pick([[1, 2, 6, 1], [1, 3, 5, 1], [2, 4, 3, 1], [10]])
    return r.pick(["ISBN %s", "ISBN: %s", "The book (ISBN %s) is out.", "%s"]) % group(full, sizes, r.pick(["-", " "]))


def stamp(r):
    y, mo, d = r.between(1970, 2037), r.between(1, 12), r.between(1, 28)
    h, mi, s = r.below(24), r.below(60), r.below(60)
    unix = 1 + r.below(2_100_000_000)
    shape = r.below(10)
    text = [
        "%04d-%02d-%02dT%02d:%02d:%02dZ" % (y, mo, d, h, mi, s),
        "%04d-%02d-%02d %02d:%02d:%02d.%03d +0%d00" % (y, mo, d, h, mi, s, r.below(1000), r.below(10)),
        "%02d.%02d.%04d %02d:%02d" % (d, mo, y, h, mi),
        "%02d/%02d/%04d" % (mo, d, y),
        "%04d%02d%02d%02d%02d%02d" % (y, mo, d, h, mi, s),
        "%04d%02d%02dT%02d%02d%02dZ" % (y, mo, d, h, mi, s),
        str(unix),
        str(unix) + r.digits(3),
        str(unix) + r.digits(6),
        str(unix) + r.digits(9),
    ][shape]
    return r.pick(["%s", "at %s", "Started %s, done.", "[%s] INFO ready"]) % text


def figures(r):
    n = r.between(3, 10)
    shape = r.below(6)
    if shape == 0:
        cells = [str(r.below(10 ** r.between(1, 5))) for _ in range(n)]
        return " ".join(cells)
    if shape == 1:
        return "| " + " | ".join(str(r.below(10 ** r.between(1, 6))) for _ in range(n)) + " |"
    if shape == 2:
        return "\t".join("%d.%02d" % (r.below(10000), r.below(100)) for _ in range(n))
    if shape == 3:
        return ", ".join(group(str(1 + r.below(9)) + r.digits(5), [3, 3], r.pick([" ", ",", "."])) for _ in range(n))
    if shape == 4:
        first = r.between(1900, 2020)
        return r.pick(["Year ", "", "| "]) + " ".join(str(first + i) for i in range(n))
    return "Total %s of %s in %d rows" % (group(str(1 + r.below(9)) + r.digits(8), [3, 3, 3], " "), r.digits(4), n)


def version(r):
    parts = r.pick([2, 3, 3, 3, 3, 3])
    body = ".".join(str(r.below(r.pick([10, 10, 30, 200]))) for _ in range(parts))
    body += r.pick(["", "", "", "-rc.%d" % r.below(9), "+build.%d" % r.below(999), "-%d" % r.below(30), "~beta%d" % r.below(9)])
    name = r.pick(["node", "serde", "tokio", "numpy", "nginx", "openssl", "kernel", "react", "lodash", "glibc"])
    return r.pick(["%s@%s", "%s %s", "%s-%s", "%s:%s", "%s v%s", "%s==%s", "Install %s@%s first."]) % (name, body)


KINDS = [("id", ident), ("isbn", isbn), ("timestamp", stamp), ("figures", figures), ("version", version)]


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def main():
    count, rng = option("--count", 20000), Rng(option("--seed", 17))
    for i in range(count):
        kind, make = KINDS[i % len(KINDS)]
        print(json.dumps({"id": "rnd-%05d" % i, "policy": "pii", "kind": kind, "text": make(rng)}))


if __name__ == "__main__":
    main()
