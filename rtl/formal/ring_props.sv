// Proves about the ring as a whole, without bound: the first fault and a dead bus stay unchanged
// until an open or a clear. Every cause of a fault gives the fault in the next clock; the first in
// the order doorbell, configuration, read, write, watchdog decides. A bus without an answer for
// 2^WatchdogLog2 clocks is a fault and dead then, and not before. During a fault nothing is
// fetched. While the bus is dead, fetched entries are dropped, and each record is accepted and
// dropped, so the lane does not wait. `needs_reset` rises with the first watchdog expiry or stray
// answer, and neither an open nor a clear clears it. While it is low, nothing is outstanding when a
// session opens (proofs ring_fetch and ring_write), so no earlier answer is accepted.
//
// Doorbell module and watchdogs are the card's own; the watchdogs expire after 2^4 clocks. Fetch,
// buffer, writer and completions have proofs of their own (ring_fetch, ring_buffer, ring_write,
// ring_complete) and are arbitrary here in every clock, and so is the bus.
// Assumed: the duties of the ring's caller: an open only when idle and without a record; a clear
// held until idle.
module ring_props
  import layout_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input logic reset,
    input ring_cfg_t cfg,
    input logic open,
    input logic fetch,
    input logic halt,
    input logic clear,
    input ring_doorbells_t doorbells,
    input logic sub_ready,
    input logic rec_valid,
    input record_t rec,
    input logic rec_completes,
    input logic [15:0] rec_index,
    input beat_t beat,
    input axi_pkg::rsp_t axi_rsp
);
  fault_e fault;
  logic bus_dead;
  logic needs_reset;
  logic idle;
  logic sub_valid;
  submission_t sub;
  logic rec_ready;
  beat_answer_t beat_answer;
  axi_pkg::req_t axi_req;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  ring #(
      .WatchdogLog2(4)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .cfg_i(cfg),
      .open_i(open),
      .fetch_i(fetch),
      .halt_i(halt),
      .clear_i(clear),
      .doorbells_i(doorbells),
      .fault_o(fault),
      .bus_dead_o(bus_dead),
      .needs_reset_o(needs_reset),
      .idle_o(idle),
      .pointers_o(),
      .sub_valid_o(sub_valid),
      .sub_ready_i(sub_ready),
      .sub_o(sub),
      .rec_valid_i(rec_valid),
      .rec_ready_o(rec_ready),
      .rec_i(rec),
      .rec_completes_i(rec_completes),
      .rec_index_i(rec_index),
      .beat_i(beat),
      .beat_o(beat_answer),
      .axi_req_o(axi_req),
      .axi_rsp_i(axi_rsp)
  );

  logic was_clearing_q;
  ring_cfg_t cfg_q;
  always_ff @(posedge clk) begin
    was_clearing_q <= clear && !rst;
    cfg_q <= cfg;
  end
  always_comb if (!rst) begin
    if (open) assume (idle && !needs_reset && !rec_valid);
    if (was_clearing_q) assume (clear || idle);
    if (dut.live || open) assume (cfg == cfg_q);
    // The proof ring_write shows this: a full ring gets no entry, and the counters start at zero.
    assume (!dut.live || (dut.u_doorbell.sq_now <= dut.u_doorbell.sq_size
        && dut.cq_issued - dut.u_doorbell.cq_head_q <= dut.u_doorbell.sq_size
        && dut.log_issued - dut.u_doorbell.log_head_q <= dut.u_doorbell.log_size));
  end

  // Clocks for which reads and writes have waited, from the signals of the ring's parts.
  logic [4:0] read_waits_q, write_waits_q;
  logic read_waits, write_waits, read_late, write_late;
  assign read_waits = dut.read_pending && !dut.read_progress;
  assign write_waits = dut.write_pending && !dut.write_progress;
  assign read_late = read_waits && read_waits_q == 5'd15;
  assign write_late = write_waits && write_waits_q == 5'd15;
  always_ff @(posedge clk) begin
    read_waits_q <= rst || !read_waits || read_late ? 5'd0 : read_waits_q + 5'd1;
    write_waits_q <= rst || !write_waits || write_late ? 5'd0 : write_waits_q + 5'd1;
  end

  // Whether a watchdog has expired or a stray answer has come since the reset.
  logic lost_q;
  always_ff @(posedge clk) begin
    lost_q <= !rst && (lost_q || read_late || write_late || dut.read_stray || dut.write_stray);
  end

  // Values of one clock ago.
  logic known_q, was_reset_q, was_dead_q, kills_q;
  fault_e was_fault_q, cause_q;
  always_ff @(posedge clk) begin
    known_q <= started;
    was_reset_q <= rst || clear || open;
    was_fault_q <= fault;
    was_dead_q <= bus_dead;
    kills_q <= dut.read_fault || dut.write_fault || read_late || write_late;
    if (dut.doorbell_fault) cause_q <= FaultDoorbell;
    else if (dut.cfg_fault) cause_q <= FaultRingConfig;
    else if (dut.read_fault) cause_q <= FaultReadResponse;
    else if (dut.write_fault) cause_q <= FaultWriteResponse;
    else if (read_late || write_late) cause_q <= FaultWatchdog;
    else cause_q <= FaultNone;
  end

  always_comb begin
    if (started && known_q) begin
      if (was_reset_q) assert (fault == FaultNone && !bus_dead);
      else begin
        assert (fault == (was_fault_q != FaultNone ? was_fault_q : cause_q));
        assert (bus_dead == (was_dead_q || kills_q));
      end
    end
    if (started && !rst) begin
      if (bus_dead) assert (fault != FaultNone);
      assert (needs_reset == lost_q);
      // Nothing is fetched during a fault, before an open, or during a halt.
      if (fault != FaultNone || !dut.live || halt || !fetch) assert (!dut.allow);
      else assert (dut.allow);
      // With a dead bus, entries are dropped and records accepted.
      assert (dut.dead == (bus_dead || clear) && dut.read_expired == read_late
          && dut.write_expired == write_late);
      if (bus_dead || clear || !dut.live) assert (rec_ready);
      else assert (rec_ready == (dut.record_room && !dut.completions_full));
      assert (idle == (dut.fetch_empty && !sub_valid && !dut.write_pending
          && dut.completions_empty));
      // Claims about the bus signals that never change.
      assert (axi_req.r_ready && axi_req.b_ready);

      // ---- invariants for the induction
      assert ({1'b0, dut.u_read_watchdog.count_q} == read_waits_q
          && {1'b0, dut.u_write_watchdog.count_q} == write_waits_q);

      // ---- not vacuous
      cover (fault == FaultWatchdog && bus_dead && read_waits_q == 5'd3);
      cover (fault == FaultDoorbell && !bus_dead && rec_valid && rec_ready);
      cover (fault == FaultReadResponse && bus_dead);
      cover (fault == FaultRingConfig);
      cover (was_reset_q && !open && !rst && needs_reset && was_fault_q == FaultWatchdog);
      cover (needs_reset && fault == FaultNone && was_dead_q);
      cover (was_reset_q && !open && !rst && was_fault_q == FaultWriteResponse);
      cover (dut.live && dut.allow && rec_valid && !rec_ready);
    end
  end
endmodule
