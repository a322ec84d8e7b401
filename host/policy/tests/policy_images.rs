//! Requirement P6: a zeroed, truncated or foreign table denies everything. The image is canonical and is checked;
//! reading one never panics.
#![cfg(test)]

use portcullis_core::wire::{Descriptor, Determination, ImageHeader, ROW_NONE, Row, RowKind};
use portcullis_image::{BankKind, BankOutcome, ImageError, ImageEvaluator, TableBankAnswer, TableImage, reference};
use portcullis_test_support::policies::Case;
use portcullis_test_support::random::Random;
use zerocopy::IntoBytes as _;

fn case() -> Case {
    (0..).map(Case::generate).find(|case| case.compiled.image.policy_rows().len() > 10).unwrap()
}

#[test]
fn a_zeroed_table_denies_everything() {
    let case = case();
    let image = &case.compiled.image;
    let zeroed = vec![Row::ZERO; image.policy_rows().len()];
    let tables: [(&[Row], &[Row]); 4] =
        [(&zeroed, &zeroed), (&zeroed, image.entropy_rows()), (image.policy_rows(), &zeroed), (&[], &[])];
    for (number, (policy, entropy)) in tables.into_iter().enumerate() {
        let evaluator = ImageEvaluator::of_rows(policy, entropy, 255);
        for d in case.descriptors().take(2_000).chain([Descriptor::ZERO]) {
            assert_ne!(evaluator.judge(&d).determination, Determination::Admit, "table {number}");
            assert_eq!(reference::evaluate_rows(&zeroed, &d), TableBankAnswer::DEFAULT_DENY);
        }
    }
    // The original table admits some entries, so the test below is able to fail.
    let evaluator = ImageEvaluator::new(image);
    assert!(case.descriptors().take(2_000).any(|d| evaluator.judge(&d).determination == Determination::Admit));
    let empty = ImageEvaluator::of_rows(&[], &[], 0).evaluate(&Descriptor::ZERO);
    assert_eq!((empty.policy.outcome, empty.policy.row), (BankOutcome::Reject, None));
}

#[test]
fn zeroed_truncated_and_foreign_images_are_refused() {
    let image = case().compiled.image;
    let bytes = image.as_bytes();
    assert_eq!(TableImage::from_bytes(bytes).unwrap(), image);
    let mut seen = Vec::new();
    for length in (0..ImageHeader::BYTES).chain((ImageHeader::BYTES..bytes.len()).step_by(7)) {
        seen.push(TableImage::from_bytes(&bytes[..length]).unwrap_err());
    }
    assert!(seen.iter().all(|e| matches!(e, ImageError::Truncated { .. } | ImageError::Length { .. })));
    let longer = [bytes, &[0]].concat();
    assert!(matches!(TableImage::from_bytes(&longer), Err(ImageError::Length { .. })));
    assert_eq!(TableImage::from_bytes(&vec![0; bytes.len()]), Err(ImageError::Magic(0)));
    let with = |offset: usize, value: u8| {
        let mut bytes = bytes.to_vec();
        bytes[offset] = value;
        TableImage::from_bytes(&bytes).unwrap_err()
    };
    assert!(matches!(with(0, b'X'), ImageError::Magic(_)));
    assert_eq!(with(4, 2), ImageError::Version { found: 2, known: 1 });
    assert!(matches!(with(64, !bytes[64]), ImageError::MapDigest { .. }));
    assert!(with(64, !bytes[64]).to_string().contains("build the policy again"));
    // With this flag, the first row is read as a text part, and its bytes do not fit one.
    assert_eq!(with(7, 1), ImageError::Text("a reserved byte is not zero"));
    assert!(matches!(with(7, 2), ImageError::Header(_)));
    assert_eq!(with(12, 1), ImageError::Header("a reserved byte is not zero"));
    assert_eq!(with(48, 1), ImageError::Header("a reserved byte is not zero"));
    assert!(matches!(with(8, bytes[8] + 1), ImageError::Length { .. }));
    let mut none = *image.header();
    none.policy_rows = 0.into();
    let entropy = [none.as_bytes(), image.entropy_rows().as_bytes()].concat();
    assert_eq!(TableImage::from_bytes(&entropy), Err(ImageError::Header("no policy row")));
    none.policy_rows = 1.into();
    none.entropy_rows = 0.into();
    let one = [none.as_bytes(), image.policy_rows()[0].as_bytes()].concat();
    assert_eq!(TableImage::from_bytes(&one), Err(ImageError::Header("no entropy row")));
}

#[test]
fn rows_that_no_compiler_writes_are_refused() {
    let image = case().compiled.image;
    let refused = |change: &dyn Fn(&mut Row)| {
        let mut rows = image.policy_rows().to_vec();
        change(&mut rows[1]);
        match TableImage::new(*image.header(), &rows, image.entropy_rows()) {
            Err(ImageError::Row { bank: BankKind::Policy, row: 1 | 2, what }) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|row| row.kind = 0), "it is empty");
    assert_eq!(refused(&|row| row.kind = 9), "unknown kind");
    assert_eq!(refused(&|row| row.rule = ROW_NONE.into()), "its rule comes before the one of the row above");
    assert_eq!(
        refused(&|row| row.small_enums = (row.small_enums.get() & !0x3f).into()),
        "an enumeration without an allowed value"
    );
    assert_eq!(refused(&|row| row.domain = 0.into()), "an enumeration without an allowed value");
    assert_eq!(refused(&|row| row.bits_mask |= 0x40), "a flag or a quantity slot that does not exist");
    assert_eq!(refused(&|row| (row.bits_mask, row.bits_value) = (0, 1)), "a required value outside its mask");
    assert_eq!(refused(&|row| row.depth = [2, 1]), "an empty range");
    assert_eq!(refused(&|row| (row.scalars[2], row.scalars[3]) = (2.into(), 1.into())), "an empty range");
    assert_eq!(refused(&|row| (row.quantities[6], row.quantities[7]) = (2.into(), 1.into())), "an empty range");
    assert_eq!(
        refused(&|row| {
            (row.bits_mask, row.bits_value) = (0, 0);
            row.quantities[1] = 7.into();
        }),
        "a bound on a quantity that it does not require"
    );
    assert_eq!(
        refused(&|row| (row.touched_all, row.touched_none) = (1, 1)),
        "a set with a member that is both required and forbidden"
    );
    assert_eq!(
        refused(&|row| (row.touched_all, row.touched_any, row.touched_none) = (1, 3, 0)),
        "a choice of set members that is already decided"
    );
    assert_eq!(
        refused(&|row| (row.touched_all, row.touched_any, row.touched_none) = (0, 2, 0)),
        "a choice of one set member"
    );
    assert_eq!(refused(&|row| row.touched_none = 0x80), "a member of a set that the header does not declare");
    let undeclared = {
        let mut header = *image.header();
        (header.temporal, header.domain, header.audience, header.register) = (1.into(), 1.into(), 1.into(), 1.into());
        let mut row = Row { kind: RowKind::Permit.into(), ..image.entropy_rows().last().copied().unwrap() };
        (row.temporal, row.domain, row.audience, row.register) = (3.into(), 1.into(), 1.into(), 1.into());
        TableImage::new(header, &[row], &[row]).unwrap_err()
    };
    assert!(undeclared.to_string().contains("an enumeration value that the header does not declare"), "{undeclared}");
}

#[test]
fn corrupted_images_never_panic_and_index_and_row_function_stay_equal() {
    let case = case();
    let bytes = case.compiled.image.as_bytes();
    let mut random = Random::new(11);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let mut corrupted = bytes.to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            corrupted[at] ^= 1 << random.below(8);
        }
        match TableImage::from_bytes(&corrupted) {
            Err(_) => refused += 1,
            Ok(image) => {
                accepted += 1;
                let evaluator = ImageEvaluator::new(&image);
                for d in case.descriptors().take(20) {
                    assert_eq!(evaluator.evaluate(&d), reference::evaluate(&image, &d));
                }
            }
        }
    }
    assert!(accepted > 100 && refused > 1_000, "{accepted} accepted, {refused} refused");
}

/// For any rows and descriptors, canonical or not, the index gives the same result as the row function.
#[test]
fn the_index_is_the_row_function_for_any_bytes() {
    let mut random = Random::new(12);
    let (mut matched, mut late) = ([0u32; 2], 0);
    for round in 0..60 {
        let count = [1, 2, 63, 64, 65, 130, 255, 256, 257, 600][round % 10];
        let mut rows: Vec<Row> = (0..count).map(|_| loose_row(&mut random)).collect();
        // In every second round, only rows at the end of the table can match.
        if round / 10 % 2 == 1 {
            rows[..count * 9 / 10].fill(Row::ZERO);
        }
        let evaluator = ImageEvaluator::of_rows(&rows, &rows[..count.min(64)], 2);
        for _ in 0..60 {
            let mut bytes = [0u8; Descriptor::BYTES];
            for byte in &mut bytes {
                *byte = random.bits() as u8 & random.bits() as u8;
            }
            let mut d: Descriptor = zerocopy::transmute!(bytes);
            if random.chance(3, 4) {
                (d.category, d.granularity, d.epistemic, d.anchor) = (random.below(6) as u8, 1, 1, 1);
                (d.temporal, d.domain, d.audience, d.register) = (0, 1, 2, random.below(40) as u8);
            }
            let found = evaluator.evaluate(&d);
            assert_eq!(found.policy, reference::evaluate_rows(&rows, &d));
            assert_eq!(found.entropy, reference::evaluate_rows(&rows[..count.min(64)], &d));
            matched[usize::from(found.policy.row.is_some())] += 1;
            late += u32::from(found.policy.row.is_some_and(|row| row >= 256));
        }
    }
    assert!(matched.iter().all(|count| *count > 300), "{matched:?}");
    assert!(late > 50, "{late} answers from past the first 256 rows");
}

/// A row with few conditions, not in canonical form.
fn loose_row(random: &mut Random) -> Row {
    let mut row = Row {
        kind: random.below(5) as u8,
        small_enums: (random.bits() as u16 | 0x2480).into(),
        temporal: (random.bits() as u32 | 1).into(),
        domain: (random.bits() as u32 | 2).into(),
        audience: u32::MAX.into(),
        register: (random.bits() as u32 | random.bits() as u32).into(),
        depth: [0, 255],
        alternatives: [0, 255],
        correction: [0, 255],
        ..Row::ZERO
    };
    for pair in row.scalars.chunks_exact_mut(2) {
        pair[1] = u16::MAX.into();
    }
    for pair in row.quantities.chunks_exact_mut(2) {
        (pair[0], pair[1]) = (i32::MIN.into(), i32::MAX.into());
    }
    for _ in 0..random.below(4) {
        let sparse = random.wide() & random.wide() & random.wide() & random.wide();
        match random.below(14) {
            0 => row.classes_all = (sparse & random.wide() & random.wide()).into(),
            1 => row.classes_any = sparse.into(),
            2 => row.classes_none = sparse.into(),
            3 => row.established_all = (sparse & random.wide() & random.wide()).into(),
            4 => row.established_any = sparse.into(),
            5 => row.established_none = sparse.into(),
            6 => row.touched_all = 1 << random.below(8),
            7 => row.touched_any = random.bits() as u8,
            8 => row.touched_none = 1 << random.below(8),
            9 => (row.bits_mask, row.bits_value) = (1 << random.below(8), random.bits() as u8),
            10 => row.depth = [random.bits() as u8 / 2, random.bits() as u8],
            11 => row.scalars[random.below(16)] = (random.bits() as u16).into(),
            12 => row.quantities[random.below(8)] = (random.bits() as i32).into(),
            _ => row.correction = [random.bits() as u8, random.bits() as u8],
        }
    }
    row
}
