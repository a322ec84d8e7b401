#!/bin/sh
# Checks a bundle with stock tools only: openssl, sha256sum, Python's standard library.
#
#   tests/stock-tools.sh BUNDLE ROOT.pem
#
# BUNDLE is what `portcullis run --bundle` wrote, or what `portcullis extract` made of it. ROOT.pem comes from whoever certifies the cards.
#
# Prints a line for each step: OK, FAILED, or SKIPPED with the reason. Exit code: 0 when nothing failed and every step ran, 1 when a
# step failed, 4 when nothing failed but a step was skipped. PORTCULLIS_OPENSSL names another openssl than the one on the PATH. One
# before 3.5 does not know the card's signatures: then a Node.js of 24.6 or later, which has such an openssl in it, verifies them
# (PORTCULLIS_NODE, else the one of `cargo xtask setup`, else the one on the PATH).
set -u
[ $# -eq 2 ] || { echo "usage: $0 BUNDLE ROOT.pem" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$1 root=$2 openssl=${PORTCULLIS_OPENSSL:-openssl}
pinned=$here/.venv/bin/node
[ -x "$pinned" ] || pinned=node
node=${PORTCULLIS_NODE:-$pinned}
failed=0 skipped=0
temp=$(mktemp -d) || exit 2
trap 'rm -rf "$temp"' EXIT

step() { # NAME, command...
  name=$1; shift
  if "$@" >/dev/null 2>&1; then echo "OK       $name"; else echo "FAILED   $name"; failed=1; fi
}
skip() { echo "SKIPPED  $1: $2"; skipped=1; }

# What stands where in a bundle. A checkpoint is `d2 84 47 a1013a00011170 a0 58c0`, 192 bytes, `5942c0`, 17,088 bytes of signature (COSE_Sign1,
# RFC 9052); signed are the 192 bytes behind the head of its Sig_structure. Digests of policy and ticket stand in the checkpoint.
take_apart() {
  python3 - "$folder" "$temp/parts" <<'PYTHON'
import base64, pathlib, shutil, sys
bundle, parts = map(pathlib.Path, sys.argv[1:])
(parts / "checkpoints").mkdir(parents=True)
for name, source in {"cert.pem": "device/cert.pem", "chain.pem": "device/chain.pem", "ticket.cose": "ticket.cose",
                     "image.bin": "policy/image.bin"}.items():
    shutil.copyfile(bundle / source, parts / name)
shutil.copytree(bundle / "records", parts / "records")
# The subject's key as RFC 9909 writes it: fixed bytes, then the key's 32.
pem = (parts / "cert.pem").read_text().split("-----")[2]
certificate, head = base64.b64decode(pem), bytes.fromhex("3030300b0609608648016503040315032100")
assert certificate.count(head) == 1, "not one SLH-DSA-SHA2-128f key in the certificate"
at = certificate.index(head)
key = base64.b64encode(certificate[at:at + len(head) + 32]).decode()
(parts / "device.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{key[:64]}\n{key[64:]}\n-----END PUBLIC KEY-----\n")
head = bytes.fromhex("846a5369676e617475726531 47a1013a00011170 40 58c0")
sums = []
for number, path in enumerate(sorted((bundle / "checkpoints").iterdir())):
    assert path.name == f"{number:08}.cose", "a checkpoint is missing"
    message = path.read_bytes()
    assert len(message) == 17296 and message[:13].hex() == "d28447a1013a00011170a058c0" and message[205:208].hex() == "5942c0"
    checkpoint = message[13:205]
    (parts / f"checkpoints/{number:08}.tbs").write_bytes(head + checkpoint)
    (parts / f"checkpoints/{number:08}.sig").write_bytes(message[208:])
    sums += [f"{checkpoint[64:96].hex()}  image.bin", f"{checkpoint[96:128].hex()}  ticket.cose"]
(parts / "SHA256SUMS").write_text("\n".join(dict.fromkeys(sums)) + "\n")
PYTHON
}

openssl_knows() { "$openssl" list -signature-algorithms 2>/dev/null | grep -qi 'SLH-DSA-SHA2-128f'; }
node_knows() { "$node" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 24 || (a == 24 && b >= 6) ? 0 : 1)' 2>/dev/null; }
issuer() { if [ -s "$folder/chain.pem" ]; then echo "$folder/chain.pem"; else echo "$root"; fi; }
chain() {
  if openssl_knows; then
    "$openssl" verify -no_check_time -CAfile "$root" -untrusted "$(issuer)" "$folder/cert.pem"
  else # The path to the issuer, then the issuer's signature: an older openssl does not take a certificate of a key that it does not know.
    "$openssl" verify -no_check_time -CAfile "$root" -untrusted "$(issuer)" "$(issuer)" &&
      "$openssl" asn1parse -in "$folder/cert.pem" -strparse 4 -noout -out "$temp/tbs" &&
      "$openssl" x509 -in "$folder/cert.pem" -outform DER | tail -c 64 >"$temp/sig" &&
      "$openssl" x509 -in "$(issuer)" -noout -pubkey -out "$temp/key" &&
      "$openssl" pkeyutl -verify -pubin -inkey "$temp/key" -rawin -in "$temp/tbs" -sigfile "$temp/sig"
  fi
}
same_key() {
  if openssl_knows; then "$openssl" x509 -in "$folder/cert.pem" -noout -pubkey
  else "$node" -e 'const c = require("crypto"), f = require("fs");
    process.stdout.write(new c.X509Certificate(f.readFileSync(process.argv[1])).publicKey.export({type: "spki", format: "pem"}))' "$folder/cert.pem"
  fi | cmp -s - "$folder/device.pem"
}
signature() {
  if openssl_knows; then
    "$openssl" pkeyutl -verify -pubin -inkey "$folder/device.pem" -rawin -in "$1" -sigfile "${1%.tbs}.sig"
  else
    "$node" -e 'const [key, text, signature] = process.argv.slice(1).map(f => require("fs").readFileSync(f));
      process.exit(require("crypto").verify(null, text, key, signature) ? 0 : 1)' "$folder/device.pem" "$1" "${1%.tbs}.sig"
  fi
}
digests() { (cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS); }
closed() { # Byte 6 of the last checkpoint, 23 bytes into what is signed: 4 is closing.
  last=$(ls "$folder"/checkpoints/*.tbs | tail -n 1)
  [ "$(od -An -tu1 -j 29 -N 1 "$last" | tr -d ' ')" = 4 ]
}

if [ -f "$folder/manifest.json" ]; then
  step "the bundle is made of what a bundle is made of" take_apart
  [ $failed -eq 0 ] || exit 1
  folder=$temp/parts
fi
step "the card is certified" chain
if openssl_knows || node_knows; then
  step "device.pem is the certificate's key" same_key
  for tbs in "$folder"/checkpoints/*.tbs; do
    step "the card signed $(basename "$tbs" .tbs)" signature "$tbs"
  done
else
  skip "the card's signatures" "$("$openssl" version 2>/dev/null || echo "no openssl") has no SLH-DSA, 3.5 or later has; nor is there a Node.js of 24.6 or later"
fi
step "the checkpoints stand for these records" python3 "$here/host/evidence/src/extract/roots.py" "$folder"
step "tables and ticket are those that the card names" digests
step "the session was closed" closed

[ $failed -eq 0 ] || exit 1
[ $skipped -eq 0 ] || exit 4
