// Proves about the writer, without bound: each record and each completion is written completely to
// the next entry of its ring, each beat of a checkpoint to its place in its entry. The writes obey
// the rules of the bus; records and completions are never issued into a full ring. Completions go
// before records, records before beats. Every burst counted as issued was accepted, and every burst
// counted or reported as answered got its own OKAY answer; this is watched for one arbitrary burst.
// Until the first `give_up` or stray answer, no answer and no data are outstanding on the bus while
// nothing is pending. Sources, slave and ring are arbitrary.
module ring_write_props
  import layout_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input logic zero,
    input logic dead,
    input logic give_up,
    input logic log_full,
    input logic cq_full,
    input logic record_valid,
    input record_t record,
    input logic completion_valid,
    input completion_t completion,
    input beat_t beat,
    input logic watch,
    input axi_pkg::rsp_t rsp
);
  // The reset is active in the first clock.
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // Any constant configuration that the doorbell module accepts.
  ring_cfg_t cfg;
  always_ff @(posedge clk) cfg <= cfg;
  always_comb assume (cfg_ok(cfg, 8'd15, 8'd20));

  logic record_take, completion_take, record_answered;
  beat_answer_t beat_answer;
  logic fault, stray, pending, progress, room;
  logic [31:0] log_issued, log_answered;
  logic [15:0] cq_issued, cq_answered;
  axi_pkg::req_t req;
  ring_write dut (
      .clk_i(clk),
      .rst_i(rst),
      .zero_i(zero),
      .dead_i(dead),
      .give_up_i(give_up),
      .log_base_i(cfg.log_base),
      .log_log2_i(cfg.log_log2),
      .cq_base_i(cfg.cq_base),
      .cq_log2_i(cfg.sq_log2),
      .ckpt_base_i(cfg.ckpt_base),
      .ckpt_log2_i(cfg.ckpt_log2),
      .log_full_i(log_full),
      .cq_full_i(cq_full),
      .record_valid_i(record_valid),
      .record_take_o(record_take),
      .record_i(record),
      .completion_valid_i(completion_valid),
      .completion_take_o(completion_take),
      .completion_i(completion),
      .beat_i(beat),
      .beat_o(beat_answer),
      .log_issued_o(log_issued),
      .log_answered_o(log_answered),
      .cq_issued_o(cq_issued),
      .cq_answered_o(cq_answered),
      .record_answered_o(record_answered),
      .aw_o(req.aw),
      .aw_valid_o(req.aw_valid),
      .aw_ready_i(rsp.aw_ready),
      .w_o(req.w),
      .w_valid_o(req.w_valid),
      .w_ready_i(rsp.w_ready),
      .b_i(rsp.b),
      .b_valid_i(rsp.b_valid),
      .fault_o(fault),
      .stray_o(stray),
      .pending_o(pending),
      .progress_o(progress),
      .room_o(room)
  );
  assign {req.ar, req.ar_valid} = '0;
  assign {req.r_ready, req.b_ready} = '1;
  always_comb assume (!rsp.r_valid);
  ring_axi_rules rules (
      .clk_i(clk),
      .rst_i(rst),
      .give_up_read_i(1'b0),
      .give_up_write_i(give_up),
      .req_i(req),
      .rsp_i(rsp)
  );

  logic [31:0] log_issued_q, log_answered_q;
  logic [15:0] cq_issued_q, cq_answered_q;

  // The burst on the request channel, in the form in which it was accepted.
  logic is_record_q, is_beat_q;
  logic [31:0] entry_q;
  logic [8:0] at_q;
  logic [2:0][511:0] data_q;
  always_ff @(posedge clk) begin
    if (record_take || completion_take || beat_answer.take) begin
      is_record_q <= record_take;
      is_beat_q <= beat_answer.take;
      entry_q <= record_take ? log_issued_q : completion_take ? 32'(cq_issued_q) : beat.entry;
      at_q <= beat.at;
      data_q <= record_take ? record : completion_take ? 1536'(completion) : 1536'(beat.data);
    end
  end

  // Numbers of bursts that were issued and answered since the last `zero`.
  logic completion_answered;
  assign completion_answered = rsp.b_valid && dut.awaited && rsp.b.id == '0
      && rsp.b.resp == axi_pkg::Okay && !dead
      && 2'(dut.answered_kind) == 2'd1;
  always_ff @(posedge clk) begin
    if (rst || zero) {log_issued_q, log_answered_q, cq_issued_q, cq_answered_q} <= '0;
    else begin
      log_issued_q <= log_issued_q + 32'(record_take);
      log_answered_q <= log_answered_q + 32'(record_answered);
      cq_issued_q <= cq_issued_q + 16'(completion_take);
      cq_answered_q <= cq_answered_q + 16'(completion_answered);
    end
  end
  // Whether the entry at `offset`, of 2^size_log2 bytes, is number `entry` modulo the ring's size.
  function automatic logic is_entry(logic [63:0] offset, int unsigned size_log2, logic [31:0] entry,
      logic [7:0] log2);
    return ((32'(offset >> size_log2) ^ entry) & ~(32'hffff_ffff << log2)) == '0;
  endfunction

  logic [63:0] log_offset, cq_offset, ckpt_offset;
  assign log_offset = req.aw.addr - cfg.log_base;
  assign cq_offset = req.aw.addr - cfg.cq_base;
  assign ckpt_offset = req.aw.addr - cfg.ckpt_base;

  // One arbitrary burst: its kind, and how many answers come before its own.
  logic watched_q, watch_now, its_answer;
  logic watched_record_q, watched_beat_q;
  logic [6:0] before_q, now;
  assign watch_now = watch && !watched_q && (record_take || completion_take || beat_answer.take);
  assign its_answer = watched_q && rsp.b_valid && dut.awaited && before_q == '0;
  assign now = dut.answered_q + before_q;
  always_ff @(posedge clk) begin
    if (rst || give_up) watched_q <= 1'b0;
    else if (watch_now) begin
      watched_q <= 1'b1;
      watched_record_q <= record_take;
      watched_beat_q <= beat_answer.take;
      before_q <= dut.issued_q - dut.answered_q - 7'(rsp.b_valid && dut.awaited);
    end else if (rsp.b_valid && dut.awaited) begin
      if (its_answer) watched_q <= 1'b0;
      else before_q <= before_q - 7'd1;
    end
  end

  // Bursts without an answer whose request, or whose last beat, the bus has accepted. They count
  // even if the writer abandons them.
  logic [6:0] requests_q, bursts_q;
  logic lost_q;
  always_ff @(posedge clk) begin
    if (rst) {requests_q, bursts_q, lost_q} <= '0;
    else begin
      requests_q <= requests_q + 7'(req.aw_valid && rsp.aw_ready) - 7'(rsp.b_valid);
      bursts_q <= bursts_q + 7'(req.w_valid && rsp.w_ready && req.w.last) - 7'(rsp.b_valid);
      if (give_up || stray) lost_q <= 1'b1;
    end
  end

  logic two_q, took_q;
  always_ff @(posedge clk) begin
    took_q <= !rst && !give_up && (record_take || completion_take || beat_answer.take);
    if (!rst) begin
      // Bursts are never accepted in adjacent clocks, because `full` may come one clock late.
      assert (!took_q || dut.on_bus);
      assert (!took_q || !(record_take || completion_take || beat_answer.take));
      // A completion or a record is accepted only if it is offered and its ring has space; a beat
      // only if neither can be accepted.
      assert (!completion_take || (completion_valid && !cq_full && !dead));
      assert (!record_take || (record_valid && !log_full && !dead && !completion_take));
      assert (!beat_answer.take || (beat.valid && !dead && !completion_take && !record_take));
      assert (!beat_answer.take || ((!completion_valid || cq_full) && (!record_valid || log_full)));
      // A record or a beat is reported as answered only for its own OKAY answer.
      if (record_answered || beat_answer.answered)
        assert (rsp.b_valid && rsp.b.resp == axi_pkg::Okay && rsp.b.id == '0 && !dead);
      assert (!(record_answered && beat_answer.answered));
      if (its_answer) begin
        assert (!record_answered || watched_record_q);
        assert (!beat_answer.answered || watched_beat_q);
        if (rsp.b.resp == axi_pkg::Okay && rsp.b.id == '0 && !dead)
          assert ({record_answered, beat_answer.answered, completion_answered}
                  == {watched_record_q, watched_beat_q, !watched_record_q && !watched_beat_q});
      end
      if (req.aw_valid) begin
        assert (req.aw.len == (is_record_q ? 8'd2 : 8'd0));
        // The burst is inside its entry of its ring and inside one page.
        if (is_record_q) begin
          assert (req.aw.addr >= cfg.log_base && log_offset < 64'd256 << cfg.log_log2
              && log_offset[7:0] == '0);
          assert (is_entry(log_offset, 8, entry_q, cfg.log_log2));
        end else if (is_beat_q) begin
          assert (req.aw.addr >= cfg.ckpt_base && ckpt_offset < 64'd32768 << cfg.ckpt_log2
              && ckpt_offset[5:0] == '0);
          assert (ckpt_offset[14:6] == at_q);
          assert (is_entry(ckpt_offset, 15, entry_q, cfg.ckpt_log2));
        end else begin
          assert (req.aw.addr >= cfg.cq_base && cq_offset < 64'd64 << cfg.sq_log2
              && cq_offset[5:0] == '0);
          assert (is_entry(cq_offset, 6, entry_q, cfg.sq_log2));
        end
        assert (req.aw.addr >> 12 == (req.aw.addr + (64'(req.aw.len) << 6) + 64'd63) >> 12);
      end
      if (req.w_valid)
        assert (req.w.data == data_q[is_record_q ? 2'd3 - dut.beats_q : 2'd0] && (is_record_q
            || req.w.last));
      assert (log_issued == log_issued_q && log_answered == log_answered_q);
      assert (cq_issued == cq_issued_q && cq_answered == cq_answered_q);
      // When a session opens, no answer and no data of an earlier session are outstanding.
      assume (!zero || (!pending && !lost_q));
      if (!lost_q) begin
        assert (requests_q == dut.issued_q - dut.answered_q - 7'(req.aw_valid));
        assert (bursts_q == dut.issued_q - dut.answered_q - 7'(req.w_valid));
        if (zero || !pending)
          assert (requests_q == '0 && bursts_q == '0 && !req.aw_valid && !req.w_valid);
      end
      // Invariants for the induction: writer, rules and this module agree on the kinds of the burst
      // on the bus and of the watched burst, and on the number of beats that are left.
      if (req.aw_valid && !rules.aw_stalled_q)
        assert (rules.beats_q == '0 && 9'(dut.beats_q) == 9'(req.aw.len) + 9'd1);
      else assert (rules.beats_q == (req.w_valid ? 9'(dut.beats_q) : 9'd0));
      if (rules.aw_stalled_q) assert (req.aw_valid && rules.aw_q == req.aw);
      if (rules.w_stalled_q)
        assert (req.w_valid && rules.w_q == req.w);
      assert (dut.sent_q - dut.answered_q <= dut.issued_q - dut.answered_q);
      if (req.w_valid && !is_record_q) assert (dut.beats_q == 2'd1);
      if (req.w_valid && is_record_q && dut.beats_q == 2'd3) assert (dut.data_q == data_q);
      if (req.w_valid && is_record_q && dut.beats_q == 2'd2)
        assert (dut.data_q[1023:0] == data_q[2:1]);
      if (req.aw_valid) assert (is_record_q == (req.aw.len == 8'd2));
      if (watched_q) begin
        assert (before_q < dut.issued_q - dut.answered_q && !(watched_record_q && watched_beat_q));
        assert (2'(dut.kind_q[now[5:0]])
            == (watched_record_q ? 2'd0 : watched_beat_q ? 2'd2 : 2'd1));
      end
    end
    assert (rules.in_flight_q == '0 && !rules.ar_stalled_q || rst);
    assert (rules.r_wait_q == '0 && rules.b_wait_q == '0 || rst);

    // Not vacuous: each of the three kinds; a beat before a record without space; an answered beat;
    // data accepted before the request; two unanswered bursts.
    if (rst) two_q <= 1'b0;
    else if (dut.sent_q - dut.answered_q == 7'd2) two_q <= 1'b1;
    cover (!rst && req.aw_valid && is_record_q && req.aw.addr == cfg.log_base + 64'd256);
    cover (!rst && req.aw_valid && !is_record_q && !is_beat_q
        && req.aw.addr == cfg.cq_base + 64'd64);
    cover (!rst && req.aw_valid && is_beat_q
        && req.aw.addr == cfg.ckpt_base + 64'd32768 + 64'd269 * 64'd64);
    cover (!rst && record_valid && beat.valid && beat_answer.take);
    cover (!rst && its_answer && beat_answer.answered && before_q == '0 && two_q);
    cover (!rst && its_answer && watched_beat_q && fault);
    cover (!rst && req.aw_valid && !req.w_valid);
    cover (!rst && req.w_valid && !req.aw_valid);
    cover (!rst && two_q && record_answered);
    cover (!rst && lost_q && !pending && requests_q != bursts_q);
    cover (!rst && fault);
  end
endmodule
