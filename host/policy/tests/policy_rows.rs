//! The rows of every accepted construct, in the order of the lowering table. The oracles show that rows have the same
//! meaning as the Cedar rules; these tests show that they are exactly the rows of the table.
#![cfg(test)]
#![allow(clippy::type_complexity, reason = "a test stops at its first surprise, its helpers included")]

use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::wire::{ROW_NONE, Row, RowKind, row_bits};
use portcullis_image::BankKind;
use portcullis_policy::{CompiledPackage, PolicyPackage};
use portcullis_test_support::policies::fixture::{MANIFEST, PERMIT, files, files_with, forbid, package};

// Bits of the fixture's declarations.
const DOSAGE: u128 = 1;
const DIAGNOSIS: u128 = 2;
const DISCLAIMER: u128 = 4;
const GREETING: u128 = 8;
const EVERY_CLASS: u128 = 15;
const PLAIN: u32 = 1;
const FORMAL: u32 = 2;
const TECHNICAL: u32 = 4;
const DOSE: u8 = 1 << row_bits::QUANTITY_BIT;
const AGE: u8 = DOSE << 1;

fn compiled(rules: &str) -> CompiledPackage {
    package(rules).compile().unwrap_or_else(|error| panic!("{}", error.render()))
}

/// Rows of the fixture's rule with this condition.
fn rows(condition: &str) -> Vec<Row> {
    let compiled = compiled(&forbid(condition));
    let rule = compiled.rule("RULE").unwrap();
    let rows = compiled.image.policy_rows();
    rows[usize::from(rule.rows.start)..usize::from(rule.rows.end)].to_vec()
}

/// The one row of the fixture's rule with this condition.
fn row(condition: &str) -> Row {
    let rows = rows(condition);
    assert_eq!(rows.len(), 1, "{condition}: {rows:#?}");
    rows[0]
}

/// The row without any condition, for comparison.
fn free() -> Row {
    let rules = "@id(\"RULE\") forbid (principal, action, resource);";
    let compiled = compiled(rules);
    let row = compiled.image.policy_rows()[usize::from(compiled.rule("RULE").unwrap().rows.start)];
    assert_eq!((row.kind, row.bits_mask), (RowKind::ForbidReject.into(), 0));
    row
}

/// Asserts that the condition gives `free` with these changes, one closure per row. All notations in `same` must give
/// the same rows.
fn becomes(same: &[&str], changes: &[&dyn Fn(&mut Row)]) {
    let mut expected: Vec<Row> = changes
        .iter()
        .map(|change| {
            let mut row = free();
            change(&mut row);
            row
        })
        .collect();
    for condition in same {
        let mut found = rows(condition);
        let key = |row: &Row| zerocopy::IntoBytes::as_bytes(row).to_vec();
        found.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(found, expected, "{condition}");
    }
}

fn scalar(row: &mut Row, column: usize, low: u16, high: u16) {
    row.scalars[2 * column] = low.into();
    row.scalars[2 * column + 1] = high.into();
}

fn quantity(row: &mut Row, slot: usize, low: i32, high: i32) {
    row.quantities[2 * slot] = low.into();
    row.quantities[2 * slot + 1] = high.into();
}

#[test]
fn enumerations_become_masks_over_the_declared_values() {
    becomes(&["context.register == \"formal\"", "\"formal\" == context.register"], &[&|r| r.register = FORMAL.into()]);
    becomes(
        &[
            "context.register != \"formal\"",
            "!(context.register == \"formal\")",
            "[\"plain\", \"technical\"].contains(context.register)",
            "context.register == \"plain\" || context.register == \"technical\"",
            "![\"formal\"].contains(context.register)",
        ],
        &[&|r| r.register = (PLAIN | TECHNICAL).into()],
    );
    assert_eq!(free().register.get(), PLAIN | FORMAL | TECHNICAL);
    assert_eq!(free().small_enums.get(), u16::MAX);
    becomes(&["context.anchor == \"resolved\""], &[&|r| r.small_enums = (0x2fff).into()]);
    becomes(&["context.granularity != \"span\""], &[&|r| r.small_enums = (!(1u16 << 7)).into()]);
}

#[test]
fn thirty_two_values_fit() {
    let values: Vec<_> = (0..32).map(|at| format!("\"r{at}\"")).collect();
    let manifest = MANIFEST.replace("[\"plain\", \"formal\", \"technical\"]", &format!("[{}]", values.join(", ")));
    let rules = format!("{PERMIT}{}", forbid("context.register != \"r31\""));
    let compiled = PolicyPackage::from_files(files_with(&manifest, &rules)).unwrap().compile().unwrap();
    let rule = compiled.rule("RULE").unwrap();
    assert_eq!(compiled.image.policy_rows()[usize::from(rule.rows.start)].register.get(), u32::MAX >> 1);
    assert_eq!(compiled.image.header().register.get(), u32::MAX);
}

#[test]
fn categories_come_from_scope_and_condition() {
    let scope = |scope: &str| {
        let compiled = compiled(&format!("@id(\"RULE\") forbid (principal is Agent, {scope}, resource is Stream);"));
        let row = compiled.image.policy_rows()[usize::from(compiled.rule("RULE").unwrap().rows.start)];
        row.small_enums.get() & 0x3f
    };
    assert_eq!(scope("action == Action::\"negation\""), 1 << 3);
    assert_eq!(scope("action in [Action::\"negation\", Action::\"assertion\"]"), 1 << 3 | 1);
    assert_eq!(scope("action in Action::\"negation\""), 1 << 3);
    assert_eq!(scope("action"), 0x3f);
    assert_eq!(row("action != Action::\"negation\"").small_enums.get() & 0x3f, 0x3f & !(1 << 3));
    assert_eq!(row("action in [Action::\"negation\"]").small_enums.get() & 0x3f, 1 << 3);
}

#[test]
fn longs_become_inclusive_ranges() {
    becomes(
        &["context.depth < 3", "context.depth <= 2", "3 > context.depth", "!(context.depth >= 3)"],
        &[&|r| {
            r.depth = [0, 2];
        }],
    );
    becomes(
        &["context.depth > 3", "context.depth >= 4", "3 < context.depth", "!(context.depth <= 3)"],
        &[&|r| {
            r.depth = [4, 255];
        }],
    );
    becomes(&["context.length == 7", "7 == context.length"], &[&|r| scalar(r, 7, 7, 7)]);
    becomes(&["context.length != 7"], &[&|r| scalar(r, 7, 0, 6), &|r| scalar(r, 7, 8, 65535)]);
    becomes(&["context.trust_slope >= 65535"], &[&|r| scalar(r, 6, 65535, 65535)]);
    becomes(
        &["context.alternatives > 1 && context.correction <= 2"],
        &[&|r| {
            r.alternatives = [2, 255];
            r.correction = [0, 2];
        }],
    );
    becomes(&["context.depth != 0"], &[&|r| r.depth = [1, 255]]);
    becomes(&["context.depth < 3 || context.depth > 2"], &[&|_| {}]);
    becomes(&["context.depth < 3 || context.depth == 3"], &[&|r| r.depth = [0, 3]]);
}

#[test]
fn decimals_become_basis_points() {
    becomes(
        &[
            "context.uncertainty.greaterThan(decimal(\"0.1200\"))",
            "context.uncertainty.greaterThanOrEqual(decimal(\"0.1201\"))",
            "decimal(\"0.12\").lessThan(context.uncertainty)",
            "!context.uncertainty.lessThanOrEqual(decimal(\"0.12\"))",
        ],
        &[&|r| scalar(r, 1, 1201, 65535)],
    );
    becomes(&["context.novelty.lessThan(decimal(\"1.0\"))"], &[&|r| scalar(r, 0, 0, 9999)]);
    becomes(&["context.certainty == decimal(\"0.5\")"], &[&|r| scalar(r, 2, 5000, 5000)]);
    becomes(&["context.certainty != decimal(\"0.5\")"], &[&|r| scalar(r, 2, 0, 4999), &|r| scalar(r, 2, 5001, 65535)]);
    becomes(&["context.content_deviation != decimal(\"1.0\")"], &[&|r| scalar(r, 3, 0, 9999)]);
    becomes(&["context.certainty_divergence.greaterThanOrEqual(decimal(\"1.0\"))"], &[&|r| scalar(r, 4, 10000, 65535)]);
    becomes(&["context.register_divergence.lessThanOrEqual(decimal(\"0.0\"))"], &[&|r| scalar(r, 5, 0, 0)]);
}

#[test]
fn constants_outside_the_wire_range_fold() {
    for always in [
        "context.depth < 256",
        "context.depth >= 0",
        "context.depth > -1",
        "context.depth != 256",
        "context.depth <= 9223372036854775807",
        "context.depth >= -9223372036854775808",
        "context.novelty.lessThanOrEqual(decimal(\"1.0\"))",
        "context.novelty.lessThan(decimal(\"1.0001\"))",
        "context.novelty.greaterThan(decimal(\"-0.0001\"))",
        "context.novelty != decimal(\"1.0001\")",
    ] {
        becomes(&[always], &[&|_| {}]);
    }
    for never in [
        "context.depth > 255",
        "context.depth < 0",
        "context.depth == -1",
        "context.depth == 256",
        "context.depth < -9223372036854775808",
        "context.depth > 9223372036854775807",
        "context.novelty.greaterThan(decimal(\"1.0\"))",
        "context.novelty.lessThan(decimal(\"0.0\"))",
        "context.novelty == decimal(\"922337203685477.5807\")",
        "context.quantity has age && context.quantity.age > 2147483647",
        "context.quantity has age && context.quantity.age == -2147483649",
    ] {
        assert!(rows(never).is_empty(), "{never}");
    }
    becomes(
        &["context.quantity has age && context.quantity.age <= 2147483647"],
        &[&|r| {
            (r.bits_mask, r.bits_value) = (AGE, AGE);
        }],
    );
}

#[test]
fn sets_become_all_any_none() {
    becomes(&["context.classes.contains(\"dosage\")"], &[&|r| r.classes_all = DOSAGE.into()]);
    becomes(&["!context.classes.contains(\"dosage\")"], &[&|r| r.classes_none = DOSAGE.into()]);
    becomes(
        &["context.established.containsAll([\"dosage\", \"greeting\"])"],
        &[&|r| r.established_all = (DOSAGE | GREETING).into()],
    );
    becomes(
        &[
            "context.classes.containsAny([\"dosage\", \"greeting\"])",
            "[\"greeting\", \"dosage\"].containsAny(context.classes)",
            "context.classes.contains(\"dosage\") || context.classes.contains(\"greeting\")",
        ],
        &[&|r| r.classes_any = (DOSAGE | GREETING).into()],
    );
    becomes(&["context.classes.containsAny([\"dosage\"])"], &[&|r| r.classes_all = DOSAGE.into()]);
    becomes(
        &["!context.classes.containsAny([\"dosage\", \"greeting\"])"],
        &[&|r| r.classes_none = (DOSAGE | GREETING).into()],
    );
    becomes(&["context.classes.isEmpty()"], &[&|r| r.classes_none = EVERY_CLASS.into()]);
    becomes(&["!context.classes.isEmpty()"], &[&|r| r.classes_any = EVERY_CLASS.into()]);
    becomes(
        &["!context.classes.containsAll([\"dosage\", \"greeting\"])"],
        &[&|r| r.classes_none = DOSAGE.into(), &|r| r.classes_none = GREETING.into()],
    );
    becomes(
        &["[\"dosage\", \"greeting\"].containsAll(context.classes)"],
        &[&|r| {
            r.classes_none = (DIAGNOSIS | DISCLAIMER).into();
        }],
    );
    becomes(
        &["![\"dosage\", \"greeting\"].containsAll(context.classes)"],
        &[&|r| {
            r.classes_any = (DIAGNOSIS | DISCLAIMER).into();
        }],
    );
    becomes(
        &["context.classes == [\"dosage\"]", "[\"dosage\"] == context.classes"],
        &[&|r| {
            r.classes_all = DOSAGE.into();
            r.classes_none = (EVERY_CLASS & !DOSAGE).into();
        }],
    );
    becomes(
        &["context.classes != [\"dosage\"]"],
        &[&|r| r.classes_none = DOSAGE.into(), &|r| {
            r.classes_any = (EVERY_CLASS & !DOSAGE).into();
        }],
    );
    becomes(&["context.fields_touched.contains(\"memory\")"], &[&|r| r.touched_all = 4]);
    becomes(&["context.fields_touched.containsAny([\"memory\", \"intent\"])"], &[&|r| r.touched_any = 5]);
    becomes(&["context.fields_touched.isEmpty()"], &[&|r| r.touched_none = 0x7f]);
}

#[test]
fn two_choices_on_one_set_distribute_the_smaller() {
    let two = "context.classes.containsAny([\"dosage\", \"diagnosis\"]) \
         && context.classes.containsAny([\"diagnosis\", \"disclaimer\", \"greeting\"])";
    // Diagnosis alone satisfies both conditions; dosage needs one of the other members.
    becomes(
        &[two],
        &[&|r| r.classes_all = DIAGNOSIS.into(), &|r| {
            r.classes_all = DOSAGE.into();
            r.classes_any = (DIAGNOSIS | DISCLAIMER | GREETING).into();
        }],
    );
    let nested = "context.classes.containsAny([\"dosage\", \"diagnosis\"]) \
         && context.classes.containsAny([\"dosage\", \"diagnosis\", \"greeting\"])";
    becomes(&[nested], &[&|r| r.classes_any = (DOSAGE | DIAGNOSIS).into()]);
}

#[test]
fn a_choice_that_loses_its_last_member_is_dropped_and_never_zero() {
    let lost = "context.classes.containsAny([\"dosage\", \"diagnosis\"]) \
         && !context.classes.containsAny([\"dosage\", \"diagnosis\", \"greeting\"])";
    assert!(rows(lost).is_empty());
    let narrowed = "context.classes.containsAny([\"dosage\", \"diagnosis\"]) && !context.classes.contains(\"dosage\")";
    becomes(
        &[narrowed],
        &[&|r| {
            r.classes_all = DIAGNOSIS.into();
            r.classes_none = DOSAGE.into();
        }],
    );
    assert!(rows("context.classes.isEmpty() && context.classes.contains(\"dosage\")").is_empty());
    // If the package declares no class, a condition on classes cannot name one.
    let mut manifest = MANIFEST.to_owned();
    for class in ["dosage", "diagnosis", "disclaimer", "greeting"] {
        manifest = manifest.replace(&format!("[[class]]\nname = \"{class}\"\n"), "");
    }
    let compile = |condition: &str| {
        let rules = format!("{PERMIT}{}", forbid(condition));
        let compiled = PolicyPackage::from_files(files_with(&manifest, &rules)).unwrap().compile().unwrap();
        compiled.rule("RULE").unwrap().rows.len()
    };
    assert_eq!(compile("!context.classes.isEmpty()"), 0);
    assert_eq!(compile("context.classes.isEmpty()"), 1);
}

#[test]
fn presence_of_quantities_has_three_states() {
    becomes(
        &["context.quantity has age", "context has quantity.age"],
        &[&|r| {
            (r.bits_mask, r.bits_value) = (AGE, AGE);
        }],
    );
    becomes(&["!(context.quantity has age)"], &[&|r| r.bits_mask = AGE]);
    assert_eq!(free().bits_mask, 0);
    becomes(
        &["context.quantity has dose_mg && context.quantity.dose_mg > 4000"],
        &[&|r| {
            (r.bits_mask, r.bits_value) = (DOSE, DOSE);
            quantity(r, 0, 4001, i32::MAX);
        }],
    );
    // If only the bound is negated, the quantity must still be present; if the whole condition is negated, it need not.
    becomes(
        &["context.quantity has dose_mg && !(context.quantity.dose_mg > 4000)"],
        &[&|r| {
            (r.bits_mask, r.bits_value) = (DOSE, DOSE);
            quantity(r, 0, i32::MIN, 4000);
        }],
    );
    becomes(
        &["!(context.quantity has dose_mg && context.quantity.dose_mg > 4000)"],
        &[&|r| r.bits_mask = DOSE, &|r| {
            (r.bits_mask, r.bits_value) = (DOSE, DOSE);
            quantity(r, 0, i32::MIN, 4000);
        }],
    );
    becomes(
        &["context.quantity has age && context.quantity.age != -1"],
        &[
            &|r| {
                (r.bits_mask, r.bits_value) = (AGE, AGE);
                quantity(r, 1, i32::MIN, -2);
            },
            &|r| {
                (r.bits_mask, r.bits_value) = (AGE, AGE);
                quantity(r, 1, 0, i32::MAX);
            },
        ],
    );
}

#[test]
fn flags_become_bits() {
    const INERT: u8 = row_bits::INERT_PREFIX as u8;
    const KNOWN: u8 = row_bits::UNCERTAINTY_KNOWN as u8;
    becomes(
        &["context.inert_prefix", "context.inert_prefix == true", "context.inert_prefix != false"],
        &[&|r| {
            (r.bits_mask, r.bits_value) = (INERT, INERT);
        }],
    );
    becomes(&["!context.uncertainty_known", "false == context.uncertainty_known"], &[&|r| r.bits_mask = KNOWN]);
    becomes(&["context.inert_prefix || !context.inert_prefix"], &[&|_| {}]);
}

#[test]
fn formulas_become_disjunctions_of_conjunctions() {
    becomes(
        &["(context.depth > 3 || context.inert_prefix) && context.length < 9"],
        &[
            &|r| {
                r.depth = [4, 255];
                scalar(r, 7, 0, 8);
            },
            &|r| {
                (r.bits_mask, r.bits_value) = (1, 1);
                scalar(r, 7, 0, 8);
            },
        ],
    );
    becomes(
        &["!(context.depth > 3 || context.length >= 9)", "!(context.depth > 3) && !(context.length >= 9)"],
        &[&|r| {
            r.depth = [0, 3];
            scalar(r, 7, 0, 8);
        }],
    );
    // The two alternatives differ only in whether `greeting` is a member, so this condition disappears.
    let any = "context.classes.containsAny([\"dosage\", \"diagnosis\"])";
    let greeting = "context.classes.contains(\"greeting\")";
    becomes(
        &[&format!("{any} && {greeting} || {any} && !{greeting}")],
        &[&|r| {
            r.classes_any = (DOSAGE | DIAGNOSIS).into();
        }],
    );
    // `depth > 3` includes `depth > 7`, and occurs twice.
    becomes(&["context.depth > 3 || context.depth > 7 || context.depth > 3"], &[&|r| r.depth = [4, 255]]);
    becomes(&["context.depth > 3 && true", "context.depth > 3 || false"], &[&|r| r.depth = [4, 255]]);
    assert!(rows("context.depth > 3 && context.depth < 4").is_empty());
    let unless = compiled(
        "@id(\"RULE\") forbid (principal, action, resource) when { context.depth > 3 } unless { context.length >= 9 };",
    );
    let row = unless.image.policy_rows()[usize::from(unless.rule("RULE").unwrap().rows.start)];
    assert_eq!((row.depth, row.scalars[15].get()), ([4, 255], 8));
}

#[test]
fn annotations_choose_bank_and_kind() {
    let compiled = compiled(
        "@id(\"C\") @outcome(\"decompose\") @stage(\"entropy\") @reason(\"too long\")\n\
         forbid (principal, action, resource) when { context.length > 5 };\n\
         @id(\"B\") @stage(\"entropy\") forbid (principal, action, resource) when { context.length > 9 };\n\
         @id(\"A\") @outcome(\"decompose\") forbid (principal, action, resource) when { context.depth > 9 };",
    );
    let bank = |bank: BankKind| {
        let rows = compiled.image.rows(bank).iter();
        rows.map(|row| (RowKind::try_from(row.kind).unwrap(), row.rule.get())).collect::<Vec<_>>()
    };
    // The rules in the order of their ids: A, ANCHOR-AMBIGUOUS, ANCHOR-MISSING, ANCHOR-UNRESOLVABLE, B, C, PERMIT.
    assert_eq!(
        bank(BankKind::Policy),
        [
            (RowKind::ForbidDecompose, 0),
            (RowKind::ForbidDecompose, 1),
            (RowKind::ForbidReject, 2),
            (RowKind::ForbidReject, 3),
            (RowKind::Permit, 6),
        ]
    );
    assert_eq!(
        bank(BankKind::Entropy),
        [(RowKind::ForbidReject, 4), (RowKind::ForbidDecompose, 5), (RowKind::Permit, ROW_NONE)]
    );
    let mut permit_all = free();
    (permit_all.kind, permit_all.rule) = (RowKind::Permit.into(), ROW_NONE.into());
    assert_eq!(compiled.image.entropy_rows()[2], permit_all);
    assert_eq!(compiled.rule_of_entropy_row(1).unwrap().reason.as_deref(), Some("too long"));
    assert_eq!(compiled.rule_of_policy_row(4).unwrap().id, "PERMIT");
    assert!(compiled.rule_of_entropy_row(2).is_none());
    assert!(compiled.rule_of_policy_row(5).is_none());
    let place = compiled.rule("B").unwrap().place.clone().unwrap();
    assert_eq!(place.to_string(), "rules.cedar:6:1");
}

/// The image without the package digest, which covers the bytes of the package's files.
fn rows_of(package: &PolicyPackage) -> Vec<u8> {
    let mut bytes = package.compile().unwrap().image.as_bytes().to_vec();
    bytes[96..128].fill(0);
    bytes
}

#[test]
fn order_of_rules_files_and_operands_leaves_no_trace() {
    let rules = [
        forbid("context.depth > 3 || context.classes.contains(\"dosage\") || context.inert_prefix"),
        "@id(\"B\") forbid (principal, action, resource) when { context.length != 7 };\n".to_owned(),
        PERMIT.to_owned(),
    ];
    let one = PolicyPackage::from_files(files(&rules.concat())).unwrap();
    let mut two = files(&rules[1]);
    two.insert(
        "z/late.cedar".into(),
        rules[0]
            .replace("context.depth > 3 || ", "")
            .replace("inert_prefix }", "inert_prefix || 3 < context.depth }")
            .into_bytes(),
    );
    two.insert("early.cedar".into(), rules[2].clone().into_bytes());
    let two = PolicyPackage::from_files(two).unwrap();
    assert_eq!(rows_of(&one), rows_of(&two));
    assert_ne!(one.digest(), two.digest());
    assert_ne!(one.compile().unwrap().image.digest(), two.compile().unwrap().image.digest());
    assert_eq!(one.compile().unwrap().image.header().package_digest, one.digest());
}

#[test]
fn digests_cover_every_file() {
    let digest = |change: &dyn Fn(&mut std::collections::BTreeMap<String, Vec<u8>>)| {
        let mut files = files(PERMIT);
        change(&mut files);
        PolicyPackage::from_files(files).unwrap().digest()
    };
    let plain = digest(&|_| {});
    assert_eq!(plain, digest(&|_| {}));
    assert_ne!(plain, digest(&|files| files.get_mut("rules.cedar").unwrap().push(b'\n')));
    assert_ne!(plain, digest(&|files| drop(files.insert("README.md".into(), Vec::new()))));
    let named = |name: &str| digest(&|files| drop(files.insert(name.into(), b"x".to_vec())));
    assert_ne!(named("a"), named("b"));
    let listing = PolicyPackage::from_files(files(PERMIT)).unwrap().listing();
    let lines: Vec<_> = listing.lines().collect();
    assert_eq!(lines[0], format!("portcullis package 1, mapping {MAPPING_VERSION}"));
    let names: Vec<_> = lines[1..].iter().map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(names, ["policy.toml", "prelude.cedar", "rules.cedar"]);
}
