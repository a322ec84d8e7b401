//! Stock tools verify the signer's signatures: OpenSSL 3.5 or later, or Node.js 24.6 or later, which includes OpenSSL.

use crate::support::{Random, skipped};
use portcullis_signer_bench::{Seeds, SignerStall, SimulatedSigner};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// DER of the SubjectPublicKeyInfo of id-slh-dsa-sha2-128f, up to the 32 bytes of the key (RFC 9909, 3 and 4).
const SPKI_HEAD: [u8; 18] =
    [0x30, 0x30, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x15, 0x03, 0x21, 0x00];

const NODE_SCRIPT: &str = "const fs = require('fs'), [key, message, signature] = process.argv.slice(1).map(f => fs.readFileSync(f));\
    const ok = require('crypto').verify(null, message, {key, format: 'der', type: 'spki'}, signature);\
    process.exit(ok ? 0 : 1);";

/// Number of random keys; the RTL signs once with each.
const KEYS: usize = 42;

#[derive(Debug)]
enum Tool {
    OpenSsl(OsString),
    Node(OsString),
}

impl Tool {
    /// The first tool of this list that can verify: `PORTCULLIS_OPENSSL`, `openssl` on the path, `PORTCULLIS_NODE`, the
    /// `node` that `cargo xtask setup` installed, `node` on the path.
    fn find() -> Option<Self> {
        let named = |variable, default: OsString| std::env::var_os(variable).unwrap_or(default);
        let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/node");
        let node = if pinned.exists() { pinned.into_os_string() } else { "node".into() };
        let (openssl, node) = (named("PORTCULLIS_OPENSSL", "openssl".into()), named("PORTCULLIS_NODE", node));
        if version(&openssl, "version").is_some_and(|v| v >= (3, 5)) {
            return Some(Self::OpenSsl(openssl));
        }
        version(&node, "--version").is_some_and(|v| v >= (24, 6)).then_some(Self::Node(node))
    }

    fn verifies(&self, key: &Path, message: &Path, signature: &Path) -> bool {
        let mut command = match self {
            Self::OpenSsl(binary) => {
                let mut command = Command::new(binary);
                command.args(["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-rawin", "-inkey"]).arg(key);
                command.arg("-in").arg(message).arg("-sigfile").arg(signature);
                command
            }
            Self::Node(binary) => {
                let mut command = Command::new(binary);
                command.args(["-e", NODE_SCRIPT]).args([key, message, signature]);
                command
            }
        };
        let status = command.output().unwrap().status.code();
        assert!(matches!(status, Some(0 | 1)), "{status:?}");
        status == Some(0)
    }
}

/// Parses `OpenSSL 3.5.1 1 Jul 2025 …` or `v24.6.0` to (major, minor).
fn version(binary: &OsString, flag: &str) -> Option<(u32, u32)> {
    let output = Command::new(binary).arg(flag).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let number = text.split_whitespace().find(|word| word.contains('.'))?.trim_start_matches('v');
    let mut parts = number.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[test]
fn a_stock_tool_verifies() {
    let Some(tool) = Tool::find() else {
        return skipped(
            "the signature by a stock tool; neither OpenSSL 3.5 (PORTCULLIS_OPENSSL) nor Node.js 24.6 (PORTCULLIS_NODE) is here; \
             `cargo xtask setup` installs one",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let mut random = Random::new(30);
    let mut bench = SimulatedSigner::new(16).unwrap();
    for number in 0..KEYS {
        let seeds: Seeds = random.bytes();
        let root = bench.keygen(Some(&seeds)).unwrap().value;
        let message = random.many(bench.model().message_bytes);
        let signature = bench.sign(&message, SignerStall::None, 0).unwrap().value;
        let key = file("key.der", &[&SPKI_HEAD[..], &seeds[32..], &root].concat());
        let text = file("message", &message);
        assert!(tool.verifies(&key, &text, &file("signature", &signature)), "key {number}");

        let mut forged = signature.clone();
        let place = random.below(forged.len());
        forged[place] ^= 1 << random.below(8);
        assert!(!tool.verifies(&key, &text, &file("forged", &forged)), "key {number}: byte {place} does not matter");
        if number == 0 {
            assert!(!tool.verifies(&key, &text, &file("short", &signature[..signature.len() - 1])));
            assert!(!tool.verifies(&key, &file("other", &random.many(message.len())), &file("signature", &signature)));
        }
    }
    println!("{tool:?} verified the signatures of {KEYS} keys and refused as many forged ones");
}
