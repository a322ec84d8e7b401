// Proves, without bound: a good doorbell does not move its pointer backward; it moves a head at
// most to the issued entries, the tail at most by the free space. Its value is accepted as written,
// two clocks later. A bad doorbell, and a doorbell in the clock after another doorbell of the same
// pointer, changes nothing and gives a fault two clocks later. There is no other fault. So a ring
// never holds more entries than its size, and a head never passes the issued entries. A ring is
// reported full if and only if all its entries were unread one clock ago. So it has space if it is
// not reported full and nothing was issued in the clock before. Rings are live only from an open
// with a good configuration to the next clear.
//
// Assumed: the configuration does not change while live, nor in the clock of an open. The card
// issues at most one completion and one record per two clocks, none into a ring that is reported
// full, and no completion for an entry that was not submitted. It starts from zero at open
// (ring_write proves this).
module ring_doorbell_props
  import ring_pkg::*;
(
    input logic clk,
    input logic reset,
    input ring_cfg_t cfg,
    input logic open,
    input logic clear,
    input ring_doorbells_t doorbells,
    input logic completes,
    input logic records
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic live, cfg_fault, doorbell_fault, cq_full, log_full;
  logic [15:0] tail, issued_q;
  logic [31:0] log_issued_q;
  ring_doorbell dut (
      .clk_i(clk),
      .rst_i(rst),
      .cfg_i(cfg),
      .open_i(open),
      .clear_i(clear),
      .doorbells_i(doorbells),
      .cq_issued_i(issued_q),
      .log_issued_i(log_issued_q),
      .live_o(live),
      .cfg_fault_o(cfg_fault),
      .doorbell_fault_o(doorbell_fault),
      .sq_tail_o(tail),
      .cq_full_o(cq_full),
      .log_full_o(log_full)
  );

  // ---- assumptions
  ring_cfg_t cfg_q;
  logic completed_q, recorded_q;
  always_ff @(posedge clk) begin
    cfg_q <= cfg;
    {completed_q, recorded_q} <= {completes, records};
    if (rst || clear || open) {issued_q, log_issued_q} <= '0;
    else begin
      if (completes) issued_q <= issued_q + 16'd1;
      if (records) log_issued_q <= log_issued_q + 32'd1;
    end
  end
  always_comb begin
    if (started && (live || open)) assume (cfg == cfg_q);
    if (completes) assume (live && !cq_full && !completed_q && issued_q != tail);
    if (records) assume (live && !log_full && !recorded_q);
  end

  // ---- the rules, stated with numbers that do not wrap
  logic [16:0] size, unfinished, asked, unread, head_moves;
  logic [32:0] log_size, log_unread, log_moves;
  assign size = 17'd1 << cfg.sq_log2;
  assign log_size = 33'd1 << cfg.log_log2;
  assign unfinished = {1'b0, 16'(tail - issued_q)};
  assign asked = {1'b0, 16'(doorbells.sq_tail[15:0] - issued_q)};
  assign unread = {1'b0, 16'(issued_q - dut.cq_head_q)};
  assign head_moves = {1'b0, 16'(doorbells.cq_head[15:0] - dut.cq_head_q)};
  assign log_unread = {1'b0, log_issued_q - dut.log_head_q};
  assign log_moves = {1'b0, doorbells.log_head - dut.log_head_q};
  logic tail_good, cq_good, log_good;
  assign tail_good = doorbells.sq_tail < 32'h1_0000 && unfinished <= asked && asked <= size;
  assign cq_good = doorbells.cq_head < 32'h1_0000 && head_moves <= unread;
  assign log_good = log_moves <= log_unread;

  logic known_q, was_live_q, was_open_q, was_good_q, was_zero_q, was_full_q, was_log_full_q;
  // For each pointer: whether a doorbell came one and two clocks ago, and whether it was good.
  logic [2:0] good_q, rung_q, good2_q, rung2_q;
  logic [15:0] tail_q, tail_asked_q, tail_asked2_q, head_q, head_asked_q, head_asked2_q;
  logic [31:0] log_head_q, log_asked_q, log_asked2_q;
  always_ff @(posedge clk) begin
    known_q <= started;
    was_zero_q <= rst || clear;
    was_open_q <= open;
    was_good_q <= cfg_ok(cfg, 8'd15, 8'd20);
    was_live_q <= live;
    was_full_q <= unread == size;
    was_log_full_q <= log_unread == log_size;
    rung_q <= live && !rst && !clear && !open ? {doorbells.sq_tail_we, doorbells.cq_head_we,
        doorbells.log_head_we} : '0;
    rung2_q <= rst || clear || open ? '0 : rung_q;
    good_q <= {tail_good, cq_good, log_good} & ~rung_q;
    good2_q <= good_q;
    {tail_q, tail_asked_q, tail_asked2_q} <= {tail, doorbells.sq_tail[15:0], tail_asked_q};
    {head_q, head_asked_q, head_asked2_q} <= {dut.cq_head_q, doorbells.cq_head[15:0], head_asked_q};
    {log_head_q, log_asked_q, log_asked2_q} <= {dut.log_head_q, doorbells.log_head, log_asked_q};
  end

  always_comb begin
    if (started && known_q) begin
      if (was_zero_q || was_open_q) begin
        assert (tail == '0 && dut.cq_head_q == '0 && dut.log_head_q == '0 && !doorbell_fault);
        assert (live == (!was_zero_q && was_good_q));
        assert (cfg_fault == (!was_zero_q && !was_good_q));
      end else begin
        assert (live == was_live_q && !cfg_fault);
        assert (tail == (rung2_q[2] && good2_q[2] ? tail_asked2_q : tail_q));
        assert (dut.cq_head_q == (rung2_q[1] && good2_q[1] ? head_asked2_q : head_q));
        assert (dut.log_head_q == (rung2_q[0] && good2_q[0] ? log_asked2_q : log_head_q));
        assert (doorbell_fault == ((rung2_q & ~good2_q) != '0));
      end
      // Invariants for the induction: a good doorbell of one clock ago is accepted now, and is
      // still in range.
      assert (dut.asked_q == rung_q && (dut.bad & rung_q) == (~good_q & rung_q)
          && (live || rung_q == '0));
      assert (dut.sq_asked_q == tail_asked_q && dut.cq_asked_q == head_asked_q
          && dut.log_asked_q == log_asked_q);
      if (rung_q[2] && good_q[2]) begin
        assert ({1'b0, 16'(tail_asked_q - issued_q)} <= size
            && 16'(tail_asked_q - issued_q) >= 16'(tail - issued_q));
      end
      if (rung_q[1] && good_q[1])
        assert (16'(head_asked_q - dut.cq_head_q) <= 16'(issued_q - dut.cq_head_q));
      if (rung_q[0] && good_q[0])
        assert (log_asked_q - dut.log_head_q <= log_issued_q - dut.log_head_q);
      if (live && !rst) begin
        assert (cfg_ok(cfg_q, 8'd15, 8'd20));
        assert (unfinished <= size && unread <= size && log_unread <= log_size);
        if (!was_open_q) assert (cq_full == was_full_q && log_full == was_log_full_q);
        assert (cq_full || completed_q || unread < size);
        assert (log_full || recorded_q || log_unread < log_size);
      end

      // ---- not vacuous: full rings, each doorbell accepted and each refused
      cover (live && unfinished == size && size == 17'd32768);
      cover (live && tail == 16'd2 && dut.cq_head_q == 16'd1 && dut.log_head_q == 32'd2);
      cover (was_live_q && rung2_q == 3'b100 && doorbell_fault);
      cover (was_live_q && rung2_q == 3'b010 && doorbell_fault && head_q == 16'd1);
      cover (was_live_q && rung2_q == 3'b001 && doorbell_fault);
      cover (cfg_fault);
    end
  end
endmodule
