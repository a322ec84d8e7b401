// A lane's log: every record becomes a leaf of its Merkle tree (RFC 9162, 2.1.1) before it is
// offered to the ring.
//
// A record stays at the input until its leaf is in the tree; then it is committed (`committed_o`)
// and offered to the ring until the ring accepts it. `size_o` and the frontier change only in the
// clock of the commit. A record that is withdrawn before its commit leaves no trace. Its log index
// is the index of its leaf. While the core is free, it hashes in advance the descriptor that the
// banks are sweeping (`early_*`): the first two of the four blocks of its leaf. If `early_valid_i`
// is high, this descriptor must come as the next record after the offered one.
//
// The module stores the tree's frontier: the roots of its full subtrees, at most one per level. A
// leaf at index n needs four hashed blocks, and two for each trailing one bit of n: on average two.
// A snapshot (`snapshot_i` until `snapshot_o.last`) is taken between two records. It outputs the
// frontier, one level per clock, the lowest first, and the size in `size_o`.
//
// Latency: 4 to 100 blocks from record to offer, two fewer after hashing in advance.
// After reset and `clear_i`: an empty tree.
// Duties of the caller: in the clock of `clear_i`, there is no record, no snapshot, and no early
// descriptor unless it is dropped; `drop_i` comes when the swept descriptor is abandoned; a record
// holds until it is accepted or withdrawn; there are fewer than 2^48 records.
`include "assert.svh"

module log_tree
  import layout_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    // SHA-256 rounds per clock: 1, 2, 4 or 16. Each round adds a chain of adders to the path.
    parameter int unsigned Rounds = 1
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,
    input  logic        drop_i,  // Discard what was hashed in advance.
    input  logic        early_valid_i,
    input  descriptor_t early_i,
    input  logic        valid_i,
    output logic        ready_o,
    input  record_t     record_i,  // `answer.log_index` is ignored.
    output logic        committed_o,
    output logic        valid_o,
    input  logic        ready_i,
    output record_t     record_o,
    output logic [63:0] size_o,
    input  logic        snapshot_i,
    output snapshot_t   snapshot_o
);
  typedef enum logic [4:0] {
    StIdle     = 5'h01,  // Idle, or hashing in advance.
    StLeaf     = 5'h02,
    StNode     = 5'h04,
    StOffer    = 5'h08,  // The leaf is in the tree.
    StSnapshot = 5'h10
  } state_e;

  state_e state_q;
  logic [63:0] size_q;
  logic [2:0] asked_q;    // Number of blocks of the next leaf given to the core.
  digest_t hashed_q;      // The right child of the node that is being hashed.
  logic closing_q;        // The core has the last block of a leaf or node.
  logic [5:0] level_q;    // Level of the subtree being hashed, or of the snapshot.

  (* ram_style = "distributed" *) digest_t frontier_q[TreeLevels];
  digest_t node, left_q;  // Frontier at `level_q`; the same, one clock later.
  logic merges_q;         // The tree has a full subtree of this level.
  assign node = frontier_q[level_q];
  always_ff @(posedge clk_i) begin
    left_q <= node;
    merges_q <= size_q[level_q];
  end

  // ---- the core
  logic start, chain, core_ready, core_busy, core_done, abort, abort_q;
  block_t block;
  digest_t digest;
  sha256 #(
      .Rounds(Rounds)
  ) u_sha256 (
      .clk_i,
      .rst_i(rst_i || abort_q),
      .start_i(start),
      .ready_o(core_ready),
      .chain_i(chain),
      .state_i(InitialHash),
      .block_i(block),
      .busy_o(core_busy),
      .done_o(core_done),
      .digest_o(digest)
  );

  // A withdrawn record or a dropped descriptor aborts the running hash one clock later, which
  // shortens the path into the core. In that clock the core accepts no block.
  logic ahead, withdrawn, dropped;
  assign ahead = state_q == StIdle || state_q == StOffer || state_q == StSnapshot;
  assign withdrawn = !valid_i && (state_q == StLeaf || state_q == StNode);
  assign dropped = drop_i && ahead && asked_q != '0;
  assign abort = withdrawn || dropped;
  always_ff @(posedge clk_i) abort_q <= abort && !rst_i;

  // The two halves of the leaf's record. When hashing in advance, there is only the descriptor.
  logic [1023:0] descriptor;
  logic [511:0] answer;
  answer_t numbered;
  always_comb begin
    numbered = record_i.answer;
    numbered.log_index = size_q;
  end
  assign descriptor = state_q == StOffer || !valid_i ? early_i : record_i.descriptor;
  assign answer = numbered;

  // The next block belongs to a leaf (`early_next`, `leaf_next`), or is the second block of a node.
  logic free, second, early_next, leaf_next, second_next;
  assign second = state_q == StNode && !closing_q;
  assign free = core_ready && !abort_q;
  assign early_next = free && early_valid_i && !drop_i && !snapshot_i && asked_q < 3'd2
      && ((state_q == StIdle && !valid_i) || state_q == StOffer);
  assign leaf_next = free && valid_i && asked_q < 3'(LeafBlocks)
      && ((state_q == StIdle && !snapshot_i) || state_q == StLeaf);
  assign second_next = free && second;

  // The present subtree is complete. It merges with its left neighbour, or it becomes the frontier
  // of its level.
  logic subtree_done, merge, commit;
  assign subtree_done = closing_q && core_done && !core_busy;
  assign merge = subtree_done && merges_q;
  assign commit = subtree_done && !merges_q && valid_i;

  // The block of the next hash comes from registers, because the core's adders follow directly.
  logic in_leaf;
  assign in_leaf = asked_q != 3'(LeafBlocks);
  always_comb begin
    start = early_next || leaf_next || second_next || merge;
    chain = in_leaf ? asked_q != '0 : second;
    if (in_leaf) begin
      case (asked_q[1:0])
        2'd0: block = first_byte_at_top({descriptor[503:0], LeafPrefix});
        2'd1: block = first_byte_at_top(descriptor[1015:504]);
        2'd2: block = first_byte_at_top({answer[503:0], descriptor[1023:1016]});
        default: block = {answer[511-:8], 504'b0} | padding(1, RecordBytes + 1);
      endcase
    end else begin
      block = second ? node_block('0, hashed_q, 1'b1) : node_block(left_q, digest, 1'b0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      state_q <= StIdle;
      size_q <= '0;
      asked_q <= '0;
      closing_q <= 1'b0;
      level_q <= '0;
    end else begin
      if (early_next || leaf_next) asked_q <= asked_q + 3'd1;
      if (second_next || (leaf_next && asked_q == 3'(LeafBlocks - 1))) closing_q <= 1'b1;
      if (merge) hashed_q <= digest;
      case (state_q)
        StIdle: begin
          if (snapshot_i && !core_busy) state_q <= StSnapshot;
          else if (leaf_next) state_q <= StLeaf;
        end
        StLeaf, StNode: begin
          if (merge) begin
            state_q <= StNode;
            closing_q <= 1'b0;
            level_q <= level_q + 6'd1;
          end
          if (commit) begin
            state_q <= StOffer;
            size_q <= size_q + 64'd1;
            asked_q <= '0;
            closing_q <= 1'b0;
            level_q <= '0;
          end
        end
        StOffer: if (ready_i) state_q <= StIdle;
        StSnapshot: begin
          level_q <= level_q + 6'd1;
          if (snapshot_o.last) begin
            state_q <= StIdle;
            level_q <= '0;
          end
        end
        default: state_q <= StIdle;
      endcase
      if (abort) asked_q <= '0;
      if (withdrawn || (dropped && state_q == StIdle)) begin
        state_q <= StIdle;
        closing_q <= 1'b0;
        level_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (commit) frontier_q[level_q] <= digest;
  end

  // The offered record was hashed last, so its index is the size minus one.
  always_comb begin
    record_o = record_i;
    record_o.answer.log_index = size_q - 64'd1;
  end
  assign valid_o = state_q == StOffer;
  assign committed_o = state_q == StOffer;
  assign ready_o = state_q == StOffer && ready_i;
  assign size_o = size_q;
  assign snapshot_o = '{
          valid: state_q == StSnapshot,
          last: state_q == StSnapshot && level_q == 6'(TreeLevels - 1),
          node: node
      };

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "log_tree: state not one-hot");
      `ASSERT(!core_busy || asked_q != '0 || abort_q, "log_tree: a hash that nobody waits for");
      `ASSERT(
          !(clear_i && (valid_i || snapshot_i)),
          "log_tree: a record or a snapshot in the clock of clear");
      `ASSERT(
          !(state_q == StOffer && !valid_i),
          "log_tree: a record withdrawn after its leaf was in");
      `ASSERT(!(commit && size_q[63:TreeLevels] != '0), "log_tree: the tree is full");
    end
  end
endmodule
