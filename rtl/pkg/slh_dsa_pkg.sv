// SLH-DSA-SHA2-128f (FIPS 205): the parameter set (table 2), compressed addresses (4.2, 11.2),
// blocks of the tweakable hashes.
//
// Byte strings have their first byte at the top. In this parameter set, every hash is SHA-256
// truncated to n bytes (11.2.1). Each of F, H, PRF and T_l starts with the same block PK.seed ||
// 0^48; the state after this block is computed once per signature.
package slh_dsa_pkg;
  import sha256_pkg::*;

  localparam int unsigned NodeBytes = 16;       // n
  localparam int unsigned Layers = 22;          // d
  localparam int unsigned LayerHeight = 3;      // h'
  localparam int unsigned ForsHeight = 6;       // a
  localparam int unsigned ForsTrees = 33;       // k
  localparam int unsigned DigitBits = 4;        // lg_w
  localparam int unsigned MessageDigits = 32;   // len_1
  localparam int unsigned ChecksumDigits = 3;   // len_2
  localparam int unsigned Chains = MessageDigits + ChecksumDigits;  // len
  localparam int unsigned LastStep = 2 ** DigitBits - 1;            // w - 1: steps of a chain

  // Lengths in words of n bytes: R, FORS signature, hypertree signature (9.2).
  localparam int unsigned SignatureWords = 1 + ForsTrees * (1 + ForsHeight)
      + Layers * (Chains + LayerHeight);

  localparam int unsigned ForsIndexBits = ForsTrees * ForsHeight;      // used bits of md
  localparam int unsigned TreeBits = (Layers - 1) * LayerHeight;       // h - h/d

  typedef logic [8*NodeBytes-1:0] node_t;
  typedef logic [DigitBits-1:0] digit_t;
  typedef logic [5:0] index_t;   // of a FORS tree, a layer, a leaf of either kind of tree, a chain
  typedef logic [2:0] height_t;  // in either kind of tree

  // The m = 34 bytes of H_msg: md, tmp_idx_tree and tmp_idx_leaf, each padded to whole bytes. Of md
  // the first bits are used, of the two indices the last bits (algorithm 19).
  typedef struct packed {
    logic [ForsIndexBits-1:0] fors_indices;
    logic [1:0]               md_rest;
    logic                     tree_rest;
    logic [TreeBits-1:0]      tree;
    logic [4:0]               leaf_rest;
    logic [LayerHeight-1:0]   leaf;
  } message_digest_t;

  // ---- addresses
  typedef enum logic [7:0] {
    AdrsWotsHash  = 8'd0,
    AdrsWotsPk    = 8'd1,
    AdrsTree      = 8'd2,
    AdrsForsTree  = 8'd3,
    AdrsForsRoots = 8'd4,
    AdrsWotsPrf   = 8'd5,
    AdrsForsPrf   = 8'd6
  } adrs_kind_e;

  // ADRSc (11.2).
  typedef struct packed {
    logic [7:0]  layer;
    logic [63:0] tree;
    adrs_kind_e  kind;
    logic [31:0] key_pair;  // zero in AdrsTree
    logic [31:0] chain;     // chain address, or tree height
    logic [31:0] hash;      // hash address, or tree index
  } adrs_t;

  localparam int unsigned AdrsBytes = 22;
  // bytes of an address beyond the size of one node
  localparam int unsigned AdrsHeadBytes = AdrsBytes - NodeBytes;

  // ---- blocks
  // The first block of every F, H, PRF and T_l.
  function automatic block_t seed_block(node_t pk_seed);
    return {pk_seed, 384'd0};
  endfunction

  // The second and last block of F and PRF (11.2.1).
  function automatic block_t one_node_block(adrs_t adrs, node_t m);
    return {adrs, m, 208'd0} | padding(AdrsBytes + NodeBytes, BlockBytes + AdrsBytes + NodeBytes);
  endfunction

  // The second and last block of H (11.2.1).
  function automatic block_t two_node_block(adrs_t adrs, node_t left, node_t right);
    return {adrs, left, right, 80'd0}
        | padding(AdrsBytes + 2 * NodeBytes, BlockBytes + AdrsBytes + 2 * NodeBytes);
  endfunction

  function automatic node_t truncated(state_t digest);
    return node_t'(digest >> ($bits(state_t) - $bits(node_t)));
  endfunction
endpackage
