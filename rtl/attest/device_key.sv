// Derives the card's SLH-DSA seeds from its device secret and its design id:
//   seed_i = HMAC-SHA-256(secret, "portcullis/slh-dsa/1\0" || u8 i || design_id)[..16]
// with i = 0 SK.seed, 1 SK.prf, 2 PK.seed. Another design, or another secret, has another key.
//
// `start_i` while not `busy_o` derives the three seeds in 12 blocks; `valid_o` falls with it and
// rises when they are valid. Byte strings have their first byte at the top.
// Hash port: `hash_o.start` is high for one clock; state and block hold until `hash_i.done`, when
// the digest is read. So an arbiter may give the core to other users first.
// After reset: no seeds. A reset aborts the derivation; it must also reset the core on the hash
// port.
// Duties of the caller: secret and design id unchanged while `busy_o`.
`include "assert.svh"

module device_key
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
(
    input  logic          clk_i,
    input  logic          rst_i,
    input  logic          start_i,
    input  logic [255:0]  secret_i,
    input  logic [127:0]  design_id_i,
    output logic          busy_o,
    output logic          valid_o,
    output node_t         sk_seed_o,
    output node_t         sk_prf_o,
    output node_t         pk_seed_o,
    // Hash port.
    output hash_request_t hash_o,
    input  hash_answer_t  hash_i
);
  localparam logic [21*8-1:0] Label = {"portcullis/slh-dsa/1", 8'h00};
  localparam int unsigned MessageBytes = ($bits(Label) + 8 + $bits(design_id_i)) / 8;
  localparam logic [1:0] LastSeed = 2'd2;

  // The four blocks of one HMAC (FIPS 198-1).
  typedef enum logic [1:0] {
    StInnerKey,
    StInner,
    StOuterKey,
    StOuter
  } state_e;

  logic busy_q, valid_q, started_q;
  state_e state_q;
  logic [1:0] seed_q;         // i
  state_t inner_q;            // inner hash: its state, then its digest
  state_t outer_q;            // outer hash: its state
  logic [2:0][127:0] seeds_q; // seed i at i

  block_t secret_block;
  assign secret_block = {secret_i, 256'd0};
  always_comb begin
    hash_o.state = InitialHash;
    hash_o.block = hmac_inner_key(secret_block);
    case (state_q)
      StInner: begin
        hash_o.state = inner_q;
        hash_o.block = block_t'({Label, 6'd0, seed_q, design_id_i})
            << (8 * (BlockBytes - MessageBytes));
        hash_o.block |= padding(MessageBytes, BlockBytes + MessageBytes);
      end
      StOuterKey: hash_o.block = hmac_outer_key(secret_block);
      StOuter: begin
        hash_o.state = outer_q;
        hash_o.block = hmac_outer_block(inner_q);
      end
      default: ;
    endcase
  end
  assign hash_o.start = busy_q && !started_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {busy_q, valid_q, started_q} <= '0;
      state_q <= StInnerKey;
      seed_q <= '0;
      {inner_q, outer_q} <= '0;
      seeds_q <= '0;
    end else if (!busy_q) begin
      busy_q <= start_i;
      if (start_i) valid_q <= 1'b0;
    end else begin
      started_q <= !hash_i.done;
      if (hash_i.done) begin
        state_q <= state_e'(state_q + 2'd1);  // Wraps from the last state to the first.
        case (state_q)
          StInnerKey, StInner: inner_q <= hash_i.digest;
          StOuterKey: outer_q <= hash_i.digest;
          default: begin
            seeds_q[seed_q] <= truncated(hash_i.digest);
            seed_q <= seed_q == LastSeed ? '0 : seed_q + 2'd1;
            if (seed_q == LastSeed) {busy_q, valid_q} <= 2'b01;
          end
        endcase
      end
    end
  end

  assign busy_o = busy_q;
  assign valid_o = valid_q;
  assign sk_seed_o = seeds_q[0];
  assign sk_prf_o = seeds_q[1];
  assign pk_seed_o = seeds_q[2];

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(start_i && busy_q), "device_key: a start while busy");
      `ASSERT(!hash_i.done || started_q, "device_key: an answer of the hash core to nothing");
      `ASSERT(busy_q || (state_q == StInnerKey && seed_q == '0), "device_key: idle halfway");
      `ASSERT(!(busy_q && valid_q), "device_key: seeds and busy");
    end
  end
endmodule
