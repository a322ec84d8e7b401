// Makes checkpoints: takes each lane's head in turn, hashes the frontier of its tree to a root and
// all heads to one root, starts the signer, and writes checkpoint, signature and heads to the
// checkpoint ring.
//
// A checkpoint is due when the lifecycle requests one (`life_valid_i`, until `life_done_o`), after
// `interval_i` records, and on `flush_i`. It begins when the ring has space and `grant_i` gives it
// the hash core. A lane's records wait only while its snapshot is taken, one clock per level. The
// checkpoint has the state and the fault of its beginning: if a fault comes before the snapshot,
// its ALARM is after the snapshot and gets a checkpoint of its own. A ring entry has 3 beats of
// checkpoint, 267 of signature, and one for each lane's head. `tail_o` counts a checkpoint when all
// its beats were answered. The signed bytes are the COSE Sig_structure (RFC 9052, 4.4) of the 192
// bytes, with the algorithm in the protected header.
//
// `open_i` is high in the first clock of OPENING: from then on, a host that polls `tail_o` never
// reads the value of an earlier session. `abort_i` cancels everything except beats on the bus.
// Latency: for each lane, the snapshot, two blocks per level of its tree, one block for its head
// and two to join the head; then the signature.
// After reset: nothing due.
// Duties of the caller: `open_i` when idle.
`include "assert.svh"

module checkpoint
  import layout_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter logic [7:0]   KeyFlags = 8'h01,
    parameter int unsigned  Lanes = 1,      // 1, 2, 4 or 8.
    parameter logic [127:0] DesignId = '0   // First byte lowest, as in the layout.
) (
    input  logic                         clk_i,
    input  logic                         rst_i,
    input  logic                         open_i,
    input  logic                         abort_i,
    // Causes of a checkpoint.
    input  logic                         life_valid_i,
    input  life_e                        life_i,
    output logic                         life_done_o,
    input  logic [31:0]                  interval_i,
    input  logic                         flush_i,
    input  logic                         run_i,      // Intervals and flushes cause checkpoints.
    input  logic [63:0]                  records_i,  // In all lanes, at most one clock old.
    // Content of the checkpoint.
    input  card_facts_t                  facts_i,
    // Snapshot of a lane's tree.
    output logic                         snapshot_o,
    output logic [2:0]                   snapshot_lane_o,
    input  logic [63:0]                  size_i,  // Number of the tree's records.
    input  snapshot_t                    snapshot_i,
    // Hash core, and the signer, which uses the core after the root is known. `quiet_o`: no
    // checkpoint is in progress, and no input has an effect in this clock.
    output logic                         quiet_o,
    output logic                         request_o,
    input  logic                         grant_i,  // Held while `request_o` is high.
    output hash_request_t                hash_o,
    input  hash_answer_t                 hash_i,
    output logic                         sign_o,
    output logic [CheckpointBytes*8-1:0] message_o,  // First byte at the top.
    input  logic                         word_valid_i,
    output logic                         word_ready_o,
    input  logic [127:0]                 word_i,
    // Checkpoint ring.
    input  logic [7:0]                   ring_log2_i,  // 0: no ring, so no checkpoint is due.
    input  logic [31:0]                  head_i,       // Consumed checkpoints.
    output ring_pkg::beat_t              beat_o,
    input  ring_pkg::beat_answer_t       beat_i,
    output logic [31:0]                  tail_o
);
  localparam logic [31:0] DefaultInterval = 32'd32768;
  localparam logic [8:0] CheckpointBeats = 9'(CheckpointBytes / BeatBytes);
  localparam logic [8:0] SignedBeats = 9'((CheckpointBytes + SignatureBytes) / BeatBytes);
  localparam logic [8:0] AllBeats = SignedBeats + 9'(Lanes);
  localparam logic [2:0] LastLane = 3'(Lanes - 1);
  localparam logic [1:0] JoinLevels = 2'($clog2(Lanes));

  typedef enum logic [7:0] {
    StIdle     = 8'h01,
    StSnapshot = 8'h02,
    StFold     = 8'h04,
    StHead     = 8'h08,
    StJoin     = 8'h10,  // The lane's head is joined to the heads on its left.
    StSign     = 8'h20,
    StWrite    = 8'h40,  // Checkpoint, signature and heads are written.
    StAnswers  = 8'h80   // The last beats are awaited.
  } state_e;

  state_e state_q;
  logic [31:0] tail_q;
  logic [63:0] signed_q;    // Number of records at the last checkpoint.
  logic due_q, for_life_q;  // A flush waits; the lifecycle requested this one.
  life_e life_q;            // State at the checkpoint's beginning.
  fault_e fault_q;
  logic full, due, begins;
  logic [31:0] interval;
  assign interval = interval_i == '0 ? DefaultInterval : interval_i;
  assign full = tail_q - head_i >= 32'd1 << ring_log2_i;
  assign due = life_valid_i || (run_i && (due_q || records_i - signed_q >= 64'(interval)));
  assign begins = due && !full && ring_log2_i != '0;

  // ---- snapshot and fold
  (* ram_style = "distributed" *) digest_t node_q[TreeLevels];
  logic [5:0] level_q;
  logic [63:0] size_q;
  logic folding_q;          // `root_q` holds the root of the levels below.
  logic second_q, waits_q;
  digest_t root_q;
  checkpoint_t ckpt_q;

  // The lanes' heads, and the tree over them: the roots of its full subtrees, one per level, stored
  // as in a lane's tree.
  lane_head_t head;
  (* ram_style = "distributed" *) lane_head_t head_q[8];
  (* ram_style = "distributed" *) digest_t joined_q[4];
  digest_t top_q;           // Root of the subtree that ends at this lane.
  logic [2:0] lane_q;
  logic [1:0] join_q;       // Level of that subtree.
  logic joins;              // It is a right child, which is joined with a left one.
  logic [63:0] total_q;     // Records under the heads taken so far.
  assign joins = join_q != JoinLevels && 1'(lane_q >> join_q);
  assign snapshot_lane_o = lane_q;
  always_comb begin
    head = '0;
    head.lane = 8'(lane_q);
    head.size = size_q;
    head.root = digest_bytes(root_q);
  end

  logic fold_hash, above;
  assign above = level_q < 6'(TreeLevels) && (size_q >> level_q) != '0;
  assign fold_hash = state_q == StFold && above && size_q[level_q] && folding_q;
  always_comb begin
    hash_o = '0;
    if (!waits_q && grant_i) begin
      if (fold_hash) begin
        hash_o.start = !abort_i;
        hash_o.state = second_q ? hash_i.digest : InitialHash;
        hash_o.block = node_block(node_q[level_q], root_q, second_q);
      end else if (state_q == StHead) begin
        hash_o.start = !abort_i;
        hash_o.state = InitialHash;
        hash_o.block = head_block(head);
      end else if (state_q == StJoin && joins) begin
        hash_o.start = !abort_i;
        hash_o.state = second_q ? hash_i.digest : InitialHash;
        hash_o.block = node_block(joined_q[join_q], top_q, second_q);
      end
    end
  end

  // ---- beats
  logic [8:0] made_q, answered_q;   // Beats given to the ring; answered beats.
  logic [1:0] words_q;
  logic [511:0] beat_q;
  logic beat_valid_q;
  logic [CheckpointBytes*8-1:0] ckpt_bits;
  assign ckpt_bits = ckpt_q;
  for (genvar i = 0; i < CheckpointBytes; i++) begin : g_message
    assign message_o[8*(CheckpointBytes-1-i)+:8] = ckpt_bits[8*i+:8];
  end

  assign word_ready_o = state_q == StWrite && made_q >= CheckpointBeats && made_q < SignedBeats
      && (!beat_valid_q || beat_i.take);
  assign beat_o = '{valid: beat_valid_q, at: made_q - 9'd1, entry: tail_q, data: beat_q};

  assign snapshot_o = state_q == StSnapshot;
  assign request_o = state_q != StIdle;
  assign quiet_o = state_q == StIdle && !begins && !open_i && !abort_i && !flush_i && !life_valid_i
      && !beat_i.answered;
  assign sign_o = state_q == StSign && grant_i && !abort_i;
  assign tail_o = tail_q;
  assign life_done_o = state_q == StAnswers && answered_q == AllBeats && for_life_q;

  function automatic logic [127:0] word_bytes(logic [127:0] word);
    for (int unsigned i = 0; i < 16; i++) word_bytes[8*i+:8] = word[127-8*i-:8];
  endfunction

  always_ff @(posedge clk_i) begin
    if (snapshot_i.valid) node_q[level_q] <= snapshot_i.node;
    if (state_q == StHead) head_q[lane_q] <= head;
    if (state_q == StJoin && !joins) joined_q[join_q] <= top_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || open_i) begin
      state_q <= StIdle;
      tail_q <= '0;
      signed_q <= '0;
      {due_q, for_life_q, folding_q, second_q, waits_q, beat_valid_q} <= '0;
      {made_q, answered_q, level_q, words_q, lane_q, join_q} <= '0;
    end else begin
      if (flush_i && run_i) due_q <= 1'b1;
      // If the lifecycle withdraws its request because of a fault, it will request again. The
      // present checkpoint does not count as the answer to that request.
      if (!life_valid_i) for_life_q <= 1'b0;
      if (hash_o.start) waits_q <= 1'b1;
      if (waits_q && hash_i.done) waits_q <= 1'b0;
      if (beat_i.take) beat_valid_q <= 1'b0;
      if (beat_i.answered) answered_q <= answered_q + 9'd1;
      case (state_q)
        StIdle: begin
          {made_q, answered_q, level_q, words_q, lane_q, join_q} <= '0;
          {folding_q, second_q} <= '0;
          total_q <= '0;
          if (begins) begin
            state_q <= StSnapshot;
            for_life_q <= life_valid_i;
            life_q <= life_i;
            fault_q <= facts_i.fault;
            due_q <= flush_i && run_i;
          end
        end
        StSnapshot: begin
          if (snapshot_i.valid) level_q <= level_q + 6'd1;
          if (snapshot_i.last) begin
            level_q <= '0;
            size_q <= size_i;
            total_q <= total_q + size_i;
            state_q <= StFold;
          end
        end
        StFold: if (grant_i) begin
          if (!above) begin
            state_q <= StHead;
          end else if (!fold_hash) begin
            if (size_q[level_q]) begin
              root_q <= node_q[level_q];
              folding_q <= 1'b1;
            end
            level_q <= level_q + 6'd1;
          end else if (waits_q && hash_i.done) begin
            second_q <= !second_q;
            if (second_q) begin
              root_q <= hash_i.digest;
              level_q <= level_q + 6'd1;
            end
          end
        end
        StHead: if (waits_q && hash_i.done) begin
          top_q <= hash_i.digest;
          state_q <= StJoin;
        end
        StJoin: begin
          if (!joins) begin
            {folding_q, join_q, level_q} <= '0;
            lane_q <= lane_q + 3'd1;
            state_q <= lane_q == LastLane ? StSign : StSnapshot;
          end else if (waits_q && hash_i.done) begin
            second_q <= !second_q;
            if (second_q) begin
              top_q <= hash_i.digest;
              join_q <= join_q + 2'd1;
            end
          end
        end
        StSign: if (grant_i) begin
          signed_q <= total_q;
          state_q <= StWrite;
        end
        StWrite: begin
          if (!beat_valid_q || beat_i.take) begin
            if (made_q < CheckpointBeats) begin
              beat_q <= ckpt_bits[512*made_q[1:0]+:512];
              beat_valid_q <= 1'b1;
              made_q <= made_q + 9'd1;
            end else if (made_q >= SignedBeats) begin
              if (made_q < AllBeats) begin
                beat_q <= 512'(head_q[3'(made_q - SignedBeats)]);
                beat_valid_q <= 1'b1;
                made_q <= made_q + 9'd1;
              end
            end else if (word_valid_i) begin
              beat_q <= {word_bytes(word_i), beat_q[511:128]};
              words_q <= words_q + 2'd1;
              if (words_q == '1) begin
                beat_valid_q <= 1'b1;
                made_q <= made_q + 9'd1;
              end
            end
          end
          if (made_q == AllBeats && !beat_valid_q) state_q <= StAnswers;
        end
        StAnswers: if (answered_q == AllBeats) begin
          tail_q <= tail_q + 32'd1;
          state_q <= StIdle;
        end
        default: state_q <= StIdle;
      endcase
      if (abort_i) begin
        state_q <= StIdle;
        {due_q, for_life_q, waits_q, beat_valid_q} <= '0;
      end
    end
  end

  // State and fault are those of the checkpoint's beginning, the heartbeat is that under lane 0's
  // head. All other fields have the values of the clock in which the last head was taken; the root
  // is added later.
  always_ff @(posedge clk_i) begin
    if (state_q == StSnapshot && snapshot_i.last) begin
      automatic checkpoint_t ckpt = '0;
      ckpt.magic = 32'(CheckpointMagic);
      ckpt.version = 8'(LayoutVersion);
      ckpt.key_flags = KeyFlags;
      ckpt.state = life_q;
      ckpt.lanes = 8'(Lanes);
      ckpt.serial = 64'(tail_q);
      ckpt.size = total_q + size_i;
      ckpt.tick = facts_i.tick;
      ckpt.policy_digest = facts_i.policy_digest;
      ckpt.ticket_digest = facts_i.ticket_digest;
      ckpt.design_id = DesignId;
      ckpt.boot_nonce = facts_i.boot_nonce;
      ckpt.heartbeat_nonce = lane_q == '0 ? facts_i.heartbeat_nonce : ckpt_q.heartbeat_nonce;
      ckpt.epoch = facts_i.epoch;
      ckpt.fault = fault_q;
      ckpt_q <= ckpt;
    end
    if (state_q == StJoin && !joins) ckpt_q.root <= digest_bytes(top_q);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "checkpoint: state not one-hot");
      `ASSERT(
          !(state_q == StIdle && due && !life_valid_i && life_i != LifeRun),
          "checkpoint: due out of RUN, and not for life");
      `ASSERT(!(state_q == StFold && size_q == '0), "checkpoint: of an empty log");
      `ASSERT(
          !(state_q == StWrite && word_valid_i && made_q == AllBeats),
          "checkpoint: a signature that is too long");
    end
  end
endmodule
