// Checks the configuration of the rings, and compares every doorbell with the card's own counters.
//
// `open_i` (one clock) checks `cfg_i`, which must be valid from the clock before, and zeroes the
// three counters. A bad configuration gives `cfg_fault_o` in the next clock, and the rings stay
// disabled. A doorbell is compared in the clock of its write and accepted in the next clock; a
// fault shows one clock later. A refused doorbell changes nothing. A doorbell in the clock after
// another doorbell of its ring is refused. Doorbells are dropped while the rings are not live.
// After reset: not live, counters zero. The caller holds `cfg_i` while live. It issues nothing into
// a ring that is reported full, nor in the clock after it issued into that ring.
`include "assert.svh"

module ring_doorbell
  import ring_pkg::*;
#(
    parameter int unsigned RingLog2Max = 15,  // 5 to 15: counters are modulo 2^16
    parameter int unsigned LogLog2Max  = 20   // 4 to 31: counters are modulo 2^32
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  ring_cfg_t       cfg_i,
    input  logic            open_i,
    input  logic            clear_i,
    input  ring_doorbells_t doorbells_i,
    input  logic [15:0]     cq_issued_i,       // completions whose write was issued
    input  logic [31:0]     log_issued_i,      // records whose write was issued
    output logic            live_o,            // opened with a good configuration
    output logic            cfg_fault_o,       // one clock
    output logic            doorbell_fault_o,  // one clock
    output logic [15:0]     sq_tail_o,         // entries submitted in total
    // one clock ago, every entry of the completion ring had an unconsumed completion
    output logic            cq_full_o,
    output logic            log_full_o  // the same for the log ring
);
  if (RingLog2Max < RingLog2Min || RingLog2Max > 15) begin : g_bad_ring_log2_max
    $fatal(1, "RingLog2Max is 5 to 15");
  end
  if (LogLog2Max < LogLog2Min || LogLog2Max > 31) begin : g_bad_log_log2_max
    $fatal(1, "LogLog2Max is 4 to 31");
  end

  logic live_q, cfg_good_q, cfg_fault_q, doorbell_fault_q, cq_full_q, log_full_q;
  logic [15:0] sq_tail_q, cq_head_q;
  logic [31:0] log_head_q;

  // Sizes in entries. They are at most 2^15, so every difference of two counters fits into 16 bits.
  logic [15:0] sq_size;
  logic [31:0] log_size;
  assign sq_size  = 16'(index_mask(cfg_i.sq_log2)) + 16'd1;
  assign log_size = index_mask(cfg_i.log_log2) + 32'd1;

  // Entries submitted and not completed, before and after the doorbell.
  logic [15:0] sq_now, sq_then;
  assign sq_now  = sq_tail_q - cq_issued_i;
  assign sq_then = doorbells_i.sq_tail[15:0] - cq_issued_i;

  // Which rings had a doorbell one clock ago, and which of these doorbells are bad.
  typedef struct packed {logic sq, cq, log;} rings_t;
  rings_t asked_q, bad;
  logic [3:0] sq_bad_q;
  logic [2:0] cq_bad_q;
  logic [1:0] log_bad_q;
  assign bad = '{sq: sq_bad_q != '0, cq: cq_bad_q != '0, log: log_bad_q != '0};
  logic [15:0] sq_asked_q, cq_asked_q;
  logic [31:0] log_asked_q;

  always_ff @(posedge clk_i) begin
    cfg_good_q <= cfg_ok(cfg_i, 8'(RingLog2Max), 8'(LogLog2Max));
    // At most `size` entries are unread, so a bit above the mask means that the ring is full.
    cq_full_q <= ((cq_issued_i - cq_head_q) & ~16'(index_mask(cfg_i.sq_log2))) != '0;
    log_full_q <= ((log_issued_i - log_head_q) & ~index_mask(cfg_i.log_log2)) != '0;

    // A consumer's head moves forward, at most to the issued entries. A pointer that is moving in
    // this clock cannot be compared.
    sq_bad_q <= {asked_q.sq, doorbells_i.sq_tail[31:16] != '0, sq_then > sq_size, sq_then < sq_now};
    cq_bad_q <= {asked_q.cq, doorbells_i.cq_head[31:16] != '0,
        doorbells_i.cq_head[15:0] - cq_head_q > cq_issued_i - cq_head_q};
    log_bad_q <= {asked_q.log, doorbells_i.log_head - log_head_q > log_issued_i - log_head_q};
    sq_asked_q <= doorbells_i.sq_tail[15:0];
    cq_asked_q <= doorbells_i.cq_head[15:0];
    log_asked_q <= doorbells_i.log_head;

    cfg_fault_q <= 1'b0;
    doorbell_fault_q <= 1'b0;
    asked_q <= '0;
    if (rst_i || clear_i) begin
      live_q <= 1'b0;
      sq_tail_q <= '0;
      cq_head_q <= '0;
      log_head_q <= '0;
    end else if (open_i) begin
      live_q <= cfg_good_q;
      cfg_fault_q <= !cfg_good_q;
      sq_tail_q <= '0;
      cq_head_q <= '0;
      log_head_q <= '0;
    end else if (live_q) begin
      asked_q <= '{sq: doorbells_i.sq_tail_we, cq: doorbells_i.cq_head_we,
          log: doorbells_i.log_head_we};
      if (asked_q.sq && !bad.sq) sq_tail_q <= sq_asked_q;
      if (asked_q.cq && !bad.cq) cq_head_q <= cq_asked_q;
      if (asked_q.log && !bad.log) log_head_q <= log_asked_q;
      doorbell_fault_q <= (asked_q & bad) != '0;
    end
  end

  assign live_o = live_q;
  assign cfg_fault_o = cfg_fault_q;
  assign doorbell_fault_o = doorbell_fault_q;
  assign sq_tail_o = sq_tail_q;
  assign cq_full_o = cq_full_q;
  assign log_full_o = log_full_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i && live_q) begin
      // Unfinished entries and unread entries never exceed the ring's size.
      `ASSERT(sq_now <= sq_size, "ring_doorbell: more submitted than the ring holds");
      `ASSERT(cq_issued_i - cq_head_q <= sq_size, "ring_doorbell: a completion over another");
      `ASSERT(log_issued_i - log_head_q <= log_size, "ring_doorbell: a record over another");
    end
  end
endmodule
