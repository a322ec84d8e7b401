// What is proved of the reads of text windows, without bound. Every request is inside the range
// that is being read, obeys the rules of the bus, and asks for the beats after those of the
// previous request: so each beat of a range is requested at most once, and no beat outside. A beat
// is stored only if it answers such a request, without an error and in its place; beats are stored
// in the order of their addresses, and taken unchanged, once and in this order. A range ends with
// all its beats, or with exactly one bad beat after the beats that came before the fault;
// `range_failed_o` is high exactly in the second case. `head_length_o` and `head_call_o` come from
// the first beat.
// The bus is broken exactly after a read that was given up, or a response whose id or place fits no
// request; from then on no request is made until the reset.
//
// Any bus, any pauses, any time of giving up. One arbitrary beat is followed from the bus to its
// use. Assumed: ranges of at least one beat whose end does not wrap, and that a beat is taken only
// when the buffer offers one.
module text_fetch_props
  import text_pkg::*;
(
    input logic clk,
    input logic give_up,
    input logic range_valid,
    input logic [57:0] range_beat,
    input logic [RangeBits-1:0] range_beats,
    input logic take,
    input logic mark,
    input axi_pkg::rsp_t rsp
);
  localparam int unsigned BufferLog2 = 4;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic range_failed;
  logic [31:0] head_length;
  logic head_call;
  logic range_ready, beat_valid, beat_bad, pending, progress, broken;
  logic [511:0] beat;
  axi_pkg::req_t req;
  text_fetch #(
      .BufferLog2(BufferLog2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .give_up_i(give_up),
      .range_valid_i(range_valid),
      .range_ready_o(range_ready),
      .range_beat_i(range_beat),
      .range_beats_i(range_beats),
      .range_failed_o(range_failed),
      .head_length_o(head_length),
      .head_call_o(head_call),
      .beat_valid_o(beat_valid),
      .beat_bad_o(beat_bad),
      .beat_o(beat),
      .take_i(take),
      .ar_o(req.ar),
      .ar_valid_o(req.ar_valid),
      .ar_ready_i(rsp.ar_ready),
      .r_i(rsp.r),
      .r_valid_i(rsp.r_valid),
      .pending_o(pending),
      .progress_o(progress),
      .broken_o(broken)
  );
  assign {req.aw, req.aw_valid, req.w, req.w_valid} = '0;
  assign {req.r_ready, req.b_ready} = '1;
  always_comb begin
    assume (!rsp.b_valid);
    if (range_valid) assume (range_beats != '0);
    if (range_valid) assume (59'(range_beat) + 59'(range_beats) <= 59'd1 << 58);
    if (take) assume (beat_valid);
  end
  ring_axi_rules rules (
      .clk_i(clk),
      .rst_i(rst),
      .give_up_read_i(give_up),
      .give_up_write_i(1'b0),
      .req_i(req),
      .rsp_i(rsp)
  );

  // ---- the range that is read, as it was given, and what was asked and answered of it
  logic [57:0] first_q;
  logic [RangeBits-1:0] beats_q, asked_q, answered_q, stored_q;
  logic bad_stored_q, any_q;  // A range was given.
  logic [511:0] head_q;
  logic is_new, was_valid_q;
  assign is_new = req.ar_valid && !was_valid_q;
  // ---- what the bus owes, by its own handshakes
  logic owed_q;
  logic [8:0] owed_beats_q;
  logic answers, in_place;
  assign answers = rsp.r_valid && rsp.r.id == '0 && owed_q;
  assign in_place = rsp.r.last == (owed_beats_q == 9'd1);
  always_ff @(posedge clk) begin
    any_q <= !rst && (any_q || (range_valid && range_ready));
    was_valid_q <= !rst && req.ar_valid && !rsp.ar_ready && !give_up;
    if (range_valid && range_ready) begin
      first_q <= range_beat;
      beats_q <= range_beats;
      {asked_q, answered_q, stored_q, bad_stored_q} <= '0;
    end else begin
      if (is_new) asked_q <= asked_q + RangeBits'(req.ar.len) + 1'b1;
      if (answers) answered_q <= answered_q + 1'b1;
      if (dut.store && stored_q == '0) head_q <= rsp.r.data;
      if (dut.store) stored_q <= stored_q + 1'b1;
      if (dut.store_bad) bad_stored_q <= 1'b1;
    end
    if (rst || give_up) owed_q <= 1'b0;
    else begin
      if (req.ar_valid && rsp.ar_ready) begin
        owed_q <= 1'b1;
        owed_beats_q <= 9'(req.ar.len) + 9'd1;
      end else if (answers) begin
        owed_beats_q <= owed_beats_q - 9'd1;
        if (rsp.r.last) owed_q <= 1'b0;
      end
    end
  end

  // ---- one stored beat
  logic watched_q;
  logic [BufferLog2:0] place_q;
  logic [511:0] data_q;
  always_ff @(posedge clk) begin
    if (rst) watched_q <= 1'b0;
    else begin
      if (dut.store && mark && !watched_q) begin
        watched_q <= 1'b1;
        place_q <= dut.stored_q;
        data_q <= rsp.r.data;
      end
      if (take && watched_q && dut.taken_q == place_q) watched_q <= 1'b0;
    end
  end

  logic was_broken_q, was_ar_q, second_q, breaks_q;
  always_ff @(posedge clk) begin
    breaks_q <= !rst && (breaks_q || give_up || (rsp.r_valid && !(answers && in_place)));
    was_broken_q <= !rst && broken;
    was_ar_q <= !rst && req.ar_valid;
    second_q <= !rst && (second_q || (dut.ends && !dut.failed_q));
  end

  logic [RangeBits-1:0] asked;  // With the request that is new in this clock.
  assign asked = is_new ? asked_q + RangeBits'(req.ar.len) + 1'b1 : asked_q;
  always_comb begin
    if (started) begin
      // ---- the claims
      if (req.ar_valid) begin
        assert (req.ar.addr[63:6] >= first_q && req.ar.addr[5:0] == '0);
        assert (59'(req.ar.addr[63:6]) + 59'(req.ar.len) < 59'(first_q) + 59'(beats_q));
      end
      if (is_new) assert (req.ar.addr[63:6] == first_q + 58'(asked_q) && asked <= beats_q);
      if (dut.store) begin
        assert (answers && in_place && rsp.r.resp == axi_pkg::Okay);
        assert (stored_q == answered_q && !bad_stored_q && stored_q < beats_q);
      end
      if (dut.store_bad) assert (!bad_stored_q);
      if (dut.ends) assert (bad_stored_q || stored_q == beats_q);
      if (range_ready && any_q) begin
        assert (bad_stored_q || stored_q == beats_q);
        assert (range_failed == bad_stored_q);
      end
      // The tag is "portcullis/call/1" and a zero byte, the first byte in the lowest bits.
      if (any_q && stored_q != '0) begin
        assert (head_length == head_q[303:272]);
        assert (head_call == (head_q[143:0] == 144'h0031_2f6c_6c61_632f_7369_6c6c_7563_7472_6f70));
      end
      if (watched_q && dut.taken_q == place_q) assert (beat_valid && !beat_bad && beat == data_q);
      assert (broken == breaks_q);
      if (was_broken_q) assert (broken && (was_ar_q || !req.ar_valid));

      // ---- what the induction needs
      assert (dut.held <= 5'd16);
      assert (rules.beats_q == '0 && !rules.w_stalled_q && !rules.aw_stalled_q);
      assert (rules.r_wait_q == '0 && rules.b_wait_q == '0);
      assert (was_valid_q == rules.ar_stalled_q);
      if (rules.ar_stalled_q) assert (req.ar_valid && rules.ar_q == req.ar);
      assert ((rules.in_flight_q & ~32'd1) == '0);
      if (rules.in_flight_q[0]) assert (dut.flight_q && !is_new);
      if (req.ar_valid) assert (dut.flight_q && !owed_q && req.ar.id == '0);
      if (owed_q) assert (dut.flight_q && !req.ar_valid);
      if (owed_q && !broken) assert (owed_beats_q == 9'(dut.await_q) && owed_beats_q != '0);
      if (dut.flight_q && !broken)
        assert (dut.await_q <= 4'd8 && (owed_q || req.ar.len == 8'(dut.await_q) - 8'd1));
      if (dut.flight_q) assert (dut.active_q && (req.ar_valid || owed_q));
      if (dut.failed_q) assert (dut.active_q || !dut.due_q);
      if (dut.due_q) assert (dut.active_q && dut.failed_q && !bad_stored_q);
      if (any_q) assert (dut.opens_q == (stored_q == '0));
      if (dut.active_q) assert (any_q);
      if (dut.active_q) begin
        assert (59'(first_q) + 59'(beats_q) <= 59'd1 << 58 && asked <= beats_q);
        assert (dut.left_q == beats_q - asked);
        if (dut.left_q != '0) assert (dut.next_q == first_q + 58'(asked));
        if (dut.failed_q) assert (dut.due_q != bad_stored_q);
        else begin
          assert (!bad_stored_q && stored_q == answered_q);
          if (dut.flight_q) begin
            assert (dut.await_q != '0 && dut.await_q <= 4'd8);
            assert (18'(stored_q) + 18'(dut.await_q) == 18'(asked));
            assert (5'(dut.await_q) + dut.held <= 5'd16);
            if (req.ar_valid) assert (req.ar.len == 8'(dut.await_q) - 8'd1);
          end else assert (stored_q == asked);
        end
        if (req.ar_valid) assert (req.ar.addr[63:6] + 58'(req.ar.len) + 58'd1
            == first_q + 58'(asked) && req.ar.len < 8'd8 && asked > RangeBits'(req.ar.len));
        if (req.ar_valid) assert (4'(req.ar.addr[8:6]) + 4'(req.ar.len) < 4'd8);
      end
      if (watched_q) begin
        assert (place_q - dut.taken_q < dut.held);
        assert (dut.mem[place_q[BufferLog2-1:0]] == data_q && !dut.bad_q[place_q[BufferLog2-1:0]]);
      end

      // ---- not vacuous: a burst to a boundary, a range of two bursts read whole, a bad beat, a
      // broken bus with a range behind it
      cover (range_ready && any_q && head_call && !range_failed);
      cover (is_new && req.ar.len == 8'd2 && beats_q == RangeBits'(12));
      cover (dut.ends && !dut.failed_q && beats_q == RangeBits'(9));
      cover (beat_valid && beat_bad && take && second_q && !broken);
      cover (was_broken_q && dut.ends && beat_valid);
      cover (watched_q && take && dut.taken_q == place_q && stored_q == RangeBits'(3));
    end
  end
endmodule
