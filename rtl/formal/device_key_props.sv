// Proves about the card's key derivation, without bound: it requests twelve hashes, those of the
// three HMACs (FIPS 198-1) over label, index and design id, each once and with the state and block
// of the standard. The three seeds are the first halves of the fourth, eighth and twelfth answer,
// and are valid from the last answer to the next start. The secret only leaves in the blocks of the
// HMAC key: two instances with the same answers that differ only in the secret agree in every other
// output, in all other blocks, and in every register.
//
// Assumed: secret and design id are constant, no start while busy, an answer only to a request (as
// attest ensures).
module device_key_props
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic start,
    input hash_answer_t answer
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [1:0][255:0] secret;
  logic [127:0] design_id;
  always_ff @(posedge clk) {secret, design_id} <= {secret, design_id};

  logic [1:0] busy, valid;
  node_t [1:0] sk_seed, sk_prf, pk_seed;
  hash_request_t [1:0] hash;
  device_key dut (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .secret_i(secret[0]),
      .design_id_i(design_id),
      .busy_o(busy[0]),
      .valid_o(valid[0]),
      .sk_seed_o(sk_seed[0]),
      .sk_prf_o(sk_prf[0]),
      .pk_seed_o(pk_seed[0]),
      .hash_o(hash[0]),
      .hash_i(answer)
  );
  device_key other (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .secret_i(secret[1]),
      .design_id_i(design_id),
      .busy_o(busy[1]),
      .valid_o(valid[1]),
      .sk_seed_o(sk_seed[1]),
      .sk_prf_o(sk_prf[1]),
      .pk_seed_o(pk_seed[1]),
      .hash_o(hash[1]),
      .hash_i(answer)
  );

  // ---- the expected derivation: number of answered hashes, present hash, answers used later
  logic going_q, asked_q, made_q;
  logic [3:0] hashes_q;
  state_t last_q, inner_q;
  node_t [2:0] seeds_q;
  always_comb if (!rst) begin
    assume (!(start && going_q));
    assume (!answer.done || asked_q);
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      {going_q, asked_q, made_q} <= '0;
      hashes_q <= '0;
      seeds_q <= '0;
    end else if (!going_q) begin
      going_q <= start;
      if (start) made_q <= 1'b0;
    end else begin
      asked_q <= !answer.done;
      if (answer.done) begin
        last_q <= answer.digest;
        if (hashes_q[1:0] == 2'd1) inner_q <= answer.digest;
        if (hashes_q[1:0] == 2'd3) seeds_q[hashes_q[3:2]] <= answer.digest[255:128];
        hashes_q <= hashes_q == 4'd11 ? 4'd0 : hashes_q + 4'd1;
        if (hashes_q == 4'd11) {going_q, made_q} <= 2'b01;
      end
    end
  end

  state_t state_due;
  block_t block_due;
  always_comb begin
    case (hashes_q[1:0])
      2'd0: {state_due, block_due} = {InitialHash, secret[0] ^ {32{8'h36}}, {32{8'h36}}};
      2'd1: {state_due, block_due} =
          {last_q, "portcullis/slh-dsa/1", 8'h00, 6'd0, hashes_q[3:2], design_id,
                                      8'h80, 136'd0, 64'd816};
      2'd2: {state_due, block_due} = {InitialHash, secret[0] ^ {32{8'h5c}}, {32{8'h5c}}};
      default: {state_due, block_due} = {last_q, inner_q, 8'h80, 184'd0, 64'd768};
    endcase
  end

  always_comb begin
    if (started && !rst) begin
      assert (busy[0] == going_q && valid[0] == made_q);
      assert (hash[0].start == (going_q && !asked_q));
      if (going_q) assert (hash[0].state == state_due && hash[0].block == block_due);
      if (made_q) assert ({pk_seed[0], sk_prf[0], sk_seed[0]} == seeds_q);
      // ---- the secret
      assert (busy[0] == busy[1] && valid[0] == valid[1] && hash[0].start == hash[1].start
          && hash[0].state == hash[1].state);
      assert (sk_seed[0] == sk_seed[1] && sk_prf[0] == sk_prf[1] && pk_seed[0] == pk_seed[1]);
      if (hashes_q[0]) assert (hash[0].block == hash[1].block);

      // ---- invariants for the induction
      assert (hashes_q < 4'd12 && {dut.seed_q, dut.state_q} == hashes_q
          && dut.started_q == asked_q);
      assert (!going_q || !made_q);
      if (!going_q) assert (hashes_q == '0 && !asked_q);
      assert (dut.seeds_q == seeds_q);
      if (going_q && hashes_q[1:0] == 2'd1) assert (dut.inner_q == last_q);
      if (going_q && hashes_q[1:0] == 2'd2) assert (dut.inner_q == inner_q);
      if (going_q && hashes_q[1:0] == 2'd3)
        assert (dut.inner_q == inner_q && dut.outer_q == last_q);
      assert (dut.inner_q == other.inner_q && dut.outer_q == other.outer_q
          && dut.seeds_q == other.seeds_q);
      assert ({dut.busy_q, dut.valid_q, dut.started_q, dut.state_q, dut.seed_q}
              == {other.busy_q, other.valid_q, other.started_q, other.state_q, other.seed_q});

      // ---- not vacuous: keys are made, from different secrets
      cover (made_q && secret[0] != secret[1]);
      cover (made_q && start);
      cover (going_q && asked_q && hashes_q == 4'd11);
    end
  end
endmodule
