#!/usr/bin/env python3
"""Writes labels.jsonl: values with the form of a telephone number, card, social security number or IBAN behind a label.

Usage: python3 build_labels.py [--print]
Integers and SplitMix64 only: the same bytes on every machine. 80 templates, each with four values. Telephone numbers
are of ranges that regulators keep for fiction, cards are the networks' public test numbers, IBANs the examples of
the registry. All other digits are drawn at random and belong to no person."""
import json
import sys
from pathlib import Path

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

    def digits(self, n):
        return "".join(str(self.below(10)) for _ in range(n))

    def pick(self, items):
        return items[self.below(len(items))]


def luhn(digits):
    total = 0
    for i, c in enumerate(reversed(digits)):
        v = int(c) * (1 + i % 2)
        total += v - 9 if v > 9 else v
    return total % 10 == 0


def mod97(text):
    t = text.replace(" ", "").upper()
    return int("".join(str(int(c, 36)) for c in t[4:] + t[:4])) % 97


def groups(text, sizes, sep):
    out, at = [], 0
    for n in sizes:
        out.append(text[at:at + n])
        at += n
    if text[at:]:
        out.append(text[at:])
    return sep.join(out)


FOURS = [4, 4, 4, 4]
CARDS = [
    "4111111111111111", "4012888888881881", "4242424242424242", "5555555555554444", "5105105105105100",
    "2223003122003222", "6011111111111117", "6011000990139424", "3530111333300000", "378282246310005",
    "371449635398431", "4917610000000000",
]
IBANS = [
    "GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606", "NL91ABNA0417164300",
    "ES9121000418450200051332", "CH9300762011623852957", "AT611904300234573201", "BE68539007547034",
    "SE4550000000058398257466", "IE29AIBK93115212345678", "PL61109010140000071219812874", "NO9386011117947",
]
US = ["202", "212", "312", "415", "503", "617", "704", "813", "919"]


def card_true(r, k):
    d = r.pick(CARDS)
    if k % 2:
        return groups(d, [4, 6, 5] if len(d) == 15 else FOURS, " -"[k // 2 % 2])
    return d


def card_like(r, k):
    """Sixteen digits: a network's prefix without its check digit, or a check digit without a network's prefix."""
    while True:
        d = (r.pick(["4", "51", "53", "4", "54"]) if k % 2 else "7" + r.pick("013")) + r.digits(15)
        d = d[:16]
        # No part that begins at the start may pass, either: a scanner can read it for a shorter number.
        parts = [n for n in range(12, 16) if luhn(d[:n])] + ([1] if luhn(d[4:]) else [])
        if not parts and luhn(d) != bool(k % 2) and "0000" not in d:
            return groups(d, FOURS, r.pick(" -")) if k // 2 % 2 else d


def phone_true(r, k):
    x = r.digits(3)
    return [
        f"{r.pick(US)}-555-01{x[:2]}", f"({r.pick(US)}) 555-01{x[:2]}", f"+49 30 23125 {x}", f"020 7946 0{x}",
        f"+44 7700 900{x}", f"089 99998 {x}", f"{r.pick(US)}.555.01{x[:2]}", f"+1 {r.pick(US)} 555 01{x[:2]}",
    ][k % 8]


def phone_like(r, k):
    x = r.digits(3)
    return [
        f"{r.pick(US)}-555-01{x[:2]}", f"{r.pick(US)} 555 01{x[:2]}", f"069 90009 {x}", f"040-66969-{x}",
        f"{r.pick(US)}555-01{x[:2]}", f"0221 4710 {x}", f"{r.pick(US)}.555.01{x[:2]}", f"020 7946 0{x}",
    ][k % 8]


def ssn(r, k):
    while True:
        area, block, serial = r.digits(3), r.digits(2), r.digits(4)
        if area not in ("000", "666", "078") and area < "900" and block != "00" and serial != "0000":
            return f"{area}-{block}-{serial}"


def ssn_true(r, k):
    v = ssn(r, k)
    return v.replace("-", " ") if k % 4 == 3 else v


def iban_true(r, k):
    v = r.pick(IBANS)
    return groups(v, [4] * (len(v) // 4), " ") if k % 2 else v


def iban_like(r, k):
    """Country, length and letters of an IBAN, but other check digits."""
    while True:
        v = r.pick([v for v in IBANS if v[4:].isdigit()])
        v = v[:2] + r.digits(len(v) - 2)
        # No part between the borders of its groups is a card.
        ends = sorted({*range(4, len(v), 4), len(v)})
        parts = [v[a:b] for a in (2, *ends) for b in ends if 12 <= b - a <= 19]
        if mod97(v) != 1 and not any(map(luhn, parts)):
            return groups(v, [4] * (len(v) // 4), " ") if k % 2 else v


AMBIGUOUS, REFUSE = "ambiguous", "refuse"
ALONE = "only the label stands beside it"
TEMPLATES = [
    # class, expect, generator, reason, templates
    ("phone", AMBIGUOUS, phone_like, ALONE, [
        "Part no. {v} is out of stock until May.",
        "Order {v} has left the warehouse.",
        "Your ticket {v} is valid on both trains.",
        "The chapter with the shelf mark {v} is missing.",
        "Batch {v} was recalled by the dairy.",
        "Invoice {v} was paid twice.",
        "Rechnung {v} ist noch offen.",
        "Bestellnummer {v} steht auf dem Karton.",
        "Tracking {v} shows that the parcel is in Leeds.",
        "Customer {v} prefers paper statements.",
    ]),
    ("phone", REFUSE, phone_true, "a word for telephones is near", [
        "Order desk phone {v}, weekdays until six.",
        "For part no. 12, telephone {v} and ask for Ines.",
        "Invoice questions: tel {v}.",
        "Ticket office, please call {v} before noon.",
        "Version 4 of the leaflet names the mobile {v} of the guide.",
        "Batch recall hotline, phone number {v}.",
        "Customer 18 can be reached by telephone at {v}.",
        "Rechnung unklar? Tel.: {v}",
        "The tracking page says: call {v} if the parcel is wet.",
        "Flight delayed, new phone {v} for the crew.",
    ]),
    ("card", AMBIGUOUS, card_like, "only the label stands beside it; check digit or prefix do not fit", [
        "Order {v} has been packed.",
        "Serial {v} is engraved below the lens.",
        "The tracking number {v} belongs to the second parcel.",
        "Batch {v} of the varnish is too thin.",
        "Part no. {v} fits both pumps.",
        "Rechnungsnummer {v} bitte immer angeben.",
        "Ticket {v} was scanned at gate 4.",
        "Contract {v} ends in autumn.",
        "Artikel {v} ist wieder lieferbar.",
        "The library's item {v} is on loan.",
    ]),
    ("card", REFUSE, card_true, "check digit and prefix fit", [
        "Invoice paid with card {v} in March.",
        "Order 77 was charged to {v} yesterday.",
        "Ticket {v} was scanned at the desk.",
        "Batch {v} is on the slip.",
        "Reference {v}: please keep it.",
        "Kundennummer {v} steht auf der Quittung.",
        "Customer no. {v} asked for a copy of the bill.",
        "Version 2 of the form still shows card no. {v}.",
        "Bestellung {v} wurde bezahlt.",
        "Tracking entry: payment {v} accepted.",
    ]),
    ("ssn", AMBIGUOUS, ssn, ALONE, [
        "Part no. {v} replaces the old hinge.",
        "Order {v} left by rail.",
        "Serial {v} is stamped on the frame.",
        "Invoice {v} covers the roof.",
        "The seed batch {v} germinates in ten days.",
        "Ticket {v} was closed by the night shift.",
        "Bestellnummer {v} liegt zur Abholung bereit.",
        "Lot {v} is a pair of candlesticks.",
        "Drawing {v} shows the staircase from above.",
        "Catalogue number {v} is a score for two violins.",
    ]),
    ("ssn", REFUSE, ssn_true, "a label of the class is near", [
        "Order form, box 3, social security number {v}.",
        "Customer record 9: SSN {v}.",
        "Ticket 512 quotes the applicant's SSN as {v}.",
        "Invoice for the nanny, SSN {v}, is attached.",
        "Part B of the claim gives {v} as her social security number.",
        "Batch upload failed at the row with SSN {v}.",
        "The serial field holds {v}, which is his social security number.",
        "Version 3 of the letter still shows SSN: {v}.",
        "Rechnung an Frau Ito (SSN {v}) ist bezahlt.",
        "Chapter 2 prints the social security no. {v} of the author.",
    ]),
    ("iban", AMBIGUOUS, iban_like, "only the label stands beside it; the check digits do not fit", [
        "Serial {v} is on the sticker.",
        "Order {v} contains two lamps.",
        "Licence key {v} unlocks the atlas.",
        "Container {v} waits at berth 3.",
        "Batch {v} is kept at four degrees.",
        "Seriennummer {v} ist schwer zu lesen.",
        "Ticket {v} allows one change of seats.",
        "Part no. {v} is made in Turku.",
        "Tracking {v} has no news since Monday.",
        "Claim {v} was sent to the surveyor.",
    ]),
    ("iban", REFUSE, iban_true, "check digits and length fit", [
        "Order 31: please transfer the rest to {v}.",
        "Invoice {v} is overdue.",
        "Serial {v} was typed into the wrong box.",
        "Ticket {v} was refunded.",
        "Customer no. {v} moved to Graz.",
        "Rechnung 8, zahlbar auf IBAN {v} bis Freitag.",
        "Reference {v} must be quoted.",
        "Batch {v} was entered by hand.",
        "Bestellnummer {v} ist hinterlegt.",
        "The tracking sheet lists account {v} as paid.",
    ]),
]


def rows():
    r, out, seen = Rng(29), [], set()
    for kind, expect, make, why, templates in TEMPLATES:
        for t, template in enumerate(templates):
            for k in range(4):
                while True:
                    value = make(r, t * 3 + k)
                    text = template.format(v=value)
                    if text not in seen:
                        break
                seen.add(text)
                out.append({
                    "id": f"la-{kind}-{expect[0]}{t * 4 + k + 1:02d}", "class": kind, "text": text, "value": value,
                    "expect": expect, "why": why,
                })
    return out


def main():
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows())
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        (Path(__file__).resolve().parent / "labels.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
