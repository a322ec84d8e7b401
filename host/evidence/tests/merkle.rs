//! Public test vectors of RFC 6962 and RFC 9162 trees.

use base64ct::{Base64, Encoding};
use portcullis_evidence::hex;
use portcullis_evidence::tree::{self, Hash, MerkleProver, verify_consistency, verify_inclusion};
use serde_json::Value;

/// The leaves of the reference tree that RFC 6962 implementations use.
const LEAVES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];

fn hash(value: &Value) -> Hash {
    Base64::decode_vec(value.as_str().unwrap()).unwrap().try_into().unwrap()
}

fn hashes(value: &Value) -> Vec<Hash> {
    value.as_array().map(|list| list.iter().map(hash).collect()).unwrap_or_default()
}

#[test]
fn transparency_dev() {
    let vectors: Value = serde_json::from_str(include_str!("vectors/merkle.json")).unwrap();
    let (mut good, mut bad) = (0, 0);
    let mut count = |refused: bool| if refused { bad += 1 } else { good += 1 };
    for v in vectors["inclusion"].as_array().unwrap() {
        let (index, size) = (v["leafIdx"].as_u64().unwrap(), v["treeSize"].as_u64().unwrap());
        let refused = v["wantErr"].as_bool().unwrap();
        let holds = verify_inclusion(&hash(&v["leafHash"]), index, size, &hashes(&v["proof"]), &hash(&v["root"]));
        assert_eq!(holds, !refused, "inclusion {}", v["desc"]);
        count(refused);
    }
    for v in vectors["consistency"].as_array().unwrap() {
        let (old, size) = (v["size1"].as_u64().unwrap(), v["size2"].as_u64().unwrap());
        let refused = v["wantErr"].as_bool().unwrap();
        let holds = verify_consistency(old, size, &hashes(&v["proof"]), &hash(&v["root1"]), &hash(&v["root2"]));
        assert_eq!(holds, !refused, "consistency {}", v["desc"]);
        count(refused);
    }
    assert_eq!((good, bad), (10, 8));
}

/// The prover makes the proofs of the vectors from the reference leaves.
#[test]
fn prover_makes_the_vectors() {
    let bytes = |text: &str| {
        (0..text.len()).step_by(2).map(|i| hex::decode::<1>(&text[i..i + 2]).unwrap()[0]).collect::<Vec<_>>()
    };
    let leaves: Vec<Hash> = LEAVES.iter().map(|text| tree::leaf(&bytes(text))).collect();
    let prove = |prover: Option<MerkleProver>, size: u64| {
        let mut prover = prover.unwrap();
        leaves[..size as usize].iter().for_each(|leaf| prover.push(*leaf));
        prover.finish().unwrap()
    };
    let vectors: Value = serde_json::from_str(include_str!("vectors/merkle.json")).unwrap();
    let good = |kind: &str| {
        vectors[kind].as_array().unwrap().iter().filter(|v| v["wantErr"] == false).cloned().collect::<Vec<_>>()
    };
    for v in good("inclusion") {
        let (index, size) = (v["leafIdx"].as_u64().unwrap(), v["treeSize"].as_u64().unwrap());
        assert_eq!(tree::root(leaves[..size as usize].iter().copied()), hash(&v["root"]), "{}", v["desc"]);
        assert_eq!(prove(MerkleProver::inclusion(index, size), size), hashes(&v["proof"]), "{}", v["desc"]);
    }
    for v in good("consistency") {
        let (old, size) = (v["size1"].as_u64().unwrap(), v["size2"].as_u64().unwrap());
        assert_eq!(prove(MerkleProver::consistency(old, size), size), hashes(&v["proof"]), "{}", v["desc"]);
    }
}
