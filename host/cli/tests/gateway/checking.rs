//! The Python checking client, used by the official clients, with an honest and with a dishonest gateway.

use crate::process::{Process, kit, python, root};
use crate::support::{Upstream, chat, delta, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

fn upstream() -> Upstream {
    Upstream::new(Arc::new(|path, body: &Value| {
        let asked = body["messages"].as_array().and_then(|all| all.last()).map_or(&body["prompt"], |m| &m["content"]);
        if path.ends_with("/v1/completions") {
            let said = json!({"choices": [{"index": 0, "text": "Birds sing. Ships sail. Bells ring.", "finish_reason": "stop"}]});
            let done = crate::support::end("stop").split_off(2);
            return [crate::support::event_head(), crate::support::event(&said)].into_iter().chain(done).collect();
        }
        let call =
            json!({"index": 0, "id": "x", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1}"}});
        match asked.as_str() {
            Some("call") => chat([delta(json!({"tool_calls": [call]}))], "tool_calls"),
            Some("mail") => chat([text("Birds sing. "), text("Write to ana.silva@example.org.")], "stop"),
            _ => chat("Birds sing. Ships sail. Bells ring.".split_inclusive(' ').map(text), "stop"),
        }
    }))
}

/// A folder with the Python package and the library that was built with these tests.
fn package(folder: &Path) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
    let libraries = ["", "deps"].map(|folder| built.join(folder).join("libportcullis_client_native.so"));
    let time = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest = libraries.into_iter().max_by_key(time).unwrap();
    let package = folder.join("portcullis_client");
    std::fs::create_dir_all(&package).unwrap();
    for file in ["__init__.py", "transport.py"] {
        let source = root().join("clients/python/python/portcullis_client").join(file);
        std::fs::copy(source, package.join(file)).unwrap();
    }
    std::fs::copy(newest, package.join("_native.abi3.so")).unwrap();
    folder.to_path_buf()
}

#[test]
fn a_python_client_shows_only_what_is_proven() {
    let Some(environment) = kit() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trust = folder.path().join("trust/sim-roots");
    std::fs::create_dir_all(&trust).unwrap();
    let root_of_simulations =
        Command::new(env!("CARGO_BIN_EXE_portcullis")).args(["ca", "simulation"]).output().unwrap();
    std::fs::write(trust.join("simulation.pem"), root_of_simulations.stdout).unwrap();
    let (policy, upstream) = (folder.path().join("pii"), upstream());
    portcullis_test_support::copy_folder(&root().join("policies/pii"), &policy);
    let manifest = std::fs::read_to_string(policy.join("policy.toml")).unwrap();
    let refusal = "\n[refusal]\non_refuse = \"stop\"\ntext = \"<ended>\"\n";
    std::fs::write(policy.join("policy.toml"), manifest + refusal).unwrap();
    let config = folder.path().join("gateway.toml");
    let settings = format!(
        "listen = \"127.0.0.1:0\"\npolicy = {policy:?}\nbundles = {:?}\n[evidence]\ncheckpoint_ms = 0\n\
         [[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n",
        folder.path().join("bundles"),
        upstream.address
    );
    std::fs::write(&config, settings).unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    serve.args(["serve", "--card", "sim", "--config"]).arg(config).current_dir(root());
    serve.stderr(Stdio::null());
    let (gateway, line) = Process::start(&mut serve);
    let base = line.strip_prefix("listening on ").unwrap();
    let script = root().join("host/cli/tests/gateway/checking_client.py");
    let mut client = python(&environment);
    client.arg(script).args([base, folder.path().join("trust").to_str().unwrap()]);
    client.env("PYTHONPATH", package(&folder.path().join("python"))).stdin(Stdio::null());
    let out = client.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    gateway.end();
}

/// The program on the page runs as printed, against a gateway that is started as in the tutorial. The same client
/// accepts an answer that the policy ended.
#[test]
fn the_program_on_the_page_of_checking_clients_works() {
    let Some(environment) = kit() else { return };
    let page = std::fs::read_to_string(root().join("docs/how-to/checking-clients.md")).unwrap();
    let block = |kind| crate::tutorial::block_after(&page, "## Python", kind);
    let (folder, upstream) = (tempfile::tempdir().unwrap(), upstream());
    std::fs::create_dir(folder.path().join("target")).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
    std::os::unix::fs::symlink(built, folder.path().join("target/debug")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", block("sh")]).current_dir(folder.path());
    assert!(shell.status().unwrap().success());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    serve.args(["serve", "--policy", "policies/pii", "--listen", "127.0.0.1:0", "--upstream"]);
    serve.arg(format!("http://{}/v1", upstream.address)).arg("--bundles").arg(folder.path().join("bundles"));
    serve.current_dir(root()).stderr(Stdio::null());
    let (gateway, line) = Process::start(&mut serve);
    let base = line.strip_prefix("listening on ").unwrap();
    let program = block("python");
    assert!(program.contains("\"http://127.0.0.1:8080/v1\""), "{program}");
    let refused = "\nquestion = [{\"role\": \"user\", \"content\": \"mail\"}]\n\
                   answer = client.chat.completions.create(model=\"small\", messages=question)\n\
                   print(answer.choices[0].finish_reason, answer.choices[0].message.content)\n";
    let mut client = python(&environment);
    client.arg("-c").arg(program.replace("http://127.0.0.1:8080/v1", base) + refused).current_dir(folder.path());
    client.env("PYTHONPATH", package(&folder.path().join("python"))).stdin(Stdio::null());
    let out = client.output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{said}\n{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.starts_with("Birds sing. Ships sail. Bells ring."), "{said}");
    assert!(said.contains(block("text")), "{said}");
    assert!(said.contains("content_filter Birds sing. Write to\n[This answer was ended by policy.]"), "{said}");
    gateway.end();
}
