//! Compositions: a member decides as its package alone does, and as `cedar-policy` does. Rows of one member never match
//! a stream of another. Errors name the mismatch. A session with several members can be replayed, each stream under its
//! own policy.
#![cfg(test)]

use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, SessionConfig, SessionError};
use portcullis_core::class::{ClassId, ClassSet};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::{Descriptor, Opcode, ROW_NONE, Record, RecordType};
use portcullis_gate::replay::{ReplayError, ReplayInput as Given, StreamReplayer};
use portcullis_gate::{
    GateSettings, SaltKey, StreamEvent, StreamEventKind, StreamGovernor, StreamInput, StreamNumbers,
};
use portcullis_image::{BankKind, ImageEvaluator, reference::row_matches};
use portcullis_policy::commands::{PolicyTestInput, check, explain, parse_tests};
use portcullis_policy::composition::{COMPOSITION_FILE, CompositionPlan};
use portcullis_policy::context::{ContextConverter, MissingFieldMode};
use portcullis_policy::decision::DescriptorDecision;
use portcullis_policy::error::PolicyProblemKind;
use portcullis_policy::oracle::CedarOracle;
use portcullis_policy::{
    CompiledPackage, ImagePolicy, ImagePolicySet, PackageComposition, PolicyPackage, PolicyPackageError, RowCapacity,
};
use portcullis_test_support::policies::Case;
use portcullis_test_support::policies::fixture::{MANIFEST, PERMIT, files_with};
use portcullis_test_support::root;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use zerocopy::little_endian::U128;

/// The shipped packages that fit into one image. `biography` has another depth limit, so it does not fit.
const SHIPPED: [&str; 5] = ["clinical", "finance-suitability", "pii", "privilege", "residency"];

const ROOMY: RowCapacity = RowCapacity { policy: 40_000, entropy: 20_000 };

fn shipped(name: &str) -> PolicyPackage {
    PolicyPackage::load(&root().join("policies").join(name)).unwrap()
}

/// The files of a composition `house`, made of these packages, each with these profiles.
fn composed_files(members: &[(&str, &PolicyPackage, &[AgentProfile])]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut manifest = "[composition]\nname = \"house\"\nversion = \"1.0.0\"\n".to_owned();
    for (name, package, profiles) in members {
        manifest.push_str(&format!("[[member]]\nname = \"{name}\"\n"));
        let own = package.files().iter();
        files.extend(own.map(|(path, bytes)| (format!("members/{name}/{path}"), bytes.clone())));
        for (number, profile) in profiles.iter().enumerate() {
            let digest = profile.digest();
            manifest.push_str(&format!("[[member.profile]]\nname = \"p{number}\"\ndigest = \"{digest}\"\n"));
            let text = toml::to_string(profile).unwrap();
            files.insert(format!("profiles/{name}/p{number}.toml"), text.into_bytes());
        }
    }
    files.insert(COMPOSITION_FILE.to_owned(), manifest.into_bytes());
    files
}

fn composition(members: &[(&str, &PolicyPackage)]) -> Result<PackageComposition, PolicyPackageError> {
    let members: Vec<_> = members.iter().map(|(name, package)| (*name, *package, &[][..])).collect();
    PackageComposition::from_files(composed_files(&members))
}

/// A package's descriptor in the numbers of the composition, computed here from the design and not by the tested code.
fn renumbered(d: &Descriptor, member: &PolicyPackage) -> Descriptor {
    let membership = member.manifest().membership.as_ref().unwrap();
    let set = |mask: u128| ClassSet(mask).iter().map(|class| membership.classes[class.index()]).collect::<ClassSet>();
    Descriptor {
        domain: d.domain + membership.first_domain,
        classes: U128::new(set(d.classes.get()).0),
        established: U128::new(set(d.established.get()).0),
        ..*d
    }
    .sealed()
}

#[derive(Default)]
struct Tally {
    judged: u64,
    admitted: u64,
    renumbered: u64,
}

/// Compares the decisions of a member with those of its package outside the composition, for these descriptors.
fn hold_to_alone(
    alone: (&PolicyPackage, &CompiledPackage),
    member: (&PolicyPackage, &CompiledPackage),
    descriptors: impl Iterator<Item = Descriptor>,
    tally: &mut Tally,
) {
    let (evaluator, common) = (ImageEvaluator::new(&alone.1.image), ImageEvaluator::new(&member.1.image));
    let oracle = CedarOracle::new(member.0, member.1).unwrap();
    for d in descriptors {
        let moved = renumbered(&d, member.0);
        let (before, after) = (evaluator.evaluate(&d), common.evaluate(&moved));
        let name = &member.0.manifest().reference();
        let plain = |compiled, d, banks| {
            let DescriptorDecision { mut policy, mut entropy, determination, stage, rule, reason } =
                DescriptorDecision::new(compiled, d, banks);
            // Row numbers may differ, so they are not compared.
            (policy.row, entropy.row) = (policy.row.map(|_| 0), entropy.row.map(|_| 0));
            (policy, entropy, determination, stage, rule, reason)
        };
        let decided = plain(alone.1, &d, &before);
        assert_eq!(plain(member.1, &moved, &after), decided, "{name}");
        oracle.check(&moved, &after).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The descriptor as JSON, with the names that the package declares.
        let show = |package: &PolicyPackage, d| ContextConverter::new(package.vocabulary()).json(d).unwrap();
        assert_eq!(show(member.0, &moved), show(alone.0, &d));
        for bank in BankKind::ALL {
            for (number, row) in (0..).zip(member.1.image.rows(bank)) {
                let own = member.1.rule_of_row(bank, number).is_some() || row.rule.get() == ROW_NONE;
                assert!(own || !row_matches(row, &moved), "{name}: {} row {number} of another member", bank.name());
            }
        }
        tally.judged += 1;
        tally.admitted += u64::from(decided.2 == portcullis_core::wire::Determination::Admit);
        tally.renumbered += u64::from(moved != d);
    }
}

/// Asserts that every row except permit-all requires domains of its own member, and that members share no domain. So
/// rows and members are separate for every descriptor, not only for those that a test generates.
fn assert_apart(composition: &PackageComposition, compiled: &[CompiledPackage]) {
    let mut seen = 0u32;
    for (member, own) in composition.members().iter().zip(compiled) {
        assert_eq!(own.image, compiled[0].image);
        let manifest = member.package.manifest();
        let domains = (1u32 << manifest.enumerations.domain.len()).wrapping_sub(1) << manifest.first_domain();
        assert_eq!(seen & domains, 0);
        seen |= domains;
        for bank in BankKind::ALL {
            for (_, row) in own.rows(bank).filter(|(_, row)| row.rule.get() != ROW_NONE) {
                assert_eq!(row.domain.get() & !domains, 0);
            }
        }
    }
    assert_eq!(compiled[0].image.header().domain.get(), seen);
    for bank in BankKind::ALL {
        let own = compiled.iter().map(|own| own.rules.iter().filter(|rule| rule.bank == bank));
        let rows: usize = own.flatten().map(|rule| rule.rows.len()).sum();
        assert_eq!(rows + usize::from(bank == BankKind::Entropy), compiled[0].image.rows(bank).len());
    }
}

/// The contexts in the tests of a package.
fn tested_contexts(package: &PolicyPackage) -> Vec<Descriptor> {
    let contexts = ContextConverter::new(package.vocabulary());
    let tests = parse_tests(package).unwrap().into_iter();
    let context = |input| match input {
        PolicyTestInput::Context { category, context } => {
            Some(contexts.descriptor(&category, &context, MissingFieldMode::Neutral).unwrap())
        }
        PolicyTestInput::Text { .. } => None,
    };
    tests.filter_map(|test| context(test.input)).collect()
}

#[test]
fn shipped_packages_decide_in_every_pair_and_together_as_they_do_alone() {
    let cases: Vec<Case> = (1..).zip(SHIPPED).map(|(seed, name)| Case::of(seed, shipped(name))).collect();
    let mut sets: Vec<Vec<&Case>> = vec![cases.iter().collect(), cases.iter().rev().collect()];
    for (at, first) in cases.iter().enumerate() {
        sets.extend(cases[at + 1..].iter().map(|second| vec![first, second]));
    }
    let mut tally = Tally::default();
    for set in &sets {
        let named: Vec<_> =
            set.iter().map(|case| (case.package.manifest().package.name.as_str(), &case.package)).collect();
        let composition = composition(&named).unwrap();
        let compiled = composition.compile().unwrap_or_else(|error| panic!("{}", error.render()));
        assert_apart(&composition, &compiled);
        for ((member, own), case) in composition.members().iter().zip(&compiled).zip(set) {
            let descriptors = tested_contexts(&case.package).into_iter().chain(case.descriptors().take(300));
            hold_to_alone((&case.package, &case.compiled), (&member.package, own), descriptors, &mut tally);
        }
    }
    let Tally { judged, admitted, renumbered } = tally;
    println!(
        "{} compositions: {judged} judged, by cedar too, {admitted} admitted, {renumbered} renumbered",
        sets.len()
    );
    assert!(admitted > 200 && renumbered > judged / 3);
}

#[test]
fn generated_packages_decide_in_a_composition_as_they_do_alone() {
    let long = std::env::var_os("PORTCULLIS_LONG").is_some_and(|value| value == "1");
    let mut tally = Tally::default();
    let (mut compositions, mut refused) = (0, 0);
    for group in 0..if long { 2_000 } else { 200 } {
        // Every second member has other patterns, so its classes share no numbers with those of the others.
        let cases: Vec<Case> = (0..2 + group % 2).map(|at| Case::generate(group * 3 + at)).collect();
        let depth = 2;
        let same_depth = |(at, case): (usize, &Case)| {
            let mut files = case.package.files().clone();
            let text = String::from_utf8(files["policy.toml"].clone()).unwrap();
            let old = format!("max_depth = {}", case.package.manifest().limits.max_depth);
            let text = text.replacen(&old, &format!("max_depth = {depth}"), 1);
            let text = if at % 2 == 1 {
                text.replace("[[class]]\n", "[[class]]\npattern = [{ regex = 'x' }]\n")
            } else {
                text
            };
            files.insert("policy.toml".into(), text.into_bytes());
            case.with_package(PolicyPackage::from_files(files).unwrap())
        };
        let cases: Vec<Case> = cases.iter().enumerate().map(same_depth).collect();
        let names = ["a", "b", "c"];
        let named: Vec<_> = names.into_iter().zip(&cases).map(|(name, case)| (name, &case.package)).collect();
        let composition = match composition(&named) {
            Ok(composition) => composition,
            Err(error) => {
                assert!(
                    error.problems().iter().all(|problem| problem.kind() == PolicyProblemKind::Capacity),
                    "{}",
                    error.render()
                );
                refused += 1;
                continue;
            }
        };
        compositions += 1;
        let compiled = composition.compile_for(ROOMY).unwrap_or_else(|error| panic!("{}", error.render()));
        assert_apart(&composition, &compiled);
        for ((member, own), case) in composition.members().iter().zip(&compiled).zip(&cases) {
            hold_to_alone(
                (&case.package, &case.compiled),
                (&member.package, own),
                case.descriptors().take(100),
                &mut tally,
            );
        }
    }
    let Tally { judged, admitted, renumbered, .. } = tally;
    println!(
        "{compositions} compositions, {refused} without room: {judged} judged, {admitted} admitted, \
         {renumbered} renumbered"
    );
    assert!(compositions > 50 && admitted > 500 && renumbered > 3_000);
}

/// A session on the software model of the card, and the records that this card writes.
fn session(compiled: &CompiledPackage) -> (CardSession<ModelCard>, Arc<Mutex<Vec<Record>>>) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&records);
    let sink = move |record: &Record| {
        kept.lock().unwrap().push(*record);
        Ok(())
    };
    let config = SessionConfig { sink: Box::new(sink), epoch: Some(7), ..SessionConfig::default() };
    (CardSession::open(ModelCard::new(), &compiled.image, config).unwrap(), records)
}

/// Whether a record is that of a judged entry. A record without an entry has other bytes in place of the opcode.
fn is_gate(record: &Record) -> bool {
    let entries = [RecordType::Verdict, RecordType::Refused].map(u8::from);
    entries.contains(&record.answer.record_type) && record.descriptor.opcode == u8::from(Opcode::Gate)
}

fn salt_key() -> SaltKey {
    SaltKey::from_bytes([3; 32])
}

/// The determinations of the texts in a package's tests, as `run --json` prints them, and all judged entries.
fn govern_tests(package: &PolicyPackage, compiled: &CompiledPackage) -> (Vec<String>, Vec<Record>) {
    let policy = portcullis_gate::GatePolicy::new(package.clone(), compiled.clone()).unwrap();
    let governor = Arc::new(StreamGovernor::new(Arc::new(policy), GateSettings::new(salt_key())).unwrap());
    let items = parse_tests(package).unwrap().into_iter().filter_map(|test| match test.input {
        PolicyTestInput::Text { text, task } => Some(StreamInput::Text { id: test.name, text, task }),
        PolicyTestInput::Context { .. } => None,
    });
    let (mut session, records) = session(compiled);
    let mut lines = Vec::new();
    let keep = |event: StreamEvent| {
        match event.what {
            StreamEventKind::Determined(judged) => lines.push(serde_json::to_string(&judged.determination).unwrap()),
            StreamEventKind::Ended { summary, .. } => lines.push(serde_json::to_string(&summary).unwrap()),
            _ => {}
        }
        Ok::<(), SessionError>(())
    };
    governor.govern(&mut session, items, keep).unwrap();
    drop(session);
    let records = std::mem::take(&mut *records.lock().unwrap());
    (lines, records.into_iter().filter(is_gate).collect())
}

#[test]
fn texts_of_shipped_tests_get_the_same_bytes_in_a_composition() {
    let packages: Vec<PolicyPackage> = SHIPPED.into_iter().map(shipped).collect();
    let named: Vec<_> = SHIPPED.into_iter().zip(&packages).collect();
    let policies = ImagePolicySet::composed(&composition(&named).unwrap()).unwrap();
    let mut counted = 0;
    for (package, member) in packages.iter().zip(policies.iter()) {
        let compiled = package.compile().unwrap();
        let (alone, composed) = (govern_tests(package, &compiled), govern_tests(&member.package, &member.compiled));
        let name = &package.manifest().package.name;
        assert_eq!(alone.0, composed.0, "{name}");
        assert_eq!(alone.1.len(), composed.1.len(), "{name}");
        for (before, after) in alone.1.iter().zip(&composed.1) {
            assert_eq!(renumbered(&before.descriptor, &member.package), after.descriptor, "{name}");
            let answer = |record: &Record| (record.answer.determination, record.answer.stage, record.answer.fault);
            assert_eq!(answer(before), answer(after), "{name}");
        }
        assert!(alone.1.len() > 20, "{name}");
        counted += alone.1.len();
    }
    println!("{counted} entries of the shipped tests' texts");
}

/// Two packages of the fixture, whose rules have the same ids.
fn two() -> [PolicyPackage; 2] {
    let other = MANIFEST.replace("\"general\", \"medical\", \"legal\"", "\"general\", \"office\"");
    let other = other.replace("name = \"greeting\"", "name = \"greeting\"\npattern = [{ regex = 'hello' }]");
    let rule = |condition: &str| {
        format!("{PERMIT}@id(\"RULE\") forbid (principal, action, resource) when {{ {condition} }};\n")
    };
    [
        PolicyPackage::from_files(files_with(MANIFEST, &rule("context.domain == \"general\""))).unwrap(),
        PolicyPackage::from_files(files_with(&other, &rule("context.classes.contains(\"greeting\")"))).unwrap(),
    ]
}

#[test]
fn equal_classes_share_a_number_and_others_do_not() {
    let [first, second] = two();
    let composed = composition(&[("a", &first), ("b", &second)]).unwrap();
    let numbers = |at: usize| -> Vec<u8> {
        let membership = composed.members()[at].package.manifest().membership.clone().unwrap();
        membership.classes.into_iter().map(u8::from).collect()
    };
    // In `b` the class `greeting` has another pattern.
    assert_eq!((numbers(0), numbers(1)), (vec![0, 1, 2, 3], vec![0, 1, 2, 4]));
    let compiled = composed.compile().unwrap();
    assert_eq!(compiled[0].image.header().classes.get(), 0b1_1111);
    assert_eq!(compiled[0].image.header().domain.get(), 0b1_1111);
    // In another language, polarity depends on other words; with another word file, the class has other phrases.
    let with = |change: &dyn Fn(String) -> String, words: &str| {
        let mut files = first.files().clone();
        let text = String::from_utf8(files["policy.toml"].clone()).unwrap();
        let text = text.replace("name = \"greeting\"", "name = \"greeting\"\nvocabulary = [\"words.txt\"]");
        files.insert("policy.toml".into(), change(text).into_bytes());
        files.insert("words.txt".into(), words.as_bytes().to_vec());
        PolicyPackage::from_files(files).unwrap()
    };
    let english = with(&|text| text, "hello\n");
    let last = |other: &PolicyPackage| {
        let composed = composition(&[("a", &english), ("b", other)]).unwrap();
        composed.members()[1].package.manifest().class_id(3).map(u8::from)
    };
    let described = |text: String| text.replace("name = \"greeting\"", "name = \"greeting\"\ndescription = \"x\"");
    assert_eq!(last(&with(&|text| text, "hello\n")), Some(3));
    assert_eq!(last(&with(&described, "hello\n")), Some(3), "a description recognises nothing");
    assert_eq!(last(&with(&|text| text, "good day\n")), Some(4));
    let german = |text: String| text.replace("name = \"fixture\"", "name = \"fixture\"\nlanguage = \"de\"");
    assert_eq!(last(&with(&german, "hello\n")), Some(7));
    // Two classes of the same member never share a number.
    let same = composition(&[("a", &english), ("b", &english)]).unwrap();
    assert_eq!(same.members()[1].package.manifest().class_id(3), ClassId::try_from(3).ok());
}

fn refusal(result: Result<impl std::fmt::Debug, PolicyPackageError>) -> String {
    let error = result.unwrap_err();
    let [problem] = error.problems() else { panic!("{}", error.render()) };
    assert!(problem.remedy().is_some_and(|help| help.len() > 10), "{problem}: no remedy");
    problem.to_string()
}

#[test]
fn a_member_that_does_not_fit_is_named_with_the_use_before_and_after() {
    let [first, second] = two();
    let names: Vec<String> = (0..11).map(|at| format!("m{at}")).collect();
    let eleven: Vec<_> = names.iter().map(|name| (name.as_str(), &first)).collect();
    let text = refusal(composition(&eleven));
    assert!(
        text.starts_with("member `m10` does not fit: values of the enumeration `domain`: 30 of 32 are used"),
        "{text}"
    );
    assert!(text.ends_with("33 with it"), "{text}");
    assert!(composition(&eleven[..10]).unwrap().compile().is_ok(), "thirty domains fit");

    let many = |prefix: &str, count: usize| {
        let class = |at| format!("[[class]]\nname = \"{prefix}{at}\"\n");
        let manifest = MANIFEST.to_owned() + &(0..count).map(class).collect::<String>();
        PolicyPackage::from_files(files_with(&manifest, PERMIT)).unwrap()
    };
    let (x, y, z) = (many("x", 60), many("y", 64), many("z", 1));
    let text = refusal(composition(&[("a", &x), ("b", &y), ("c", &z)]));
    assert_eq!(text, "member `c` does not fit: classes: 128 of 128 are used before it (`a` 64, `b` 64), 129 with it");
    let full = composition(&[("a", &x), ("b", &y)]).unwrap().compile().unwrap();
    assert_eq!(full[0].image.header().classes.get(), u128::MAX);

    let composed = composition(&[("a", &first), ("b", &second)]).unwrap();
    let rows = BankKind::ALL.map(|bank| composed.compile().unwrap()[0].image.rows(bank).len() as u16);
    let [policy, entropy] = rows;
    assert!(composed.compile_for(RowCapacity { policy, entropy }).is_ok());
    let text = refusal(composed.compile_for(RowCapacity { policy: policy - 1, entropy }));
    let own = policy / 2;
    assert_eq!(
        text,
        format!(
            "member `b` does not fit: rows of the policy bank: \
             {own} of {} are used before it (`a` {own}), {policy} with it",
            policy - 1
        )
    );
    let text = refusal(composed.compile_for(RowCapacity { policy: 2, entropy }));
    assert!(text.starts_with("member `a` does not fit: rows of the policy bank: 0 of 2 are used before it,"), "{text}");
    let strict = "@id(\"E\") @stage(\"entropy\") forbid (principal, action, resource) when { context.depth > 1 };\n";
    let strict = PolicyPackage::from_files(files_with(MANIFEST, &format!("{PERMIT}{strict}"))).unwrap();
    let text = refusal(
        composition(&[("a", &strict), ("b", &strict)]).unwrap().compile_for(RowCapacity { policy: 99, entropy: 2 }),
    );
    let expected = "member `b` does not fit: rows of the entropy bank: 1 of 1 are used before it (`a` 1), 2 with it";
    assert_eq!(text, expected, "one row is the common permit-all");

    let text = refusal(composition(&[("pii", &shipped("pii")), ("lives", &shipped("biography"))]));
    assert!(text.starts_with("member `lives` does not fit: its limits.max_depth is 2, that of `pii` is 3"), "{text}");
}

#[test]
fn a_broken_composition_is_refused() {
    let [first, second] = two();
    let profile = AgentProfile { audience: Some("public".into()), ..AgentProfile::default() };
    let profiles = [profile];
    let good = composed_files(&[("a", &first, &profiles), ("b", &second, &[])]);
    assert!(PackageComposition::from_files(good.clone()).is_ok());
    let changed = |path: &str, from: &str, to: &str| {
        let mut files = good.clone();
        let text = String::from_utf8(files[path].clone()).unwrap();
        assert!(text.contains(from), "{from}");
        files.insert(path.into(), text.replacen(from, to, 1).into_bytes());
        PackageComposition::from_files(files).unwrap_err().to_string()
    };
    for (path, from, to, expected) in [
        (COMPOSITION_FILE, "name = \"b\"", "name = \"a\"", "member `a` is declared twice"),
        (COMPOSITION_FILE, "name = \"b\"", "name = \"../b\"", "not a name"),
        (
            COMPOSITION_FILE,
            "name = \"b\"",
            "name = \"c\"",
            "`members/b/policy.toml`: a file that `composition.toml` does not name",
        ),
        (COMPOSITION_FILE, "version = \"1.0.0\"", "version = \"1.0\"", "is not `major.minor.patch`"),
        (COMPOSITION_FILE, "[composition]", "[composition]\nkey = 1", "unknown key `key`"),
        (COMPOSITION_FILE, "name = \"p0\"", "name = \"p1\"", "a file that `composition.toml` does not name"),
        ("profiles/a/p0.toml", "public", "professional", "not the one that is pinned"),
        ("members/b/policy.toml", "version = \"1.0.0\"", "version = \"1\"", "is not `major.minor.patch`"),
    ] {
        let text = changed(path, from, to);
        assert!(text.contains(expected), "{path}: {text}");
    }
    let without = |path: &str| {
        let mut files = good.clone();
        files.remove(path).unwrap();
        PackageComposition::from_files(files).unwrap_err().to_string()
    };
    assert!(without("profiles/a/p0.toml").contains("no `profiles/a/p0.toml`"));
    assert!(without("members/b/policy.toml").contains("members/b/"));
    // An error in a member's rules is reported with its path in the composition.
    let mut files = good.clone();
    files.insert(
        "members/b/rules.cedar".into(),
        b"@id(\"X\") permit (principal, action, resource) when { context.no };".to_vec(),
    );
    let error = PackageComposition::from_files(files).unwrap().compile().unwrap_err();
    assert_eq!(error.problems()[0].place().unwrap().file, "members/b/rules.cedar");
    // A member cannot be compiled without the other members.
    let composed = PackageComposition::from_files(good.clone()).unwrap();
    assert!(composed.members()[0].package.compile().is_err());
    // A composition's folder is not accepted as a package, and a package's folder not as a composition.
    assert!(ImagePolicySet::from_listed(good.clone()).unwrap_err().to_string().contains("prelude"));
    let listed = |package: &PolicyPackage| -> BTreeMap<String, Vec<u8>> {
        package.listed().into_iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect()
    };
    let policies = ImagePolicySet::from_listed(listed(&composed.members()[1].package)).unwrap();
    assert_eq!(policies.iter().map(|policy| policy.name.as_deref().unwrap()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(policies.digest(), composed.members()[0].package.digest());
    assert_eq!(policies.image().header().package_digest, policies.digest());
    for (member, expected) in [(None, "no member is named"), (Some("c"), "has no member `c`")] {
        assert!(refusal(policies.clone().into_policy(member)).contains(expected));
    }
    let alone = ImagePolicySet::from_listed(listed(&first)).unwrap();
    assert!(refusal(alone.clone().into_policy(Some("a"))).contains("only a composition has members"));
    assert_eq!(alone.into_policy(None).unwrap().name, None);
}

#[test]
fn a_member_takes_its_own_profiles_and_no_others() {
    let [first, second] = two();
    let professional = AgentProfile { audience: Some("professional".into()), ..AgentProfile::default() };
    let legal = AgentProfile { domain: Some("legal".into()), ..AgentProfile::default() };
    let profiles = [professional.clone(), legal.clone()];
    let files = composed_files(&[("b", &second, &[]), ("a", &first, &profiles)]);
    let composed = PackageComposition::from_files(files).unwrap();
    let [b, a] = composed.members() else { panic!("two members") };
    let domain = |package: &PolicyPackage, profile: &AgentProfile| {
        profile.context(package.manifest()).map(|context| context.domain)
    };
    // `b` has the domains 0 and 1, so `a` has those from 2 on.
    assert_eq!(domain(&a.package, &professional).unwrap(), 2);
    assert_eq!(domain(&a.package, &legal).unwrap(), 4);
    assert_eq!(domain(&a.alone, &legal).unwrap(), 2);
    let error = domain(&a.package, &AgentProfile::default()).unwrap_err();
    assert_eq!((error.field, &error.value), ("digest", &AgentProfile::default().digest().to_string()));
    assert!(error.declared.contains(&legal.digest().to_string()));
    assert_eq!(domain(&b.package, &AgentProfile::default()).unwrap(), 0);
    let office = AgentProfile { domain: Some("office".into()), ..AgentProfile::default() };
    assert!(domain(&b.package, &office).is_err());
    assert_eq!(a.profiles, BTreeMap::from([("p0".into(), professional), ("p1".into(), legal)]));
}

/// Writes a plan for shipped packages into a folder of its own.
fn plan(folder: &std::path::Path, members: &[&str]) -> CompositionPlan {
    let member = |name: &&str| {
        let package = root().join("policies").join(name);
        format!("[[member]]\nname = \"{name}\"\npackage = \"{}\"\nprofiles = [\"careful.toml\"]\n", package.display())
    };
    let text = "version = \"2.1.0\"\n".to_owned() + &members.iter().map(member).collect::<String>();
    std::fs::write(folder.join("plan.toml"), text).unwrap();
    std::fs::write(folder.join("careful.toml"), "epistemic = \"high_precision\"\n").unwrap();
    CompositionPlan::load(&folder.join("plan.toml")).unwrap()
}

#[test]
fn the_same_plan_gives_the_same_bytes_and_another_order_another_image() {
    let folder = tempfile::tempdir().unwrap();
    let made = |members: &[&str]| plan(folder.path(), members).compose("house").unwrap();
    let (first, again, turned) =
        (made(&["pii", "privilege"]), made(&["pii", "privilege"]), made(&["privilege", "pii"]));
    assert_eq!(first, again);
    let policies = |files: &BTreeMap<String, Vec<u8>>| {
        ImagePolicySet::composed(&PackageComposition::from_files(files.clone()).unwrap()).unwrap()
    };
    assert_eq!(policies(&first).image(), policies(&again).image());
    assert_ne!(policies(&first).image().digest(), policies(&turned).image().digest());
    // The composition contains each package unchanged, and the commands for packages work on these copies.
    let composed = PackageComposition::from_files(first).unwrap();
    for (member, name) in composed.members().iter().zip(["pii", "privilege"]) {
        assert_eq!(member.alone, shipped(name));
        assert!(check(&member.alone, RowCapacity::default()).is_ok());
        assert_eq!(member.package.manifest().reference(), format!("house 2.1.0/{name}"));
    }
    let report = composed.report(RowCapacity::default()).unwrap();
    assert_eq!(report.domains.used, 5);
    assert_eq!(report.members[1].domains, BTreeMap::from([("legal".into(), 3), ("general".into(), 4)]));
    assert_eq!(report.package_digest, HexBytes(composed.members()[0].package.digest()));
    // A plan's files must exist and fit the package.
    let no_profile = "[[member]]\nname = \"x\"\npackage = \"nowhere\"\n";
    std::fs::write(folder.path().join("plan.toml"), format!("version = \"1.0.0\"\n{no_profile}")).unwrap();
    assert!(CompositionPlan::load(&folder.path().join("plan.toml")).unwrap().compose("house").is_err());
    let plan = plan(folder.path(), &["pii"]);
    std::fs::write(folder.path().join("careful.toml"), "audience = \"martians\"\n").unwrap();
    assert!(plan.compose("house").unwrap_err().to_string().contains("martians"));
    assert!(plan.compose("a/b").is_err());
}

#[test]
fn what_misses_a_descriptor_is_looked_for_among_the_members_own_rows() {
    let [first, second] = two();
    let composed = composition(&[("a", &first), ("b", &second)]).unwrap();
    let compiled = composed.compile().unwrap();
    for (member, own) in composed.members().iter().zip(&compiled) {
        let contexts = ContextConverter::new(member.package.vocabulary());
        let d = contexts
            .descriptor("assertion", &serde_json::json!({"domain": "general"}), MissingFieldMode::Neutral)
            .unwrap();
        let explained = explain(own, member.package.vocabulary(), &d);
        let alone = member.alone.compile().unwrap();
        let plain = ContextConverter::new(member.alone.vocabulary());
        let d = plain
            .descriptor("assertion", &serde_json::json!({"domain": "general"}), MissingFieldMode::Neutral)
            .unwrap();
        let expected = explain(&alone, member.alone.vocabulary(), &d);
        let words = |explained: &portcullis_policy::commands::DescriptorExplanation| -> Vec<_> {
            let banks = explained.banks.iter();
            let near =
                banks.clone().flat_map(|bank| bank.nearest.iter().map(|near| (near.rule.clone(), near.failed.clone())));
            let matched = banks.flat_map(|bank| bank.matched.iter().map(|(_, rule)| (rule.clone(), Vec::new())));
            near.chain(matched).collect()
        };
        assert_eq!(words(&explained), words(&expected), "{}", member.name);
    }
}

/// An image declares the values of all members, so the card cannot refuse another member's value as undeclared. But no
/// row permits that value.
#[test]
fn values_that_only_another_member_declares_are_denied() {
    let rules = PERMIT;
    let wide = MANIFEST.replace("[\"public\", \"professional\"]", "[\"public\", \"professional\", \"court\"]");
    let wide = wide.replace("[\"present\", \"past\"]", "[\"present\", \"past\", \"future\"]");
    let wide = wide.replace("\"technical\"]", "\"technical\", \"solemn\"]");
    let packages = [MANIFEST, &wide].map(|manifest| PolicyPackage::from_files(files_with(manifest, rules)).unwrap());
    let composed = composition(&[("narrow", &packages[0]), ("wide", &packages[1])]).unwrap();
    let compiled = composed.compile().unwrap();
    let evaluator = ImageEvaluator::new(&compiled[0].image);
    let decided = |d: Descriptor, at: usize| {
        let decision = DescriptorDecision::new(&compiled[at], &d, &evaluator.evaluate(&d));
        (decision.determination.name(), decision.rule)
    };
    let neutral = |at: usize| ContextConverter::new(composed.members()[at].package.vocabulary()).neutral();
    let denied = ("reject", Some("DEFAULT-DENY".to_owned()));
    for change in
        [|d: &mut Descriptor| d.audience = 2, |d: &mut Descriptor| d.temporal = 2, |d: &mut Descriptor| d.register = 3]
    {
        let changed = |at: usize| {
            let mut d = neutral(at);
            change(&mut d);
            d.sealed()
        };
        assert_eq!(decided(neutral(0), 0), ("admit", None));
        assert_eq!(decided(changed(0), 0), denied);
        assert_eq!(decided(changed(1), 1), ("admit", None));
    }
}

struct Trail {
    context: Vec<u8>,
    records: Vec<Record>,
    salts: BTreeMap<u32, [u8; 16]>,
}

#[test]
fn a_session_of_several_members_replays_each_stream_under_its_own_policy() {
    const TEXT: &str = "Write to p@example.org. The meeting is on Monday.";
    let (pii, privilege) = (shipped("pii"), shipped("privilege"));
    let policies = ImagePolicySet::composed(&composition(&[("desk", &pii), ("counsel", &privilege)]).unwrap()).unwrap();
    let ready = |policy: &ImagePolicy| {
        Arc::new(portcullis_gate::GatePolicy::new(policy.package.clone(), policy.compiled.clone()).unwrap())
    };
    let ready: Vec<_> = policies.iter().map(ready).collect();
    let governor = |policy| Arc::new(StreamGovernor::new(Arc::clone(policy), GateSettings::new(salt_key())).unwrap());
    let governors: Vec<_> = ready.iter().map(governor).collect();
    let first = policies.iter().next().unwrap();
    let (mut session, records) = session(&first.compiled);
    let mut trails = Vec::new();
    let mut released = Vec::new();
    records.lock().unwrap().clear();
    for (number, governor) in (0u16..).zip(&governors) {
        let (mut context, mut text) = (Vec::new(), String::new());
        let item = StreamInput::Text { id: "t".into(), text: TEXT.into(), task: Default::default() };
        let keep = |event: StreamEvent| {
            match event.what {
                StreamEventKind::Begun { context: document, .. } => context = document.bytes(),
                StreamEventKind::Released { text: more, .. } => text.push_str(&more),
                _ => {}
            }
            Ok::<(), SessionError>(())
        };
        let seat = StreamNumbers { number: number.into(), salted: number.into(), slot: number };
        governor.govern_one(&mut session, seat, item, keep).unwrap();
        let records = std::mem::take(&mut *records.lock().unwrap());
        let salts = (0..records.len() as u32).map(|seq| (seq, salt_key().salt(number.into(), seq))).collect();
        trails.push(Trail { context, records, salts });
        released.push(text);
    }
    assert!(!released[0].contains('@') && released[1].contains('@'), "each by its own policy: {released:?}");
    let domains: Vec<BTreeSet<u8>> = trails
        .iter()
        .map(|trail| {
            let gates = trail.records.iter().filter(|record| is_gate(record));
            gates.map(|record| record.descriptor.domain).collect()
        })
        .collect();
    assert_eq!(domains, [BTreeSet::from([0]), BTreeSet::from([3])]);

    let mut replayer = StreamReplayer::new(policies.image(), ready, Vec::new()).unwrap();
    let mut replay = |context: &[u8], trail: &Trail, records: &[Record]| {
        replayer.stream(context, Given::Text(TEXT.into()), trail.salts.clone(), records).map(|(replay, _)| replay)
    };
    for trail in &trails {
        assert!(replay(&trail.context, trail, &trail.records).unwrap().consumed);
        // A stream that names another member's policy, and a stream that names a policy outside the composition.
        for (other, expected) in [("desk", "differs"), ("counsel", "differs"), ("nobody", "unknown")] {
            let context = String::from_utf8(trail.context.clone()).unwrap();
            let at = context.find("\"policy\":\"house 1.0.0/").unwrap() + 22;
            let end = at + context[at..].find('"').unwrap();
            if &context[at..end] == other {
                continue;
            }
            let context = format!("{}{other}{}", &context[..at], &context[end..]).into_bytes();
            let mut records = trail.records.clone();
            records[0].descriptor.commitment = Sha256::digest(&context).into();
            records[0].descriptor = records[0].descriptor.sealed();
            let error = replay(&context, trail, &records).unwrap_err();
            match expected {
                "differs" => assert!(matches!(error, ReplayError::Differs { .. }), "{error}"),
                _ => assert!(error.to_string().contains("does not hold"), "{error}"),
            }
        }
    }
}
