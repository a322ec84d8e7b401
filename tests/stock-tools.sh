#!/bin/sh
# Checks an extracted bundle (`portcullis-verify extract`) with stock tools only: openssl, sha256sum, Python's standard library.
#
#   tests/stock-tools.sh EXTRACTED ROOT.pem
#
# Prints a line for each step: OK, FAILED, or SKIPPED with the reason. Exit code: 0 when nothing failed and every step ran, 1 when a
# step failed, 4 when nothing failed but a step was skipped. PORTCULLIS_OPENSSL names another openssl than the one on the PATH.
set -u
[ $# -eq 2 ] || { echo "usage: $0 EXTRACTED ROOT.pem" >&2; exit 2; }
folder=$1 root=$2 openssl=${PORTCULLIS_OPENSSL:-openssl}
failed=0 skipped=0
temp=$(mktemp -d) || exit 2
trap 'rm -rf "$temp"' EXIT

step() { # NAME, command...
  name=$1; shift
  if "$@" >/dev/null 2>&1; then echo "OK       $name"; else echo "FAILED   $name"; failed=1; fi
}
skip() { echo "SKIPPED  $1: $2"; skipped=1; }

knows_slh_dsa() { "$openssl" list -signature-algorithms 2>/dev/null | grep -qi 'SLH-DSA-SHA2-128f'; }
issuer() { if [ -s "$folder/chain.pem" ]; then echo "$folder/chain.pem"; else echo "$root"; fi; }
chain() {
  if knows_slh_dsa; then
    "$openssl" verify -no_check_time -CAfile "$root" -untrusted "$(issuer)" "$folder/cert.pem"
  else # The path to the issuer, then the issuer's signature: an older openssl does not take a certificate of a key that it does not know.
    "$openssl" verify -no_check_time -CAfile "$root" -untrusted "$(issuer)" "$(issuer)" &&
      "$openssl" asn1parse -in "$folder/cert.pem" -strparse 4 -noout -out "$temp/tbs" &&
      "$openssl" x509 -in "$folder/cert.pem" -outform DER | tail -c 64 >"$temp/sig" &&
      "$openssl" x509 -in "$(issuer)" -noout -pubkey -out "$temp/key" &&
      "$openssl" pkeyutl -verify -pubin -inkey "$temp/key" -rawin -in "$temp/tbs" -sigfile "$temp/sig"
  fi
}
same_key() { "$openssl" x509 -in "$folder/cert.pem" -noout -pubkey | cmp -s - "$folder/device.pem"; }
signature() { "$openssl" pkeyutl -verify -pubin -inkey "$folder/device.pem" -rawin -in "$1" -sigfile "${1%.tbs}.sig"; }
digests() { (cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS); }
closed() { # Byte 6 of the last checkpoint, 23 bytes into what is signed: 4 is closing.
  last=$(ls "$folder"/checkpoints/*.tbs | tail -n 1)
  [ "$(od -An -tu1 -j 29 -N 1 "$last" | tr -d ' ')" = 4 ]
}

step "the card is certified" chain
if knows_slh_dsa; then
  step "device.pem is the certificate's key" same_key
  for tbs in "$folder"/checkpoints/*.tbs; do
    step "the card signed $(basename "$tbs" .tbs)" signature "$tbs"
  done
else
  skip "the card's signatures" "$("$openssl" version 2>/dev/null || echo "no openssl") has no SLH-DSA; 3.5 or later is needed"
fi
step "the checkpoints stand for these records" python3 "$(dirname "$0")/../host/evidence/src/extract/roots.py" "$folder"
step "tables and ticket are those that the card names" digests
step "the session was closed" closed

[ $failed -eq 0 ] || exit 1
[ $skipped -eq 0 ] || exit 4
