//! Quantities: numbers with a unit. A number that is not exact in the slot's unit is refused.
//!
//! As with class hits, quantities are found in the whole text before it is cut. No cut separates a number from its
//! unit, or the two ends of a range. The phrases of `near` may be anywhere in the sentence, even outside the span.

mod count;
mod currency;
mod scan;
mod table;
mod unfinished;
mod unit;

use crate::error::MappingError;
use crate::language::Language;
use crate::view::MatchingView;
use portcullis_core::manifest::PackageManifest;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::QUANTITY_SLOTS;
use std::collections::BTreeSet;
use std::ops::Range;
use unit::QuantitySlot;

/// Greatest length in bytes of a list of numbers that share a unit.
const JOINED_LIST: usize = 1024;
/// Largest number of choices of values for which a span is submitted.
const CHOICES_MAX: usize = 8;

/// The declared slots.
pub(crate) struct Quantities {
    slots: Vec<QuantitySlot>,
    language: &'static Language,
}

/// A quantity in a text: one number, or the numbers of a range or list, with the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuantityHit {
    pub(crate) range: Range<usize>,
    /// Place of the quantity in the manifest's list.
    pub(crate) slot: usize,
    /// Whether a phrase of `near` is in the sentence.
    is_near: bool,
    /// Each number in the slot's unit, or the reason why it has no value in that unit.
    values: Vec<Result<i32, ValidationReason>>,
}

/// A value for each slot.
pub(crate) type SlotValues = [Option<i32>; QUANTITY_SLOTS];

/// The quantities of one span, and the resulting finding of stage 2 (validation).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QuantityReading {
    /// The largest value of each slot.
    pub(crate) values: SlotValues,
    /// If a slot has several values: each choice of a value for each slot, the largest last. Empty if there are more
    /// than [`CHOICES_MAX`], or a value cannot be read.
    pub(crate) choices: Vec<SlotValues>,
    pub(crate) finding: StageFinding<ValidationReason>,
}

/// The errors of all units.
pub(crate) fn problems(manifest: &PackageManifest) -> Vec<MappingError> {
    manifest.quantities.iter().flat_map(unit::problems).collect()
}

impl Quantities {
    pub(crate) fn new(manifest: &PackageManifest, language: &'static Language) -> Result<Self, MappingError> {
        if manifest.quantities.len() > QUANTITY_SLOTS {
            let count = manifest.quantities.len();
            return Err(MappingError::TooMany { what: "quantity slots", count, most: QUANTITY_SLOTS });
        }
        Ok(Self { slots: manifest.quantities.iter().map(QuantitySlot::new).collect::<Result<_, _>>()?, language })
    }

    /// Whether the policy declares a quantity.
    pub(crate) const fn is_any(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Reads the quantities of a span. The most severe finding is returned: a value that is inexact or out of range
    /// gives a reject; two values for one slot give a decompose.
    pub(crate) fn read<'a>(measured: impl Iterator<Item = &'a QuantityHit>) -> QuantityReading {
        let mut found = QuantityReading::default();
        let mut slots: [BTreeSet<i32>; QUANTITY_SLOTS] = Default::default();
        for quantity in measured {
            let Some(slot) = slots.get_mut(quantity.slot) else { continue };
            for value in &quantity.values {
                match value {
                    Err(reason) if found.finding == StageFinding::Pass => found.finding = StageFinding::Reject(*reason),
                    Err(_) => {}
                    Ok(value) => {
                        slot.insert(*value);
                        // Only the number of values up to the limit, the smallest and the largest matter.
                        if slot.len() > CHOICES_MAX + 1 {
                            let middle = slot.iter().nth(1).copied();
                            middle.map(|value| slot.remove(&value));
                        }
                    }
                }
            }
        }
        for (value, slot) in found.values.iter_mut().zip(&slots) {
            *value = slot.last().copied();
        }
        if found.finding == StageFinding::Pass && slots.iter().any(|slot| slot.len() > 1) {
            found.finding = StageFinding::Decompose(ValidationReason::QuantityMultiple);
            found.choices = choices(&slots);
        }
        found
    }
}

/// Each choice of one value for each slot, in order; empty if there are too many.
fn choices(slots: &[BTreeSet<i32>; QUANTITY_SLOTS]) -> Vec<SlotValues> {
    let mut choices = vec![SlotValues::default()];
    for (at, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.is_empty()) {
        let with = |choice: &SlotValues, value: i32| {
            let mut choice = *choice;
            choice.iter_mut().skip(at).take(1).for_each(|held| *held = Some(value));
            choice
        };
        choices = choices.iter().flat_map(|choice| slot.iter().map(move |value| with(choice, *value))).collect();
        if choices.len() > CHOICES_MAX {
            return Vec::new();
        }
    }
    choices
}

/// Compares `found` with `seen`, the quantities of the view. A number that the text lacks or shows differently becomes
/// an inexact quantity. Digits that only the view joins, across a line or a cell, are not a number.
fn compare(found: &mut Vec<QuantityHit>, seen: Vec<QuantityHit>, view: &MatchingView) {
    let (mut inexact, mut shown) = (Vec::new(), Vec::new());
    found.sort_by_key(|hit| (hit.range.start, hit.range.end));
    let reach: Vec<usize> = found
        .iter()
        .scan(0, |most, hit| {
            *most = hit.range.end.max(*most);
            Some(*most)
        })
        .collect();
    for hit in seen {
        let range = view.origin(&hit.range);
        let before = found.partition_point(|f| f.range.start <= range.start);
        let near = found.iter().zip(&reach).enumerate().take(before).rev();
        let near = near.take_while(|(_, (_, reach))| range.end <= **reach).map(|(at, (f, _))| (at, f));
        let covers = |(_, f): &(usize, &QuantityHit)| {
            f.slot == hit.slot && f.range.start <= range.start && range.end <= f.range.end
        };
        let mut near = near.filter(covers).peekable();
        // A quantity without a value is refused already, whatever other readings of the text show there.
        let lacks_value = |hit: &QuantityHit| hit.values.iter().any(Result::is_err);
        let is_part = near.peek().is_some_and(|(_, f)| f.values.iter().all(|value| hit.values.contains(value)));
        let same = |f: &QuantityHit| f.values == hit.values || lacks_value(f) || lacks_value(&hit);
        if view.joins_lines(&hit.range) {
            continue;
        }
        if let Some((at, _)) = near.find(|(_, f)| same(f)) {
            // The page can show the phrase of `near` in the sentence where the text does not.
            shown.push(at);
            continue;
        }
        // A page that shows the same values and more, as with "10 000" for a no-break space, adds its values.
        let values = if is_part { hit.values } else { vec![Err(ValidationReason::QuantityInexact)] };
        inexact.push(QuantityHit { range, values, ..hit });
    }
    for at in shown {
        found.get_mut(at).into_iter().for_each(|hit| hit.is_near = true);
    }
    found.extend(inexact);
    found.sort_by_key(|hit| (hit.range.start, hit.range.end));
}

impl Quantities {
    /// The quantities of a text and its view, in order.
    pub(crate) fn find(&self, text: &str, view: Option<&MatchingView>) -> Vec<QuantityHit> {
        let mut found = self.scan(text);
        if let Some(view) = view {
            compare(&mut found, self.scan_near(view.text()), view);
        }
        found.retain(|hit| hit.is_near);
        found
    }

    fn scan_near(&self, text: &str) -> Vec<QuantityHit> {
        self.scan(text).into_iter().filter(|hit| hit.is_near).collect()
    }

    /// Adds the quantities that only a page shows that was decoded from the text. They are inexact.
    pub(crate) fn only_decoded(&self, found: &mut Vec<QuantityHit>, text: &str, page: &MatchingView) {
        let is_encoded = |hit: &QuantityHit| {
            let origin = page.origin(&hit.range);
            text.get(origin) != page.text().get(hit.range.clone())
        };
        let seen = self.scan_near(page.text()).into_iter().filter(is_encoded).collect();
        compare(found, seen, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::manifest::QuantityDeclaration;
    use portcullis_core::mutation::StageFinding::{Decompose, Pass, Reject};
    use portcullis_core::reason::ValidationReason::{QuantityInexact, QuantityMultiple, QuantityRange};

    fn slots(units: &[(&str, &str)], near: &[&str], range: std::ops::RangeInclusive<i32>) -> Quantities {
        let declared = QuantityDeclaration {
            name: "q".into(),
            description: String::new(),
            units: units.iter().map(|(unit, size)| ((*unit).to_owned(), (*size).to_owned())).collect(),
            near: near.iter().map(|n| (*n).to_owned()).collect(),
            min: *range.start(),
            max: *range.end(),
            tolerance: None,
        };
        Quantities { slots: vec![QuantitySlot::new(&declared).unwrap()], language: Language::of("en").unwrap() }
    }

    fn masses(near: &[&str]) -> Quantities {
        slots(&[("milligrams", "1"), ("mcg", "1/1000"), ("mg", "1"), ("g", "1000")], near, 0..=10_000)
    }

    fn read(text: &str) -> QuantityReading {
        Quantities::read(masses(&[]).scan(text).iter())
    }

    /// The values of the first slot.
    fn values(quantities: &Quantities, text: &str) -> Vec<Result<i32, ValidationReason>> {
        quantities.scan(text).into_iter().flat_map(|hit| hit.values).collect()
    }

    #[test]
    fn numbers_and_units() {
        for (text, value, finding) in [
            ("take 500 mg daily", Some(500), Pass),
            ("take 500mg daily", Some(500), Pass),
            ("take **500** mg daily", Some(500), Pass),
            ("take (500) mg daily", Some(500), Pass),
            ("take 0.5g daily", Some(500), Pass),
            ("take 1,500 milligrams", Some(1500), Pass),
            ("take five hundred mg", Some(500), Pass),
            ("500 mg is 0.5 g", Some(500), Pass),
            ("500 mg or 600 mg", Some(600), Decompose(QuantityMultiple)),
            ("take 10 tablets of 500 mg", Some(5000), Pass),
            ("take ten capsules of 50 mg each", Some(500), Pass),
            ("take 3 sachets (500 mg each)", Some(1500), Pass),
            ("take 4 caps. of 0.3 g", Some(1200), Pass),
            ("take 2 tablets of 200 to 400 mg", Some(800), Decompose(QuantityMultiple)),
            ("take B2 tablets of 500 mg", None, Reject(QuantityInexact)),
            ("take aspirin9000mg", None, Reject(QuantityInexact)),
            ("Dose (mg): 6400", Some(6400), Pass),
            ("{\"dose_mg\": \"6400\", \"n\": 2}", Some(6400), Pass),
            ("dose_mg = 6400", Some(6400), Pass),
            ("Take 5 mg: 2 of them", Some(5), Pass),
            ("The program: 6400 lines", None, Pass),
            ("Dose (mg): 5 g", Some(5000), Pass),
            ("Dose (mg): 6400x", None, Reject(QuantityInexact)),
            ("Doses (mg): 200, 400", Some(400), Decompose(QuantityMultiple)),
            ("take a tablet of 500 mg", Some(500), Pass),
            ("in 10 patients 500 mg", Some(500), Pass),
            ("10 tablets, 500 mg of it", Some(500), Pass),
            ("the 2019 trial of 500 mg", Some(500), Pass),
            ("take 0.5 mg", None, Reject(QuantityInexact)),
            ("take 1,50 mg", None, Reject(QuantityInexact)),
            ("take 90 g", None, Reject(QuantityRange)),
            ("take ninety grams or 90 g", None, Reject(QuantityRange)),
            ("take -5 mg", None, Reject(QuantityRange)),
            ("take 99999999999999999999999999999999 mg", None, Reject(QuantityInexact)),
            ("500 mgs of it", None, Pass),
            ("take 500 mg x 10", Some(5000), Pass),
            ("take 500 mg \u{d7} 30", None, Reject(QuantityRange)),
            ("take 500 mg x10", None, Reject(QuantityInexact)),
            ("take 50 mg/kg, he has 80 kg", Some(4000), Pass),
            ("take 50 mg per kg", None, Reject(QuantityInexact)),
            ("take 5 mg/kg/min at 80 kg or 90 kg", None, Reject(QuantityInexact)),
            ("take 5 mg/day per kg", None, Reject(QuantityInexact)),
            ("take 1200 mg/m\u{b2}", None, Reject(QuantityInexact)),
            ("it has 20 mg/ml", Some(20), Pass),
            ("500 mg for a week", Some(500), Pass),
            ("no number mg", None, Pass),
        ] {
            let found = read(text);
            assert_eq!((found.values[0], found.finding), (value, finding), "{text}");
        }
    }

    #[test]
    fn what_may_be_more_than_it_seems_is_refused() {
        for text in ["5k mg", "2 x 500 mg", "2x500 mg", "５０００ mg", "٥٠٠٠ mg", "B12 mg", "1½ g"] {
            assert_eq!(read(text).finding, Reject(QuantityInexact), "{text}");
        }
        for text in
            ["10\u{a0}001 mg", "10\u{202f}001 mg", "10\u{2009}001 mg", "10'001 mg", "ten thousand and one mg 10,001 mg"]
        {
            assert_eq!(read(text).finding, Reject(QuantityRange), "{text}");
        }
    }

    #[test]
    fn a_unit_in_the_head_of_a_column() {
        for (text, value, finding) in [
            ("| a | dose (mg) |\n|---|---|\n| b | 600 |", Some(600), Pass),
            ("a | dose in g\n--|--\nb | 6", Some(6000), Pass),
            ("a\tmg\nb\t600\n", Some(600), Pass),
            ("| a | mg/kg |\n|---|---|\n| b | 600 |", None, Reject(QuantityInexact)),
            ("| group g | a |\n|---|---|\n| 600 | b |", None, Pass),
            ("| a | 100 mg |\n|---|---|\n| b | 600 |", Some(100), Pass),
            ("| a | mg |\n| b | 600 |", None, Pass),
            ("| a | mg |\n|---|---|\n\n| b | 600 |", None, Pass),
            ("| a | mg | b |\n|---|---|---|\n| b | c | 600 |", None, Pass),
        ] {
            let found = read(text);
            assert_eq!((found.values[0], found.finding), (value, finding), "{text}");
        }
        let rows = |number: usize| format!("|mg|\n|-|\n{}|600|\n", "|other|\n".repeat(number));
        assert_eq!((read(&rows(9)).values[0], read(&rows(200)).values[0]), (Some(600), None));
    }

    #[test]
    fn both_ends_of_a_range_count() {
        for text in [
            "9000-200 mg",
            "200–9000 mg",
            "200 to 9000 mg",
            "9000 or 200 mg",
            "between 200 and 9000 mg",
            "9000, 200 mg",
        ] {
            assert_eq!(read(text).finding, Decompose(QuantityMultiple), "{text}");
        }
        assert_eq!(read("200-20000 mg").finding, Reject(QuantityRange));
    }

    #[test]
    fn near_is_looked_for_in_the_sentence() {
        let near = |text: &str| masses(&["dose"]).find(text, None).len();
        assert_eq!(near("The dose, as he said, is 500 mg."), 1);
        assert_eq!(near("The dose is known. It has 500 mg."), 0);
        // On the page, the two lines are one sentence.
        let said = "The dose that you get\nis *500 mg*.";
        let found = masses(&["dose"]).find(said, MatchingView::of(said).as_ref());
        assert_eq!(found.into_iter().map(|hit| hit.values).collect::<Vec<_>>(), [[Ok(500)]]);
    }

    #[test]
    fn a_number_with_the_marks_of_another_language_is_read_in_each_way() {
        let all = |text: &str| values(&masses(&[]), text).into_iter().map(Result::unwrap).collect::<Vec<_>>();
        for (text, read) in [
            ("8.000 mg", &[8, 8000][..]),
            ("4.500 g", &[4500]),
            ("10 000 mg", &[10, 10_000]),
            ("1 000 mg", &[1, 1000]),
            ("0,5 g", &[500]),
            ("2,50 g", &[2500]),
            ("1.150,0 mg", &[1150]),
            ("two hundred and ten mg", &[200, 210]),
            ("two hundred or ten mg", &[200, 10]),
            ("0.5 to 1 g", &[500, 1000]),
            ("900 mg up to 4.5 g", &[900, 4500]),
            ("50 mg/7.5 g", &[50, 7500]),
        ] {
            assert_eq!(all(text), read, "{text}");
        }
        for text in ["2,50,000 mg", "1,000'000 mg", "1.2345 mg", "12 34 567 890 123 mg"] {
            assert!(values(&masses(&[]), text).iter().any(Result::is_err), "{text}");
        }
    }

    #[test]
    fn each_choice_of_values_is_read() {
        let read = |text| read(text).choices.into_iter().map(|values| values[0].unwrap()).collect::<Vec<_>>();
        assert_eq!(read("20, 10 or 40 mg"), [10, 20, 40]);
        assert!(read("500 mg (0.5 g)").is_empty());
        assert_eq!(read("1, 2, 3, 4, 5, 6, 7, 8 mg").len(), 8);
        assert!(read("1, 2, 3, 4, 5, 6, 7, 8, 9 mg").is_empty());
        assert!(read("1 or 0.5 mg").is_empty());
    }

    #[test]
    fn a_currency_stands_before_or_behind_its_number() {
        let money = slots(
            &[("\u{20ac}", "100"), ("$", "100"), ("eur", "100"), ("usd", "100"), ("euros", "100"), ("cents", "1")],
            &[],
            0..=1_000_000,
        );
        let all = |text: &str| values(&money, text).into_iter().map(Result::unwrap).collect::<Vec<_>>();
        for (text, read) in [
            ("\u{20ac}250", &[25_000][..]),
            ("\u{20ac} 250", &[25_000]),
            ("EUR 2.500", &[250_000]),
            ("eur 2.500,00", &[250_000]),
            ("$1,250.00", &[125_000]),
            ("US$ 900", &[90_000]),
            ("US$900", &[90_000]),
            ("USD\u{2009}410", &[41_000]),
            ("USD410", &[41_000]),
            ("225 US dollars, 225 US$", &[22_500]),
            ("-$5", &[500]),
            ("\u{2212}\u{20ac}26.00", &[2600]),
            ("(\u{20ac}425.00)", &[42_500]),
            ("EUR 1'250.\u{2013}", &[125_000]),
            ("\u{20ac}599.-", &[59_900]),
            ("19,90 \u{20ac}", &[1990]),
            ("1.800 euros", &[180_000]),
            ("$3K", &[300_000]),
            ("0.1k euros", &[10_000]),
            ("USD 1.2k", &[120_000]),
            ("$100-$500", &[10_000, 50_000]),
            ("between \u{20ac}180 and 220", &[18_000, 22_000]),
            ("$15, $60 and $610", &[1500, 6000, 61_000]),
            ("\u{20ac}5, 20 cents", &[500, 20]),
            ("order 4711: \u{20ac}15", &[1500]),
            ("EUR\n\n300 people", &[]),
            ("250 \u{20ac} 3 days later", &[25_000, 300]),
            ("{\"refund_usd\": 1250}", &[125_000]),
            ("of 349,- \u{20ac}", &[34_900]),
            ("MEUR 5, Peru 5, eurus 5", &[]),
        ] {
            assert_eq!(all(text), read, "{text}");
        }
        for text in ["$5q", "$ 1.2345", "B12 euros", "EUR 2 x 5"] {
            assert!(values(&money, text).iter().any(Result::is_err), "{text}");
        }
    }

    #[test]
    fn a_unit_of_one_letter_is_read_in_its_case() {
        for (text, read) in [("5g", 1), ("5 g", 1), ("5 G", 1), ("5G", 0), ("5G or 4G", 0), ("4G and 64 GB", 0)] {
            assert_eq!(values(&masses(&[]), text).len(), read, "{text}");
        }
        let multiples = slots(&[("x", "1"), ("X", "1")], &[], 0..=100);
        assert_eq!(values(&multiples, "50x, 50X, 50 X").len(), 3);
    }

    #[test]
    fn near_may_be_the_end_of_a_word_or_stand_behind_a_digit() {
        let near = |text: &str| masses(&["-cillin", "mg"]).find(text, None).len();
        assert_eq!(near("Give amoxicillin, 2 g."), 1);
        assert_eq!(near("Give 5mg, then 2 g."), 2);
        assert_eq!(near("Give cillin or cillins, 2 g."), 0);
    }

    #[test]
    fn a_currency_at_the_end_waits_for_its_number() {
        let money = slots(&[("\u{20ac}", "100"), ("eur", "100")], &[], 0..=1_000_000);
        for (text, waits) in [
            ("We refund \u{20ac}", "\u{20ac}"),
            ("We refund EUR ", "EUR "),
            ("We refund eu", "eu"),
            ("We refund \u{20ac}25", "\u{20ac}25"),
            ("We refund EUR 25", "EUR 25"),
            ("We keep it", ""),
        ] {
            assert_eq!(&text[money.unfinished(text)..], waits, "{text}");
        }
    }
}
