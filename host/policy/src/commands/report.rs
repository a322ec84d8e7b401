//! `policy check`: checks that a package compiles and that its schema is current; reports its cost and warnings.

use super::test::parse_tests;
use crate::compile::{CompiledPackage, RowCapacity};
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, PolicySourceRange};
use crate::package::{PolicyPackage, TESTS_FILE};
use crate::schema::SCHEMA_FILE;
use portcullis_core::class::ClassSet;
use portcullis_core::hex;
use portcullis_core::manifest::{ClassDeclaration, HitPolarity, PackageManifest};
use portcullis_core::wire::RowKind;
use portcullis_image::BankKind;
use std::fmt;
use std::sync::Arc;

/// The results of `policy check` for a package that compiles.
#[derive(Clone, Debug)]
pub struct PolicyCheckReport {
    pub compiled: CompiledPackage,
    /// Rows in use in the policy bank, then in the entropy bank.
    pub banks: [BankUse; 2],
    /// Rules that can never match, and rules that never decide.
    pub warnings: Vec<PolicyProblem>,
}

/// Rows of one bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankUse {
    pub bank: BankKind,
    /// Rows used; in the entropy bank, this number includes the row permit-all.
    pub rows: usize,
    pub capacity: u16,
    /// Rules of the bank, in order of their ids.
    pub rules: Vec<RuleRowUse>,
}

/// Rows of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRowUse {
    pub id: String,
    /// The action of the rule when it matches.
    pub kind: RowKind,
    pub rows: usize,
}

/// Checks a package: compilation, schema, form of the tests, warnings. Returns all errors that apply: the package does
/// not compile, its stored schema differs from the generated one, a test is malformed.
pub fn check(package: &PolicyPackage, capacity: RowCapacity) -> Result<PolicyCheckReport, PolicyPackageError> {
    let (compiled, schema) = (package.compile_for(capacity), check_schema(package));
    let tests = package.files().contains_key(TESTS_FILE).then(|| parse_tests(package)).transpose();
    let errors = [compiled.as_ref().err(), schema.as_ref().err(), tests.as_ref().err()];
    PolicyPackageError::unless_empty(
        errors.into_iter().flatten().flat_map(|error| error.problems().to_vec()).collect(),
    )?;
    let compiled = compiled?;
    let bank = |bank: BankKind| BankUse {
        bank,
        rows: compiled.image.rows(bank).len(),
        capacity: capacity.of(bank),
        rules: compiled
            .rules
            .iter()
            .filter(|rule| rule.bank == bank)
            .map(|rule| RuleRowUse { id: rule.id.clone(), kind: rule.kind, rows: rule.rows.len() })
            .collect(),
    };
    let banks = BankKind::ALL.map(bank);
    let mut warnings = compiled.warnings();
    warnings.extend(open_to_denial(&compiled, package.manifest()));
    Ok(PolicyCheckReport { compiled, banks, warnings })
}

/// Warns of classes that make an admit more likely although they also count where the text denies them. These are
/// classes that disable a forbid, and established classes that a permit requires.
fn open_to_denial(compiled: &CompiledPackage, manifest: &PackageManifest) -> Vec<PolicyProblem> {
    let mut opening = 0u128;
    for (_, row) in BankKind::ALL.iter().flat_map(|bank| compiled.rows(*bank)) {
        opening |= match RowKind::try_from(row.kind) {
            Ok(RowKind::ForbidReject | RowKind::ForbidDecompose) => row.classes_none.get() | row.established_none.get(),
            Ok(RowKind::Permit) => row.established_all.get() | row.established_any.get(),
            _ => 0,
        };
    }
    let classes = manifest.classes.iter().enumerate().filter(|(at, class)| {
        let read = !class.vocabulary.is_empty() || !class.patterns.is_empty();
        manifest.class_id(*at).is_some_and(|id| ClassSet(opening).contains(id))
            && read
            && class.polarity != HitPolarity::Affirmed
    });
    let problem = |class: &ClassDeclaration| {
        let message = format!("class `{}` opens a gate, and counts where a text denies it, too", class.name);
        let help = "write `polarity = \"affirmed\"` in the class; languages without words of polarity cannot tell";
        PolicyProblem::new(PolicyProblemKind::Polarity, message).help(help)
    };
    classes.map(|(_, class)| problem(class)).collect()
}

/// Checks that the stored schema equals the generated one. Errors: the schema is missing or different; then the problem
/// points at the first line that differs.
pub fn check_schema(package: &PolicyPackage) -> Result<(), PolicyPackageError> {
    const REMEDY: &str = "write it with `portcullis policy schema DIR`";
    let Some(found) = package.files().get(SCHEMA_FILE) else {
        return Err(PolicyProblem::new(PolicyProblemKind::Schema, format!("no `{SCHEMA_FILE}`")).help(REMEDY).into());
    };
    let expected = package.schema();
    if *found == expected.as_bytes() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found).into_owned();
    let mut offset = 0;
    for (line, wanted) in found.split_inclusive('\n').zip(expected.split_inclusive('\n')) {
        if line != wanted {
            break;
        }
        offset += line.len();
    }
    let length = found.get(offset..).and_then(|rest| rest.lines().next()).map_or(0, str::len);
    let place = PolicySourceRange { file: SCHEMA_FILE.into(), source: Arc::from(found), offset, length };
    let message = format!("`{SCHEMA_FILE}` is not the schema that policy.toml generates");
    Err(PolicyProblem::new(PolicyProblemKind::Schema, message).at(place, "differs from here on").help(REMEDY).into())
}

impl fmt::Display for PolicyCheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bank in &self.banks {
            writeln!(f, "{} bank: {} of {} rows", bank.bank.name(), bank.rows, bank.capacity)?;
            for rule in &bank.rules {
                writeln!(f, "  {:>4}  {:<16} {}", rule.rows, rule.kind.name(), rule.id)?;
            }
            if bank.bank == BankKind::Entropy {
                writeln!(f, "     1  {:<16} (what no forbid of this bank stops, passes)", "permit")?;
            }
        }
        let header = self.compiled.image.header();
        writeln!(f, "package digest {}", hex::encode(&header.package_digest))?;
        write!(f, "policy digest  {}", hex::encode(&self.compiled.image.digest()))
    }
}
