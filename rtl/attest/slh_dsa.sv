// SLH-DSA-SHA2-128f (FIPS 205): computes PK.root from the seeds, and makes deterministic
// signatures, pure with an empty context.
//
// `keygen_i` in a clock of `ready_o` computes PK.root (algorithm 18); `root_valid_o` falls and
// rises again with `ready_o`. `sign_i` in a clock of `ready_o` and `root_valid_o` signs `message_i`
// (algorithms 19 and 22 with opt_rand = PK.seed); the signature leaves as 1,068 words of 16 bytes,
// first byte at the top, in the order of section 9.2: R, 33 times (secret, 6 nodes), 22 times (35
// chain values, 3 nodes). `word_o` holds until `word_ready_i`; until then the signer waits.
// `ready_o` rises after the last word. Signatures do not depend on each other.
//
// The same walk serves both kinds of tree. It visits the leaves from left to right. A leaf is the
// end of a chain of one step (FORS), or the hash T_l of the ends of 35 chains of 15 steps (WOTS+).
// If the left sibling of a node is on the stack, the two are hashed at once. Siblings of nodes on
// the selected path are kept for AUTH. In the standard, fors_pkFromSig and wots_pkFromSig compute
// the root of the tree that was just walked, so the walk already has their results.
//
// Latency: 4,568 blocks of the hash core for a keygen; for a signature 106,787 and those of the
// message (15 for 215 bytes). Each node in T_l that does not complete a block, each placed node and
// each word costs one more clock.
// Hash port: `hash_o.start` is high for one clock; state and block hold until `hash_i.done`, when
// the digest is read. So an arbiter may give the core to other users first. A command in any other
// clock than those above is ignored.
// After reset: ready, no root. A reset aborts the present work; it must also reset the core on the
// hash port.
// Duties of the caller: seeds and message are constant while `ready_o` is low; a signature has the
// seeds of the keygen; never both commands at once.
`include "assert.svh"

module slh_dsa
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
#(
    parameter int unsigned MessageBytes = 215  // 1 or more; see slh_message
) (
    input  logic                      clk_i,
    input  logic                      rst_i,
    input  logic                      keygen_i,
    input  logic                      sign_i,
    output logic                      ready_o,
    input  node_t                     sk_seed_i,
    input  node_t                     sk_prf_i,
    input  node_t                     pk_seed_i,
    input  logic [8*MessageBytes-1:0] message_i,  // first byte at the top
    output node_t                     root_o,
    output logic                      root_valid_o,
    // The signature.
    output logic                      word_valid_o,
    input  logic                      word_ready_i,
    output node_t                     word_o,
    // Hash port.
    output hash_request_t             hash_o,
    input  hash_answer_t              hash_i
);
  typedef enum logic [3:0] {
    StIdle,
    StSeed,        // State after PK.seed || 0^48.
    StMessage,     // PRF_msg and H_msg (algorithm 19).
    StRandomizer,  // R is output.
    StSecret,      // PRF: the start of a chain (algorithms 6, 7, 14).
    StChain,       // F: a step of a chain (algorithms 5 and 15).
    StReveal,      // A chain's value is output (algorithms 7 and 16).
    StAbsorb,      // A chain's end, or a FORS root, goes into T_l.
    StCompress,    // T_l: a WOTS+ public key (algorithm 6), or the FORS one (algorithm 17).
    StPlace,       // A node of the tree is known: root, right or left child.
    StNode,        // H: two children (algorithms 9 and 15).
    StAuth         // AUTH is output (algorithms 10 and 16).
  } state_e;

  localparam int unsigned MaxHeight = ForsHeight;

  state_e state_q;
  logic signing_q;  // high: signing; low: keygen
  logic fors_q;     // high: FORS trees; low: the hypertree
  // Position of the walk.
  index_t tree_q;      // FORS tree i, or layer of the hypertree
  index_t leaf_q;
  index_t chain_q;     // always 0 in FORS
  digit_t step_q;      // steps from the start of the chain to `value_q`
  height_t height_q;   // height of the node in `value_q`; in StAuth, of the output node
  // Inputs of the walk.
  logic [ForsIndexBits-1:0] fors_indices_q;  // this tree's index at the top
  logic [TreeBits-1:0] path_tree_q;          // address of the tree in its layer
  logic [LayerHeight-1:0] path_leaf_q;       // selected leaf of that tree; in FORS, the key pair
  // message of this layer: the root of the layer below, or the FORS public key
  node_t message_q;
  logic [4*ChecksumDigits-1:0] checksum_q;
  // Values computed so far.
  state_t seed_state_q;
  node_t value_q;             // a chain's value or a node
  node_t stack_q[MaxHeight];  // left children, by height
  node_t auth_q[MaxHeight];   // siblings of the selected path's nodes, by height
  node_t root_q;
  logic root_valid_q;

  // ---- the place in the tree
  index_t selected, last_leaf, node, selected_node;  // nodes: index in its tree at `height_q`
  height_t top;
  logic [2*$bits(index_t)-1:0] node_index;  // FORS trees are side by side (8.2)
  logic last_tree, last_chain;
  digit_t last_step;
  always_comb begin
    selected = fors_q ? fors_indices_q[ForsIndexBits-1-:ForsHeight] : index_t'(path_leaf_q);
    last_leaf = fors_q ? index_t'(2 ** ForsHeight - 1) : index_t'(2 ** LayerHeight - 1);
    top = fors_q ? height_t'(ForsHeight) : height_t'(LayerHeight);
    last_tree = tree_q == (fors_q ? index_t'(ForsTrees - 1) : index_t'(Layers - 1));
    last_chain = chain_q == index_t'(Chains - 1);
    last_step = fors_q ? digit_t'(1) : digit_t'(LastStep);
    node = leaf_q >> height_q;
    selected_node = selected >> height_q;
    node_index = {fors_q ? tree_q : index_t'(0), leaf_q} >> height_q;
  end

  // ---- the digits to sign (algorithm 7); in FORS, the secret itself is output
  digit_t digit;
  always_comb begin
    digit = '0;
    if (!fors_q)
      digit = digit_t'({message_q, checksum_q} >> {index_t'(Chains - 1) - chain_q, 2'd0});
  end

  // ---- addresses
  adrs_t adrs, pk_adrs;
  always_comb begin
    adrs = '{
        layer: fors_q ? 8'd0 : 8'(tree_q),
        tree: 64'(path_tree_q),
        kind: AdrsTree,
        key_pair: fors_q ? 32'(path_leaf_q) : 32'(leaf_q),
        chain: '0,
        hash: '0
    };
    pk_adrs = adrs;
    pk_adrs.kind = fors_q ? AdrsForsRoots : AdrsWotsPk;
    case (state_q)
      StSecret: begin
        adrs.kind = fors_q ? AdrsForsPrf : AdrsWotsPrf;
        adrs.chain = 32'(chain_q);
        if (fors_q) adrs.hash = 32'(node_index);
      end
      StChain: begin
        adrs.kind = fors_q ? AdrsForsTree : AdrsWotsHash;
        adrs.chain = 32'(chain_q);
        adrs.hash = fors_q ? 32'(node_index) : 32'(step_q);
      end
      default: begin
        if (fors_q) adrs.kind = AdrsForsTree;
        else adrs.key_pair = '0;
        adrs.chain = 32'(height_q);
        adrs.hash = 32'(node_index);
      end
    endcase
  end

  // ---- hash port
  logic request, started_q;
  hash_request_t message_hash, tl_hash;
  always_comb begin
    request = 1'b1;
    hash_o.state = seed_state_q;
    hash_o.block = one_node_block(adrs, value_q);
    case (state_q)
      StSeed: begin
        hash_o.state = InitialHash;
        hash_o.block = seed_block(pk_seed_i);
      end
      StMessage: begin
        request = message_hash.start;
        {hash_o.state, hash_o.block} = {message_hash.state, message_hash.block};
      end
      StSecret: hash_o.block = one_node_block(adrs, sk_seed_i);
      StChain: ;
      StNode: hash_o.block = two_node_block(adrs, stack_q[height_q-1'b1], value_q);
      StAbsorb, StCompress: begin
        request = tl_hash.start;
        {hash_o.state, hash_o.block} = {tl_hash.state, tl_hash.block};
      end
      default: request = 1'b0;
    endcase
  end
  assign hash_o.start = request && !started_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) started_q <= 1'b0;
    else started_q <= request && !hash_i.done;
  end

  logic message_done;
  message_digest_t message_digest;
  node_t randomizer;
  slh_message #(
      .MessageBytes(MessageBytes)
  ) u_message (
      .clk_i,
      .rst_i,
      .run_i(state_q == StMessage),
      .done_o(message_done),
      .sk_prf_i,
      .pk_seed_i,
      .pk_root_i(root_q),
      .message_i,
      .r_o(randomizer),
      .digest_o(message_digest),
      .hash_o(message_hash),
      .hash_i
  );

  // T_l is opened when the first secret of its input is computed.
  logic tl_open, tl_taken;
  node_t tl_node;
  assign tl_open = state_q == StSecret && hash_o.start && chain_q == '0
      && !(fors_q && (tree_q != '0 || leaf_q != '0));
  slh_tl u_tl (
      .clk_i,
      .rst_i,
      .seed_state_i(seed_state_q),
      .open_i(tl_open),
      .adrs_i(pk_adrs),
      .push_i(state_q == StAbsorb),
      .node_i(value_q),
      .finish_i(state_q == StCompress),
      .taken_o(tl_taken),
      .node_o(tl_node),
      .hash_o(tl_hash),
      .hash_i
  );

  // ---- outputs
  assign ready_o = state_q == StIdle;
  assign root_o = root_q;
  assign root_valid_o = root_valid_q;
  assign word_valid_o = state_q == StRandomizer || state_q == StReveal || state_q == StAuth;
  always_comb begin
    case (state_q)
      StRandomizer: word_o = randomizer;
      StAuth: word_o = auth_q[height_q];
      default: word_o = value_q;
    endcase
  end

  // ---- next state
  state_e state_d, after_chain;
  digit_t step_d;        // chain steps of the next value
  logic reveal;          // that value is a part of the signature
  logic is_root, is_right, last_auth;
  always_comb begin
    after_chain = fors_q ? StPlace : StAbsorb;
    step_d = state_q == StSecret ? '0 : step_q + 1'b1;
    reveal = signing_q && leaf_q == selected && digit == step_d;
    is_root = height_q == top;
    is_right = node[0];
    last_auth = height_q == top - 1'b1;

    state_d = state_q;
    case (state_q)
      StIdle: if (keygen_i || (sign_i && root_valid_q)) state_d = StSeed;
      StSeed: if (hash_i.done) state_d = signing_q ? StMessage : StSecret;
      StMessage: if (message_done) state_d = StRandomizer;
      StRandomizer: if (word_ready_i) state_d = StSecret;
      StSecret, StChain: begin
        if (hash_i.done) begin
          state_d = StChain;
          if (step_d == last_step) state_d = after_chain;
          if (reveal) state_d = StReveal;
        end
      end
      StReveal: if (word_ready_i) state_d = step_q == last_step ? after_chain : StChain;
      StAbsorb: if (tl_taken) state_d = (fors_q ? last_tree : last_chain) ? StCompress : StSecret;
      StCompress: if (tl_taken) state_d = fors_q ? StSecret : StPlace;
      StPlace: begin
        if (is_root) state_d = signing_q ? StAuth : StIdle;
        else state_d = is_right ? StNode : StSecret;
      end
      StNode: if (hash_i.done) state_d = StPlace;
      StAuth: begin
        if (word_ready_i && last_auth) begin
          if (fors_q) state_d = StAbsorb;
          else state_d = last_tree ? StIdle : StSecret;
        end
      end
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
      {signing_q, fors_q, root_valid_q} <= '0;
      {tree_q, leaf_q, chain_q, step_q, height_q} <= '0;
      {fors_indices_q, path_tree_q, path_leaf_q} <= '0;
      {message_q, checksum_q} <= '0;
      seed_state_q <= '0;
      {value_q, root_q} <= '0;
    end else begin
      state_q <= state_d;
      case (state_q)
        StIdle: begin
          // Keygen only walks the one tree of the top layer (algorithm 18).
          if (state_d == StSeed) begin
            signing_q <= !keygen_i;
            if (keygen_i) root_valid_q <= 1'b0;
            fors_q <= 1'b0;
            tree_q <= index_t'(Layers - 1);
            {leaf_q, chain_q, height_q} <= '0;
            {path_tree_q, path_leaf_q} <= '0;
          end
        end
        StSeed: if (hash_i.done) seed_state_q <= hash_i.digest;
        StMessage: begin
          if (message_done) begin
            fors_indices_q <= message_digest.fors_indices;
            path_tree_q <= message_digest.tree;
            path_leaf_q <= message_digest.leaf;
            fors_q <= 1'b1;
            tree_q <= '0;
          end
        end
        StSecret, StChain: begin
          if (hash_i.done) begin
            value_q <= truncated(hash_i.digest);
            step_q <= step_d;
          end
          // The checksum of the selected leaf is complete before its digits are needed, because
          // they come after the digits of the message.
          if (hash_i.done && state_q == StSecret && chain_q < index_t'(MessageDigits)) begin
            checksum_q <= (chain_q == '0 ? '0 : checksum_q) + 12'(digit_t'(LastStep) - digit);
          end
        end
        StAbsorb: begin
          if (tl_taken && fors_q) begin
            tree_q <= tree_q + 1'b1;
            leaf_q <= '0;
            height_q <= '0;
            fors_indices_q <= fors_indices_q << ForsHeight;
          end else if (tl_taken) begin
            chain_q <= last_chain ? '0 : chain_q + 1'b1;
          end
        end
        StCompress: begin
          if (tl_taken) begin
            value_q <= tl_node;
            if (fors_q) begin
              message_q <= tl_node;
              fors_q <= 1'b0;
              tree_q <= '0;
            end
          end
        end
        StPlace: begin
          if (is_root) begin
            height_q <= '0;
            if (!signing_q) begin
              root_q <= value_q;
              root_valid_q <= 1'b1;
            end
          end else if (is_right) begin
            height_q <= height_q + 1'b1;
          end else begin
            height_q <= '0;
            leaf_q <= leaf_q + 1'b1;
          end
        end
        StNode: if (hash_i.done) value_q <= truncated(hash_i.digest);
        StAuth: begin
          if (word_ready_i) begin
            height_q <= height_q + 1'b1;
            if (last_auth && !fors_q) begin
              message_q <= value_q;
              {path_tree_q, path_leaf_q} <= {path_tree_q, path_leaf_q} >> LayerHeight;
              tree_q <= tree_q + 1'b1;
              leaf_q <= '0;
              height_q <= '0;
            end
          end
        end
        default: ;
      endcase
    end
  end

  // Memories: no reset.
  always_ff @(posedge clk_i) begin
    if (state_q == StPlace && !is_root) begin
      if (!is_right) stack_q[height_q] <= value_q;
      if (node == (selected_node ^ index_t'(1))) auth_q[height_q] <= value_q;
    end
  end

  // ---- checks
  logic [10:0] words_q;  // words of this signature so far
  logic stalled_q;
  node_t word_q;
  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && word_valid_o && !word_ready_i;
    word_q <= word_o;
    if (rst_i || ready_o) words_q <= '0;
    else if (word_valid_o && word_ready_i) words_q <= words_q + 11'd1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(keygen_i && sign_i), "slh_dsa: two commands at once");
      `ASSERT(!sign_i || !ready_o || root_valid_q, "slh_dsa: a signature without a root");
      `ASSERT(!hash_i.done || started_q, "slh_dsa: an answer of the hash core to nothing");
      `ASSERT(
          !stalled_q || (word_valid_o && word_o == word_q),
          "slh_dsa: a word that did not stand");
      `ASSERT(state_q == StIdle || leaf_q <= last_leaf, "slh_dsa: past the last leaf");
      `ASSERT(state_d != StNode || state_q != StPlace || height_q < top, "slh_dsa: above the root");
      if (!fors_q && signing_q && state_q == StAuth && last_tree) begin
        `ASSERT(value_q == root_q, "slh_dsa: the top tree's root is not PK.root");
      end
      if (signing_q && state_q != StIdle && state_d == StIdle) begin
        `ASSERT(32'(words_q) == SignatureWords - 1, "slh_dsa: a signature of another length");
      end
    end
  end
endmodule
