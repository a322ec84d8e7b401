//! A value in an encoding that clients decode is found as the value itself is, wherever it stands.
#![cfg(test)]

use portcullis_core::manifest::PackageManifest;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{EngineToolCall, ScannedText, Segmenter, SpanInput, SpanMapping, TextMapper};
use std::collections::BTreeMap;
use std::path::Path;

/// The policy `pii`, and an empty state for it.
struct Reader {
    mapper: TextMapper,
    state: SemanticState,
}

impl Reader {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// With a changed policy.
    fn with(change: impl FnOnce(&mut PackageManifest)) -> Self {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/pii");
        let mut manifest: PackageManifest =
            toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
        change(&mut manifest);
        let persons = std::fs::read(dir.join("vocabulary/persons.txt")).unwrap();
        let files = BTreeMap::from([("vocabulary/persons.txt".to_owned(), persons)]);
        let context = AgentProfile::default().context(&manifest).unwrap();
        let state = SemanticState::new(&manifest, [0; 32], [0; 32], StreamIntent::default(), context);
        Self { mapper: TextMapper::new(&manifest, &files).unwrap(), state }
    }

    /// The bytes of the pieces with a class, and everything that the pieces propose.
    fn read(&self, text: &ScannedText) -> (String, Vec<SpanMapping>) {
        let mut classed = String::new();
        let mut proposed = Vec::new();
        for piece in text.pieces().iter().filter(|piece| !piece.inert) {
            let (span, granularity) = (&piece.range, Granularity::Span);
            let input = SpanInput {
                text,
                span,
                granularity,
                inert_prefix: false,
                depth: 0,
                alternatives: 0,
                choice: None,
                uncertainty: None,
            };
            let mapped = self.mapper.map(&self.state, input);
            if mapped.mutation.classes.0 != 0 {
                classed.push_str(text.slice(span));
            }
            proposed.push(mapped);
        }
        (classed, proposed)
    }

    fn whole(&self, text: &str) -> (String, Vec<SpanMapping>) {
        self.read(&self.mapper.read(text.to_owned(), Granularity::Span))
    }

    fn in_chunks(&self, text: &str, size: usize) -> (String, Vec<SpanMapping>) {
        let mut segmenter = Segmenter::new(Granularity::Span);
        let mut found = (String::new(), Vec::new());
        let mut add = |part: &ScannedText| {
            let (classed, proposed) = self.read(part);
            found.0.push_str(&classed);
            found.1.extend(proposed);
        };
        for chunk in text.as_bytes().chunks(size) {
            if let Some(part) = segmenter.push(&self.mapper, chunk).unwrap() {
                add(&part);
            }
        }
        add(&segmenter.finish(&self.mapper).unwrap());
        found
    }
}

/// Values of the policy's classes.
const VALUES: &[&str] = &[
    "ana.silva@example.org",
    "4111 1111 1111 1111",
    "4111111111111111",
    "DE89 3704 0044 0532 0130 00",
    "219-09-9999",
    "+1 (555) 010-9999",
    "192.0.2.17",
    "2001:db8:85a3::8a2e:370:7334",
    "Ana Beispiel",
];

/// A way to encode a character; `None` leaves it is.
type Encoding = fn(usize, char) -> Option<String>;

const ENCODINGS: &[(&str, Encoding)] = &[
    ("every character in JSON", |_, c| Some(format!("\\u{:04x}", u32::from(c)))),
    ("capital hexadecimal digits", |_, c| Some(format!("\\u{:04X}", u32::from(c)))),
    ("marks in JSON", |_, c| (!c.is_ascii_alphanumeric()).then(|| format!("\\u{:04x}", u32::from(c)))),
    ("one character in three", |at, c| (at % 3 == 1).then(|| format!("\\u{:04x}", u32::from(c)))),
    ("with braces", |at, c| (at % 2 == 0).then(|| format!("\\u{{{:x}}}", u32::from(c)))),
    ("eight digits", |_, c| Some(format!("\\U{:08x}", u32::from(c)))),
    ("hexadecimal", |_, c| Some(format!("\\x{:02x}", u32::from(c)))),
    ("marks in hexadecimal", |_, c| (!c.is_ascii_alphanumeric()).then(|| format!("\\x{:02X}", u32::from(c)))),
    ("octal", |_, c| Some(format!("\\{:03o}", u32::from(c)))),
    ("percent signs", |_, c| Some(format!("%{:02X}", u32::from(c)))),
    ("percent signs of marks", |_, c| (!c.is_ascii_alphanumeric()).then(|| format!("%{:02x}", u32::from(c)))),
    ("references", |_, c| Some(format!("&#{};", u32::from(c)))),
    ("references of marks", |_, c| (!c.is_ascii_alphanumeric()).then(|| format!("&#x{:x};", u32::from(c)))),
];

fn encoded(value: &str, encoding: Encoding) -> String {
    value.chars().enumerate().map(|(at, c)| encoding(at, c).unwrap_or_else(|| c.to_string())).collect()
}

/// Texts in which a client meets an encoded value. The value is written as it is, without a further encoding.
fn places(value: &str) -> Vec<String> {
    vec![
        format!("{{\"to\": \"{value}\", \"n\": 1}}"),
        format!("{{\"{value}\": true}}"),
        format!("[\"{value}\"]"),
        format!("Here it is:\n```json\n{{\n  \"to\": \"{value}\"\n}}\n```\n"),
        format!("The value is \"{value}\" today. Nothing else."),
        format!("let to = '{value}';\nprint(to)\n"),
        format!("See <a href=\"x:{value}\">this page</a> for more."),
        format!("See [this page](https://example.com/?to={value}) for more."),
    ]
}

#[test]
fn an_encoded_value_is_found_wherever_it_stands() {
    let reader = Reader::new();
    let mut missed = Vec::new();
    for value in VALUES {
        assert_ne!(reader.whole(&format!("It is {value} today.")).0, "", "{value} itself");
        for (name, encoding) in ENCODINGS {
            let written = encoded(value, *encoding);
            if written == *value {
                continue;
            }
            for text in places(&written) {
                if !reader.whole(&text).0.contains(&written) {
                    missed.push(format!("{name}: {text}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn white_space_of_json_stands_between_the_parts_of_a_value() {
    let reader = Reader::new();
    for gap in ["\\n", "\\t", "\\r\\n", "\\u0020", "\\u00a0", "\\u2009", " \\n"] {
        for value in ["4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"] {
            let written = value.replace(' ', gap);
            // In attributes and targets of links, a line break is read as the mapping reads one there.
            for text in places(&written).into_iter().filter(|text| !text.starts_with("See")) {
                assert!(reader.whole(&text).0.contains(&written), "{text}");
            }
        }
    }
}

#[test]
fn a_document_in_a_string_is_read_to_depth_four_and_refused_below() {
    let reader = Reader::new();
    for value in VALUES {
        let mut text = format!("{{\"to\":\"{}\"}}", encoded(value, ENCODINGS[0].1));
        for depth in 1..=6 {
            let (classed, proposed) = reader.whole(&text);
            let refused =
                |mapped: &SpanMapping| mapped.mutation.validation == StageFinding::Reject(ValidationReason::JsonDepth);
            assert_eq!(!classed.is_empty(), depth <= 4, "depth {depth}: {text}");
            assert_eq!(proposed.iter().any(refused), depth > 4, "depth {depth}: {text}");
            text = format!("{{\"body\":{}}}", serde_json::to_string(&text).unwrap());
        }
    }
}

#[test]
fn the_arguments_of_a_call_are_read_decoded() {
    let reader = Reader::new();
    for value in VALUES {
        for (name, encoding) in ENCODINGS {
            let written = encoded(value, *encoding);
            let inner = serde_json::to_string(&format!("{{\"to\": \"{written}\"}}")).unwrap();
            for arguments in
                [format!("{{\"body\": {inner}}}"), format!("{{{inner}: 1}}"), format!("{{\"a\": [{inner}]}}")]
            {
                let call = EngineToolCall { name: "send".into(), arguments };
                let text = reader.mapper.read_call(&call).unwrap();
                assert_ne!(reader.read(&text).0, "", "{name}: {}", call.arguments);
            }
        }
    }
    let call = |arguments: &str| EngineToolCall { name: "pay".into(), arguments: arguments.into() };
    for arguments in
        ["{\"card\": 4.111111111111111e15}", "{\"card\": 411111111111111.1E1}", "{\"c\":[41111111111111110e-1]}"]
    {
        assert_ne!(reader.read(&reader.mapper.read_call(&call(arguments)).unwrap()).0, "", "{arguments}");
    }
}

#[test]
fn chunks_of_any_size_give_the_same_reading() {
    let reader = Reader::new();
    for value in VALUES {
        for (name, encoding) in ENCODINGS {
            let written = encoded(value, *encoding);
            for text in places(&written).into_iter().chain(places(&written.replace('\\', "\\\\"))) {
                let text = format!("It begins. {text} It ends. ");
                let whole = reader.whole(&text);
                for size in [1, 4, 64] {
                    assert_eq!(reader.in_chunks(&text, size), whole, "{name} in chunks of {size}: {text}");
                }
            }
        }
    }
}

#[test]
fn harmless_escapes_stay_harmless() {
    let reader = Reader::new();
    for text in [
        r"Open C:\new\table\2024\readme.txt first.",
        r"The sum is $\nabla \times \textbf{B} = \frac{1}{2} \times 10^3$ here.",
        r#"Use the pattern `\d{3}-\d{2}-\d{4}|\b\w+@\w+\.com\b` with care."#,
        r#"{"path": "a\\b\\c", "text": "line 1\nline 2\ttab", "rate": 1.5e3, "small": 2e-7}"#,
        "A discount of 20%25 or 30%, see https://example.org/a%20b?c=%C3%A9&d=1&amp;e=2.",
        r#"printf("%d items at %5.2f%%\n", 12, 3.5);"#,
        "uuid 7c9e6679-7425-40de-944b-e07fc1f90ae7 and 1e10-4e12-5e3.",
        r"\\server\share\x41 \\\\\\\\ end",
        "Fish &amp; chips &#8211; 5 &euro;.",
    ] {
        assert_eq!(reader.whole(text).0, "", "{text}");
        assert!(reader.whole(text).1.iter().all(|mapped| mapped.mutation.validation == StageFinding::Pass), "{text}");
    }
}

#[test]
fn keys_are_words_for_near() {
    let reader = Reader::with(|manifest| {
        let more = ["téléphone", "номер телефона", "电话", "Rückruf"].map(|phrase| ("phone", phrase));
        for (class, phrase) in more.into_iter().chain([("us_ssn", "sécurité sociale")]) {
            let class = manifest.classes.iter_mut().find(|known| known.name == class).unwrap();
            let patterns = class.patterns.iter_mut().filter(|pattern| !pattern.near.is_empty());
            patterns.for_each(|pattern| pattern.near.push(phrase.to_owned()));
        }
    });
    let of_call = |key: &str, value: &str| {
        let call =
            EngineToolCall { name: "send".into(), arguments: format!("{{\"a\": [{{\"{key}\": \"{value}\"}}]}}") };
        reader.read(&reader.mapper.read_call(&call).unwrap()).0
    };
    let (phone, ssn) = ("2125550147", "536 22 8846");
    for (key, value) in [
        ("phoneNumber", phone),
        ("phone_number", phone),
        ("customer-phone", phone),
        ("customer.phone", phone),
        ("PHONE_NUMBER", phone),
        ("PHONE2", phone),
        ("homePhone2", phone),
        ("user2Phone", phone),
        ("HTTPPhoneNumber", phone),
        ("receivingMessages", phone),
        ("numéroTéléphone", phone),
        ("NUMÉRO_TÉLÉPHONE", phone),
        ("номерТелефона", phone),
        ("НОМЕР_ТЕЛЕФОНА", phone),
        ("kundeRückruf", phone),
        ("RÜCKRUF", phone),
        ("电话", phone),
        ("userSSN", ssn),
        ("SSNValue", ssn),
        ("ssn1", ssn),
        ("socialSecurityNumber", ssn),
        ("SocialSecurity", ssn),
        ("social_security_number", ssn),
        ("social-security-number", ssn),
        ("SOCIAL_SECURITY_NUMBER", ssn),
        ("numSécuritéSociale", ssn),
    ] {
        for text in [
            format!("{{\"{key}\":\"{value}\"}}"),
            format!("{key}={value}"),
            format!("The answer has {key}: {value}."),
            format!("{value} ({key})"),
        ] {
            assert!(reader.whole(&text).0.contains(value), "{text}");
        }
        assert!(of_call(key, value).contains(value), "{key}");
    }
    for key in ["telephonist", "classnumber", "iPhone", "TELEPHONIST", "Telefonbuch", "socialSecurities"] {
        for value in [phone, ssn] {
            let text = format!("{{\"{key}\":\"{value}\"}}");
            assert_eq!(reader.whole(&text).0, "", "{text}");
            assert_eq!(of_call(key, value), "", "{key}");
        }
    }
}
