//! E-mail addresses: after the `@`, a label behind a full stop is a top-level domain. No address is the place of a
//! repository, `git@host:path`.
//!
//! The check accepts more than the mapping: every label with a capital letter or a character outside ASCII (an
//! automaton for both cases needs twice as many classes of bytes), every label that begins with `xn--`, versions, units
//! of an init system, decorators, and hosts that a command before them logs in to.

use super::{CheckState, FormCheckResult};
use crate::context::is_user;
use regex_syntax::hir::{Class, Hir, HirKind};
use std::collections::BTreeMap;

/// Before the `@`, in a user name that is not the beginning of one of [`REPOSITORIES`].
const LOCAL: CheckState = 0;
/// In the first label, which is not a top-level domain.
const FIRST: CheckState = 1;
/// In a label that is not a top-level domain and not the beginning of one.
const OTHER: CheckState = 2;
/// Behind a top-level domain: the address is complete.
const FOUND: CheckState = 3;
/// A match would begin inside a user name.
const INSIDE: CheckState = 4;
/// In the host of a repository.
const HOST: CheckState = 5;
/// Behind the host, in more labels.
const HOST_REST: CheckState = 6;
/// Behind a host and a colon.
const COLON: CheckState = 7;
/// The beginning of a user name; three states for each of [`REPOSITORIES`] follow, by the number of letters.
const USER: CheckState = 8;
/// The beginning of a label; the nodes of the names follow.
const ROOT: CheckState = 32;

/// User names of version control systems, as in the mapping.
const REPOSITORIES: [&[u8]; 3] = [b"git", b"hg", b"svn"];
const LETTERS: [(char, char); 2] = [('A', 'Z'), ('a', 'z')];
/// The characters of a user name, as [`is_user`] has them.
const USER_NAME: [(char, char); 6] =
    [('+', '+'), ('-', '.'), ('0', '9'), ('A', 'Z'), ('a', 'z'), ('\u{80}', char::MAX)];
/// Largest number of letters of one of [`REPOSITORIES`].
const MOST_LETTERS: CheckState = 3;

/// Every label with this beginning is a name in another script (RFC 5890, section 2.3.2.1).
const IN_ASCII: &str = "xn--";
/// Stands for any rest of a label. No label has this byte.
const ANY: u8 = 0xff;
/// Stands for any small letter. No label has this byte.
const LETTER: u8 = 0xfe;

/// The names that end an address, as an automaton over their letters in which equal rests are one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DomainNames {
    nodes: Vec<DomainNode>,
    longest: u32,
    /// Whether a match begins with a whole user name.
    pub(crate) has_users: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct DomainNode {
    /// Whether a name ends here.
    ends: bool,
    /// The next letters, in order, each with its node.
    next: Vec<(u8, usize)>,
}

impl DomainNames {
    /// Of a name with more than `most` letters, only so many are compared, and the number of the others.
    pub(crate) fn new(names: &[String], most: usize) -> Self {
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        let compared = |name: &String| {
            let mut name = name.to_ascii_lowercase().into_bytes();
            name.iter_mut().skip(most).for_each(|letter| *letter = LETTER);
            name
        };
        let in_ascii = [IN_ASCII.as_bytes(), &[ANY]].concat();
        let compared: Vec<Vec<u8>> = names.iter().map(compared).chain([in_ascii]).collect();
        let all: Vec<&[u8]> = compared.iter().map(Vec::as_slice).collect();
        let mut nodes = vec![DomainNode::default()];
        let root = node(&all, &mut BTreeMap::new(), &mut nodes);
        if let Some(first) = nodes.first_mut() {
            *first = root;
        }
        Self { nodes, longest: u32::try_from(longest).unwrap_or(u32::MAX), has_users: false }
    }

    fn node(&self, state: CheckState) -> Option<&DomainNode> {
        self.nodes.get(state.checked_sub(ROOT)? as usize)
    }

    /// Whether a match ends with a whole label wherever a name ends in front of a small letter. Only then may the check
    /// decide by the letter that follows.
    pub(crate) fn apply_to(&self, hir: &Hir) -> bool {
        match hir.kind() {
            HirKind::Capture(of) => self.apply_to(&of.sub),
            HirKind::Alternation(list) => list.iter().all(|part| self.apply_to(part)),
            HirKind::Concat(list) => list.last().is_some_and(|last| self.apply_to(last)),
            HirKind::Repetition(of) => {
                // A set with the full stop takes several labels, so that its bound may end it inside the last one.
                holds(&of.sub, &[('a', 'z')])
                    && !holds(&of.sub, &[('.', '.')])
                    && of.greedy
                    && of.max.is_none_or(|max| max > self.longest)
            }
            _ => false,
        }
    }

    /// The names for a form, as `written` and `widened`. If every match could also begin with a whole user name and end
    /// with its host, the name is read.
    pub(crate) fn with_users_of(self, written: &Hir, widened: &Hir) -> Self {
        Self { has_users: takes_users(written) && has_whole_users(widened), ..self }
    }

    pub(super) const fn start(&self, inside: bool) -> CheckState {
        match (self.has_users, inside) {
            (true, true) => INSIDE,
            (true, false) => USER,
            (false, _) => LOCAL,
        }
    }

    /// `None` if a match with this beginning is left to the match that begins earlier.
    pub(super) fn step(&self, state: CheckState, byte: u8) -> Option<CheckState> {
        match state {
            INSIDE => None,
            USER..ROOT => Some(in_user(state, byte)),
            LOCAL if self.has_users => Some(in_user(state, byte)),
            _ => Some(self.in_domain(state, byte)),
        }
    }

    fn in_domain(&self, state: CheckState, byte: u8) -> CheckState {
        match (state, byte) {
            (LOCAL, b'@') => FIRST,
            (LOCAL | FOUND, _) => state,
            (HOST, _) if is_host(byte) => HOST,
            // A label in another script may be the name at the end.
            (HOST, 0x80..) => FOUND,
            (FIRST, b'.') => ROOT,
            (FIRST | HOST, _) => FIRST,
            (_, 0x80.. | b'A'..=b'Z') => FOUND,
            (OTHER, b'.') => ROOT,
            (OTHER, _) => OTHER,
            _ => self.in_label(state, byte),
        }
    }

    fn in_label(&self, state: CheckState, byte: u8) -> CheckState {
        // What is unknown is reported.
        let Some(node) = self.node(state) else { return FOUND };
        let reads = |next: u8| next == byte || next == LETTER && byte.is_ascii_lowercase();
        match node.next.iter().find(|(next, _)| reads(*next)) {
            Some((_, next)) if self.nodes.get(*next).is_some_and(DomainNode::is_any) => FOUND,
            Some((_, next)) => u32::try_from(*next).map_or(FOUND, |next| ROOT + next),
            None if node.ends && !byte.is_ascii_lowercase() => FOUND,
            None if byte == b'.' => ROOT,
            None => OTHER,
        }
    }

    pub(super) fn ends(&self, state: CheckState, next: Option<u8>) -> FormCheckResult {
        let small = next.is_some_and(|byte| byte.is_ascii_lowercase());
        match (state, next) {
            (HOST | HOST_REST, Some(b':')) => FormCheckResult::Open(COLON),
            (HOST | HOST_REST, Some(byte)) if is_host(byte) => FormCheckResult::Open(HOST_REST),
            (HOST | HOST_REST, _) => FormCheckResult::Accepted,
            (COLON, Some(byte)) if byte.is_ascii() && !is_space(byte) => FormCheckResult::Refused,
            (COLON, _) => FormCheckResult::Accepted,
            _ if self.node(state).is_some_and(|node| node.ends) && !small => FormCheckResult::Accepted,
            _ => FormCheckResult::Refused,
        }
    }
}

pub(super) const fn is_decided(state: CheckState) -> bool {
    state == FOUND
}

/// The state after a byte of the local part.
fn in_user(state: CheckState, byte: u8) -> CheckState {
    let read = state.checked_sub(USER + 1).map(|at| (at / MOST_LETTERS, at % MOST_LETTERS + 1));
    let user = |of: CheckState| REPOSITORIES.get(of as usize).copied().unwrap_or_default();
    match byte {
        b'@' => match read {
            Some((of, letters)) if user(of).len() == letters as usize => HOST,
            _ => FIRST,
        },
        _ if !is_user(byte) => USER,
        _ => {
            let next = match read {
                Some((of, letters)) => (user(of).get(letters as usize) == Some(&byte)).then_some((of, letters)),
                None if state == USER => {
                    (0..).zip(REPOSITORIES).find(|(_, user)| user.first() == Some(&byte)).map(|(of, _)| (of, 0))
                }
                None => None,
            };
            next.map_or(LOCAL, |(of, letters)| USER + 1 + of * MOST_LETTERS + letters)
        }
    }
}

const fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

/// White space in ASCII, as Unicode has it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Whether an expression begins with a repetition that takes every character of a user name, and may take one alone,
/// and can end with every label but the first. Then a match that begins inside a user name ends where one ends that
/// begins with the name, and what follows a host is known where the host ends.
fn has_whole_users(hir: &Hir) -> bool {
    let HirKind::Concat(list) = hir.kind() else { return false };
    let unbounded = |part: &Hir| match part.kind() {
        HirKind::Repetition(of) if of.min <= 1 && of.max.is_none() => Some(of.sub.clone()),
        _ => None,
    };
    let takes = |part: &Hir, ranges: &[(char, char)]| unbounded(part).is_some_and(|sub| holds(&sub, ranges));
    let ends = |part: &Hir| match part.kind() {
        HirKind::Alternation(list) => list.iter().any(|part| takes(part, &LETTERS)),
        _ => takes(part, &LETTERS),
    };
    match list.as_slice() {
        [first, .., labels, last] => takes(first, &USER_NAME) && unbounded(labels).is_some() && ends(last),
        _ => false,
    }
}

/// Whether the first repetition of an expression takes at least the letters of each of [`REPOSITORIES`].
fn takes_users(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Capture(of) => takes_users(&of.sub),
        HirKind::Concat(list) => list.first().is_some_and(takes_users),
        HirKind::Repetition(of) => of.max.is_none_or(|max| max >= MOST_LETTERS),
        _ => false,
    }
}

/// Whether an expression is a set that holds all of these ranges.
fn holds(hir: &Hir, ranges: &[(char, char)]) -> bool {
    let HirKind::Class(class) = hir.kind() else { return false };
    ranges.iter().all(|(from, to)| match class {
        Class::Unicode(class) => class.iter().any(|range| range.start() <= *from && *to <= range.end()),
        Class::Bytes(class) => {
            class.iter().any(|range| char::from(range.start()) <= *from && *to <= char::from(range.end()))
        }
    })
}

impl DomainNode {
    /// Whether every label with this beginning is a name.
    fn is_any(&self) -> bool {
        self.next.iter().any(|(byte, _)| *byte == ANY)
    }
}

/// The node for these rests of names. The nodes after it are added, equal ones once.
fn node(names: &[&[u8]], known: &mut BTreeMap<DomainNode, usize>, nodes: &mut Vec<DomainNode>) -> DomainNode {
    let mut made = DomainNode { ends: names.iter().any(|name| name.is_empty()), next: Vec::new() };
    let mut rests: BTreeMap<u8, Vec<&[u8]>> = BTreeMap::new();
    for name in names {
        if let Some((first, rest)) = name.split_first() {
            rests.entry(*first).or_default().push(rest);
        }
    }
    for (letter, rests) in rests {
        let next = node(&rests, known, nodes);
        let at = *known.entry(next.clone()).or_insert_with(|| {
            nodes.push(next);
            nodes.len() - 1
        });
        made.next.push((letter, at));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::util::syntax;

    fn hir(pattern: &str) -> Hir {
        syntax::parse_with(pattern, &syntax::Config::new().unicode(false)).unwrap()
    }

    #[test]
    fn a_label_behind_a_full_stop_is_a_name() {
        let names = DomainNames::new(&["com", "co", "de", "museum"].map(String::from), 63);
        let found = |text: &str, next: Option<u8>| {
            let state = text.bytes().try_fold(LOCAL, |state, byte| names.step(state, byte)).unwrap();
            is_decided(state) || names.ends(state, next) == FormCheckResult::Accepted
        };
        for text in ["a@b.com", "a@b.CO", "a @ b.x.de", "a@com.de", "a@b.xn--p1ai", "a@b.co-x.y", "a@b.\u{440}\u{444}"]
        {
            assert!(found(text, None), "{text}");
        }
        for text in
            ["com.de", "a@com", "a@b.jpg", "a@b.comx", "a@b.py1x.y", "a@b.muse", "a@b.xn-", "a@b.c.o", "a.com@b"]
        {
            assert!(!found(text, None), "{text}");
        }
        // The small letter belongs to the label; a capital begins the next sentence.
        assert_eq!([b'm', b'M', b' ', b'.'].map(|next| found("a@b.co", Some(next))), [false, true, true, true]);
    }

    #[test]
    fn of_a_long_name_the_first_letters_and_the_length_count() {
        let names = DomainNames::new(&["services", "serif", "se"].map(String::from), 4);
        let found = |text: &str| {
            let state = text.bytes().try_fold(LOCAL, |state, byte| names.step(state, byte)).unwrap();
            is_decided(state) || names.ends(state, None) == FormCheckResult::Accepted
        };
        for (label, is_name) in [
            ("services", true),
            ("servings", true),
            ("service", false),
            ("servicess", false),
            ("serix", true),
            ("ser", false),
            ("se", true),
        ] {
            assert_eq!(found(&format!("a@b.{label}")), is_name, "{label}");
        }
    }

    #[test]
    fn the_letter_behind_a_match_decides_only_where_the_match_takes_all_letters() {
        let names = DomainNames::new(&["com".to_owned()], 63);
        for pattern in [r"\w{1,9}@(?:x\.){1,6}(?:xn--[A-Za-z0-9-]{1,59}|[A-Za-z]{2,24})", r"@[a-z.]{2,9}\.[a-z]{2,}"] {
            assert!(names.apply_to(&hir(pattern)), "{pattern}");
        }
        for pattern in
            [r"\w{1,9}@x\.com", "@[a-z.]{4,30}", "@[a-z]{2,24}?", "@x[.]([a-f]{2,24}|[a-z]{2,24})", "@x[.][a-z]{2,3}"]
        {
            assert!(!names.apply_to(&hir(pattern)), "{pattern}");
        }
    }

    #[test]
    fn a_repository_is_a_whole_user_name_a_host_and_a_path() {
        let names = DomainNames { has_users: true, ..DomainNames::new(&["com".to_owned()], 63) };
        let found = |text: &str, rest: &str| {
            let mut state = text.bytes().try_fold(USER, |state, byte| names.step(state, byte)).unwrap();
            if is_decided(state) {
                return true;
            }
            for next in rest.bytes().map(Some).chain([None]) {
                match names.ends(state, next) {
                    FormCheckResult::Open(then) => state = then,
                    result => return result == FormCheckResult::Accepted,
                }
            }
            false
        };
        for (text, rest) in [("git@b.com", ":a"), ("hg@b", ".com:a"), ("(svn@b.com", ".x:/"), ("a/git@b.x", ":22")] {
            assert!(!found(text, rest), "{text}{rest}");
        }
        for (text, rest) in [
            ("git@b.com", ": a"),
            ("git@b.com", ""),
            ("git@b.com", ", a"),
            ("gi@b.com", ":a"),
            ("x.git@b.com", ":a"),
            ("gitx@b.com", ":a"),
            ("git @b.com", ":a"),
            ("git@b.com", "_x:a"),
            ("git@b_.com", ":a"),
            ("git@b.\u{440}\u{444}", " a"),
        ] {
            assert!(found(text, rest), "{text}{rest}");
        }
        assert_eq!(names.step(names.start(true), b'g'), None);
    }
}
