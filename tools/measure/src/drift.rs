//! Spliced drift: sentences of a biography B follow those of a biography A. The store has the supported facts of both,
//! so the closed world alone does not stop B.
//!
//! - *delay*: position in B, from 1, of the first sentence that ends the stream or has a refused part.
//! - *false halt*: drift ends the stream of a biography that was not spliced.

use crate::biographies::{Biography, SentenceSupport, intent, read, store};
use crate::judged::{MeasuredJudgement, govern, share};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn run(folder: &Path) -> Result<()> {
    tables(&read(folder)?, |model, biographies, lines| {
        govern("policies/biography", Some(&store(model, biographies.iter())?), lines)
    })
}

/// Prints the tables of each model. `judge` judges lines `{"id", "text", "intent"}` with a store of the given
/// biographies.
pub(crate) fn tables(
    models: &[(String, Vec<Biography>)],
    judge: impl Fn(&str, &[Biography], &[Value]) -> Result<BTreeMap<String, MeasuredJudgement>>,
) -> Result<()> {
    for (model, biographies) in models {
        let long: Vec<&Biography> = biographies.iter().filter(|b| supported(b).count() >= 3).collect();
        let mut lines = Vec::new();
        for (at, a) in long.iter().enumerate() {
            let b = long.get((at + 1) % long.len()).copied().unwrap_or(a);
            let alone: Vec<&str> = supported(a).collect();
            let all: Vec<&str> = alone.iter().copied().chain(supported(b)).collect();
            let whole: Vec<&str> = a.sentences.iter().map(|s| s.text.as_str()).collect();
            lines.push(json!({"id": format!("spliced {at:03}"), "text": all.join(" "), "intent": intent(&a.person)}));
            lines.push(json!({"id": format!("whole {at:03}"), "text": whole.join(" "), "intent": intent(&a.person)}));
        }
        let judged = judge(model, biographies, &lines)?;
        let (mut halted, mut refused) = ([0usize; 4], [0usize; 4]);
        let (mut false_halts, mut early, mut clean) = (0, 0, 0);
        for (at, a) in long.iter().enumerate() {
            let b = long.get((at + 1) % long.len()).copied().unwrap_or(a);
            let splice = supported(a).map(|s| s.len() + 1).sum::<usize>();
            let mut starts = vec![splice];
            for sentence in supported(b) {
                starts.push(starts.last().copied().unwrap_or(splice) + sentence.len() + 1);
            }
            // The number of the sentence of B that contains a byte, from 1; 0 for a byte of A.
            let sentence = |byte: usize| starts.iter().take_while(|s| **s <= byte).count();
            if let Some(of) = judged.get(&format!("spliced {at:03}")) {
                let halt = of.stopped.as_ref().filter(|(why, _)| why == "drift_halt").map(|(_, at)| sentence(*at));
                early += usize::from(halt == Some(0));
                clean += usize::from(of.leaves.iter().all(|l| l.admitted || l.range.start >= splice));
                bucket(&mut halted, halt.filter(|s| *s > 0));
                let first =
                    of.leaves.iter().find(|l| !l.admitted && l.range.start >= splice).map(|l| sentence(l.range.start));
                bucket(&mut refused, [first, halt].into_iter().flatten().filter(|s| *s > 0).min());
            }
            let whole = judged.get(&format!("whole {at:03}"));
            false_halts +=
                usize::from(whole.is_some_and(|w| w.stopped.as_ref().is_some_and(|(why, _)| why == "drift_halt")));
        }
        println!("## {model}: {} spliced biographies\n", long.len());
        println!("| stopped within | drift halt | halt or refusal |\n| --- | --- | --- |");
        for (sentences, name) in [(1, "1 sentence"), (2, "2 sentences"), (3, "3 sentences")] {
            let upto = |counts: &[usize; 4]| share(counts.iter().take(sentences).sum(), long.len());
            println!("| {name} | {} | {} |", upto(&halted), upto(&refused));
        }
        println!("\ntexts of which nothing was refused before the splice: {}", share(clean, long.len()));
        println!("halts before the splice: {}", share(early, long.len()));
        println!("false halts on whole, unspliced biographies: {}\n", share(false_halts, long.len()));
    }
    Ok(())
}

fn supported(biography: &Biography) -> impl Iterator<Item = &str> {
    biography.sentences.iter().filter(|s| s.kind() == SentenceSupport::Supported).map(|s| s.text.as_str())
}

fn bucket(counts: &mut [usize; 4], sentence: Option<usize>) {
    if let Some(count) = sentence.and_then(|s| s.checked_sub(1)).and_then(|s| counts.get_mut(s.min(3))) {
        *count += 1;
    }
}
