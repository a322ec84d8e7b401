//! General rules that turn an expression into one with a smaller automaton. No form is simplified by hand.
//!
//! [`cut`] keeps the first end of every match. [`widen`] makes an expression with more matches, and the compiler
//! reports that the form was widened.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

/// Removes optional repetitions at the beginning and at the end of an expression.
///
/// A match of `X{m,n}Y` ends with a match of `X{m}Y`, and a match of `YX{m,n}` begins with a match of `YX{m}`. So a
/// search from every place finds the same first ends. The caller ensures that the form has neither a border nor a
/// check.
pub(crate) fn cut(hir: &Hir) -> Hir {
    at_end(&at_start(hir))
}

fn at_start(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Repetition(of) => at_repetition(of, at_start),
        HirKind::Capture(of) => at_start(&of.sub),
        HirKind::Alternation(list) => Hir::alternation(list.iter().map(at_start).collect()),
        HirKind::Concat(list) => {
            let mut rest = list.iter();
            let mut parts = Vec::new();
            for part in rest.by_ref() {
                let part = at_start(part);
                if !matches!(part.kind(), HirKind::Empty) {
                    parts.push(part);
                    break;
                }
            }
            parts.extend(rest.cloned());
            Hir::concat(parts)
        }
        _ => hir.clone(),
    }
}

fn at_end(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Repetition(of) => at_repetition(of, at_end),
        HirKind::Capture(of) => at_end(&of.sub),
        HirKind::Alternation(list) => Hir::alternation(list.iter().map(at_end).collect()),
        HirKind::Concat(list) => {
            let mut rest = list.iter().rev();
            let mut parts = Vec::new();
            for part in rest.by_ref() {
                let part = at_end(part);
                if !matches!(part.kind(), HirKind::Empty) {
                    parts.push(part);
                    break;
                }
            }
            parts.extend(rest.cloned());
            parts.reverse();
            Hir::concat(parts)
        }
        _ => hir.clone(),
    }
}

fn at_repetition(of: &Repetition, inside: impl Fn(&Hir) -> Hir) -> Hir {
    match of.min {
        0 => Hir::empty(),
        1 => inside(&of.sub),
        min => Hir::repetition(Repetition { min, max: Some(min), greedy: of.greedy, sub: of.sub.clone() }),
    }
}

/// How much an expression is widened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    /// Repetitions of more than this number become unbounded.
    pub(crate) most: u32,
    /// Whether a set that contains non-ASCII characters is extended to all non-ASCII characters.
    pub(crate) any_wide: bool,
}

impl Width {
    /// Not widened.
    pub(crate) const WRITTEN: Self = Self { most: u32::MAX, any_wide: false };

    /// The widths to try, the narrowest first.
    pub(crate) const LADDER: [Self; 6] = [
        Self::WRITTEN,
        Self { most: 16, any_wide: false },
        Self { most: 6, any_wide: false },
        Self { most: 4, any_wide: false },
        Self { most: 2, any_wide: true },
        Self { most: 1, any_wide: true },
    ];
}

/// An expression that matches everything that `hir` matches, and possibly more.
pub(crate) fn widen(hir: &Hir, width: Width) -> Hir {
    if width == Width::WRITTEN {
        return hir.clone();
    }
    let all = |list: &[Hir]| list.iter().map(|part| widen(part, width)).collect();
    match hir.kind() {
        HirKind::Repetition(of) => {
            let bounded = of.max.is_some_and(|max| max <= width.most);
            let (min, max) = if bounded { (of.min, of.max) } else { (of.min.min(width.most), None) };
            Hir::repetition(Repetition { min, max, greedy: of.greedy, sub: Box::new(widen(&of.sub, width)) })
        }
        HirKind::Capture(of) => widen(&of.sub, width),
        HirKind::Alternation(list) => Hir::alternation(all(list)),
        HirKind::Concat(list) => Hir::concat(all(list)),
        HirKind::Class(Class::Unicode(class)) if width.any_wide => {
            let mut class = class.clone();
            if class.iter().any(|range| !range.end().is_ascii()) {
                class.union(&ClassUnicode::new([ClassUnicodeRange::new('\u{80}', char::MAX)]));
            }
            Hir::class(Class::Unicode(class))
        }
        _ => hir.clone(),
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
    fn what_is_cut() {
        for (written, short) in [
            ("a{1,64}@b{2,9}", "a@b{2}"),
            ("a?b?c", "c"),
            ("x(?:a?|b{1,3})", "x(?:|b)"),
            ("(?:ab?){2,5}", "(?:ab?){2}"),
            (r"\bfoo\b", r"\bfoo\b"),
        ] {
            assert_eq!(cut(&hir(written)), hir(short), "{written}");
        }
    }

    #[test]
    fn what_is_widened() {
        let width = Width { most: 3, any_wide: false };
        assert_eq!(widen(&hir("a{1,36}b{0,3}c{9}"), width), hir("a{1,}b{0,3}c{3,}"));
        let wide = widen(&hir("(?u:[aä])"), Width { most: 3, any_wide: true });
        assert_eq!(wide, hir(r"(?u:[a\x{80}-\x{10FFFF}])"));
    }
}
