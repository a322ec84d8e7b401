// Proves about T_l (FIPS 205, 11.2.1), without bound: the hashed blocks are address and nodes in
// order, each byte once and in its place, then 0x80, zeros and the length in bits. The first block
// continues the state after the seed block, each other block the block before it. The node is the
// first half of the last answer. One arbitrary byte is watched, with up to 35 nodes.
//
// Assumed, by the module's contract: open, push and finish one at a time, and first an open; at
// most 35 nodes; an answer only to a request.
module slh_tl_props
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
(
    input logic clk,
    input logic reset,
    input state_t seed_state,
    input logic open,
    input logic [8*AdrsBytes-1:0] adrs,
    input logic push,
    input node_t node,
    input logic finish,
    input hash_answer_t answer
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic taken;
  node_t result;
  hash_request_t hash;
  slh_tl dut (
      .clk_i(clk),
      .rst_i(rst),
      .seed_state_i(seed_state),
      .open_i(open),
      .adrs_i(adrs),
      .push_i(push),
      .node_i(node),
      .finish_i(finish),
      .taken_o(taken),
      .node_o(result),
      .hash_o(hash),
      .hash_i(answer)
  );

  // ---- the message: bytes so far, number of hashed blocks, state after these blocks
  logic open_q;
  logic [9:0] bytes_q;
  logic [3:0] blocks_q;
  state_t state_q;
  logic fills;  // The node at the input completes a block.
  assign fills = bytes_q + 10'd16 >= {blocks_q + 4'd1, 6'd0};
  always_comb if (!rst) begin
    assume ($onehot0({open, push, finish}));
    assume (open_q || !(push || finish));
    assume (!push || bytes_q < 10'(AdrsBytes + 35 * NodeBytes));
    assume (!answer.done || hash.start);
  end
  always_ff @(posedge clk) begin
    if (rst) open_q <= 1'b0;
    else if (open) begin
      open_q <= 1'b1;
      bytes_q <= 10'(AdrsBytes);
      blocks_q <= '0;
      state_q <= seed_state;
    end else if (push && (!fills || answer.done)) begin
      bytes_q <= bytes_q + 10'd16;
      if (fills) begin
        blocks_q <= blocks_q + 4'd1;
        state_q <= answer.digest;
      end
    end
  end

  // ---- the watched byte
  logic [9:0] watch, in_node, in_block;
  always_ff @(posedge clk) watch <= watch;
  logic known_q, now_known;
  logic [7:0] byte_q, now_byte;
  assign in_node = watch - bytes_q;
  assign in_block = watch - {blocks_q, 6'd0};
  always_comb begin
    {now_known, now_byte} = {known_q, byte_q};
    if (push && watch >= bytes_q && in_node < 10'd16)
      {now_known, now_byte} = {1'b1, 8'(node >> {4'd15 - in_node[3:0], 3'd0})};
  end
  always_ff @(posedge clk) begin
    if (rst) known_q <= 1'b0;
    else if (open) begin
      known_q <= watch < 10'(AdrsBytes);
      byte_q <= 8'(adrs >> (8 * (10'(AdrsBytes - 1) - watch)));
    end else if (push && taken) {known_q, byte_q} <= {now_known, now_byte};
  end
  logic [7:0] seen;
  assign seen = 8'(hash.block >> {6'd63 - in_block[5:0], 3'd0});

  logic [9:0] held_bytes;
  logic [431:0] held;
  assign held_bytes = bytes_q - {blocks_q, 6'd0};
  assign held = dut.held_q;
  always_comb begin
    if (started && !rst) begin
      assert (hash.start == (finish || (push && fills)));
      assert (taken == (hash.start ? answer.done : push));
      if (hash.start) begin
        assert (hash.state == state_q);
        if (in_block < 10'd64 && now_known) assert (seen == now_byte);
        if (finish && in_block < 10'd56 && !now_known)
          assert (seen == (watch == bytes_q ? 8'h80 : 8'h00));
        if (finish) assert (hash.block[63:0] == 64'd8 * (64'd64 + 64'(bytes_q)));
        assert (result == answer.digest[255:128]);
      end

      // ---- invariants for the induction
      if (open_q) begin
        assert (dut.state_q == state_q && dut.nodes_q != '0);
        assert (bytes_q == 10'(AdrsBytes) + 10'd16 * (10'(dut.nodes_q) - 10'd1)
            && dut.nodes_q <= 6'd36);
        assert (blocks_q == dut.nodes_q[5:2]);
        assert (known_q == (watch < bytes_q));
        assert (held << {held_bytes[5:0], 3'd0} == '0);
        if (known_q && in_block < 10'd54)
          assert (byte_q == 8'(held >> {6'd53 - in_block[5:0], 3'd0}));
      end

      // ---- not vacuous: a node completes a block, and a block ends with padding
      cover (push && taken && fills && now_known && watch == 10'd60);
      cover (finish && taken && blocks_q == 4'd2 && bytes_q == 10'd166);
    end
  end
endmodule
