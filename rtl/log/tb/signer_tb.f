rtl/log/sha256_pkg.sv
rtl/log/slh_dsa_pkg.sv
rtl/log/sha256.sv
rtl/log/device_key.sv
rtl/log/slh_message.sv
rtl/log/slh_tl.sv
rtl/log/slh_dsa.sv
rtl/log/tb/signer_tb.sv
