// The message hashes of SLH-DSA (FIPS 205, algorithm 19): R = PRF_msg, then digest = H_msg
// (11.2.1).
//
// While `run_i` is high, the module hashes the blocks of
//   R      = HMAC-SHA-256(SK.prf, opt_rand || M')[..n]
//   digest = MGF1-SHA-256(R || PK.seed || SHA-256(R || PK.seed || PK.root || M'), m)
// Here opt_rand = PK.seed (deterministic variant) and M' = 0x00 || 0x00 || M (pure, with an empty
// context; 10.2.1). In the clock of `done_o`, `digest_o` is valid; `r_o` is valid from the end of
// PRF_msg until the next run.
// Hash port: `hash_o.start`, state and block hold until `hash_i.done`.
// After reset and while `run_i` is low: at the first block.
// Duties of the caller: every input unchanged during a run.
`include "assert.svh"

module slh_message
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
#(
    // 1 or more; each 64 bytes cost another input of a multiplexer of 512 bits
    parameter int unsigned MessageBytes = 215
) (
    input  logic                      clk_i,
    input  logic                      rst_i,
    input  logic                      run_i,
    output logic                      done_o,
    input  node_t                     sk_prf_i,
    input  node_t                     pk_seed_i,
    input  node_t                     pk_root_i,
    input  logic [8*MessageBytes-1:0] message_i,
    output node_t                     r_o,
    output message_digest_t           digest_o,
    output hash_request_t             hash_o,
    input  hash_answer_t              hash_i
);
  if (MessageBytes < 1) begin : g_bad_message_bytes
    $fatal(1, "MessageBytes is at least 1");
  end

  localparam logic [15:0] PureEmptyContext = 16'h0000;  // toByte(0, 1) || toByte(|ctx|, 1)

  // Lengths of the hashed messages of PRF_msg and H_msg: bytes, blocks with padding, and bits.
  localparam int unsigned PrefixedBytes = $bits(PureEmptyContext) / 8 + MessageBytes;  // M'
  localparam int unsigned PrfBytes = NodeBytes + PrefixedBytes;
  localparam int unsigned PrfBlocks = blocks_of(PrfBytes);
  localparam int unsigned PrfBits = 512 * PrfBlocks;
  localparam int unsigned PrfLength = 8 * (BlockBytes + PrfBytes);
  localparam int unsigned InnerBytes = 3 * NodeBytes + PrefixedBytes;
  localparam int unsigned InnerBlocks = blocks_of(InnerBytes);
  localparam int unsigned InnerBits = 512 * InnerBlocks;
  localparam int unsigned InnerLength = 8 * InnerBytes;

  // MGF1 hashes a 4-byte counter after one block of seed.
  localparam int unsigned CounterBytes = 4;
  localparam block_t CounterPadding = padding(CounterBytes, BlockBytes + CounterBytes);
  localparam int unsigned LastBits = $bits(message_digest_t) - $bits(state_t);

  typedef enum logic [2:0] {
    StPrfInnerKey,  // HMAC: the block K ^ ipad
    StPrfInner,
    StPrfOuterKey,  // HMAC: the block K ^ opad
    StPrfOuter,
    StInner,        // H_msg: the inner SHA-256
    StMgfSeed,
    StMgfFirst,     // counter 0: the first 32 bytes
    StMgfLast       // counter 1: the last 2 bytes
  } state_e;

  typedef logic [$clog2(InnerBlocks):0] count_t;

  state_e state_q;
  count_t block_q;   // block of StPrfInner or StInner
  state_t chain_q;   // running state; after a hash, its digest
  state_t kept_q;    // state after HMAC's outer key block; then after MGF1's seed
  node_t r_q;

  logic last_block;
  block_t sk_prf_block;
  assign sk_prf_block = {sk_prf_i, 384'd0};

  always_comb begin
    logic [PrfBits-1:0] prf;
    logic [InnerBits-1:0] inner;
    prf = '0;
    inner = '0;
    last_block = 1'b1;
    hash_o.state = InitialHash;
    hash_o.block = hmac_inner_key(sk_prf_block);
    if (run_i) begin
      case (state_q)
        StPrfInner: begin
          prf = PrfBits'({pk_seed_i, PureEmptyContext, message_i, 8'h80})
              << (PrfBits - 8 * PrfBytes - 8);
          prf |= PrfBits'(PrfLength);
          hash_o.state = chain_q;
          hash_o.block = prf[512*(PrfBlocks-1-32'(block_q))+:512];
          last_block = block_q == count_t'(PrfBlocks - 1);
        end
        StPrfOuterKey: hash_o.block = hmac_outer_key(sk_prf_block);
        StPrfOuter: begin
          hash_o.state = kept_q;
          hash_o.block = hmac_outer_block(chain_q);
        end
        StInner: begin
          inner = InnerBits'({r_q, pk_seed_i, pk_root_i, PureEmptyContext, message_i, 8'h80})
              << (InnerBits - 8 * InnerBytes - 8);
          inner |= InnerBits'(InnerLength);
          if (block_q != '0) hash_o.state = chain_q;
          hash_o.block = inner[512*(InnerBlocks-1-32'(block_q))+:512];
          last_block = block_q == count_t'(InnerBlocks - 1);
        end
        StMgfSeed: hash_o.block = {r_q, pk_seed_i, chain_q};
        StMgfFirst: begin
          hash_o.state = kept_q;
          hash_o.block = {32'd0, 480'd0} | CounterPadding;
        end
        StMgfLast: begin
          hash_o.state = kept_q;
          hash_o.block = {32'd1, 480'd0} | CounterPadding;
        end
        default: ;
      endcase
    end
  end

  assign hash_o.start = run_i;
  assign done_o = run_i && state_q == StMgfLast && hash_i.done;
  assign r_o = r_q;
  assign digest_o = {chain_q, hash_i.digest[255-:LastBits]};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {chain_q, kept_q} <= '0;
      r_q <= '0;
    end else if (run_i && hash_i.done) begin
      case (state_q)
        StPrfInnerKey, StPrfInner, StInner, StMgfFirst: chain_q <= hash_i.digest;
        StPrfOuterKey, StMgfSeed: kept_q <= hash_i.digest;
        StPrfOuter: r_q <= truncated(hash_i.digest);
        default: ;
      endcase
    end
    if (rst_i || !run_i) begin
      state_q <= StPrfInnerKey;
      block_q <= '0;
    end else if (hash_i.done) begin
      if (last_block) begin
        state_q <= state_e'(state_q + 3'd1);  // Wraps from the last state to the first.
        block_q <= '0;
      end else begin
        block_q <= block_q + 1'b1;
      end
    end
  end

  logic run_q;
  always_ff @(posedge clk_i) begin
    run_q <= run_i && !rst_i;
    if (!rst_i) begin
      `ASSERT(run_i || !run_q || state_q == StPrfInnerKey, "slh_message: a run left halfway");
      `ASSERT(
          32'(block_q) < (state_q == StInner ? InnerBlocks : PrfBlocks),
          "slh_message: past the message");
    end
  end
endmodule
