// Proves about the fetch: read bursts request all entries of the submission ring completely and in
// order, up to the tail, obey the rules of the bus, and never exceed the buffer. Until the first
// `give_up` or stray beat, no burst is outstanding on the bus while nothing is in flight; this is
// shown for one arbitrary id, whose expected beats are never reported as stray. Host, responses and
// consumer are arbitrary.
//
// The task `prove` holds without bound, on the assumption that only requested entries are
// delivered. The task `bounded` (macro BOUNDED) checks this assumption for the first clocks after
// reset, with a smaller buffer.
module ring_fetch_props
  import ring_pkg::*;
#(
    parameter int unsigned MaxReads   = 32,
    parameter int unsigned BufferLog2 = 6
) (
    input logic clk,
    input logic zero,
    input logic allow,
    input logic dead,
    input logic give_up,
    input logic [15:0] tail_next,
    input logic take,
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
  // Fields that the fetch does not use are constant, which helps the solver.
  always_comb assume (cfg.ckpt_base == '0 && cfg.ckpt_log2 == '0);

  // The doorbell module keeps the tail at most one ring ahead, and never lets it move back.
  logic [15:0] tail;
  always_ff @(posedge clk) tail <= rst || zero ? 16'd0 : tail_next;
  logic [15:0] waiting, size;
  assign waiting = tail - dut.requested_q;
  assign size = 16'd1 << cfg.sq_log2[3:0];

  logic store, ready, fault, stray, pending, progress, empty;
  logic [BufferLog2:0] store_at;
  logic [BufferLog2-1:0] ready_at;
  logic [15:0] ready_index, fetched;
  axi_pkg::req_t req;
  ring_fetch #(
      .MaxReads(MaxReads),
      .BufferLog2(BufferLog2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .zero_i(zero),
      .allow_i(allow),
      .dead_i(dead),
      .give_up_i(give_up),
      .base_i(cfg.sq_base),
      .log2_i(cfg.sq_log2),
      .tail_i(tail),
      .store_o(store),
      .store_at_o(store_at),
      .ready_o(ready),
      .ready_at_o(ready_at),
      .ready_index_o(ready_index),
      .take_i(take),
      .ar_o(req.ar),
      .ar_valid_o(req.ar_valid),
      .ar_ready_i(rsp.ar_ready),
      .r_i('{id: rsp.r.id, resp: rsp.r.resp}),
      .r_last_i(rsp.r.last),
      .r_valid_i(rsp.r_valid),
      .fault_o(fault),
      .stray_o(stray),
      .pending_o(pending),
      .progress_o(progress),
      .empty_o(empty),
      .fetched_o(fetched)
  );
  assign {req.aw, req.aw_valid, req.w, req.w_valid} = '0;
  assign {req.r_ready, req.b_ready} = '1;
  always_comb assume (!rsp.b_valid);
  ring_axi_rules rules (
      .clk_i(clk),
      .rst_i(rst),
      .give_up_read_i(give_up),
      .give_up_write_i(1'b0),
      .req_i(req),
      .rsp_i(rsp)
  );

  logic [63:0] offset;
  logic [64:0] burst_end;
  assign offset = req.ar.addr - cfg.sq_base;
  assign burst_end = {1'b0, offset} + ((65'(req.ar.len) + 65'd1) << 6);

  // The first entry of the burst on the bus, and the burst's number of entries.
  logic [15:0] first_q;
  logic [8:0] entries;
  assign entries = (9'(req.ar.len) + 9'd1) >> 1;
  always_ff @(posedge clk) if (dut.issue) first_q <= dut.requested_q;

  // Outstanding beats of one id, counted from the bus's own handshakes, even if the fetch has
  // abandoned them.
  localparam int unsigned IdBits = $clog2(MaxReads);
  logic [4:0] watched_id;
  logic owed_q, lost_q;
  logic [8:0] left_q;  // Outstanding beats of that id.
  logic honest_q;      // In the clock before, such a beat came.
  always_ff @(posedge clk) begin
    watched_id <= watched_id;
    if (rst) {owed_q, lost_q} <= '0;
    else begin
      if (req.ar_valid && rsp.ar_ready && req.ar.id == watched_id) begin
        owed_q <= 1'b1;
        left_q <= 9'(req.ar.len) + 9'd1;
      end else if (rsp.r_valid && rsp.r.id == watched_id) begin
        left_q <= left_q - 9'd1;
        if (rsp.r.last) owed_q <= 1'b0;
      end
      if (give_up || stray) lost_q <= 1'b1;
    end
    honest_q <= !rst && !give_up && rsp.r_valid && rsp.r.id == watched_id && owed_q
        && rsp.r.last == (left_q == 9'd1);
  end

  logic wrapped_q, overtaken_q, must_stay_dead_q;
  always_ff @(posedge clk) begin
    if (!rst) begin
      assume (!take || ready);
      // After a fault the bus is dead, and stays dead until nothing is in flight.
      assume (!must_stay_dead_q || dead);
      // The caller sets `zero` (at OPEN) only when nothing is in flight or in the buffer.
      assume (!zero || empty);
      assume (zero || (tail_next - dut.requested_q <= size
          && tail_next - dut.requested_q >= waiting));
      // A burst is inside the ring and inside one page.
      if (req.ar_valid) begin
        assert (req.ar.addr >= cfg.sq_base);
        assert (burst_end <= 65'd128 << cfg.sq_log2);
        // A burst requests complete entries, directly after the entries of the previous burst.
        assert (offset == 64'(first_q & (size - 16'd1)) << 7 && req.ar.len[0]
            && dut.requested_q == first_q + 16'(entries));
        assert (req.ar.addr >> 12 == (req.ar.addr + (64'(req.ar.len) << 6) + 64'd63) >> 12);
      end
      // A burst never extends past the tail, and never needs more space than the buffer has.
      assert (waiting <= size);
      assert (dut.requested_q - dut.delivered_q <= 16'd1 << BufferLog2);
`ifdef BOUNDED
      // A descriptor is ready only if it was requested and is not delivered yet.
      assert (!ready || dut.requested_q != dut.delivered_q);
`else
      assume (!ready || dut.requested_q != dut.delivered_q);
`endif
      // When a session opens, nothing is outstanding on the bus, so no old answer can come.
      assume (!zero || !lost_q);
      if (zero) assert (!owed_q);
      if (empty && !lost_q) assert (!owed_q);
      if (honest_q && !lost_q) assert (!stray);
      // Invariants for the induction.
      if (owed_q && !lost_q && !stray) begin
        assert (dut.busy_q[watched_id[IdBits-1:0]] && 32'(watched_id) < MaxReads
            && !(req.ar_valid && req.ar.id == watched_id));
        assert (!(dut.beat_q.valid && dut.beat_q.last && dut.beat_q.id == watched_id[IdBits-1:0]));
        assert (left_q != '0 && left_q == 9'(dut.left_q[watched_id[IdBits-1:0]])
            - 9'(dut.beat_q.valid && dut.beat_q.id == watched_id[IdBits-1:0]));
      end
      assert ((rules.in_flight_q & ~32'(dut.busy_q)) == '0);
      if (req.ar_valid) assert (9'(dut.left_q[req.ar.id[IdBits-1:0]]) == 9'(req.ar.len) + 9'd1);
      if (req.ar_valid && !rules.ar_stalled_q) assert (!rules.in_flight_q[req.ar.id]);
      if (rules.ar_stalled_q) assert (rules.ar_q == req.ar && req.ar_valid);
    end
    must_stay_dead_q <= !rst && (fault || give_up || (dead && !empty));
    assert (rules.beats_q == '0 && !rules.w_stalled_q && !rules.aw_stalled_q || rst);
    assert (rules.r_wait_q == '0 && rules.b_wait_q == '0 || rst);

    // Not vacuous: a full burst, a burst shortened by the tail, a delivery, answers out of order.
    if (rst) begin
      wrapped_q <= 1'b0;
      overtaken_q <= 1'b0;
    end else begin
      if (req.ar_valid && rsp.ar_ready && req.ar.addr == cfg.sq_base && dut.requested_q > 16'd4)
        wrapped_q <= 1'b1;
      if (rsp.r_valid && rsp.r.last && !fault && rsp.r.id == 5'd1 && dut.busy_q[0])
        overtaken_q <= 1'b1;
    end
    cover (!rst && req.ar_valid && req.ar.len == 8'd7);
    cover (!rst && req.ar_valid && req.ar.len == 8'd1);
    cover (!rst && take && ready_index == 16'd2);
    cover (!rst && overtaken_q && ready_index == 16'd8);
    cover (!rst && wrapped_q);
    cover (!rst && fault);
    // A burst is outstanding after the watchdog has expired; a stray beat comes while the bus is
    // dead.
    cover (!rst && owed_q && empty && lost_q);
    cover (!rst && stray && dead && !lost_q);
  end
endmodule
