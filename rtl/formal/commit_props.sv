// Proves about a lane's log, for any hash core, any records, and any order of clears, drops,
// withdrawals and snapshots:
//
// - A record is offered only when its leaf is in the tree. `size_o` is the number of records
//   that the ring accepted since the last clear, plus one while a record is offered. The offered
//   record is the one at the input, with its leaf's index.
// - The hash of leaf n has its four blocks in order. The first continues the initial state, each
//   other one the block before. Together they are 00, the record with index n, and the padding. Let
//   t be the number of trailing one bits of n. For each level below t, two blocks follow: those of
//   the node over the frontier at that level and the subtree so far. The last digest becomes the
//   frontier at level t; nothing else changes the frontier (watched for one arbitrary level).
// - The size grows by one when a record's leaf is in the tree, and is zero after a clear. There is
//   no other way to set the log index.
// - A record that is withdrawn before its leaf is in the tree changes neither size nor frontier,
//   even if its leaf was hashed in advance.
// - A snapshot is the frontier, lowest level first; during it, the size does not change.
//
// By ring_complete, a completion is offered only after its record's write was answered; by
// ring_write, only an OKAY answer counts. Together: no completion is written before its record's
// leaf is in the tree. The proof lane_log shows that the lane obeys the assumptions made here.
module commit_props
  import layout_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
(
    input logic clk,
    input logic clear,
    input logic drop,
    input logic early_valid,
    input descriptor_t early,
    input logic valid,
    input record_t record,
    input logic ring_ready,
    input logic snapshot
);
  // The reset is active in the first clock.
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic enters;
  logic ready, committed, offered;
  record_t offer;
  logic [63:0] size;
  snapshot_t shown;
  log_tree dut (
      .clk_i(clk),
      .rst_i(rst),
      .clear_i(clear),
      .drop_i(drop),
      .early_valid_i(early_valid),
      .early_i(early),
      .valid_i(valid),
      .ready_o(ready),
      .record_i(record),
      .committed_o(committed),
      .valid_o(offered),
      .ready_i(ring_ready),
      .record_o(offer),
      .size_o(size),
      .snapshot_i(snapshot),
      .snapshot_o(shown)
  );

  // Block `at` of a leaf by RFC 9162 and FIPS 180-4, defined independently of the RTL.
  function automatic logic [511:0] expected(record_t leaf, logic [1:0] at);
    logic [RecordBytes*8-1:0] bytes;
    logic [4*512-1:0] message;
    bytes = leaf;
    message = '0;
    message[4*512-1-:8] = LeafPrefix;
    for (int unsigned i = 0; i < RecordBytes; i++) message[4*512-9-8*i-:8] = bytes[8*i+:8];
    message[4*512-9-8*RecordBytes-:8] = 8'h80;
    message[63:0] = 64'(8 * (RecordBytes + 1));
    return message[512*(2'd3-at)+:512];
  endfunction

  // ---- duties of the caller
  // An early descriptor comes as the next record, unless it is dropped. While a record is offered,
  // the early descriptor is that of the following record.
  logic promised_q, promising;
  descriptor_t promise_q;
  assign promising = early_valid && (!valid || committed) && !drop;
  // A record holds from its presentation until the ring accepts it, or until it is withdrawn, which
  // happens only before its leaf is in the tree.
  logic stands_q;
  record_t stood_q;
  always_ff @(posedge clk) begin
    if (rst || clear || drop || enters) promised_q <= 1'b0;
    else if (promising) promised_q <= 1'b1;
    if (promising) promise_q <= early;
    stands_q <= !rst && valid && !ready;
    stood_q <= record;
  end
  always_comb begin
    if (clear) assume (!valid && !snapshot && !promised_q && !promising);
    if (promised_q && promising) assume (early == promise_q);
    if (promised_q && !drop && valid && !committed) assume (record.descriptor == promise_q);
    if (stands_q && valid) assume (record == stood_q);
    if (committed) assume (valid);
    if (rst) assume (!valid && !early_valid && !snapshot);
    // The tree has space.
    assume (size < 64'd1 << (TreeLevels - 1));
  end

  // ---- requests to the core, as this proof counts them
  logic [2:0] blocks_q;               // Number of requested blocks of the leaf.
  logic [LeafBlocks-1:0][511:0] asked_q, entered_q;  // These blocks; those of the last leaf.
  logic [1:0] pending_q;              // Requested and unanswered blocks.
  logic nodes_q;                      // The leaf is complete.
  logic [1:0] asks_q, asks;           // Requested blocks of the node.
  logic [5:0] level_q;                // Number of complete nodes.
  digest_t subtree_q, subtree;        // Root of the subtree so far.
  logic [63:0] taken_q;               // Records that the ring accepted since clear.
  logic offered_q;                    // A record is offered.

  logic start, done, complete, leaf_done, node_done, in_nodes;
  digest_t digest;
  logic [5:0] level;                  // Level of the subtree that is complete now.
  record_t numbered;
  // An aborted hash ends in the core one clock later; in that clock, the core's outputs do not
  // count.
  assign start = dut.start && !dut.abort;
  assign done = dut.core_done && !dut.abort_q;
  assign digest = dut.digest;
  assign complete = done && pending_q == 2'd1;
  assign leaf_done = complete && blocks_q == 3'(LeafBlocks) && !nodes_q;
  assign node_done = complete && asks_q == 2'd2;
  assign level = node_done ? level_q + 6'd1 : level_q;
  assign asks = node_done ? 2'd0 : asks_q;
  assign subtree = leaf_done || node_done ? digest : subtree_q;
  assign in_nodes = nodes_q || leaf_done;
  assign enters = (leaf_done || node_done) && valid && !taken_q[level];
  always_comb begin
    numbered = record;
    numbered.answer.log_index = taken_q;
  end

  always_ff @(posedge clk) begin
    if (rst || clear || dut.abort || enters) begin
      {blocks_q, pending_q, nodes_q, asks_q, level_q} <= '0;
    end else begin
      pending_q <= pending_q + 2'(start) - 2'(done);
      if (start && !in_nodes) begin
        blocks_q <= blocks_q + 3'd1;
        asked_q[blocks_q[1:0]] <= dut.block;
      end
      asks_q <= asks + 2'(start && in_nodes);
      nodes_q <= in_nodes;
      level_q <= level;
    end
    if (enters) entered_q <= asked_q;
    subtree_q <= subtree;
    if (rst || clear) begin
      taken_q <= '0;
      offered_q <= 1'b0;
    end else begin
      if (offered && ring_ready) taken_q <= taken_q + 64'd1;
      offered_q <= enters || (offered_q && !ring_ready);
    end
  end

  // Values expected in the next clock: the frontier at an arbitrary level, and the size.
  logic [5:0] watch;
  always_ff @(posedge clk) watch <= watch;
  digest_t frontier_q;
  logic [63:0] size_q;
  logic was_offered_q, was_clear_q;
  logic [5:0] snapshot_level_q;
  logic snapshot_on_q;
  always_ff @(posedge clk) begin
    frontier_q <= (enters && level == watch) ? digest : dut.frontier_q[watch];
    size_q <= size;
    was_offered_q <= offered;
    was_clear_q <= rst || clear;
    snapshot_level_q <= (rst || clear || !shown.valid || shown.last) ? 6'd0
        : snapshot_level_q + 6'd1;
    snapshot_on_q <= !rst && !clear && shown.valid && !shown.last;
  end

  // The record of the clock before, with the index that its leaf must get.
  record_t stood_numbered, promised;
  always_comb begin
    stood_numbered = stood_q;
    stood_numbered.answer.log_index = taken_q;
    promised = '{descriptor: promise_q, answer: '0};
  end

  // States of the log, one bit each.
  logic idle, leaf, node, offering, snapping;
  assign {snapping, offering, node, leaf, idle} = dut.state_q;

  logic early_q, withdrawn_q;
  always_ff @(posedge clk) begin
    if (rst || clear) {early_q, withdrawn_q} <= '0;
    else begin
      if (idle && valid && blocks_q == 3'd2 && pending_q == '0) early_q <= 1'b1;
      if (nodes_q && !valid && asks_q == 2'd2) withdrawn_q <= 1'b1;
    end
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      assert (size == taken_q + 64'(offered) && offered == offered_q);
      if (offered) begin
        assert (offer.descriptor == record.descriptor && offer.answer.log_index == taken_q
            && size == taken_q + 64'd1);
        for (int unsigned k = 0; k < LeafBlocks; k++)
          assert (entered_q[k] == expected(offer, 2'(k)));
      end
      if (start && !in_nodes) begin
        assert (blocks_q < 3'(LeafBlocks) && pending_q - 2'(done) <= 2'd1);
        assert (dut.chain == (blocks_q != '0));
      end
      if (start && in_nodes) begin
        assert (taken_q[level] && asks < 2'd2 && pending_q - 2'(done) <= 2'd1);
        assert (dut.chain == (asks != '0));
        assert (dut.block == node_block(dut.frontier_q[level], subtree, asks[0]));
      end
      assert (dut.frontier_q[watch] == frontier_q);
      assert (size == size_q || (size == size_q + 64'd1 && offered && !was_offered_q)
          || (size == '0 && was_clear_q));
      if (shown.valid) begin
        assert (dut.frontier_q[snapshot_level_q] == shown.node && !offered && size == size_q);
        assert (shown.last == (snapshot_level_q == 6'(TreeLevels - 1)));
      end
      assert (!snapshot_on_q || shown.valid);

      // ---- invariants for the induction: the log's state matches the counts of this proof
      if (dut.abort_q) begin
        assert (pending_q == '0 && !dut.start && (idle || offering || snapping));
      end else begin
        assert (pending_q == 2'(dut.core_busy) + 2'(done));
      end
      assert ($onehot(dut.state_q));
      if (!node) begin
        assert (!nodes_q && asks_q == '0 && level_q == '0 && dut.asked_q == blocks_q
            && dut.closing_q == (leaf && blocks_q == 3'(LeafBlocks)));
        assert (dut.level_q == snapshot_level_q && (blocks_q != '0 || pending_q == '0));
      end
      if (idle || snapping || offering) begin
        assert (blocks_q <= 3'd2 && (blocks_q == '0 || promised_q));
        for (int unsigned k = 0; k < 2; k++)
          if (k < 32'(blocks_q)) assert (asked_q[k] == expected(promised, 2'(k)));
      end
      if (snapping) assert (pending_q == '0);
      else assert (snapshot_level_q == '0);
      if (leaf) begin
        assert (blocks_q >= 3'd1 && blocks_q <= 3'(LeafBlocks) && stands_q);
        assert (dut.core_busy || (done && blocks_q == 3'(LeafBlocks)));
        for (int unsigned k = 0; k < LeafBlocks; k++)
          if (k < 32'(blocks_q)) assert (asked_q[k] == expected(stood_numbered, 2'(k)));
      end
      if (node) begin
        assert (nodes_q && blocks_q == 3'(LeafBlocks) && dut.asked_q == blocks_q && stands_q);
        assert (dut.level_q == level_q + 6'd1 && dut.hashed_q == subtree_q);
        assert (asks_q != '0 && asks_q <= 2'd2 && dut.closing_q == (asks_q == 2'd2));
        assert (dut.core_busy || (done && asks_q == 2'd2));
        assert (((~taken_q) << (6'd63 - level_q)) == '0);
        for (int unsigned k = 0; k < LeafBlocks; k++)
          assert (asked_q[k] == expected(stood_numbered, 2'(k)));
      end
      // Values that are prepared for the end of a subtree.
      if (leaf || (node && asks_q == 2'd2)) begin
        assert (dut.merges_q == size[dut.level_q] && dut.left_q == dut.frontier_q[dut.level_q]);
      end
      if (offering) begin
        assert (stands_q);
        for (int unsigned k = 0; k < LeafBlocks; k++)
          assert (entered_q[k] == expected(stood_numbered, 2'(k)));
      end

      // ---- not vacuous: a leaf with two nodes, a leaf hashed in advance, a record withdrawn
      // during its nodes, a snapshot
      cover (offered && taken_q == 64'd3);
      cover (offered && early_q);
      cover (offered && withdrawn_q && taken_q == 64'd1);
      cover (offered && blocks_q == 3'd2 && pending_q == 2'd1);
      cover (shown.last && size == 64'd1);
    end
  end
endmodule
