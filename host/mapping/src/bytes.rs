//! The bytes with which a pattern's matches begin, and bytes that every match contains.

use regex_syntax::hir::{Class, Hir, HirKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByteSet([bool; 256]);

impl ByteSet {
    pub(crate) fn none() -> Self {
        Self([false; 256])
    }

    pub(crate) fn holds(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(true)
    }

    fn add(&mut self, from: u8, to: u8) {
        self.0.iter_mut().take(usize::from(to) + 1).skip(usize::from(from)).for_each(|held| *held = true);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(held, other)| *held |= other);
    }

    /// Whether all bytes of the set are rare in prose: digits or ASCII punctuation.
    pub(crate) fn is_rare(&self) -> bool {
        let rare = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_punctuation();
        (0..=255).all(|byte| !self.holds(byte) || rare(byte))
    }

    fn of_class(class: &Class) -> Self {
        let mut set = Self::none();
        match class {
            Class::Bytes(class) => class.iter().for_each(|r| set.add(r.start(), r.end())),
            Class::Unicode(class) => {
                for range in class.iter() {
                    let byte = |c: char| u8::try_from(c).ok().filter(u8::is_ascii);
                    match (byte(range.start()), byte(range.end())) {
                        (Some(from), Some(to)) => set.add(from, to),
                        (Some(from), None) => set.add(from, 255),
                        _ => set.add(0x80, 255),
                    }
                }
            }
        }
        set
    }
}

/// The first bytes of possible matches, and whether a match can be empty.
pub(crate) fn first(hir: &Hir) -> (ByteSet, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (ByteSet::none(), true),
        HirKind::Literal(literal) => {
            let mut set = ByteSet::none();
            literal.0.first().iter().for_each(|byte| set.add(**byte, **byte));
            (set, literal.0.is_empty())
        }
        HirKind::Class(class) => (ByteSet::of_class(class), false),
        HirKind::Repetition(of) => {
            let (set, empty) = first(&of.sub);
            (set, empty || of.min == 0)
        }
        HirKind::Capture(of) => first(&of.sub),
        HirKind::Concat(list) => {
            let mut set = ByteSet::none();
            for part in list {
                let (bytes, empty) = first(part);
                set.join(&bytes);
                if !empty {
                    return (set, false);
                }
            }
            (set, true)
        }
        HirKind::Alternation(list) => {
            let mut of = (ByteSet::none(), false);
            for (bytes, empty) in list.iter().map(first) {
                of.0.join(&bytes);
                of.1 |= empty;
            }
            of
        }
    }
}

/// A set of rare bytes of which every match contains at least one, and the most bytes of a match before that byte.
pub(crate) fn pivot(hir: &Hir) -> Option<(ByteSet, usize)> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) => Some((first(hir).0, 0)).filter(|(set, _)| set.is_rare()),
        HirKind::Repetition(of) if of.min > 0 => pivot(&of.sub),
        HirKind::Capture(of) => pivot(&of.sub),
        HirKind::Concat(list) => {
            let mut before = 0;
            for part in list {
                if let Some((set, inside)) = pivot(part) {
                    return Some((set, before + inside));
                }
                before += part.properties().maximum_len()?;
            }
            None
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::util::syntax;

    fn hir(pattern: &str) -> Hir {
        syntax::parse_with(pattern, &syntax::Config::new().unicode(false)).unwrap()
    }

    #[test]
    fn first_bytes_and_pivots() {
        let starts = |pattern: &str| first(&hir(pattern)).0;
        let card = starts(r"\b\d(?:[ -]?\d){11,18}");
        assert!(card.is_rare() && card.holds(b'7') && !card.holds(b' '));
        assert!(!starts(r"x?\d").is_rare() && starts(r"x?\d").holds(b'1'));
        assert!(starts(r"(?u:[^a])").holds(0xc3));
        let (set, before) = pivot(&hir(r"[a-z]{1,64} ?@[a-z]{1,9}")).unwrap();
        assert!(set.holds(b'@') && !set.holds(b'a') && before == 65);
        let (set, before) = pivot(&hir(r"[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7}")).unwrap();
        assert!(set.holds(b':') && before == 4);
        assert_eq!(pivot(&hir(r"(?i)\bnot binding\b")), None);
        assert_eq!(pivot(&hir(r"(?:a@|b)c")), None);
    }
}
