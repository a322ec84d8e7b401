//! Regular expressions of a package: compiles them, checks their bounds, and locates errors.

use crate::error::MappingError;
use portcullis_core::manifest::{ClassPattern, PatternBorder};
use regex_automata::MatchKind;
use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, RepetitionKind, RepetitionRange, Span};
use regex_syntax::hir::{Capture, ErrorKind, Hir, HirKind, LookSet, Repetition};
use std::ops::Range;

/// Largest allowed length of a match, in bytes.
const MATCH_MAX: usize = 1024;

/// Without `(?u)`, classes such as `\d` and `\b` mean ASCII only.
fn ascii() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(true)
}

/// A pattern of a class.
pub(crate) struct Bounded {
    pub(crate) regex: Regex,
    pub(crate) hir: Hir,
    /// Length in bytes of the pattern's longest match.
    pub(crate) longest: usize,
}

/// Compiles one pattern of a class.
pub(crate) fn bounded(class: &str, pattern: &ClassPattern, letters: PatternBorder) -> Result<Bounded, MappingError> {
    let bad = |problem: String, at: Option<Range<usize>>| bad(class, &pattern.regex, problem, at);
    let hir = syntax::parse_with(&pattern.regex, &ascii()).map_err(|e| syntax_error(class, &pattern.regex, &e))?;
    let hir = if letters == PatternBorder::Any { without_word_borders(hir) } else { hir };
    let longest = match (hir.properties().maximum_len(), unbounded(&pattern.regex)) {
        (Some(length), _) if length <= MATCH_MAX => length,
        (Some(length), _) => return Err(bad(format!("matches up to {length} bytes; the most is {MATCH_MAX}"), None)),
        (None, Some(at)) => {
            return Err(bad("repeats without an upper bound; write `{1,64}` in place of `+` or `*`".into(), Some(at)));
        }
        (None, None) => return Err(bad("can never match".into(), None)),
    };
    let config = Config::new().match_kind(MatchKind::LeftmostFirst);
    let regex = Regex::builder().configure(config).build_from_hir(&hir).map_err(|e| bad(e.to_string(), None))?;
    Ok(Bounded { regex, hir, longest })
}

/// Removes `\b`, so that a match may be adjacent to letters.
fn without_word_borders(hir: Hir) -> Hir {
    let all = |list: Vec<Hir>| list.into_iter().map(without_word_borders).collect();
    match hir.into_kind() {
        HirKind::Look(look) if LookSet::singleton(look).contains_word() => Hir::empty(),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Repetition(of) => Hir::repetition(Repetition { sub: Box::new(without_word_borders(*of.sub)), ..of }),
        HirKind::Capture(of) => Hir::capture(Capture { sub: Box::new(without_word_borders(*of.sub)), ..of }),
        HirKind::Concat(list) => Hir::concat(all(list)),
        HirKind::Alternation(list) => Hir::alternation(all(list)),
    }
}

/// Compiles an expression for a tool's arguments. Unbounded repetition is allowed, because arguments are complete.
pub(crate) fn of_tool(class: &str, regex: &str) -> Result<Regex, MappingError> {
    syntax::parse_with(regex, &syntax::Config::new()).map_err(|e| syntax_error(class, regex, &e))?;
    Regex::new(regex).map_err(|e| bad(class, regex, e.to_string(), None))
}

pub(crate) fn bad(class: &str, regex: &str, problem: String, at: Option<Range<usize>>) -> MappingError {
    MappingError::Pattern { class: class.to_owned(), regex: regex.to_owned(), problem, at }
}

/// The error without the drawing of the expression that the parser adds.
fn syntax_error(class: &str, regex: &str, error: &regex_syntax::Error) -> MappingError {
    let (problem, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), Some(error.span())),
        regex_syntax::Error::Translate(error) => {
            let problem = match error.kind() {
                ErrorKind::InvalidUtf8 => {
                    "it could match a part of a character: write `(?u:…)` round it, such as `(?u:.)` or `(?u:[^,])`"
                        .into()
                }
                ErrorKind::UnicodeNotAllowed => {
                    "a set that names characters outside ASCII needs `(?u:…)` round it, such as `(?u:[äö])`".into()
                }
                kind => kind.to_string(),
            };
            (problem, Some(error.span()))
        }
        _ => (error.to_string(), None),
    };
    bad(class, regex, problem, span.map(range))
}

fn range(span: &Span) -> Range<usize> {
    span.start.offset..span.end.offset
}

/// The first operator of an expression that repeats without a bound.
fn unbounded(regex: &str) -> Option<Range<usize>> {
    struct Finder(Option<Range<usize>>);

    impl ast::Visitor for Finder {
        type Output = Option<Range<usize>>;
        type Err = ();

        fn finish(self) -> Result<Self::Output, ()> {
            Ok(self.0)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
            if let Ast::Repetition(repetition) = ast
                && let RepetitionKind::ZeroOrMore
                | RepetitionKind::OneOrMore
                | RepetitionKind::Range(RepetitionRange::AtLeast(_)) = repetition.op.kind
            {
                self.0.get_or_insert(range(&repetition.op.span));
            }
            Ok(())
        }
    }

    let ast = Parser::new().parse(regex).ok()?;
    ast::visit(&ast, Finder(None)).ok().flatten()
}
