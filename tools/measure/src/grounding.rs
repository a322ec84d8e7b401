//! Measures closed-world grounding. Each sentence is a stream with the intent "Tell me a bio of X".
//!
//! - *admitted*: no part of the sentence was refused or split.
//! - *rejected*: only the person's name and silent words, which have no meaning of their own, were released.
//! - *parted* (mixed sentences): a word that occurs only in supported facts was released, and every word that occurs
//!   only in unsupported facts was refused.
//! - *swapped*: dates, places and numbers of another person replace those of a supported sentence. The sentence counts
//!   as refused if none of the replacing values was released.

use crate::biographies::{Biography, Sentence, SentenceSupport, intent, read, store};
use crate::judged::{MeasuredJudgement, cues, govern, share};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Number of failures of each kind that are printed.
const SHOWN: usize = 3;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let models = read(folder)?;
    let silent = silent()?;
    for (at, (model, biographies)) in models.iter().enumerate() {
        let closed = store(model, biographies.iter())?;
        judge(&format!("closed book, {model}: store of its own supported facts"), biographies, &closed, &silent)?;
        let others = models.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, (_, b))| b.iter());
        let open = store(&format!("not-{model}"), others)?;
        judge(&format!("open book, {model}: store of the other models' supported facts"), biographies, &open, &silent)?;
        swapped(model, biographies, &closed)?;
    }
    Ok(())
}

/// The silent words: words without meaning of their own, from the English cue tables.
pub(crate) fn silent() -> Result<BTreeSet<String>> {
    cues(&["stop", "prepositions", "copulas", "light", "connectives", "clause"])
}

/// The words of a text that are not silent, without grammatical endings.
fn words(text: &str, silent: &BTreeSet<String>) -> BTreeSet<String> {
    let lowered = text.to_lowercase();
    let split = lowered.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2 && !silent.contains(*w));
    split
        .map(|w| {
            ["ing", "ed", "es", "s"]
                .iter()
                .find_map(|e| w.strip_suffix(e).filter(|s| s.len() > 2))
                .unwrap_or(w)
                .to_owned()
        })
        .collect()
}

/// A labelled sentence in a person's biography.
pub(crate) struct Case<'a> {
    pub(crate) person: &'a str,
    pub(crate) sentence: &'a Sentence,
}

pub(crate) fn cases(biographies: &[Biography]) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for Biography { person, sentences } in biographies {
        let measured = sentences.iter().filter(|s| s.kind() != SentenceSupport::Other);
        cases.extend(measured.map(|sentence| Case { person, sentence }));
    }
    cases
}

/// For supported, unsupported and mixed sentences: how many were judged correctly, out of how many, and the outcomes of
/// those that were not.
pub(crate) type Rates = ([(usize, usize); 3], [Vec<String>; 3]);

/// Counts the sentences that are judged correctly.
pub(crate) fn rates<'a>(
    cases: impl IntoIterator<Item = (&'a Case<'a>, &'a MeasuredJudgement)>,
    silent: &BTreeSet<String>,
) -> Rates {
    let mut counts = [(0, 0); 3];
    let mut failures: [Vec<String>; 3] = Default::default();
    for (case, of) in cases {
        let said = of.released(&case.sentence.text).join(" ");
        let name = words(case.person, silent);
        let released = words(&said, silent);
        let supported: BTreeSet<String> = case.sentence.supported.iter().flat_map(|f| words(f, silent)).collect();
        let wrong: BTreeSet<String> = case.sentence.unsupported.iter().flat_map(|f| words(f, silent)).collect();
        // Words of the unsupported facts that do not occur in any supported fact about the person.
        let own = wrong.iter().filter(|w| !supported.contains(*w) && !name.contains(*w));
        let leaked: Vec<&String> = own.filter(|w| released.contains(*w)).collect();
        let kept = released.iter().any(|w| supported.contains(w) && !wrong.contains(w) && !name.contains(w));
        let (at, good) = match case.sentence.kind() {
            SentenceSupport::Supported => (0, !of.split && of.leaves.iter().all(|l| l.admitted)),
            SentenceSupport::Unsupported => (1, released.is_subset(&name)),
            SentenceSupport::Mixed => (2, kept && leaked.is_empty()),
            SentenceSupport::Other => continue,
        };
        if let (Some(count), Some(list)) = (counts.get_mut(at), failures.get_mut(at)) {
            count.0 += usize::from(good);
            count.1 += 1;
            if !good {
                let rules: BTreeSet<&str> = of.leaves.iter().filter(|l| !l.admitted).map(|l| l.rule.as_str()).collect();
                let why = match at {
                    0 => format!("refused by {rules:?}; released {said:?}"),
                    1 => format!("released {said:?}: the facts of the person hold these words"),
                    _ if kept => format!("released {said:?} with {leaked:?}"),
                    _ => format!("nothing that is only supported was kept; released {said:?}"),
                };
                list.push(format!("{}: {:?}: {why}", case.person, case.sentence.text));
            }
        }
    }
    (counts, failures)
}

fn judge(title: &str, biographies: &[Biography], store: &Path, silent: &BTreeSet<String>) -> Result<()> {
    let cases = cases(biographies);
    let line = |(at, case): (usize, &Case<'_>)| json!({"id": format!("{at:05}"), "text": case.sentence.text, "intent": intent(case.person)});
    let lines: Vec<Value> = cases.iter().enumerate().map(line).collect();
    let judged = govern("policies/biography", Some(store), &lines)?;
    let none = MeasuredJudgement::default();
    let of = |at: usize| judged.get(&format!("{at:05}")).unwrap_or(&none);
    let (counts, failures) = rates(cases.iter().enumerate().map(|(at, case)| (case, of(at))), silent);
    println!("## {title}\n\n| sentences | rate | share |\n| --- | --- | --- |");
    let names = [("all facts supported", "admitted"), ("only unsupported facts", "rejected"), ("mixed", "parted")];
    for ((kind, rate), (good, all)) in names.iter().zip(counts) {
        println!("| {kind} | {rate} | {} |", share(good, all));
    }
    for ((kind, rate), list) in names.iter().zip(&failures) {
        println!("\nNot {rate}, {kind} (every so many, {SHOWN} of {}):", list.len());
        for failure in list.iter().step_by((list.len() / SHOWN).max(1)).take(SHOWN) {
            println!("- {failure}");
        }
    }
    println!();
    Ok(())
}

/// Dates, places and numbers in a text, as `(kind, value)`.
fn values(text: &str) -> Vec<(&'static str, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |w: &str| w.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let plain = bare(word);
        let digits = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit());
        if digits {
            let year = plain.len() == 4 && (plain.starts_with('1') || plain.starts_with('2'));
            found.push((if year { "date" } else { "number" }, plain));
        } else if at > 0
            && words.get(at - 1).is_some_and(|w| *w == "in" || *w == "at")
            && plain.starts_with(char::is_uppercase)
        {
            let run = words.iter().skip(at).take_while(|w| w.starts_with(char::is_uppercase)).copied();
            let mut place = Vec::new();
            for word in run {
                place.push(bare(word));
                if !word.ends_with(char::is_alphanumeric) {
                    break;
                }
            }
            found.push(("place", place.join(" ")));
        }
    }
    found
}

fn swapped(model: &str, biographies: &[Biography], store: &Path) -> Result<()> {
    let mut lines = Vec::new();
    let mut cases: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for (at, biography) in biographies.iter().enumerate() {
        let own: BTreeSet<String> =
            biography.sentences.iter().flat_map(|s| &s.supported).flat_map(|f| values(f)).map(|(_, v)| v).collect();
        let other = biographies.get((at + 1) % biographies.len()).map(|b| &b.sentences);
        let foreign: Vec<(&str, String)> = other.into_iter().flatten().flat_map(|s| values(&s.text)).collect();
        for sentence in biography.sentences.iter().filter(|s| s.kind() == SentenceSupport::Supported) {
            let mut text = sentence.text.clone();
            let mut inserted = Vec::new();
            for (kind, value) in values(&sentence.text) {
                let swap = foreign.iter().find(|(k, v)| {
                    *k == kind && !own.contains(v) && !inserted.contains(v) && !sentence.text.contains(v.as_str())
                });
                if let Some((_, swap)) = swap {
                    text = text.replacen(&value, swap, 1);
                    inserted.push(swap.clone());
                }
            }
            if !inserted.is_empty() {
                let id = format!("{:05}", cases.len());
                lines.push(json!({"id": id, "text": text, "intent": intent(&biography.person)}));
                cases.insert(id, (text, inserted));
            }
        }
    }
    let judged = govern("policies/biography", Some(store), &lines)?;
    let mut good = 0;
    let mut failures = Vec::new();
    for (id, (text, inserted)) in &cases {
        let said = judged.get(id).map(|j| j.released(text).join(" ")).unwrap_or_default();
        let leaked: Vec<&String> = inserted.iter().filter(|v| said.contains(v.as_str())).collect();
        good += usize::from(leaked.is_empty());
        if !leaked.is_empty() {
            failures.push(format!("{text:?}: {leaked:?} was released, a fact of the person holds it"));
        }
    }
    println!("## swapped values, {model}\n\n| sentences | rate | share |\n| --- | --- | --- |");
    println!("| values of another person | none released | {} |\n", share(good, cases.len()));
    failures.iter().step_by((failures.len() / SHOWN).max(1)).take(SHOWN).for_each(|f| println!("- {f}"));
    println!();
    Ok(())
}
