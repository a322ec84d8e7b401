// A lane's log: every record becomes a leaf of its Merkle tree (RFC 9162, 2.1.1) before anybody sees it.
//
// A record is taken in place: it stands at the input until its leaf is in the tree, and is offered to the ring from then on.
// `size_o` and the frontier change in one clock, the one that commits it; a record that is withdrawn before leaves no trace,
// one that is committed stays until the ring has it (`committed_o`). Its log index is its leaf's.
// While the core is free the descriptor that the banks are sweeping (`early_*`) is hashed in advance: the first two of the
// four blocks of its leaf. `early_valid_i` tells that a descriptor stands there; it must come as the next record.
//
// The tree is its frontier: the roots of the full subtrees of the records so far, one a level. A leaf at index n costs
// four blocks, and two for each trailing one of n: two more on average.
// A snapshot (`snapshot_i` until `snapshot_last_o`) is taken between two records and streams the frontier, a level a clock,
// lowest first, with the size that it belongs to in `size_o`.
//
// Latency: 4 to 100 blocks from record to offer, two less when hashed early. After reset and `clear_i`: an empty tree.
// The caller owes: in the clock of `clear_i` no record, no snapshot and no descriptor that stood and was not dropped; `drop_i`
// when the swept descriptor is given up; a record that stands until it is taken or withdrawn; fewer than 2^48 records.
module log_tree
  import layout_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter int unsigned Rounds = 1  // SHA-256 rounds a clock: 1, 2, 4, 16. Each costs an adder chain more on the path.
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,
    input  logic        drop_i,           // Forget what was hashed in advance.
    input  logic        early_valid_i,
    input  descriptor_t early_i,
    input  logic        valid_i,
    output logic        ready_o,
    input  record_t     record_i,         // `answer.log_index` is ignored.
    output logic        committed_o,
    output logic        valid_o,
    input  logic        ready_i,
    output record_t     record_o,
    output logic [63:0] size_o,
    input  logic        snapshot_i,
    output logic        snapshot_valid_o,
    output logic        snapshot_last_o,
    output digest_t     snapshot_node_o
);
  typedef enum logic [4:0] {
    StIdle     = 5'h01,  // Free, or hashing in advance.
    StLeaf     = 5'h02,
    StNode     = 5'h04,
    StOffer    = 5'h08,  // The leaf is in.
    StSnapshot = 5'h10
  } state_e;

  state_e state_q;
  logic [63:0] size_q;
  logic [2:0] blocks_q;                    // Blocks of the next leaf that were hashed.
  digest_t hashed_q;                       // Their state; from StNode on the subtree's root.
  logic second_q;                          // Of a node's two blocks.
  logic [5:0] level_q;                     // Level of `hashed_q`, or of the snapshot.
  logic running_q;                         // The core works.

  (* ram_style = "distributed" *) digest_t frontier_q[TreeLevels];
  digest_t left;
  assign left = frontier_q[level_q];

  // ---- the core
  hash_request_t request;
  hash_answer_t answer;
  logic abort, core_free, core_busy;
  sha256 #(
      .Rounds(Rounds)
  ) u_sha256 (
      .clk_i,
      .rst_i(rst_i || abort),
      .start_i(request.start),
      .state_i(request.state),
      .block_i(request.block),
      .busy_o(core_busy),
      .done_o(answer.done),
      .digest_o(answer.digest)
  );
  assign core_free = !running_q || answer.done;

  // A withdrawn record and a dropped descriptor both end the hash under way.
  assign abort = (drop_i && state_q == StIdle && (running_q || blocks_q != '0))
      || (!valid_i && (state_q == StLeaf || state_q == StNode));

  record_t record;
  always_comb begin
    record = record_i;
    record.answer.log_index = size_q;
  end

  // Blocks hashed when the one under way is done, and the state behind them.
  logic [2:0] blocks;
  digest_t state;
  logic early_next, leaf_next, merge, commit;
  assign blocks = blocks_q + 3'(running_q && answer.done);
  assign state = (running_q && answer.done) ? answer.digest : (blocks_q == '0 ? InitialHash : hashed_q);
  assign early_next = state_q == StIdle && core_free && early_valid_i && !drop_i && !valid_i && !snapshot_i
      && blocks < 3'd2;
  assign leaf_next = (state_q == StIdle || state_q == StLeaf) && core_free && valid_i && blocks < 3'(LeafBlocks)
      && !(state_q == StIdle && snapshot_i);

  // The subtree under way is complete: it either merges with its left neighbour or is the frontier of its level.
  logic subtree_done;
  digest_t subtree;
  assign subtree_done = answer.done && ((state_q == StLeaf && blocks == 3'(LeafBlocks)) || (state_q == StNode && second_q));
  assign subtree = answer.digest;
  logic [5:0] subtree_level;
  assign subtree_level = state_q == StLeaf ? 6'd0 : level_q + 6'd1;
  assign merge = subtree_done && size_q[subtree_level];
  assign commit = subtree_done && !size_q[subtree_level] && valid_i;

  logic merge_q;  // `hashed_q` and `left` are to be hashed together.
  always_comb begin
    request = '0;
    if (early_next || leaf_next) begin
      request.start = !abort;
      request.state = state;
      request.block = leaf_block(early_next ? '{descriptor: early_i, answer: '0} : record, blocks[1:0]);
    end else if (merge_q) begin
      request.start = !abort;
      request.state = InitialHash;
      request.block = node_block(left, hashed_q, 1'b0);
    end else if (state_q == StNode && answer.done && !second_q) begin
      request.start = !abort;
      request.state = answer.digest;
      request.block = node_block(left, hashed_q, 1'b1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      state_q <= StIdle;
      size_q <= '0;
      blocks_q <= '0;
      {second_q, merge_q, running_q} <= '0;
      level_q <= '0;
    end else begin
      merge_q <= 1'b0;
      if (answer.done) running_q <= 1'b0;
      if (request.start) running_q <= 1'b1;
      case (state_q)
        StIdle: begin
          if (running_q && answer.done) begin
            blocks_q <= blocks;
            hashed_q <= answer.digest;
          end
          level_q <= '0;
          if (snapshot_i && core_free) state_q <= StSnapshot;
          else if (leaf_next) state_q <= StLeaf;
        end
        StLeaf: begin
          if (answer.done) begin
            blocks_q <= blocks;
            hashed_q <= answer.digest;
          end
          if (merge) begin
            state_q <= StNode;
            merge_q <= 1'b1;
            level_q <= subtree_level;
          end
        end
        StNode: begin
          if (merge_q) second_q <= 1'b0;
          else if (answer.done) second_q <= !second_q;
          if (merge) begin
            merge_q <= 1'b1;
            hashed_q <= answer.digest;
            level_q <= subtree_level;
          end
        end
        StOffer: if (ready_i) state_q <= StIdle;
        StSnapshot: begin
          if (drop_i) blocks_q <= '0;
          level_q <= level_q + 6'd1;
          if (snapshot_last_o) begin
            state_q <= StIdle;
            level_q <= '0;
          end
        end
        default: state_q <= StIdle;
      endcase
      if (commit) begin
        state_q <= StOffer;
        size_q <= size_q + 64'd1;
        blocks_q <= '0;
        second_q <= 1'b0;
      end
      if (abort) begin
        state_q <= StIdle;
        blocks_q <= '0;
        {second_q, merge_q, running_q} <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (commit) frontier_q[subtree_level] <= subtree;
  end

  // The record that is offered is the one that was hashed: its index is one below the size.
  always_comb begin
    record_o = record_i;
    record_o.answer.log_index = size_q - 64'd1;
  end
  assign valid_o = state_q == StOffer;
  assign committed_o = state_q == StOffer;
  assign ready_o = state_q == StOffer && ready_i;
  assign size_o = size_q;
  assign snapshot_valid_o = state_q == StSnapshot;
  assign snapshot_last_o = state_q == StSnapshot && level_q == 6'(TreeLevels - 1);
  assign snapshot_node_o = left;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ($onehot(state_q)) else $error("log_tree: state not one-hot");
      assert (!core_busy || running_q) else $error("log_tree: a hash that nobody waits for");
      assert (!(clear_i && (valid_i || snapshot_i))) else $error("log_tree: a record or a snapshot in the clock of clear");
      assert (!(state_q == StOffer && !valid_i)) else $error("log_tree: a record withdrawn after its leaf was in");
      assert (!(commit && size_q[63:TreeLevels] != '0)) else $error("log_tree: the tree is full");
    end
  end
endmodule
