//! Every error of a policy package, with a snapshot of its message: rule, place, construct, advice.
#![cfg(test)]

use portcullis_policy::commands::{check_schema, parse_tests};
use portcullis_policy::context::{ContextConverter, MissingFieldMode};
use portcullis_policy::error::PolicyProblemKind;
use portcullis_policy::package::{MAX_FILE_BYTES, PolicyPackage};
use portcullis_policy::{PolicyPackageError, RowCapacity};
use portcullis_test_support::policies::fixture::{MANIFEST, PERMIT, files, files_with, forbid, package};
use portcullis_test_support::snapshot::assert_snapshot;
use std::collections::BTreeMap;

fn compile(files: BTreeMap<String, Vec<u8>>) -> PolicyPackageError {
    match PolicyPackage::from_files(files).and_then(|package| package.compile()) {
        Ok(_) => panic!("it compiled"),
        Err(error) => error,
    }
}

/// Compares the fixture's error under these rules with the snapshot `name`.
fn error(name: &str, kind: PolicyProblemKind, rules: &str) -> PolicyPackageError {
    let error = compile(files(&format!("{PERMIT}\n{rules}")));
    let problem = &error.problems()[0];
    assert_eq!(problem.kind(), kind, "{}", error.render());
    assert!(problem.remedy().is_some() || kind == PolicyProblemKind::Syntax, "no remedy: {}", error.render());
    let place = problem.place().unwrap_or_else(|| panic!("no place: {}", error.render()));
    assert_eq!(place.file, "rules.cedar");
    assert!(place.line() > 2, "the fixture's own permit is blamed: {}", error.render());
    assert_snapshot(&format!("policy/{name}"), &error.render());
    error
}

/// The error of a rule with this condition. It must name the rule.
fn condition(name: &str, kind: PolicyProblemKind, text: &str) {
    let error = error(name, kind, &forbid(text));
    assert_eq!(error.problems()[0].rule(), Some("RULE"), "{}", error.render());
}

fn manifest(name: &str, from: &str, to: &str) {
    assert!(MANIFEST.contains(from));
    let error = compile(files_with(&MANIFEST.replacen(from, to, 1), PERMIT));
    assert_eq!(error.problems()[0].kind(), PolicyProblemKind::Manifest, "{}", error.render());
    assert_snapshot(&format!("policy/{name}"), &error.render());
}

#[test]
fn keys_of_a_class_that_say_nothing_about_it() {
    for (key, value, why) in [
        ("inflect", "true", "no vocabulary"),
        ("letters", "\"any\"", "no pattern"),
        ("view", "false", "neither vocabulary nor pattern"),
        ("private_domains", "[\"acme\"]", "no pattern with the validator `email`"),
        ("private_domains", "[\"a.acme\"]", "without a dot"),
        ("private_domains", "[]", "at least two letters"),
    ] {
        let text = format!("{MANIFEST}\n[[class]]\nname = \"keyed\"\n{key} = {value}\n");
        let error = compile(files_with(&text, PERMIT));
        let problem = &error.problems()[0];
        let place = problem.place().unwrap_or_else(|| panic!("no place: {}", error.render()));
        assert_eq!((place.file.as_str(), place.line()), ("policy.toml", text.lines().count()), "{}", error.render());
        assert_eq!(&text[place.offset..place.offset + place.length], value);
        let shown = error.render();
        assert!(shown.contains(&format!("`{key}` of class `keyed`")) && shown.contains(why), "{shown}");
    }
    let text = format!("{MANIFEST}\n[[class]]\nname = \"keyed\"\nletters = \"some\"\n");
    assert!(compile(files_with(&text, PERMIT)).render().contains("letters = "), "a value that is none");
}

#[test]
fn what_is_no_phrase_or_pattern_is_marked_with_its_cure() {
    for (line, marked, why) in [
        ("open [words here", "[words here", "this bracket is not closed"),
        ("[words] first", "[words] first", "a phrase begins with a word"),
        ("a [wrods] b", "[wrods]", "only `[words]` and `[code]`"),
        ("see (a|b c", "(a|b c", "not closed"),
    ] {
        let text = format!("{MANIFEST}\n[[class]]\nname = \"keyed\"\nvocabulary = [\"words.txt\"]\n");
        let mut files = files_with(&text, PERMIT);
        files.insert("words.txt".into(), format!("# Not {line}.\nplain words\n{line} # with a note\n").into_bytes());
        let error = compile(files);
        let problem = &error.problems()[0];
        let place = problem.place().unwrap_or_else(|| panic!("no place: {}", error.render()));
        assert_eq!((place.file.as_str(), place.line()), ("words.txt", 3), "{}", error.render());
        assert_eq!(&place.source[place.offset..place.offset + place.length], marked);
        assert!(error.render().contains(why), "{}", error.render());
    }
    for (regex, marked, why) in [
        ("a.*b", ".", "such as `(?u:.)`"),
        ("a[^@]{1,9}b", "[^@]", "`(?u:[^,])`"),
        ("(?u:a.*b)", "*", "write `{1,64}`"),
    ] {
        let text = format!("{MANIFEST}\n[[class]]\nname = \"keyed\"\npattern = [{{ regex = '{regex}' }}]\n");
        let error = compile(files_with(&text, PERMIT));
        let place = error.problems()[0].place().unwrap_or_else(|| panic!("no place: {}", error.render()));
        assert_eq!(&text[place.offset..place.offset + place.length], marked, "{}", error.render());
        assert!(error.render().contains(why), "{}", error.render());
    }
}

#[test]
fn keys_about_links_that_contradict_each_other() {
    for (keys, marked, why) in [
        ("links = \"listed\"", "\"listed\"", "`hosts` lists no host"),
        ("loads = \"listed\"\nhosts = []", "\"listed\"", "`hosts` lists no host"),
        ("loads = \"none\"\nhosts = [\"a.example\"]", "[\"a.example\"]", "has no effect"),
        ("loads = \"listed\"\nhosts = [\"a.example\", \"https://b.example\"]", "\"https://b.example\"", "neither"),
        ("links = \"listed\"\nhosts = [\"*.org\"]", "\"*.org\"", "neither a host name"),
    ] {
        let text = MANIFEST.replacen("[enumerations]", &format!("{keys}\n\n[enumerations]"), 1);
        let error = compile(files_with(&text, PERMIT));
        let problem = &error.problems()[0];
        let place = problem.place().unwrap_or_else(|| panic!("no place: {}", error.render()));
        assert_eq!(&text[place.offset..place.offset + place.length], marked, "{}", error.render());
        assert!(place.file == "policy.toml" && error.render().contains(why), "{}", error.render());
    }
}

#[test]
fn unknown_names_with_the_nearest() {
    condition("class", PolicyProblemKind::Name, "context.classes.contains(\"dosege\")");
    condition("class-far", PolicyProblemKind::Name, "context.established.containsAny([\"greeting\", \"zzzzzz\"])");
    condition("field-touched", PolicyProblemKind::Name, "context.fields_touched.contains(\"memroy\")");
    condition("enumeration", PolicyProblemKind::Name, "context.domain == \"medcial\"");
    condition("enumeration-listed", PolicyProblemKind::Name, "[\"plain\", \"forml\"].contains(context.register)");
    condition("anchor", PolicyProblemKind::Name, "context.anchor != \"unresolved\"");
    condition("quantity-has", PolicyProblemKind::Name, "context.quantity has dose_mq && context.depth > 1");
    condition("has-unknown", PolicyProblemKind::Name, "context has domian");
}

#[test]
fn what_cedar_refuses() {
    condition("attribute", PolicyProblemKind::Validation, "context.clases.contains(\"dosage\")");
    condition("type", PolicyProblemKind::Validation, "context.depth > \"three\"");
    condition("decimal-type", PolicyProblemKind::Validation, "context.novelty.greaterThan(1)");
    condition("unguarded-quantity", PolicyProblemKind::Validation, "context.quantity.dose_mg > 4000");
    condition("impossible", PolicyProblemKind::Validation, "context.depth > 1 && false");
    condition("empty-set", PolicyProblemKind::Validation, "context.classes.containsAll([])");
    condition("decimal-digits", PolicyProblemKind::Validation, "context.novelty.greaterThan(decimal(\"0.12345\"))");
    error(
        "action",
        PolicyProblemKind::Validation,
        "@id(\"RULE\") forbid (principal, action == Action::\"asertion\", resource);",
    );
    error(
        "principal-type",
        PolicyProblemKind::Validation,
        "@id(\"RULE\") forbid (principal is User, action, resource);",
    );
    error(
        "syntax",
        PolicyProblemKind::Syntax,
        "@id(\"RULE\")\nforbid (principal, action, resource) when { context.depth > };",
    );
}

/// A fraction, as in an amount of euros, is a common error. Cedar's own message would mention identifiers.
#[test]
fn a_number_with_a_fraction_is_named_as_such() {
    for (text, number) in [
        ("context.quantity has dose_mg && context.quantity.dose_mg > 20000.5", "20000.5"),
        ("context.depth < 1.25", "1.25"),
    ] {
        let error = compile(files(&format!("{PERMIT}\n{}", forbid(text))));
        let problem = &error.problems()[0];
        assert!(problem.to_string().contains("a number with a fraction"), "{}", error.render());
        let place = problem.place().unwrap();
        assert_eq!(&place.source[place.offset..place.offset + place.length], number);
        assert!(problem.remedy().unwrap().contains("decimal("));
    }
}

/// A misspelt name is reported once.
#[test]
fn a_misspelt_field_is_one_problem() {
    for text in [
        "context.audiance == \"public\"",
        "context.clases.contains(\"dosage\")",
        "[\"public\"].contains(context.audiance)",
        "context.quantity has dose_mg && context.quantity.dose_mq > 3",
    ] {
        let error = compile(files(&format!("{PERMIT}\n{}", forbid(text))));
        assert_eq!(error.problems().len(), 1, "{text}: {}", error.render());
        assert!(error.render().contains("did you mean"), "{text}: {}", error.render());
        assert!(!error.render().contains("`has`"), "{text}: {}", error.render());
    }
}

/// Problems of the manifest, of a pattern, of several Cedar files, of the schema and of the tests are reported
/// together.
#[test]
fn every_problem_of_a_package_comes_at_once() {
    let manifest = MANIFEST
        .replacen("name = \"greeting\"", "name = \"greeting\"\npattern = [{ regex = '(x' }, { regex = 'y+' }]", 1)
        .replacen("mg = \"1\"", "mg = \"heavy\"", 1);
    let mut package = files_with(&manifest, &format!("{PERMIT}\n{}", forbid("context.classes.contains(\"dosege\")")));
    package.insert("broken.cedar".into(), b"permit (principal, action".to_vec());
    package.insert("wrong.cedar".into(), forbid("context.domain like \"m*\"").replace("RULE", "WRONG").into_bytes());
    package.insert("tests.jsonl".into(), b"not json\n".to_vec());
    let with_manifest = |text: &str| {
        let mut files = package.clone();
        files.insert("policy.toml".into(), text.as_bytes().to_vec());
        files
    };
    let whole = PolicyPackage::from_files(package.clone()).unwrap();
    let error = portcullis_policy::commands::check(&whole, RowCapacity::default()).unwrap_err();
    let said = error.render();
    for part in [
        "broken.cedar:1",
        "dosege",
        "`like`",
        "unclosed group",
        "upper bound",
        "heavy",
        "policy.cedarschema",
        "tests.jsonl",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        !said.contains("no rule of the package permits"),
        "a file that does not parse is not a missing rule: {said}"
    );
    // A wrong manifest does not hide faults in patterns or syntax. Even a manifest that does not parse does not hide
    // syntax errors.
    let error = PolicyPackage::from_files(with_manifest(&manifest.replace("1.0.0", "1.0"))).unwrap_err().render();
    assert!(
        error.contains("major.minor.patch") && error.contains("unclosed group") && error.contains("broken.cedar:1"),
        "{error}"
    );
    let error = PolicyPackage::from_files(with_manifest("[package")).unwrap_err().render();
    assert!(error.contains("policy.toml") && error.contains("broken.cedar:1"), "{error}");
}

/// The message points to the expression in `policy.toml`, in every notation of TOML strings.
#[test]
fn patterns_are_refused_with_their_place() {
    let with = |class: &str| {
        let manifest = MANIFEST.replacen("name = \"greeting\"", &format!("name = \"greeting\"\n{class}"), 1);
        compile(files_with(&manifest, PERMIT))
    };
    for (class, what, marked) in [
        ("pattern = [{ regex = '(x' }]", "unclosed group", "("),
        ("pattern = [{ regex = \"ab*c\" }]", "upper bound", "*"),
        ("pattern = [{ regex = '''q{3,}''' }]", "upper bound", "{3,}"),
        ("pattern = [{ regex = 'ok' }, { regex = 'a|b+?' }]", "upper bound", "+?"),
        ("pattern = [{ regex = \"\\\\d\\\\b(x\" }]", "unclosed group", "\"\\\\d\\\\b(x\""),
        ("tool = [{ name = \"mail\", regex = '[z' }]", "unclosed character class", "["),
    ] {
        let error = with(class);
        let problem = &error.problems()[0];
        assert_eq!(
            (error.problems().len(), problem.kind()),
            (1, PolicyProblemKind::Pattern),
            "{class}: {}",
            error.render()
        );
        assert!(problem.to_string().contains(what), "{class}: {}", error.render());
        let place = problem.place().unwrap();
        assert_eq!(place.file, "policy.toml");
        assert_eq!(&place.source[place.offset..place.offset + place.length], marked, "{}", error.render());
    }
    // A tool's arguments are always complete, so patterns for them may repeat without a bound.
    let manifest =
        MANIFEST.replacen("name = \"greeting\"", "name = \"greeting\"\ntool = [{ name = \"mail\", regex = 'a+' }]", 1);
    PolicyPackage::from_files(files_with(&manifest, PERMIT)).unwrap().compile().unwrap();
}

#[test]
fn annotations() {
    let rule = |annotations: &str| format!("{annotations}\nforbid (principal, action, resource);\n");
    error("id-missing", PolicyProblemKind::Annotation, &rule("@reason(\"x\")"));
    error("id-twice", PolicyProblemKind::Annotation, &rule("@id(\"PERMIT\")"));
    error("id-of-prelude", PolicyProblemKind::Annotation, &rule("@id(\"ANCHOR-MISSING\")"));
    error("id-characters", PolicyProblemKind::Annotation, &rule("@id(\"a rule\")"));
    error("id-reserved", PolicyProblemKind::Annotation, &rule("@id(\"DEFAULT-DENY\")"));
    error("annotation-unknown", PolicyProblemKind::Annotation, &rule("@id(\"RULE\")\n@outcom(\"decompose\")"));
    error("outcome", PolicyProblemKind::Annotation, &rule("@id(\"RULE\")\n@outcome(\"defer\")"));
    error("stage", PolicyProblemKind::Annotation, &rule("@id(\"RULE\")\n@stage(\"lineage\")"));
    error("reason", PolicyProblemKind::Annotation, &rule("@id(\"RULE\")\n@reason(\"two\\nlines\")"));
    let permit = |annotation: &str| format!("@id(\"RULE\")\n{annotation}\npermit (principal, action, resource);\n");
    error("outcome-on-permit", PolicyProblemKind::Annotation, &permit("@outcome(\"reject\")"));
    error("stage-on-permit", PolicyProblemKind::Annotation, &permit("@stage(\"entropy\")"));
}

#[test]
fn scopes_that_name_someone() {
    error("principal", PolicyProblemKind::Scope, "@id(\"RULE\") forbid (principal == Agent::\"a\", action, resource);");
    error("resource", PolicyProblemKind::Scope, "@id(\"RULE\") forbid (principal, action, resource in Stream::\"s\");");
    error(
        "principal-is-in",
        PolicyProblemKind::Scope,
        "@id(\"RULE\") forbid (principal is Agent in Agent::\"a\", action, resource);",
    );
    error(
        "template",
        PolicyProblemKind::Construct,
        "@id(\"RULE\") forbid (principal == ?principal, action, resource);",
    );
}

#[test]
fn constructs_without_a_row() {
    let all = [
        ("two-fields", "context.depth < context.length"),
        ("two-fields-equal", "context.domain == context.audience"),
        ("two-decimals", "context.novelty.lessThan(context.uncertainty)"),
        ("two-sets", "context.classes.containsAll(context.established)"),
        (
            "two-quantities",
            "context.quantity has age && context.quantity has dose_mg && context.quantity.age > context.quantity.dose_mg",
        ),
        ("arithmetic", "context.depth + 1 > 3"),
        ("arithmetic-constant", "context.depth > 1 + 2"),
        ("like", "context.domain like \"med*\""),
        ("if", "if context.inert_prefix then context.depth > 1 else context.depth > 2"),
        ("principal-in-condition", "principal == Agent::\"a\""),
        ("is-in-condition", "principal is Agent"),
        ("resource-in", "resource in Stream::\"s\""),
        ("field-in-literal", "[context.domain].contains(\"legal\")"),
        ("contains-field", "context.classes.contains(context.domain)"),
        ("contains-long", "[1, 2].contains(context.depth)"),
        ("has-always", "context has domain && context.depth > 1"),
        ("record", "context.quantity == context.quantity"),
        ("nested-comparison", "(context.depth < 3) == context.inert_prefix"),
        ("extension", "ip(\"10.0.0.1\").isLoopback() || context.depth > 1"),
        ("literals-only", "\"a\" == \"b\" || context.depth > 1"),
        ("empty-of-literal", "[\"a\"].isEmpty() || context.depth > 1"),
        ("action-set", "[Action::\"assertion\"].contains(action)"),
    ];
    for (name, text) in all {
        condition(&format!("construct-{name}"), PolicyProblemKind::Construct, text);
    }
}

#[test]
fn several_problems_come_together() {
    let rules = [
        forbid("context.classes.contains(\"dosege\") && context.domain like \"m*\""),
        "@id(\"OTHER\") forbid (principal, action, resource) when { context.clases.isEmpty() };".to_owned(),
    ];
    let error = compile(files(&format!("{PERMIT}\n{}", rules.concat())));
    assert_eq!(error.problems().len(), 3);
    assert_eq!(error.to_string(), "3 problems in the policy package");
    assert_snapshot("policy/several", &error.render());
}

#[test]
fn a_package_without_a_permit() {
    let error = compile(files(&forbid("context.depth > 1")));
    assert_eq!(error.problems()[0].kind(), PolicyProblemKind::NoPermit);
    assert_snapshot("policy/no-permit", &error.render());
    let error = compile(files(""));
    assert_eq!(error.problems()[0].kind(), PolicyProblemKind::NoPermit);
}

/// Alternatives whose rows cannot be merged, because each has its own depth and its own length.
fn costly(rows: usize, step: usize) -> String {
    let alternatives: Vec<_> =
        (0..rows).map(|at| format!("(context.depth == {at} && context.length == {})", at * step + 1)).collect();
    alternatives.join(" || ")
}

#[test]
fn a_policy_too_large_for_the_tables() {
    let rules = format!(
        "{}\n@id(\"SMALL\") forbid (principal, action, resource) when {{ {} }};",
        forbid(&costly(240, 3)),
        costly(20, 5)
    );
    let error = error("capacity-policy", PolicyProblemKind::Capacity, &rules);
    // The rows are: 240 and 20 of the two rules, one of the permit, and three of the prelude.
    assert!(error.to_string().contains("needs 264 rows and the table has 256: 8 over"), "{error}");
    let small = RowCapacity { policy: 4, entropy: 1 };
    let fits = package("").compile_for(small).unwrap();
    assert_eq!((fits.image.policy_rows().len(), fits.image.entropy_rows().len()), (4, 1));
    let none = package("").compile_for(RowCapacity { policy: 3, entropy: 0 }).unwrap_err();
    assert_eq!(none.problems().len(), 2);

    let entropy = forbid(&costly(64, 3)).replace("forbid", "@stage(\"entropy\")\nforbid");
    let error = self::error("capacity-entropy", PolicyProblemKind::Capacity, &entropy);
    assert!(error.to_string().contains("needs 65 rows and the table has 64: 1 over"), "{error}");
}

#[test]
fn a_rule_that_explodes() {
    let longs = ["depth", "alternatives", "correction", "trust_slope", "length"].map(|f| format!("context.{f} != 7"));
    let decimals =
        ["novelty", "uncertainty", "certainty", "content_deviation", "certainty_divergence", "register_divergence"];
    let decimals = decimals.map(|field| format!("context.{field} != decimal(\"0.5\")"));
    let quantities = ["age", "dose_mg"].map(|q| format!("context.quantity has {q} && context.quantity.{q} != 7"));
    // Thirteen columns, each with a gap in its range, give 2^13 rows.
    let all: Vec<_> = longs.into_iter().chain(decimals).chain(quantities).collect();
    condition("capacity-explosion", PolicyProblemKind::Capacity, &all.join(" && "));
    // For ten inequalities, the rows are counted: 2^10 rows, the permit, and three rows of the prelude.
    let error = compile(files(&format!("{PERMIT}\n{}", forbid(&all[3..].join(" && ")))));
    assert!(error.to_string().contains("needs 1028 rows and the table has 256: 772 over"), "{error}");
}

#[test]
fn manifests() {
    manifest("manifest-syntax", "[limits]", "[limits");
    manifest("manifest-unknown-key", "max_depth = 2", "max_deph = 2");
    manifest("manifest-version", "1.0.0", "1.0");
    manifest("manifest-empty-enumeration", "[\"present\", \"past\"]", "[]");
    manifest("manifest-value-twice", "\"past\"", "\"present\"");
    manifest("manifest-class-twice", "name = \"diagnosis\"", "name = \"dosage\"");
    manifest("manifest-class-name", "name = \"diagnosis\"", "name = \"a diagnosis\"");
    manifest("manifest-vocabulary", "name = \"diagnosis\"", "name = \"diagnosis\"\nvocabulary = [\"words.txt\"]");
    manifest("manifest-quantity-name", "name = \"age\"", "name = \"in\"");
    manifest("manifest-quantity-range", "name = \"age\"", "name = \"age\"\nmin = 3\nmax = 2");
    manifest("manifest-quantity-wide", "name = \"age\"", "name = \"age\"\nmax = 3000000000");
    manifest("manifest-slope", "[limits]", "[trust_slope]\nwarning = 9\ncorrection = 8\n[limits]");
    manifest("manifest-slope-weights", "[limits]", "[trust_slope]\nweights = [0, 0, 0]\n[limits]");
    manifest("manifest-topic", "[limits]", "[continuity]\ntopic = 10001\n[limits]");
    manifest("manifest-span", "max_depth = 2", "span_bytes = 0");
    manifest("manifest-defer", "max_depth = 2", "defer = [\"ANCHOR-UNRESOLVED\"]");
    let many: Vec<_> = (0..33).map(|at| format!("\"r{at}\"")).collect();
    manifest("manifest-many-values", "[\"plain\", \"formal\", \"technical\"]", &format!("[{}]", many.join(", ")));
    let classes: String = (0..126).map(|at| format!("[[class]]\nname = \"c{at}\"\n")).collect();
    manifest("manifest-many-classes", "[[quantity]]", &format!("{classes}[[quantity]]"));
    let slots: String =
        (0..3).map(|at| format!("[[quantity]]\nname = \"q{at}\"\nunits = {{ mg = \"1\" }}\n")).collect();
    manifest("manifest-many-quantities", "[[quantity]]", &format!("{slots}[[quantity]]"));
}

#[test]
fn folders() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("fixture");
    let load = || PolicyPackage::load(&dir).unwrap_err();
    assert_eq!(load().problems()[0].kind(), PolicyProblemKind::File);
    std::fs::create_dir(&dir).unwrap();
    assert!(load().to_string().contains("no `policy.toml`"), "{}", load());
    for (path, bytes) in files(PERMIT) {
        std::fs::write(dir.join(path), bytes).unwrap();
    }
    let loaded = PolicyPackage::load(&dir).unwrap();
    assert_eq!(loaded.digest(), PolicyPackage::from_files(files(PERMIT)).unwrap().digest());

    std::fs::write(dir.join(".swp"), "an editor's").unwrap();
    assert_eq!(PolicyPackage::load(&dir).unwrap(), loaded);

    std::os::unix::fs::symlink("/etc/passwd", dir.join("words.txt")).unwrap();
    assert!(load().to_string().contains("links are not followed"), "{}", load());
    std::fs::remove_file(dir.join("words.txt")).unwrap();

    std::fs::write(dir.join("prelude.cedar"), "").unwrap();
    assert!(load().to_string().contains("the prelude's"), "{}", load());
    std::fs::remove_file(dir.join("prelude.cedar")).unwrap();

    std::fs::File::create(dir.join("huge")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    assert!(load().to_string().contains("more than 16777216 bytes"), "{}", load());
    std::fs::remove_file(dir.join("huge")).unwrap();

    std::fs::write(dir.join("more.cedar"), b"// \xff").unwrap();
    let error = PolicyPackage::load(&dir).unwrap().compile().unwrap_err();
    assert!(error.to_string().contains("not UTF-8 at byte 3"), "{error}");

    let renamed = folder.path().join("other");
    std::fs::rename(&dir, &renamed).unwrap();
    let error = PolicyPackage::load(&renamed).unwrap_err();
    assert_eq!(error.to_string(), "package `fixture` lies in the folder `other`");

    let mut escaping = files(PERMIT);
    escaping.insert("../x".into(), Vec::new());
    assert!(PolicyPackage::from_files(escaping).unwrap_err().to_string().contains("not a plain relative path"));
}

#[test]
fn schemas_that_are_not_the_generated_one() {
    let plain = package("");
    assert_snapshot("policy/schema-missing", &check_schema(&plain).unwrap_err().render());
    let mut with = files(PERMIT);
    with.insert("policy.cedarschema".into(), plain.schema().replace("medical", "medicine").into_bytes());
    let error = check_schema(&PolicyPackage::from_files(with.clone()).unwrap()).unwrap_err();
    assert_snapshot("policy/schema-differs", &error.render());
    with.insert("policy.cedarschema".into(), plain.schema().into_bytes());
    check_schema(&PolicyPackage::from_files(with).unwrap()).unwrap();
    assert_snapshot("policy/schema", &plain.schema());
}

#[test]
fn malformed_tests() {
    let with = |text: &str| {
        let mut files = files(PERMIT);
        files.insert("tests.jsonl".into(), text.as_bytes().to_vec());
        parse_tests(&PolicyPackage::from_files(files).unwrap())
    };
    let bad = [
        r#"{"name": "x", "category": "assertion", "context": {}, "expect": {"determination": "admit"}}"#,
        r#"{"name": "x", "category": "assertion", "expect": {"determination": "admit"}}"#,
        r#"{"name": "x", "text": "y", "category": "assertion", "expect": {"determination": "admit"}}"#,
        r#"{"name": "x", "text": "y", "expect": {"determination": "none"}}"#,
        r#"{"name": "x", "text": "y", "expect": {"determination": "accept"}}"#,
        r#"{"name": "x", "text": "y", "expect": {"determination": "admit", "rulе": "A"}}"#,
        "not json",
    ];
    let error = with(&bad.join("\n")).unwrap_err();
    assert_eq!(error.problems().len(), 6, "{}", error.render());
    assert_snapshot("policy/tests-malformed", &error.render());
    assert!(with("\n").unwrap_err().to_string().contains("ships with its tests"));
    assert_eq!(with(bad[0]).unwrap().len(), 1);
}

#[test]
fn contexts_that_are_none() {
    let package = package("");
    let contexts = ContextConverter::new(package.vocabulary());
    let mut text = String::new();
    for (category, context) in [
        ("asertion", "{}"),
        ("assertion", "[]"),
        ("assertion", r#"{"domian": "legal"}"#),
        ("assertion", r#"{"domain": "leagl"}"#),
        ("assertion", r#"{"domain": 3}"#),
        ("assertion", r#"{"classes": ["dosage", "dosege"]}"#),
        ("assertion", r#"{"classes": "dosage"}"#),
        ("assertion", r#"{"classes": [3]}"#),
        ("assertion", r#"{"depth": 256}"#),
        ("assertion", r#"{"depth": -1}"#),
        ("assertion", r#"{"depth": 1.5}"#),
        ("assertion", r#"{"length": 65536}"#),
        ("assertion", r#"{"novelty": 0.5}"#),
        ("assertion", r#"{"novelty": "1.0001"}"#),
        ("assertion", r#"{"novelty": "0.12345"}"#),
        ("assertion", r#"{"novelty": "-0.0001"}"#),
        ("assertion", r#"{"novelty": {"__extn": {"fn": "ip", "arg": "0.5"}}}"#),
        ("assertion", r#"{"inert_prefix": "true"}"#),
        ("assertion", r#"{"quantity": []}"#),
        ("assertion", r#"{"quantity": {"dose": 3}}"#),
        ("assertion", r#"{"quantity": {"dose_mg": 2147483648}}"#),
        ("assertion", r#"{"uncertainty": "0.5000"}"#),
        ("assertion", r#"{"uncertainty": "0.5000", "uncertainty_known": false}"#),
    ] {
        let value = serde_json::from_str(context).unwrap();
        let error = contexts.descriptor(category, &value, MissingFieldMode::Neutral).unwrap_err();
        text += &format!("{category} {context}\n    {error}\n");
    }
    let error = contexts.descriptor("assertion", &serde_json::json!({}), MissingFieldMode::Refuse).unwrap_err();
    text += &format!("nothing at all\n    {error}\n");
    assert_snapshot("policy/contexts", &text);
}
