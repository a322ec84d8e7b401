//! Compares the lane with the mapping: the lane finds every hit of the mapping in the bytes of a text. For a class with
//! equal coverage, the lane finds nothing else. Dividing the text into entries and parts, or restoring a state, does
//! not change the result.
//!
//! With `PORTCULLIS_LONG` the runs are as long as for `cargo xtask long lane`: 10,000 patterns, 1,000,000 texts.
#![cfg(test)]

#[path = "lane/harmless.rs"]
mod harmless;
#[path = "lane/made.rs"]
mod made;
#[path = "lane/package.rs"]
mod package;

use package::{Package, SHIPPED};
use portcullis_core::class::ClassId;
use portcullis_lane::{
    EntryScan, EntryScanResult, LaneCoverage, LaneTableLimits, MatchRelation, ScanState, TextLaneTables, compile,
};
use portcullis_mapping::lane_source;
use portcullis_test_support::random::Random;
use std::ops::Range;

fn is_long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some()
}

/// The end and the result of each entry of a text.
type Entries = Vec<(usize, EntryScanResult)>;

/// Reads a text in random entries and parts; checks that each state depends only on the bytes before it.
fn in_entries(package: &Package, random: &mut Random, text: &str) -> Entries {
    let mut state = ScanState::START;
    let mut entries = Entries::new();
    let mut from = 0;
    while from < text.len() {
        let to = text.ceil_char_boundary(from + random.within(1, text.len() - from));
        let bytes = &text.as_bytes()[from..to];
        let mut at_once = state;
        let whole = package.walk.scan(&mut at_once, bytes);
        let mut entry = EntryScan::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.within(1, rest.len()));
            package.walk.read(&mut state, &mut entry, part);
            rest = after;
        }
        let scanned = package.walk.end(&mut state, entry);
        assert_eq!((scanned, state), (whole, at_once), "in parts, {text:?}");
        assert!(scanned.utf8, "{text:?}");
        entries.push((to, scanned));
        from = to;
    }
    entries
}

/// How often the lane and the mapping both found a class, and how often only the lane found it.
#[derive(Default)]
struct Counts {
    hits: usize,
    more: usize,
}

fn check(package: &Package, random: &mut Random, text: &str, counts: &mut Counts) {
    let hits: Vec<(Range<usize>, ClassId)> = package.mapper.written(text);
    let whole = package.walk.classes(text);
    let entries = in_entries(package, random, text);
    for class in &package.compiled.classes {
        let name = || &package.manifest.classes[class.id.index()];
        let mine: Vec<&Range<usize>> = hits.iter().filter(|(_, id)| *id == class.id).map(|(range, _)| range).collect();
        let found = whole.contains(class.id);
        assert!(found || mine.is_empty(), "missed {mine:?} in {text:?} by {:?}", name());
        counts.hits += usize::from(!mine.is_empty());
        counts.more += usize::from(found && mine.is_empty());
        let equal = match class.sight() {
            LaneCoverage::Whole(MatchRelation::Equal) => true,
            LaneCoverage::Whole(MatchRelation::EqualOnAscii) => text.is_ascii(),
            _ => false,
        };
        assert!(!equal || found != mine.is_empty(), "said more in {text:?} by {:?}", name());
        for hit in mine {
            let mut from = 0;
            let told = entries.iter().any(|(to, scanned)| {
                // The match may be reported one entry later, because the byte after it may be needed to decide the
                // match.
                let touches = from <= hit.end && hit.start < *to;
                from = *to;
                touches && scanned.classes.contains(class.id)
            });
            assert!(told, "no entry of {entries:?} tells {hit:?} of {text:?} by {:?}", name());
        }
    }
}

#[test]
fn made_patterns_miss_nothing_and_add_nothing_where_equal() {
    let (packages, texts) = if is_long() { (2_000, 500) } else { (40, 60) };
    let mut counts = Counts::default();
    let (mut left_out, mut equal, mut classes) = (0, 0, 0);
    for seed in 0..packages {
        let mut random = Random::new(seed);
        let (manifest, files) = made::package(&mut random);
        let (source, phrases) = (lane_source(&manifest, &files).unwrap(), made::phrases(&files));
        let package = Package::new(manifest, files);
        for class in &package.compiled.classes {
            classes += 1;
            left_out += usize::from(!class.left_out.is_empty());
            equal += usize::from(matches!(
                class.sight(),
                LaneCoverage::Whole(MatchRelation::Equal | MatchRelation::EqualOnAscii)
            ));
        }
        for _ in 0..texts {
            let text = made::text(&mut random, &source, &phrases);
            check(&package, &mut random, &text, &mut counts);
        }
    }
    eprintln!(
        "{classes} patterns and vocabularies, {left_out} left to the host, {equal} equal; in {} texts {} bits of both, \
         {} of the lane alone",
        packages * texts,
        counts.hits,
        counts.more
    );
    assert!(left_out * 10 < classes && equal * 4 > classes && counts.hits > classes, "the test looks at too little");
}

#[test]
fn shipped_policies_miss_nothing_of_made_values() {
    let texts = if is_long() { 20_000 } else { 400 };
    for name in SHIPPED {
        let package = Package::shipped(name);
        let (source, phrases) = (package::source(name), package::phrases(name));
        let mut random = Random::new(7);
        let mut counts = Counts::default();
        for _ in 0..texts {
            let text = made::text(&mut random, &source, &phrases);
            check(&package, &mut random, &text, &mut counts);
        }
        eprintln!("{name}: {} bits of both, {} of the lane alone", counts.hits, counts.more);
        assert!(counts.hits > texts / 10, "{name}: the test looks at too little");
    }
}

/// A package with one class.
fn one_class(class: serde_json::Value, vocabulary: &str) -> Package {
    let manifest = serde_json::json!({
        "package": {"name": "made", "version": "1.0.0", "description": ""},
        "enumerations": {"domain": ["a"], "audience": ["a"], "temporal": ["a"], "register": ["a"]},
        "class": [class],
    });
    let files = [("v.txt".to_owned(), vocabulary.as_bytes().to_vec())];
    Package::new(serde_json::from_value(manifest).unwrap(), files.into())
}

/// What the mapping finds, the lane finds. Neither the texts nor the expectation come from the lane's own forms.
#[test]
fn hits_of_the_mapping_that_no_form_suggests() {
    let phrases = ["İbrahim Yılmaz", "risk -- free", "A--B -- C", "top-----secret", "ΟΔΟΣ ΑΣ", "groẞe Sache", "no İ"];
    let class = serde_json::json!({"name": "c", "vocabulary": ["v.txt"]});
    let package = one_class(class, &phrases.join("\n"));
    let texts = phrases.iter().flat_map(|phrase| {
        let cases =
            [phrase.to_string(), phrase.to_ascii_uppercase(), phrase.to_ascii_lowercase(), phrase.to_lowercase()];
        let joined = ["-", "  ", " - ", "\"", " ("].map(|joint| phrase.replace(' ', joint));
        cases.into_iter().chain(joined).map(|text| format!("It says: {text}."))
    });
    let (mut random, mut counts) = (Random::new(1), Counts::default());
    texts.for_each(|text| check(&package, &mut random, &text, &mut counts));
    assert!(counts.hits > 30, "the mapping finds {} of these", counts.hits);

    let regex = r"(?i)(?:[0-9a-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f]{0,4})";
    let class = serde_json::json!({"name": "c", "letters": "any", "pattern": [{"regex": regex, "validator": "ip"}]});
    let (package, mut counts) = (one_class(class, ""), Counts::default());
    assert!(package.compiled.classes[0].left_out.is_empty(), "{:?}", package.compiled.classes[0].left_out);
    for address in [
        "::ffff:192.0.2.1",
        "::FFFF:c000:201",
        "::ffff:0:0",
        "0::ffff:192.0.2.1",
        "0:0:0:0:0:ffff:c000:201",
        "2001:db8::1",
        "64:ff9b::192.0.2.33",
        "fe80::1",
        "ff02::fb",
        "2001:db8:1:2:3:4:5:6",
        "fd00::",
    ] {
        for text in [format!("at {address}."), format!("({address})"), format!(":{address} "), format!("1{address}")] {
            check(&package, &mut random, &text, &mut counts);
        }
    }
    assert!(counts.hits > 22, "the mapping finds {} of these", counts.hits);
}

/// An address, or something like one: domains, repositories, versions, words that follow without a space.
fn address(random: &mut Random) -> String {
    let users = ["git", "hg", "svn", "x.git", "jane", "Git", "gi", "a_git", "1", "é", "git "];
    let labels = ["b", "com", "co", "COM", "comx", "comThen", "b1", "com1", "acme", "de", "x-y", "xn--p1ai", "é", "рф"];
    let behind = ["", "", " ", ",", ".", ":a", ": a", ":/", "/", "_", "-", "@", "A", "1", ":\u{a0}", "é", "\n", "://"];
    let mut text = (*random.pick(&["", "", " ", "-", "_", "+", "ssh://", "(", "1", "a@b.co", "é"])).to_owned();
    text += *random.pick(&users);
    text += *random.pick(&["@", "@", "@", " @", "@ "]);
    let most = if random.one_in(8) { 9 } else { 3 };
    let count = random.within(1, most);
    let labels: Vec<&str> = (0..count).map(|_| *random.pick(&labels)).collect();
    text += &labels.join(".");
    text + *random.pick(&behind)
}

#[test]
fn a_list_of_domains_misses_no_address() {
    let local = r#"[^\s@<>()\[\]{},;:|"'\\/]{1,64}"#;
    let patterns = [
        (format!(r"(?u:{local}) ?@ ?(?:[a-zA-Z0-9-]{{1,36}}\.){{1,6}}[A-Za-z]{{2,24}}"), true),
        (format!(r"(?u:{local})@(?:[a-zA-Z0-9_]{{1,9}}\.){{1,2}}(?:xn--[a-z0-9]{{1,59}}|[a-z]{{2,24}})"), true),
        (r"[a-z0-9.]{1,9}@[a-z.]{4,40}".into(), false),
        (r"[a-z]{1,20}@[a-z.]{4,30}".into(), false),
        (r"(?u:[A-Za-z0-9.+\x{80}-\x{10FFFF}-]{1,2})@(?:[a-z]{1,9}\.){1,3}[a-z]{2,30}".into(), true),
        (r"[a-z]{1,9}@(?:[a-z]{1,9}\.){1,3}[a-z]{2,3}".into(), false),
    ];
    let texts = if is_long() { 100_000 } else { 2_000 };
    for ((regex, listed), seed) in patterns.into_iter().zip(0..) {
        let class = serde_json::json!({
            "name": "c",
            "private_domains": ["acme"],
            "pattern": [{"regex": regex, "validator": "email"}],
        });
        let (package, mut random, mut counts) = (one_class(class, ""), Random::new(seed), Counts::default());
        for text in ["git@b.рф now", "ana@abcdefghijklmnopqrstuvwxyz.comet", "git@host.com:x", "svn@x.中国"] {
            check(&package, &mut random, text, &mut counts);
        }
        for _ in 0..texts {
            let text: String = (0..random.within(1, 3)).map(|_| address(&mut random)).collect();
            check(&package, &mut random, &text, &mut counts);
        }
        let (hits, more) = (counts.hits, counts.more);
        eprintln!("{regex}: {hits} texts of both, {more} of the lane alone");
        assert!(hits > texts / 10 && (!listed || more < texts / 4), "{regex}: {hits} and {more}");
        // Every match counts where the end of a match does not show the whole last label.
        assert_eq!(package.walk.classes("jane@foo.jpg").iter().next().is_none(), listed, "{regex}");
    }
}

/// Numbers of orders, tickets and parts in groups of digits that are neither card nor account numbers.
fn harmless(random: &mut Random) -> String {
    let digits = |random: &mut Random, count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
    };
    let groups: Vec<String> = (0..random.within(1, 5))
        .map(|_| {
            let count = random.within(2, 6);
            digits(random, count)
        })
        .collect();
    let mark = *random.pick(&[" ", "-", "", ".", "/"]);
    format!(
        "{} {}{}",
        random.pick(&["Order", "ticket", "Part no.", "ref"]),
        groups.join(mark),
        random.pick(&["", ",", ".", "-A"])
    )
}

#[test]
fn a_superset_refuses_few_random_numbers_more() {
    let package = Package::shipped("pii");
    let (mut random, mut more) = (Random::new(3), 0);
    let texts = 20_000;
    for _ in 0..texts {
        let text = harmless(&mut random);
        let hits = package.mapper.written(&text);
        let lane = package.walk.classes(&text);
        let only = lane.iter().filter(|class| !hits.iter().any(|(_, id)| id == class)).count();
        more += usize::from(only > 0);
    }
    eprintln!("{more} of {texts} random numbers are refused by the lane alone");
    assert!(more * 100 < texts, "{more} of {texts} is a point or more");
}

#[test]
fn a_text_outside_an_alphabet_is_found_exactly() {
    let outside = r"(?u:[^\t\n\r -~À-ÖØ-öø-ÿ€–—‘-”…])";
    let manifest = serde_json::json!({
        "package": {"name": "made", "version": "1.0.0", "description": ""},
        "enumerations": {"domain": ["a"], "audience": ["a"], "temporal": ["a"], "register": ["a"]},
        "class": [{"name": "outside_alphabet", "view": false, "pattern": [{"regex": outside}]}],
    });
    let package = Package::new(serde_json::from_value(manifest).unwrap(), Default::default());
    let class = &package.compiled.classes[0];
    assert_eq!(class.sight(), LaneCoverage::Whole(MatchRelation::Equal));
    for (text, outside) in [
        ("Plain text: été, 5 €, “quoted” – fine…", false),
        ("full-width ４１１１", true),
        ("a look-alike: pаypal", true),
        ("in\u{200b}visible", true),
        ("no-break\u{a0}space", true),
        ("a control \u{7}", true),
    ] {
        assert_eq!(package.walk.classes(text).contains(class.id), outside, "{text}");
    }
    for c in ('\0'..=char::MAX).step_by(if is_long() { 1 } else { 37 }) {
        let text = format!("a{c}b");
        let hit = !package.mapper.written(&text).is_empty();
        assert_eq!(package.walk.classes(&text).contains(class.id), hit, "{c:?}");
    }
}

#[test]
fn tables_are_the_same_byte_for_byte_and_are_read_back() {
    for name in SHIPPED {
        let source = package::source(name);
        let tables = compile(&source, &LaneTableLimits::default()).tables;
        let bytes = tables.encode();
        assert_eq!(bytes, compile(&source, &LaneTableLimits::default()).tables.encode(), "{name}");
        assert_eq!(TextLaneTables::decode(&bytes), Ok(tables), "{name}");
    }
}

#[test]
fn what_does_not_fit_is_named_with_its_cost_and_a_remedy() {
    let source = package::source("pii");
    let compiled = compile(&source, &LaneTableLimits { engines: 1, states: 600, ..LaneTableLimits::default() });
    let phone = compiled.classes.iter().find(|class| class.name == "phone").unwrap();
    let left = phone.left_out.iter().find(|left| left.reason.contains("fits no engine")).unwrap();
    assert!(left.reason.contains(" states") && left.reason.contains("divide the pattern"), "{left:?}");
    assert!(source.classes.iter().flat_map(|class| &class.forms).any(|form| form.name == left.form));
    assert!(compiled.tables.states().all(|states| states <= 600));
}
