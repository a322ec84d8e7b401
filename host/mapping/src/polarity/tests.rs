use super::*;
use crate::language::Language;

/// Whether the hit between the two stars of `marked` counts.
fn of(polarity: HitPolarity, marked: &str) -> bool {
    let language = Language::of("en").unwrap();
    let cues = language.polarity.as_ref().unwrap();
    let start = marked.find('*').unwrap();
    let text = marked.replace('*', "");
    let end = marked.rfind('*').unwrap() - 1;
    counts(polarity, &Around::new(&text, None, &(start..end), language), cues, language)
}

#[test]
fn what_is_asserted_counts() {
    for text in [
        "We use *model clauses*.",
        "No file leaves without *model clauses*.",
        "Do not forget to *ask your doctor*.",
        "Not only is it dear, but your *capital is at risk*.",
        "There is no doubt that *you can lose money*.",
        "If it hurts, *ask your doctor*.",
        "Nobody likes it, yet *you should see a doctor*.",
        "They apply, not the old ones: *model clauses*.",
        "I say that *you can lose money*.",
        "Under the *model clauses* data is not sold.",
    ] {
        assert!(of(HitPolarity::Affirmed, text) && of(HitPolarity::Undenied, text), "{text}");
    }
}

#[test]
fn what_is_denied_asked_or_supposed_does_not() {
    for text in [
        "We do not use *model clauses*.",
        "It is a myth that *you cannot lose*.",
        "He asked whether *you cannot lose*.",
        "Before you *stop taking* it, wait.",
        "Nobody can say that *you should sell*.",
        "Do *guaranteed returns* exist?",
        "*Guaranteed returns* do not exist.",
        "You should not, under any circumstances, *stop taking* it.",
        "Neither a test nor *guaranteed returns* are on sale.",
        "If somebody promises a *risk-free return*, go.",
        "Nobody at Beta Corp. North America says that you should *buy shares*.",
        "Dr. Roe does not *sell model clauses*.",
        "We never pay *guaranteed returns*, says J. R. Roe.",
    ] {
        assert!(!of(HitPolarity::Affirmed, text) && !of(HitPolarity::Undenied, text), "{text}");
    }
}

/// Where the polarity is in doubt, the hit counts only in the polarity that releases less text.
#[test]
fn what_is_doubtful() {
    for text in [
        "Critics say that *you cannot lose*.",
        "Soon we will have *guaranteed returns*.",
        "\"*You cannot lose*\" is what he said.",
        "No need to wait *you should buy*.",
        "Avoid losses with *guaranteed returns*.",
        "The *model clauses* have expired.",
        "If you start now you will *double your money*.",
    ] {
        assert!(!of(HitPolarity::Affirmed, text) && of(HitPolarity::Undenied, text), "{text}");
    }
}

#[test]
fn a_hit_has_a_polarity_in_its_own_sentence() {
    assert!(of(HitPolarity::Affirmed, "We have nothing. We use *model clauses*. Do you?"));
    assert!(of(HitPolarity::Affirmed, "Nothing!\n*Model clauses* apply"));
    assert!(!of(HitPolarity::Affirmed, "Does Dr. no. 4 use *model clauses*? Yes."));
}

/// A denial never reaches over a full stop that may end its sentence.
#[test]
fn a_denial_ends_at_a_full_stop_in_doubt() {
    for text in [
        "We do not work with Beta Inc. *Double your money*.",
        "We do not work with Beta Inc. *Bank on us*.",
        "Never ask the U.S. *Guaranteed returns* are here.",
        "We do not offer plan B. *Risk-free savings* it is.",
        "We do not close at 5 p.m. *You cannot lose*.",
        "Is it a scam? No. 5 ways to *double your money*.",
        "We do not open at 5 p.m. 3 ways to *double your money*.",
        "Nobody trusts the Rev. *You cannot lose*.",
        "We do not know Mr. Get *guaranteed returns* here.",
        "We do not work with Beta Inc. Money grows as *you cannot lose*.",
        "We do not work with Beta Inc. Money Grows Where *You Cannot Lose*.",
        "We do not work with Beta Inc. Bonn is where *you cannot lose*.",
    ] {
        assert!(of(HitPolarity::Undenied, text), "{text}");
    }
}

/// In a long sentence, the part that is not read may contain a denial.
#[test]
fn a_hit_whose_sentence_is_not_seen_to_its_borders_is_not_affirmed() {
    let far = "which is said at length ".repeat(25);
    let wide = "\u{e4}\u{f6}\u{fc} ".repeat(74) + "x";
    for text in [
        format!("It is not true that {far}*this is not medical advice*."),
        format!("*This is medical advice* {far}is not true."),
        format!("*This is medical advice*{wide}{wide} is not true."),
    ] {
        assert!(!of(HitPolarity::Affirmed, &text), "{text}");
        assert!(of(HitPolarity::Undenied, &text), "{text}");
    }
    for text in [
        format!("We say {far}. *This is not medical advice*. We say {far}."),
        format!("We say {far}\n*This is not medical advice*\nWe say {far}."),
    ] {
        assert!(of(HitPolarity::Affirmed, &text) && of(HitPolarity::Undenied, &text), "{text}");
    }
}

/// A line that begins another sentence must not change the result, wherever the reach ends.
#[test]
fn a_line_that_ends_at_the_reach_is_read_alike_with_what_follows() {
    for length in REACH - 3..REACH + 3 {
        let line = format!("*This is medical advice*{}\n", "x".repeat(length));
        for next in ["More.", "- more", "\n"] {
            assert_eq!(
                of(HitPolarity::Affirmed, &line),
                of(HitPolarity::Affirmed, &format!("{line}{next}")),
                "{length}"
            );
        }
    }
}
