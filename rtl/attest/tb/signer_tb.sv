// Top module of the signer's bench: the hash core with `Rounds` rounds per clock. The bench itself,
// device_key and slh_dsa use the core, one at a time.
//
// `hold_i` acts like an arbiter that does not grant the core: requests of device_key or slh_dsa
// start when it falls. `use_derived_i` gives slh_dsa the seeds of device_key instead of those of
// the ports.
module signer_tb
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
#(
    parameter int unsigned Rounds = 16,         // as in sha256
    parameter int unsigned MessageBytes = 215   // as in slh_dsa
) (
    input  logic                      clk_i,
    input  logic                      rst_i,
    // Direct use of the core.
    input  logic                      start_i,
    output logic                      core_ready_o,
    input  logic                      chain_i,
    input  state_t                    state_i,
    input  block_t                    block_i,
    output logic                      busy_o,
    output logic                      done_o,
    output state_t                    digest_o,
    input  logic                      hold_i,
    // device_key
    input  logic                      derive_i,
    input  logic [255:0]              secret_i,
    input  logic [127:0]              design_id_i,
    output logic                      derive_busy_o,
    output logic                      derive_valid_o,
    output logic [3*128-1:0]          derived_o,       // SK.seed || SK.prf || PK.seed
    // slh_dsa
    input  logic                      keygen_i,
    input  logic                      sign_i,
    output logic                      ready_o,
    input  logic                      use_derived_i,
    input  logic [3*128-1:0]          seeds_i,         // SK.seed || SK.prf || PK.seed
    input  logic [8*MessageBytes-1:0] message_i,
    output node_t                     root_o,
    output logic                      root_valid_o,
    output logic                      word_valid_o,
    input  logic                      word_ready_i,
    output node_t                     word_o
);
  logic core_start, waiting_q;
  state_t core_state;
  block_t core_block;
  hash_request_t key_hash, sign_hash;
  node_t sk_seed, sk_prf, pk_seed;

  always_comb begin
    core_start = start_i || ((key_hash.start || sign_hash.start || waiting_q) && !hold_i);
    core_state = state_i;
    core_block = block_i;
    if (derive_busy_o) {core_state, core_block} = {key_hash.state, key_hash.block};
    if (!ready_o) {core_state, core_block} = {sign_hash.state, sign_hash.block};
  end
  always_ff @(posedge clk_i) begin
    waiting_q <= !rst_i && (key_hash.start || sign_hash.start || waiting_q) && hold_i;
  end

  sha256 #(
      .Rounds(Rounds)
  ) u_core (
      .clk_i,
      .rst_i,
      .start_i(core_start),
      .ready_o(core_ready_o),
      .chain_i,
      .state_i(core_state),
      .block_i(core_block),
      .busy_o,
      .done_o,
      .digest_o
  );

  device_key u_key (
      .clk_i,
      .rst_i,
      .start_i(derive_i),
      .secret_i,
      .design_id_i,
      .busy_o(derive_busy_o),
      .valid_o(derive_valid_o),
      .sk_seed_o(sk_seed),
      .sk_prf_o(sk_prf),
      .pk_seed_o(pk_seed),
      .hash_o(key_hash),
      .hash_i('{done: done_o && derive_busy_o, digest: digest_o})
  );
  assign derived_o = {sk_seed, sk_prf, pk_seed};

  logic [3*128-1:0] seeds;
  assign seeds = use_derived_i ? derived_o : seeds_i;
  slh_dsa #(
      .MessageBytes(MessageBytes)
  ) u_sign (
      .clk_i,
      .rst_i,
      .keygen_i,
      .sign_i,
      .ready_o,
      .sk_seed_i(seeds[383:256]),
      .sk_prf_i(seeds[255:128]),
      .pk_seed_i(seeds[127:0]),
      .message_i,
      .root_o,
      .root_valid_o,
      .word_valid_o,
      .word_ready_i,
      .word_o,
      .hash_o(sign_hash),
      .hash_i('{done: done_o && !ready_o, digest: digest_o})
  );

  // ---- the hash port's contract: one user at a time, whose state and block hold from the start of
  // a hash to its answer
  logic asked_q;
  state_t state_q;
  block_t block_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) asked_q <= 1'b0;
    else if (key_hash.start || sign_hash.start) asked_q <= 1'b1;
    else if (done_o) asked_q <= 1'b0;
    if (key_hash.start || sign_hash.start) {state_q, block_q} <= {core_state, core_block};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ($onehot0({start_i, derive_busy_o, !ready_o}))
      else $error("signer_tb: two users of one core");
      assert (!(asked_q && (key_hash.start || sign_hash.start)))
      else $error("signer_tb: asked again before the answer");
      assert (!asked_q || {core_state, core_block} == {state_q, block_q})
      else $error("signer_tb: a block that did not stand");
    end
  end
endmodule
