// Proves about the message hashes (FIPS 205, algorithm 19 and 11.2.1), without bound: a run
// requests exactly its hashes in order, each until it is answered, with the state that it
// continues. R and the digest are the answers that the standard defines. In the blocks with the
// message, each byte is in its place, with padding and length; one arbitrary byte is watched.
// SK.prf occurs only in the two HMAC key blocks, because all other blocks are specified without it.
//
// Proved for 70 bytes (two and three blocks); the card signs 215 bytes (four and five blocks).
// Assumed: inputs constant during a run, an answer only to a request, no reset during a run.
module slh_message_props
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
#(
    parameter int unsigned MessageBytes = 70
) (
    input logic clk,
    input logic reset,
    input logic run,
    input hash_answer_t answer
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  node_t sk_prf, pk_seed, pk_root;
  logic [8*MessageBytes-1:0] message;
  always_ff @(posedge clk) {sk_prf, pk_seed, pk_root, message} <=
      {sk_prf, pk_seed, pk_root, message};

  logic done;
  node_t r;
  message_digest_t digest;
  hash_request_t hash;
  slh_message #(
      .MessageBytes(MessageBytes)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .run_i(run),
      .done_o(done),
      .sk_prf_i(sk_prf),
      .pk_seed_i(pk_seed),
      .pk_root_i(pk_root),
      .message_i(message),
      .r_o(r),
      .digest_o(digest),
      .hash_o(hash),
      .hash_i(answer)
  );

  // ---- the hashes: for R, the inner key, the inner blocks, the outer key and the outer block;
  // then the blocks of the inner digest; for MGF1, the seed and two blocks
  localparam int unsigned PrfBlocks = (16 + 2 + MessageBytes + 9 + 63) / 64;
  localparam int unsigned InnerBlocks = (48 + 2 + MessageBytes + 9 + 63) / 64;
  localparam int unsigned OuterKey = 1 + PrfBlocks;
  localparam int unsigned Outer = OuterKey + 1;
  localparam int unsigned Inner = Outer + 1;
  localparam int unsigned Seed = Inner + InnerBlocks;
  localparam int unsigned Hashes = Seed + 3;
  logic [4:0] at_q;
  logic run_q;
  state_t last_q, inner_q, key_q, first_q;
  node_t r_q;
  logic r_known_q;
  always_comb begin
    if (run_q && !rst) assume (run);  // A run lasts until it is done.
    assume (!answer.done || run);
  end
  always_ff @(posedge clk) begin
    run_q <= !rst && run && !done;
    if (rst || !run || done) at_q <= '0;
    else if (answer.done) at_q <= at_q + 5'd1;
    if (answer.done) last_q <= answer.digest;
    if (answer.done && at_q == 5'(PrfBlocks)) inner_q <= answer.digest;
    if (answer.done && (at_q == 5'(OuterKey) || at_q == 5'(Seed))) key_q <= answer.digest;
    if (answer.done && at_q == 5'(Outer)) r_q <= answer.digest[255:128];
    if (answer.done && at_q == 5'(Seed + 1)) first_q <= answer.digest;
    if (rst) r_known_q <= 1'b0;
    else if (answer.done && at_q == 5'(Outer)) r_known_q <= 1'b1;
  end

  // ---- the byte at the place `watch` in the hashed message
  logic [8:0] watch;
  always_ff @(posedge clk) watch <= watch;
  function automatic logic [7:0] byte_of(logic [127:0] value, logic [8:0] at);
    return at < 9'd16 ? 8'(value >> {4'd15 - at[3:0], 3'd0}) : 8'h00;
  endfunction
  function automatic logic [7:0] tail_of(logic [8*MessageBytes-1:0] m, logic [8:0] at,
      int unsigned total, int unsigned length);
    if (at < 9'd2) return 8'h00;
    if (at < 9'd2 + 9'(MessageBytes)) return 8'(m >> {9'(MessageBytes + 1) - at, 3'd0});
    if (at == 9'd2 + 9'(MessageBytes)) return 8'h80;
    if (at == 9'(total - 2)) return 8'(length >> 8);
    if (at == 9'(total - 1)) return 8'(length);
    return 8'h00;
  endfunction
  logic [7:0] prf_byte, inner_byte, seen;
  assign prf_byte = watch < 9'd16 ? byte_of(pk_seed, watch)
      : tail_of(message, watch - 9'd16, 64 * PrfBlocks - 16, 8 * (64 + 18 + MessageBytes));
  assign inner_byte = watch < 9'd16 ? byte_of(r_q, watch) : watch < 9'd32
      ? byte_of(pk_seed, watch - 9'd16)
      : watch < 9'd48 ? byte_of(pk_root, watch - 9'd32)
      : tail_of(message, watch - 9'd48, 64 * InnerBlocks - 48, 8 * (50 + MessageBytes));
  assign seen = 8'(hash.block >> {6'd63 - watch[5:0], 3'd0});

  always_comb begin
    if (started && !rst) begin
      assert (hash.start == run);
      assert (done == (run && answer.done && at_q == 5'(Hashes - 1)));
      if (run) begin
        assert (at_q < 5'(Hashes));
        if (at_q == 5'd0)
          assert (hash.state == InitialHash && hash.block == {sk_prf ^ {16{8'h36}}, {48{8'h36}}});
        else if (at_q < 5'(OuterKey)) begin
          assert (hash.state == last_q);
          if (5'(watch[8:6]) == at_q - 5'd1) assert (seen == prf_byte);
        end else if (at_q == 5'(OuterKey)) assert (hash.state == InitialHash
            && hash.block == {sk_prf ^ {16{8'h5c}}, {48{8'h5c}}});
        else if (at_q == 5'(Outer))
          assert (hash.state == key_q && hash.block == {inner_q, 8'h80, 184'd0, 64'd768});
        else if (at_q < 5'(Seed)) begin
          assert (hash.state == (at_q == 5'(Inner) ? InitialHash : last_q));
          if (5'(watch[8:6]) == at_q - 5'(Inner)) assert (seen == inner_byte);
        end else if (at_q == 5'(Seed)) assert (hash.state == InitialHash
            && hash.block == {r_q, pk_seed, last_q});
        else assert (hash.state == key_q && hash.block
            == {27'd0, at_q - 5'(Seed + 1), 8'h80, 408'd0, 64'd544});
      end
      if (done) assert (digest == {first_q, answer.digest[255:240]});
      if (r_known_q) assert (r == r_q);

      // ---- invariants for the induction
      assert (run || at_q == '0);
      if (run) begin
        case (dut.state_q)
          3'd0: assert (at_q == '0 && dut.block_q == '0);
          3'd1: assert (at_q == 5'd1 + 5'(dut.block_q) && dut.block_q < PrfBlocks
              && dut.chain_q == last_q);
          3'd2: assert (at_q == 5'(OuterKey) && dut.block_q == '0 && dut.chain_q == last_q
              && last_q == inner_q);
          3'd3: assert (at_q == 5'(Outer) && dut.block_q == '0 && dut.chain_q == inner_q
              && dut.kept_q == key_q);
          3'd4: assert (at_q == 5'(Inner) + 5'(dut.block_q) && dut.block_q < InnerBlocks
                        && (dut.block_q == '0 || dut.chain_q == last_q) && dut.r_q == r_q
                            && r_known_q);
          3'd5: assert (at_q == 5'(Seed) && dut.block_q == '0 && dut.chain_q == last_q
              && dut.r_q == r_q && r_known_q);
          3'd6: assert (at_q == 5'(Seed + 1) && dut.block_q == '0 && dut.kept_q == key_q
              && r_known_q);
          default: assert (at_q == 5'(Seed + 2) && dut.block_q == '0 && dut.kept_q == key_q
              && dut.chain_q == first_q && r_known_q);
        endcase
      end else assert (!run_q);
      if (!run_q) assert (dut.state_q == '0 || rst);
      if (!run_q) assert (dut.block_q == '0);

      // ---- not vacuous
      cover (done && watch == 9'd100);
      cover (done && pk_seed[127:120] == 8'h77 && digest.leaf == 3'd5);
    end
  end
endmodule
