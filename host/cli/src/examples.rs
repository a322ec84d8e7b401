//! Examples in the help of commands. Those of `serve`, `policy compose` and `policy trial` are at their arguments.

use portcullis_verify::examples::Example;

pub(crate) const EXAMPLES: &[Example] = &[
    (
        "run",
        &[
            "run --policy policies/pii --input letter.txt",
            "run --policy policies/pii --input texts.jsonl --output admitted.jsonl --bundle bundle",
            "run --policy policies/pii --engine ngram:corpus.txt --input tasks.jsonl",
            "run --gate unix:/run/portcullis/gate --input texts.jsonl --json",
            "run --policy policies/pii --input letter.txt --bundle bundle --texts sealed:auditor.pub",
            "run --policy policies/pii --input letter.txt --bundle b --issuer http://127.0.0.1:8630 --issuer-token t",
        ],
    ),
    ("explain", &["explain --policy policies/pii 'Write to ana@example.org.'"]),
    ("policy new", &["policy new letters"]),
    ("policy check", &["policy check policies/pii --strict"]),
    ("policy build", &["policy build policies/pii --output pii.image"]),
    ("policy schema", &["policy schema letters", "policy schema letters --print"]),
    ("policy fmt", &["policy fmt letters --check"]),
    ("policy test", &["policy test policies/pii --card model"]),
    ("policy eval", &["policy eval --policy letters < contexts.jsonl"]),
    (
        "policy explain",
        &["policy explain --policy letters < context.json", "policy explain --policy policies/pii --lane"],
    ),
    ("policy diff", &["policy diff policies/pii letters --json"]),
    (
        "policy approve",
        &[
            "policy approve policies/pii --key board.pem --new-key --name Board --output pii.cose --public board.pub",
            "policy approve policies/pii --key board.pem --name Board --output pii.cose",
        ],
    ),
    ("policy digest", &["policy digest policies/pii"]),
    ("prefilter", &["prefilter prompt.txt", "prefilter --jsonl prompts.jsonl --profile user-prompt --json"]),
    ("prefilter eval", &["prefilter eval --data attacks.jsonl harmless.txt"]),
    ("prefilter rules list", &["prefilter rules list --json"]),
    ("prefilter rules explain", &["prefilter rules explain IMP-OVERRIDE"]),
    ("prefilter evaluator", &["prefilter evaluator form"]),
    ("gated", &["gated --socket /run/portcullis/gate --policy policies/pii --bundle bundle"]),
    ("anchors build", &["anchors build facts.jsonl --output facts.sqlite"]),
    ("anchors info", &["anchors info facts.sqlite"]),
    ("lineage show", &["lineage show run.ledger", "lineage show run.ledger --id letter-7"]),
    ("lineage export", &["lineage export run.ledger --format csv > determinations.csv"]),
    ("lineage recover", &["lineage recover run.ledger"]),
    ("report", &["report run.ledger --output report.html"]),
    (
        "check",
        &[
            "check bundle --trust trust",
            "check bundle --trust trust --allow-sim --json",
            "check bundle --trust trust --unseal auditor.key",
            "check tuesday --trust trust --earlier monday",
        ],
    ),
    (
        "replay",
        &[
            "replay bundle",
            "replay bundle --sample 100 --seed 'drawn by the auditor'",
            "replay bundle --unseal auditor.key --sealed bundle.sealed",
        ],
    ),
    (
        "attest",
        &[
            "attest bundles --trust trust --from 2026-10-01 --to 2026-12-31 --name 'Example AG' --key ag.pem --output q4",
            "attest card-1 card-2 --trust trust --check q4 --signer ag.pub --seed 'drawn by the auditor'",
        ],
    ),
    ("bundle finish", &["bundle finish bundle --dry-run", "bundle finish bundle"]),
    (
        "bundle withhold",
        &[
            "bundle withhold b --stream visit-17 --reason 'erased on request' --name clerk --key k.pem --output public",
            "bundle withhold b --all-but visit-17 --reason 'case 4' --name clerk --key k.pem --output court",
            "bundle withhold b --before 1790000000 --reason 'kept for two years' --name clerk --key k.pem --in-place",
        ],
    ),
    ("ca root", &["ca root --key root.pem --subject 'CN=Example Root,O=Example' > trust/roots/example.pem"]),
    (
        "ca device",
        &[
            "ca device --key root.pem --certificate root-cert.pem --public-key HEX --design-id HEX --class device --subject CN=card-7",
        ],
    ),
    ("ca simulation", &["ca simulation > trust/sim-roots/simulation.pem"]),
    (
        "authority serve",
        &["authority serve --store t.sqlite --key issuer.pem --config issuer.toml --public-log /srv/www/log"],
    ),
    (
        "ticket issue",
        &["ticket issue --store t.sqlite --key issuer.pem --public-key HEX --policy HEX --output ticket.cose"],
    ),
    ("ticket store", &["ticket store --store postgres://owner@localhost/tickets --role issuer"]),
    (
        "ticket redeem",
        &["ticket redeem --store t.sqlite --key issuer.pem bundle/checkpoints/00000000.cose --public-key HEX"],
    ),
    (
        "ticket report",
        &["ticket report bundle --issuer http://127.0.0.1:8630 --issuer-token client.token --public-key HEX"],
    ),
    (
        "ticket close",
        &["ticket close --store t.sqlite --key issuer.pem bundle/checkpoints/00000004.cose --public-key HEX"],
    ),
    (
        "ticket show",
        &["ticket show --store t.sqlite --key issuer.pem --public-key HEX --serial 7 --output ticket.cose"],
    ),
    (
        "ticket abandon",
        &["ticket abandon --store t.sqlite --key issuer.pem --public-key HEX --serial 7 --remark 'power lost'"],
    ),
    ("ticket list", &["ticket list --store t.sqlite --key issuer.pem"]),
    ("ticket key", &["ticket key --store t.sqlite --key issuer.pem > trust/issuers/registrar.pub"]),
    ("ticket log", &["ticket log --store t.sqlite --key issuer.pem --public-log /srv/www/log"]),
    ("witness serve", &["witness serve --store w.sqlite --key witness.pem --port 8620"]),
    ("witness key", &["witness key --store w.sqlite --key witness.pem > trust/witnesses/one.pub"]),
    ("witness forks", &["witness forks --store w.sqlite --key witness.pem"]),
    ("card list", &["card list"]),
    ("card doctor", &["card doctor 0000:03:00.0"]),
    ("card bind", &["card bind 0000:03:00.0"]),
    ("card unbind", &["card unbind 0000:03:00.0"]),
    ("card info", &["card info --card vfio:0000:03:00.0"]),
    ("card selftest", &["card selftest --card sim"]),
    ("card serve", &["card serve --socket /tmp/card"]),
    ("card bench", &["card bench --verdicts 4000 --json"]),
    ("bitstream verify", &["bitstream verify bitstreams/aws_f2"]),
    (
        "bitstream seal",
        &["bitstream seal build --target aws_f2 --commit HEX --tool 'Vivado 2025.2' --key test top.bit"],
    ),
    ("manual", &["manual --output documentation"]),
    ("completions", &["completions bash > /etc/bash_completion.d/portcullis"]),
];
