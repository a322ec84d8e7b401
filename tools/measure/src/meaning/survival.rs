//! Determines which words of a text were released.

use crate::judged::MeasuredJudgement;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Released,
    Withheld,
    /// The word is inert: it has no meaning of its own, and is released together with the words next to it.
    Inert,
}

/// The words of a text: maximal runs of letters and digits.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let tail = text.get(rest..)?;
        let start = rest + tail.find(char::is_alphanumeric)?;
        let end = text.get(start..)?.find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |n| start + n);
        rest = end;
        Some(start..end)
    })
}

/// Whether the word at `word` was released. If it was judged several times, an admit decides.
pub(crate) fn fate(judged: &MeasuredJudgement, word: &Range<usize>) -> Fate {
    let here = || judged.leaves.iter().filter(|l| l.range.start < word.end && word.start < l.range.end);
    let end = judged.leaves.iter().map(|l| l.range.end).max().unwrap_or(0);
    if here().any(|l| l.admitted) {
        Fate::Released
    } else if here().next().is_some() || judged.stopped.is_some() && word.start >= end {
        Fate::Withheld
    } else {
        Fate::Inert
    }
}

/// Whether all words were released.
pub(crate) fn whole(judged: &MeasuredJudgement, text: &str) -> bool {
    words(text).all(|w| fate(judged, &w) != Fate::Withheld)
}

/// The words that were not released, for the list of failures.
pub(crate) fn withheld(judged: &MeasuredJudgement, text: &str) -> String {
    let refused = judged.leaves.iter().filter(|l| !l.admitted);
    let mut list: Vec<String> =
        refused.map(|l| format!("{:?} by {}", text.get(l.range.clone()).unwrap_or_default(), l.rule)).collect();
    list.extend(judged.stopped.iter().map(|(why, _)| why.clone()));
    list.join("; ")
}

/// Words in lower case, for the comparison of released and expected text.
pub(crate) fn lowered(text: &str) -> Vec<String> {
    words(text).filter_map(|w| text.get(w)).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::Leaf;

    #[test]
    fn a_word_is_released_withheld_or_inert() {
        let text = "However, Ana sailed. Bo stayed. Cy left.";
        let leaf = |range, admitted| Leaf { candidate: 0, range, admitted, rule: String::new(), slope: 0 };
        let mut judged =
            MeasuredJudgement { leaves: vec![leaf(9..20, true), leaf(21..31, false)], ..MeasuredJudgement::default() };
        let fates = |judged: &MeasuredJudgement| words(text).map(|w| fate(judged, &w)).collect::<Vec<_>>();
        use Fate::{Inert, Released, Withheld};
        assert_eq!(fates(&judged), [Inert, Released, Released, Withheld, Withheld, Inert, Inert]);
        judged.stopped = Some(("drift_halt".to_owned(), 31));
        assert_eq!(fates(&judged), [Inert, Released, Released, Withheld, Withheld, Withheld, Withheld]);
        judged.leaves.push(leaf(21..31, true));
        assert_eq!(fates(&judged).get(3), Some(&Released), "a deferred span that was admitted later");
    }
}
