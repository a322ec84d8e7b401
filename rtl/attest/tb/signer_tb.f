rtl/pkg/sha256_pkg.sv
rtl/pkg/slh_dsa_pkg.sv
rtl/hash/sha256.sv
rtl/attest/device_key.sv
rtl/attest/slh_message.sv
rtl/attest/slh_tl.sv
rtl/attest/slh_dsa.sv
rtl/attest/tb/signer_tb.sv
