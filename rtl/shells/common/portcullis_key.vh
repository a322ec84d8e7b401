// The key package of builds that are not for production: the secret that everybody knows, SIM and
// NO_TRNG set. A production build puts a file of this name, made from its own secret and kept out
// of every repository, earlier on the include path.
`ifndef PORTCULLIS_KEY
`define PORTCULLIS_KEY
`define PORTCULLIS_PRODUCTION 1'b0
`define PORTCULLIS_SECRET key_pkg::TestSecret
`define PORTCULLIS_KEY_FLAGS 8'h05
`endif
