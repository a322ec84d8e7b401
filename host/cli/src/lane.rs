//! `policy check` and `policy explain --lane`: which classes of a package a card's text lane can detect.

use crate::failure::CommandFailure;
use portcullis_core::class::ClassSet;
use portcullis_image::{ForbiddenClasses, TextImage};
use portcullis_lane::{ClassSight, CompiledLane, LaneCoverage, LaneTableLimits, LaneUnit, MatchRelation};
use portcullis_policy::{ImagePolicySet, PolicyPackage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn compiled(package: &PolicyPackage) -> Result<(TextImage, BTreeMap<String, ForbiddenClasses>), CommandFailure> {
    let policies = ImagePolicySet::alone(package.clone())?;
    let text = policies.text_lane()?;
    let forbids = policies.forbidden(&text);
    Ok((text, forbids))
}

/// Prints how full the tables are, and how well they detect each class.
pub(crate) fn check(package: &PolicyPackage) -> Result<(), CommandFailure> {
    if package.manifest().classes.is_empty() {
        return Ok(());
    }
    let (text, forbids) = compiled(package)?;
    let of = &text.compiled;
    let limits = LaneTableLimits::default();
    let bytes = of.tables.encode().len();
    outln!("text lane: {bytes} bytes of tables");
    for (states, engine) in of.tables.states().zip(0..) {
        outln!("  engine {engine}: {states} of {} states", limits.states);
    }
    for class in &of.classes {
        let host = match class.left_out.len() {
            0 => String::new(),
            1 => "; 1 form is the host's".into(),
            count => format!("; {count} forms are the host's"),
        };
        outln!("  {:<16} {}{host}", sight(class), class.name);
    }
    let enforced = forbids.values().filter(|rule| rule.conditional == ClassSet::EMPTY).count();
    outln!("  {enforced} of {} rules that forbid these classes have no other condition", forbids.len());
    let unconfirmed = names(of, text.unconfirmed());
    if !unconfirmed.is_empty() {
        outln!("  only the host decides about {}, which a rule asks for", unconfirmed.join(", "));
    }
    Ok(())
}

/// As [`check`], but returns the data as JSON.
pub(crate) fn explain(package: &PolicyPackage) -> Result<Value, CommandFailure> {
    let (text, forbids) = compiled(package)?;
    let of = &text.compiled;
    let engines = of.tables.states().zip(of.tables.byte_classes());
    let engines = engines.map(|(states, classes)| json!({"states": states, "byte_classes": classes}));
    let classes = of.classes.iter().map(|class| {
        let forms = class.forms.iter().map(|form| {
            json!({
                "form": form.name,
                "place": place(form.place),
                "states": form.states,
                "finds": relation(form.relation),
                "widened": form.widened,
            })
        });
        let host = class.left_out.iter().map(|left| json!({"form": left.form, "reason": left.reason}));
        json!({
            "class": class.name,
            "sees": sight(class),
            "view": class.view,
            "lane": forms.collect::<Vec<_>>(),
            "host": host.collect::<Vec<_>>(),
        })
    });
    let rules = forbids.iter().map(|(rule, ForbiddenClasses { enforced, in_part, conditional })| {
        let [enforced, in_part, conditional] = [enforced, in_part, conditional].map(|set| names(of, *set));
        json!({"rule": rule, "enforced": enforced, "enforced_in_part": in_part, "conditional": conditional})
    });
    Ok(json!({
        "rules": rules.collect::<Vec<_>>(),
        "unconfirmed": names(of, text.unconfirmed()),
        "bytes": of.tables.encode().len(),
        "engines": engines.collect::<Vec<_>>(),
        "classes": classes.collect::<Vec<_>>(),
    }))
}

fn names(of: &CompiledLane, set: ClassSet) -> Vec<String> {
    of.classes.iter().filter(|class| set.contains(class.id)).map(|class| class.name.clone()).collect()
}

fn sight(class: &ClassSight) -> &'static str {
    match class.sight() {
        LaneCoverage::Whole(of) => relation(of),
        LaneCoverage::Part => "a part",
        LaneCoverage::Nothing => "nothing",
    }
}

const fn relation(of: MatchRelation) -> &'static str {
    match of {
        MatchRelation::Equal => "equal",
        MatchRelation::EqualOnAscii => "equal on ASCII",
        MatchRelation::Superset => "superset",
    }
}

fn place(of: LaneUnit) -> Value {
    match of {
        LaneUnit::Engine(engine) => json!(format!("engine {engine}")),
        LaneUnit::Cards => json!("card numbers"),
        LaneUnit::Accounts => json!("account numbers"),
    }
}
