// The tweakable hash T_l of SLH-DSA (FIPS 205, 11.2.1): SHA-256(PK.seed || 0^48 || ADRSc || M_1 ||
// ... || M_l), cut to n bytes.
//
// `open_i` begins a hash with an address and takes one clock. Then `push_i` with a node is held
// until `taken_o`: for one clock, or for a hash if the node completes a block. At the end,
// `finish_i` is held until `taken_o`; in that clock `node_o` is valid. Between these steps, other
// users may use the core. An address is 6 bytes longer than a node, so every block has the last 6
// bytes of a node, three nodes, and the first 10 bytes of another node.
// Hash port: `hash_o.start`, state and block hold until `hash_i.done`.
// After reset: not opened.
// Duties of the caller: one of open, push, finish at a time; `seed_state_i`, the state after
// PK.seed || 0^48, at `open_i`.
`include "assert.svh"

module slh_tl
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
(
    input  logic          clk_i,
    input  logic          rst_i,
    input  state_t        seed_state_i,
    input  logic          open_i,
    input  adrs_t         adrs_i,
    input  logic          push_i,
    input  node_t         node_i,
    input  logic          finish_i,
    output logic          taken_o,
    output node_t         node_o,
    output hash_request_t hash_o,
    input  hash_answer_t  hash_i
);
  // the rest of a node that does not fit into the block before
  localparam int unsigned RestBits = 8 * AdrsHeadBytes;
  // bits held before the node that completes a block
  localparam int unsigned HeldBits = RestBits + 3 * 8 * NodeBytes;
  localparam int unsigned MissingBits = $bits(block_t) - HeldBits;    // bits from that node
  localparam int unsigned FixedBits = 8 * (BlockBytes + AdrsHeadBytes);  // bits other than nodes

  typedef logic [5:0] count_t;
  localparam count_t MaxNodes = count_t'(Chains + 1);

  state_t state_q;
  logic [HeldBits-1:0] held_q;  // first byte at the top; unused bits are zero
  count_t nodes_q;              // accepted since `open_i`, counting the one in the address

  logic completes;  // the node at the input completes a block
  logic [8:0] held_bits;
  logic [63:0] length;
  assign completes = nodes_q[1:0] == 2'd3;
  assign held_bits = 9'(RestBits) + 9'(nodes_q[1:0]) * 9'd128;
  assign length = 64'(FixedBits) + 64'(nodes_q) * 64'(8 * NodeBytes);

  assign hash_o.start = finish_i || (push_i && completes);
  assign hash_o.state = state_q;
  always_comb begin
    hash_o.block = {held_q, node_i[127-:MissingBits]};
    if (finish_i)
      hash_o.block = {held_q, MissingBits'(0)} | ({1'b1, 511'd0} >> held_bits) | block_t'(length);
  end
  assign taken_o = hash_o.start ? hash_i.done : push_i;
  assign node_o = truncated(hash_i.digest);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= '0;
      held_q <= '0;
      nodes_q <= '0;
    end else if (open_i) begin
      state_q <= seed_state_i;
      held_q <= {adrs_i, 256'd0};
      nodes_q <= 6'd1;
    end else if (push_i && taken_o) begin
      nodes_q <= nodes_q + 6'd1;
      if (completes) begin
        state_q <= hash_i.digest;
        held_q <= {node_i[RestBits-1:0], 384'd0};
      end else begin
        held_q <= held_q | (HeldBits'({node_i, 256'd0}) >> {nodes_q[1:0], 7'd0});
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot0({open_i, push_i, finish_i}), "slh_tl: two things at once");
      `ASSERT(!(push_i || finish_i) || nodes_q != '0, "slh_tl: not opened");
      `ASSERT(!push_i || nodes_q < MaxNodes, "slh_tl: more nodes than chains");
    end
  end
endmodule
