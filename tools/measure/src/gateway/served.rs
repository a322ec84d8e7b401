//! `cargo xtask measure served`: sends harmless texts through the gateway, as the answers of a model server, and
//! compares what clients get, for each way to go on after a refusal, whole and streamed.

use super::client::{answer, spawn};
use super::programs::{MeasuredGateway, body_length};
use crate::everyday::{POLICIES, is_excepted};
use crate::judged::{rows, share, text_of};
use anyhow::{Context, Result};
use portcullis_tools::demo;
use portcullis_tools::tool::say;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values of `on_refuse` in `policy.toml`.
const AFTER_REFUSAL: [&str; 2] = ["stop", "redact"];
/// The texts that the gateway writes in place of refused text.
const ENDED: &str = "[ended]";
const WITHHELD: &str = "[withheld]";
/// Number of characters of a piece of an answer.
const PIECE: usize = 5;
/// Lengths in bytes of the documents that are sent.
const LENGTHS: std::ops::Range<usize> = 200..60_000;

/// What one policy did to all texts.
#[derive(Default)]
struct ServedDamage {
    touched: usize,
    lost: usize,
    bytes: usize,
    rules: BTreeMap<String, usize>,
}

pub(crate) fn run(folder: &Path, documents: usize) -> Result<()> {
    let mut cases = rows(&folder.join("harmless.jsonl"))?;
    if documents > 0 {
        cases = documents_of_packages(documents)?;
    }
    let texts: Arc<Vec<String>> = Arc::new(cases.iter().map(|case| text_of(&case["text"])).collect());
    let upstream = model_server(Arc::clone(&texts))?;
    let program = fs::canonicalize(demo::binary()?)?;
    println!("| policy | after a refusal | answers | touched | bytes lost | rules |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for policy in POLICIES {
        for after in AFTER_REFUSAL {
            let package = with_refusal(policy, after)?;
            let (package, upstream) = (package.to_string_lossy(), format!("http://{upstream}/v1"));
            let gateway =
                MeasuredGateway::with(&program, &["--card", "model", "--policy", &*package, "--upstream", &upstream])?;
            for streamed in [false, true] {
                let manner = if streamed { "streamed" } else { "whole" };
                say(&format!("asking for {} {manner} answers under {policy}, {after}", texts.len()));
                let mut damage = ServedDamage::default();
                let mut count = 0;
                for (number, case) in cases.iter().enumerate().filter(|(_, case)| !is_excepted(case, policy)) {
                    let (shown, rules) = answer(gateway.address()?, &format!("Text {number}"), streamed)?;
                    damage.add(&text_of(&case["text"]), &shown, &rules);
                    count += 1;
                }
                let rules: Vec<String> = damage.rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
                println!(
                    "| {policy} | {after}, {manner} | {count} | {} | {} | {} |",
                    share(damage.touched, count),
                    share(damage.lost, damage.bytes),
                    rules.join(", ")
                );
            }
        }
    }
    Ok(())
}

impl ServedDamage {
    /// Compares what a client got with the text. An address that a client would load is withheld on purpose.
    fn add(&mut self, text: &str, shown: &str, rules: &BTreeSet<String>) {
        self.bytes += text.len();
        if shown == text || rules.iter().eq(["LINK-LOADED"]) {
            return;
        }
        self.touched += 1;
        let kept = shown.replace(WITHHELD, "").replace(ENDED, "");
        self.lost += text.len().saturating_sub(kept.len());
        for rule in rules {
            *self.rules.entry(rule.clone()).or_default() += 1;
        }
    }
}

/// A copy of a shipped package that goes on in this way after a refusal.
fn with_refusal(policy: &str, after: &str) -> Result<PathBuf> {
    let (source, folder) = (Path::new("policies").join(policy), Path::new("target/served").join(after).join(policy));
    fs::create_dir_all(folder.join("vocabulary"))?;
    for part in ["", "vocabulary"] {
        for entry in source.join(part).read_dir().into_iter().flatten() {
            let path = entry?.path();
            if path.is_file() {
                fs::copy(&path, folder.join(part).join(path.file_name().context("a file has a name")?))?;
            }
        }
    }
    let refusal = format!("\n[refusal]\non_refuse = \"{after}\"\ntext = \"{ENDED}\"\nplaceholder = \"{WITHHELD}\"\n");
    let manifest = folder.join("policy.toml");
    fs::write(&manifest, fs::read_to_string(&manifest)? + &refusal)?;
    Ok(folder)
}

/// The pages (`*.md`) of the packages in the registry cache with the smallest SHA-256 digests.
fn documents_of_packages(most: usize) -> Result<Vec<Value>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home folder")?;
    let mut found: BTreeMap<[u8; 32], String> = BTreeMap::new();
    for registry in home.join("registry/src").read_dir().context("no registry cache")? {
        for package in registry?.path().read_dir()? {
            for file in package?.path().read_dir()? {
                let file = file?.path();
                let text = fs::read_to_string(&file).unwrap_or_default();
                if file.extension().is_some_and(|end| end == "md") && LENGTHS.contains(&text.len()) {
                    found.insert(Sha256::digest(&text).into(), text);
                }
            }
        }
    }
    Ok(found.into_values().take(most).map(|text| json!({"text": text})).collect())
}

/// A model server in threads, which answers with the text whose number ends the prompt.
fn model_server(texts: Arc<Vec<String>>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let texts = Arc::clone(&texts);
            let _ = spawn(move || serve(stream, &texts));
        }
    })?;
    Ok(address)
}

fn serve(mut stream: TcpStream, texts: &[String]) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut body = vec![0; body_length(&mut reader)?.context("no request")?];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let prompt = body["messages"][0]["content"].as_str().context("no prompt")?;
    let number: usize = prompt.rsplit(' ').next().context("no number")?.parse()?;
    let text: Vec<char> = texts.get(number).context("no text of this number")?.chars().collect();
    let event = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk =
            json!({"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    for piece in text.chunks(PIECE) {
        answer += &event(json!({"content": piece.iter().collect::<String>()}), Value::Null);
    }
    answer += &event(json!({}), json!("stop"));
    answer += "data: [DONE]\n\n";
    Ok(stream.write_all(answer.as_bytes())?)
}
