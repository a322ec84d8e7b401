//! What a client reads about refused parts: rule, record, place, and the reason only if the policy says so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_evidence::bundle::{self, Bundle, SnapshotFiles};
use portcullis_gate::GatePolicy;
use portcullis_gateway::config::GatewayConfig;
use portcullis_policy::PolicyPackage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{Gateway, PLACEHOLDER, Upstream, ask, chat, opener, said, text};

/// A policy that refuses two words, with a reason for one.
fn policy(describe: bool) -> Arc<GatePolicy> {
    let manifest = format!(
        "[package]\nname = \"words\"\nversion = \"1.0.0\"\ndescription = \"For tests.\"\n\
         [enumerations]\ndomain = [\"general\"]\naudience = [\"public\"]\ntemporal = [\"present\"]\n\
         register = [\"plain\"]\n\
         [[class]]\nname = \"bad\"\npattern = [{{ regex = 'badword' }}]\n\
         [[class]]\nname = \"worse\"\npattern = [{{ regex = 'worseword' }}]\n\
         [continuity]\npresupposition = false\ndiscontinuity = false\nrepetitions = 0\n\
         [refusal]\non_refuse = \"redact\"\ntext = \"<ended>\"\nplaceholder = \"{PLACEHOLDER}\"\ndescribe = {describe}\n"
    );
    let rules = "@id(\"ALLOW\") permit (principal, action, resource);\n\
        @id(\"NO-BAD\") @reason(\"a word that is bad\") forbid (principal, action, resource)\n\
        when { context.classes.contains(\"bad\") };\n\
        @id(\"NO-WORSE\") forbid (principal, action, resource)\n\
        when { context.classes.contains(\"worse\") };\n";
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), manifest.into_bytes()),
        ("rules.cedar".to_owned(), rules.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

#[test]
fn each_refusal_names_rule_record_and_place_and_no_text() {
    const ANSWER: &str = "Birds sing. A badword stands here. Ships sail. The worseword is last.";
    for describe in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::new(Arc::new(|_, _: &Value| chat(ANSWER.split_inclusive(' ').map(text), "stop")));
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n",
            upstream.address
        );
        let config = GatewayConfig::parse(&config).unwrap();
        let gateway = Gateway::over(config, opener(&policy(describe), folder.path()));
        let answer = gateway.post("/v1/chat/completions", &ask("Say it.", true));
        let content = said(&answer, "content");
        assert!(content.contains(PLACEHOLDER) && !content.contains("badword"), "{}", answer.body);
        let refusals = answer.provenance()["streams"][0]["refusals"].as_array().unwrap().clone();
        gateway.stop();

        let [bad, worse] = &refusals[..] else { panic!("{refusals:?}") };
        assert_eq!((&bad["code"], &worse["code"]), (&json!("NO-BAD"), &json!("NO-WORSE")));
        let shown = |refusal: &Value| refusal.get("description").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(shown(bad).is_some_and(|words| words.starts_with("a word that is bad")), describe, "{bad}");
        assert!(describe || shown(worse).is_none(), "{worse}");
        let names: Vec<&String> = bad.as_object().unwrap().keys().collect();
        assert!(names.iter().all(|name| ["code", "description", "id", "place"].contains(&name.as_str())), "{names:?}");

        // The place and the record are those of the refused words.
        let files = bundle::at(&folder.path().join("session-1")).unwrap();
        let files = SnapshotFiles::new(&*files);
        let bundle = Bundle::open(&files).unwrap();
        let mut spans = bundle.spans(0).unwrap();
        let mut texts = Vec::new();
        while let Some(index) = spans.rest().unwrap() {
            texts.push(spans.about(index).unwrap().unwrap().text);
        }
        for (refusal, word) in [(bad, "badword"), (worse, "worseword")] {
            let place = |at: usize| usize::try_from(refusal["place"][at].as_u64().unwrap()).unwrap();
            let (start, length) = (place(0), place(1));
            let refused = &ANSWER[start..start + length];
            assert!(refused.contains(word) && texts.iter().any(|text| text == refused), "{refused}");
            let (stream, sequence) = refusal["id"].as_str().unwrap().split_once('/').unwrap();
            assert!(stream == "0" && sequence.parse::<u32>().unwrap() > 0, "{refusal}");
        }
    }
}
