//! Harmless numbers by kind: how many of them the policy `pii` refuses as card numbers or for any reason, without and
//! with a text lane.

use crate::package::{Package, mapper};
use portcullis_test_support::random::Random;

/// A kind of numbers, and the largest number of card numbers among 300 of them.
type Kind = (&'static str, fn(&mut Random) -> String, usize);

/// The kinds of `docs/explanation/mapping.md`. No number of the first ones has the prefix of a network. Of the others,
/// some have prefix, length and check digit of a network by chance.
const KINDS: &[Kind] = &[
    ("time in ms", |r| r.within(1_500_000_000_000, 1_900_000_000_000).to_string(), 0),
    ("time in ns", |r| r.within(1_500_000_000_000_000_000, 1_900_000_000_000_000_000).to_string(), 0),
    ("time, 14 digits", date, 0),
    ("time, 17 digits", |r| format!("{}{}", date(r), digits(r, 3)), 0),
    (
        "tool call with two times in ms",
        |r| {
            let start = r.within(1_500_000_000_000, 1_900_000_000_000);
            format!("{{\"start_ms\": {start}, \"end_ms\": {}}}", start + r.within(1, 1_000_000))
        },
        0,
    ),
    ("IMEI", imei, 0),
    ("ISBN-13", |r| ean(&format!("97{}{}", r.within(8, 9), digits(r, 9))), 0),
    (
        "ISBN-13 with dashes",
        |r| {
            let isbn = ean(&format!("978{}", digits(r, 9)));
            format!("{}-{}-{}-{}-{}", &isbn[..3], &isbn[3..4], &isbn[4..8], &isbn[8..12], &isbn[12..])
        },
        0,
    ),
    ("decimal", decimal, 0),
    ("JSON of five decimals", |r| format!("[{}]", [(); 5].map(|()| decimal(r)).join(", ")), 0),
    ("UUID", uuid, 0),
    ("SHA-256", |r| hex(r, 64), 0),
    ("SHA-1", |r| hex(r, 40), 0),
    ("MD5", |r| hex(r, 32), 0),
    ("id of 24 hexadecimal digits", |r| hex(r, 24), 0),
    ("git log line", |r| format!("commit {} parent {}", hex(r, 40), hex(r, 40)), 0),
    (
        "EAN-13",
        |r| {
            let body = digits(r, 12);
            ean(&body)
        },
        8,
    ),
    ("order number of 12 digits", |r| digits(r, 12), 5),
    ("order number of 16 digits", |r| digits(r, 16), 21),
    ("order number of 18 digits", |r| digits(r, 18), 24),
    ("order number `1234-5678-9012`", |r| [(); 3].map(|()| digits(r, 4)).join("-"), 5),
    ("snowflake id", |r| r.within(100_000_000_000_000_000, 1_300_000_000_000_000_000).to_string(), 20),
    ("parcel number of 22 digits", |r| format!("94{}", digits(r, 20)), 12),
    ("six numbers of four digits", |r| [(); 6].map(|()| digits(r, 4)).join(", "), 30),
];

fn digits(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
}

fn hex(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| char::from_digit(random.below(16) as u32, 16).unwrap()).collect()
}

fn date(random: &mut Random) -> String {
    let (year, month, day) = (random.within(2005, 2035), random.within(1, 12), random.within(1, 28));
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    format!("{year}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// A number of 13 digits with the check digit of ISO/IEC 15420.
fn ean(body: &str) -> String {
    let weighted = body.bytes().zip([1, 3].iter().cycle()).map(|(byte, weight)| u32::from(byte - b'0') * weight);
    format!("{body}{}", (10 - weighted.sum::<u32>() % 10) % 10)
}

/// A number of 15 digits with a reporting body of the GSMA and a valid check digit.
fn imei(random: &mut Random) -> String {
    let body = format!("{}{}", random.pick(&["01", "35", "86", "99"]), digits(random, 12));
    let values = body.bytes().rev().zip([2, 1].iter().cycle()).map(|(byte, factor)| {
        let value = u32::from(byte - b'0') * factor;
        value / 10 + value % 10
    });
    format!("{body}{}", (10 - values.sum::<u32>() % 10) % 10)
}

/// A number below 1, as Python and JavaScript print one.
#[expect(clippy::float_arithmetic, reason = "a decimal has the digits that programs print")]
fn decimal(random: &mut Random) -> String {
    format!("{}", (random.bits() >> 11) as f64 / (1u64 << 53) as f64)
}

fn uuid(random: &mut Random) -> String {
    let [a, b, c, d] = [8, 4, 3, 3].map(|count| hex(random, count));
    format!("{a}-{b}-4{c}-{}{d}-{}", random.pick(&["8", "9", "a", "b"]), hex(random, 12))
}

#[test]
fn harmless_numbers_by_kind() {
    let (package, mapper) = (Package::shipped("pii"), mapper("pii"));
    let card = package.manifest.classes.iter().position(|class| class.name == "credit_card").unwrap();
    let mut random = Random::new(40);
    eprintln!("| kind | cards | refused | refused with the lane |\n| --- | --- | --- | --- |");
    let mut wrong = Vec::new();
    for (kind, make, most) in KINDS {
        let [mut cards, mut host, mut lane] = [0; 3];
        for _ in 0..300 {
            let text = format!("Value {} was stored.", make(&mut random));
            let hits = mapper.written(&text);
            cards += usize::from(hits.iter().any(|(_, class)| class.index() == card));
            host += usize::from(!hits.is_empty());
            lane += usize::from(!hits.is_empty() || package.walk.classes(&text).0 != 0);
        }
        let share = |count: usize| format!("{}.{} %", count / 3, count % 3 * 10 / 3);
        eprintln!("| {kind} | {} | {} | {} |", share(cards), share(host), share(lane));
        if cards > *most || lane > host + 3 {
            wrong.push((kind, cards, host, lane));
        }
    }
    assert_eq!(wrong, [], "kind, cards, refused, refused with the lane, of 300");
}
