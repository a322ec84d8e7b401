// Proves about a checkpoint, without bound: it begins only when it is due and the ring has space
// for it. It is written as 270 beats and one for each lane, each once and in order, to its own
// entry. It counts once, when all its beats were answered, so the ring is never overfilled. The
// signed bytes and the first beats are the same snapshot, which does not change from the
// signature's start to the last beat. Tick, digests, boot nonce and serial are those of the clock
// in which the last head was taken; the heartbeat is that of the first head; state and fault are
// those of the beginning; the size is the sum of the heads' sizes. Each lane's head is written in
// its place, with the size at its own snapshot and the root that was hashed into the tree. With two
// lanes, the root is the node over both leaves (RFC 9162, 2.1.1); with one lane it is the leaf. The
// hash core is used only while granted, for one hash at a time. No level beyond the tree is read.
// An abort ends everything in the next clock without a change of the tail.
//
// Assumed: the grant holds while requested. An answer comes only to a request. A snapshot has 48
// levels, and comes only on request. Between opens, the ring's size is constant and its head never
// passes its tail. Beats are accepted only when offered, and answered after that. The log is not
// empty. A checkpoint is due only in RUN or for the lifecycle. The signer's words are arbitrary.
module checkpoint_props
  import layout_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter int unsigned Lanes = 1,
    parameter bit Short = 1'b0  // The snapshot has three levels; only for the covers.
) (
    input logic clk,
    input logic reset,
    input logic open,
    input logic abort,
    input logic life_valid,
    input life_e life,
    input logic [31:0] interval,
    input logic flush,
    input logic run,
    input logic [63:0] records,
    input logic [63:0] size,
    input card_facts_t facts,
    input logic snapshot_valid,
    input digest_t snapshot_node,
    input logic grant,
    input hash_answer_t hash_answer,
    input logic word_valid,
    input logic [127:0] word,
    input logic [31:0] head,
    input ring_pkg::beat_answer_t beat_answer
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [7:0] ring_log2;
  always_ff @(posedge clk) ring_log2 <= ring_log2;
  always_comb assume (ring_log2 <= 8'd8);

  logic life_done, snapshot, request, sign, word_ready;
  hash_request_t hash;
  logic [CheckpointBytes*8-1:0] message;
  logic [31:0] tail;
  ring_pkg::beat_t beat;
  logic snapshot_last;
  logic [5:0] level_q;  // Number of the snapshot's levels so far.
  assign snapshot_last = snapshot_valid && level_q == 6'd47;
  logic [2:0] snapshot_lane;
  checkpoint #(
      .Lanes(Lanes)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .quiet_o(),
      .open_i(open),
      .abort_i(abort),
      .life_valid_i(life_valid),
      .life_i(life),
      .life_done_o(life_done),
      .interval_i(interval),
      .flush_i(flush),
      .run_i(run),
      .records_i(records),
      .facts_i(facts),
      .snapshot_o(snapshot),
      .snapshot_lane_o(snapshot_lane),
      .size_i(size),
      .snapshot_i('{valid: snapshot_valid, last: snapshot_last, node: snapshot_node}),
      .request_o(request),
      .grant_i(grant),
      .hash_o(hash),
      .hash_i(hash_answer),
      .sign_o(sign),
      .message_o(message),
      .word_valid_i(word_valid),
      .word_ready_o(word_ready),
      .word_i(word),
      .ring_log2_i(ring_log2),
      .head_i(head),
      .beat_o(beat),
      .beat_i(beat_answer),
      .tail_o(tail)
  );

  localparam logic [8:0] Beats = 9'd270 + 9'(Lanes);
  typedef enum logic [7:0] {
    Idle = 8'h01, Snapshot = 8'h02, Fold = 8'h04, Head = 8'h08, Join = 8'h10, Sign = 8'h20,
        Write = 8'h40, Answers = 8'h80
  } state_e;
  logic [7:0] at;
  assign at = dut.state_q;

  // ---- the environment of the module
  logic granted_q, asked_q, last_clear_q;
  logic [8:0] taken_q, answered_q;  // Beats of this checkpoint, accepted and answered.
  logic [31:0] head_q;
  always_comb if (!rst) begin
    if (granted_q && request) assume (grant);
    if (!request) assume (!grant);
    assume (!hash_answer.done || asked_q);
    assume (!snapshot_valid || snapshot);
    assume (tail - head <= 32'd1 << ring_log2);
    assume (head - head_q <= tail - head_q);
    assume (!beat_answer.take || beat.valid);
    assume (!beat_answer.answered || answered_q != taken_q);
    assume (size != '0);
    if (at == Idle) assume (life_valid || life == LifeRun);
    if (at == Idle && !life_valid && life != LifeRun) assume (!run);
    // The signature has 1,068 words.
    if (dut.made_q >= 9'd270) assume (!word_valid);
    // The lifecycle opens only when idle.
    if (open) assume (at == Idle);
  end
  always_ff @(posedge clk) begin
    granted_q <= !rst && grant;
    asked_q <= !rst && !abort && (hash.start || (asked_q && !hash_answer.done));
    head_q <= rst || open ? '0 : head;
    if (rst || open || abort || at == Idle) {taken_q, answered_q} <= '0;
    else begin
      if (beat_answer.take) taken_q <= taken_q + 9'd1;
      if (beat_answer.answered) answered_q <= answered_q + 9'd1;
    end
    if (rst || open || abort || !snapshot) level_q <= Short ? 6'd45 : 6'd0;
    else if (snapshot_valid) level_q <= level_q + 6'd1;
  end

  // ---- the snapshot as it was taken; values of the clock before
  checkpoint_t due_q, now;
  logic [CheckpointBytes*8-1:0] message_q, in_order;
  logic known_q, was_abort_q, was_open_q, was_due_q, was_full_q;
  logic [31:0] tail_q;
  logic [63:0] total_q;  // Records under the heads so far.
  logic [7:0] at_q;
  always_ff @(posedge clk) begin
    known_q <= started && !rst;
    was_abort_q <= abort;
    was_open_q <= open;
    was_full_q <= tail - head >= 32'd1 << ring_log2 || ring_log2 == '0;
    was_due_q <= dut.due;
    tail_q <= tail;
    at_q <= at;
    message_q <= message;
    if (at == Idle) begin
      due_q.state <= life;
      due_q.fault <= facts.fault;
    end
    if (snapshot_last) begin
      due_q.size <= total_q + size;
      due_q.tick <= facts.tick;
      due_q.epoch <= facts.epoch;
      due_q.policy_digest <= facts.policy_digest;
      due_q.ticket_digest <= facts.ticket_digest;
      due_q.boot_nonce <= facts.boot_nonce;
      if (snapshot_lane == '0) due_q.heartbeat_nonce <= facts.heartbeat_nonce;
      due_q.serial <= 64'(tail);
    end
  end
  assign now = dut.ckpt_q;

  logic signing;  // From the signature's start on.
  assign signing = at == Sign || at == Write || at == Answers;

  // The heads of both lanes, or of the only lane.
  logic [63:0] size_q[2];
  digest_t root_q[2], leaf_q[2], node_q;
  logic [1:0] joins_q;
  always_ff @(posedge clk) begin
    if (at == Idle) begin
      total_q <= '0;
      joins_q <= '0;
    end else if (snapshot_last) total_q <= total_q + size;
    if (snapshot_last) size_q[snapshot_lane[0]] <= size;
    if (at == Head && asked_q && hash_answer.done) begin
      root_q[snapshot_lane[0]] <= dut.root_q;
      leaf_q[snapshot_lane[0]] <= hash_answer.digest;
    end
    if (at == Join && hash.start) joins_q <= joins_q + 2'd1;
    if (at == Join && asked_q && hash_answer.done) node_q <= hash_answer.digest;
  end
  lane_head_t gone[2];
  for (genvar l = 0; l < 2; l++) begin : g_gone
    assign gone[l].lane = 8'(l);
    assign gone[l].reserved_1 = '0;
    assign gone[l].size = size_q[l];
    assign gone[l].root = digest_bytes(root_q[l]);
  end
  logic after_head;  // Lane 0's head was taken.
  assign after_head = (at == Snapshot && snapshot_lane != '0) || at == Fold || at == Head
      || at == Join || signing;
  for (genvar i = 0; i < CheckpointBytes; i++) begin : g_in_order
    assign in_order[8*i+:8] = message[8*(CheckpointBytes-1-i)+:8];
  end
  always_comb begin
    if (started && !rst) begin
      assert (request == (at != Idle) && snapshot == (at == Snapshot));
      if (known_q) begin
        if (at_q == Idle && at != Idle) assert (was_due_q && !was_full_q);
        if (was_open_q) assert (tail == '0);
        else assert (tail == tail_q || (tail == tail_q + 32'd1 && at_q == Answers && at == Idle));
        if (was_abort_q && !was_open_q) assert (at == Idle && !beat.valid && !hash.start);
      end
      // Claims about the use of the hash core.
      if (hash.start)
        assert (grant && !asked_q && !abort && (at == Fold || at == Head || at == Join));
      if (hash.start && at == Fold) assert (dut.level_q < 6'd48);
      // Beats.
      if (beat.valid)
        assert (beat.at == taken_q && taken_q < Beats && beat.entry == tail && (at == Write));
      // Heads are proved with two lanes only: with the other claims, the solver would be too slow.
      if (Lanes == 2 && beat.valid && beat.at >= 9'd270)
        assert (beat.data == 512'(gone[1'(beat.at - 9'd270)]));
      if (Lanes == 2 && at == Head && hash.start)
        assert (hash.block == head_block('{lane: 8'(snapshot_lane), reserved_1: '0,
            size: size_q[snapshot_lane[0]], root: digest_bytes(dut.root_q)}));
      if (at == Join && hash.start)
        assert (Lanes == 2 && snapshot_lane == 3'd1 && joins_q < 2'd2
            && hash.block == node_block(leaf_q[0], leaf_q[1], joins_q[0]));
      if (signing) assert (now.root == digest_bytes(Lanes == 2 ? node_q : leaf_q[0]));
      if (life_done) assert (at == Answers && answered_q == Beats);
      if (known_q && tail != tail_q && !was_open_q) assert (at_q == Answers);
      if (word_ready) assert (at == Write && taken_q >= 9'd2);
      // Claims about the signed bytes.
      if (sign) assert (at == Sign && grant && !abort);
      if (after_head) begin
        assert (now.size == due_q.size && now.tick == due_q.tick
            && now.heartbeat_nonce == due_q.heartbeat_nonce);
        assert (now.serial == 64'(tail) && now.serial == due_q.serial && now.lanes == 8'(Lanes));
        assert (dut.total_q == total_q && total_q == due_q.size);
      end
      // Claims that need no second lane are proved with one lane.
      if (Lanes == 1) begin
        if (known_q && signing && at_q != Join) assert (message == message_q);
        if (after_head) begin
          assert (now.magic == CheckpointMagic && now.version == 8'(LayoutVersion)
              && now.key_flags == 8'h01);
          assert (now.epoch == due_q.epoch && now.boot_nonce == due_q.boot_nonce);
          assert (now.policy_digest == due_q.policy_digest
              && now.ticket_digest == due_q.ticket_digest);
          assert (now.state == due_q.state && now.fault == due_q.fault);
        end
        if (beat.valid && beat.at < 9'd3) assert (beat.data == in_order[512*beat.at[1:0]+:512]);
      end

      // ---- invariants for the induction
      assert ($onehot(at));
      if (at != Idle) assert (dut.life_q == due_q.state && dut.fault_q == due_q.fault);
      assert (dut.waits_q == asked_q);
      if (asked_q) assert (at == Fold || at == Head || at == Join);
      if (at == Fold && asked_q) assert (dut.fold_hash);
      if (at == Snapshot) assert (dut.level_q == level_q && level_q < 6'd48);
      if (at == Fold) assert (dut.level_q <= 6'd48);
      if (at == Idle) assert (!beat.valid && taken_q == answered_q);
      if (at != Idle && at != Write && at != Answers)
        assert (!beat.valid && taken_q == '0 && answered_q == '0);
      if (at != Idle && at != Write && at != Answers)
        assert (dut.made_q == '0 && dut.answered_q == '0 && dut.words_q == '0);
      if (at == Write || at == Answers)
        assert (dut.made_q == taken_q + 9'(beat.valid) && dut.made_q <= Beats
            && answered_q == dut.answered_q && answered_q <= taken_q);
      if (at == Answers) assert (taken_q == Beats && !beat.valid);
      if (at == Write || at == Answers || at == Sign) assert (granted_q || at == Sign);
      if (at == Snapshot && snapshot_lane == '0) assert (total_q == '0 && dut.total_q == '0);
      if (at == Fold || at == Head)
        assert (dut.size_q == size_q[snapshot_lane[0]] && dut.size_q != '0);
      if (at == Snapshot || at == Fold || at == Head || at == Join)
        assert (32'(snapshot_lane) < Lanes);
      if (signing) assert (snapshot_lane == 3'(Lanes));
      if (at == Snapshot || at == Fold || at == Head) assert (joins_q == '0 && dut.join_q == '0);
      if (at == Snapshot || at == Head || signing) assert (!dut.second_q);
      if (at == Fold && dut.second_q) assert (dut.fold_hash);
      if (at == Join && snapshot_lane == '0)
        assert (joins_q == '0 && dut.join_q == '0 && !dut.second_q);
      if (at == Join && snapshot_lane == 3'd1) begin
        assert (dut.join_q <= 2'd1 && joins_q == 2'(dut.second_q) + 2'(asked_q)
            + {dut.join_q[0], 1'b0});
        assert (!(dut.join_q[0] && (dut.second_q || asked_q)));
        if (dut.join_q[0]) assert (dut.top_q == node_q);
      end
      if (at == Join && dut.join_q == '0) assert (dut.top_q == leaf_q[snapshot_lane[0]]);
      if (Lanes == 2 && ((at != Idle && snapshot_lane != '0) || signing))
        assert (dut.joined_q[0] == leaf_q[0]);
      if (Lanes == 2 && ((at != Idle && snapshot_lane != '0) || at == Join || signing))
        assert (dut.head_q[0] == gone[0]);
      if (Lanes == 2 && ((snapshot_lane != '0 && at == Join) || signing))
        assert (dut.head_q[1] == gone[1]);
      if (beat.valid && beat.at < 9'd270 && at == Write) assert (dut.made_q <= 9'd270);

      // ---- not vacuous
      if (Lanes == 1) begin
        cover (sign && now.root != '0);
        cover (beat.valid && beat.at == 9'd3 && taken_q == 9'd3);
        cover (hash.start && at == Fold && dut.second_q);
        cover (was_abort_q && at_q == Write);
      end else begin
        cover (at == Snapshot && snapshot_lane == 3'd1);
      end
    end
  end
endmodule
