// The card's access to host memory: fetches submissions, writes records and completions, checks
// doorbells, monitors the bus.
//
// Submissions between head and tail are fetched ahead (64 descriptors, `MaxReads` bursts in flight)
// and delivered in ring order; `sub_valid_o` holds until `sub_ready_i`, unless a dead bus or a
// clear drops the submission. The index of a submission is the number of entries submitted before
// it, modulo 2^16. Each record is written to the next log entry. After this write was answered, the
// record's completion is written to the next completion entry, with `rec_index_i` as ring index.
// While the log or completion ring is full, `rec_ready_o` is low.
//
// Latency: about 6 clocks from a doorbell to its request, 6 from the last beat to the descriptor, 1
// from a record to its request, and 11 from the answer to the completion's request. A record needs
// the bus for 3 clocks, a completion for 1.
//
// Faults: `fault_o` holds the first fault until `open_i` or `clear_i`. After a fault nothing more
// is fetched, but fetched entries are still delivered. An error response, a response without a
// request, or 2^WatchdogLog2 clocks without progress also make the bus dead. Then fetched entries
// are dropped and nothing new is issued. Records are accepted and dropped, so that the lane need
// not wait. VALID is withdrawn before READY only when the watchdog has expired.
//
// `needs_reset_o` rises when the watchdog expires, or with a response without a request. Then the
// bus may still answer a request, or wait for its data, although this ring no longer tracks it.
//
// `changed_o` is high for one clock if a memory of completions has changed; after it, no completion
// is written until `clear_i`.
// Only `rst_i` clears `needs_reset_o`; with `rst_i`, the shell must reset the bus or close
// the fence.
//
// Duties of the caller: `open_i` comes only if `idle_o` is high and `needs_reset_o` is low, and
// without a record in its clock. `clear_i` holds until `idle_o`. `cfg_i` holds from `open_i` until
// the ring is idle after the session. So nothing is outstanding on the bus when a session opens,
// and the session accepts no answer of an earlier one. Before a good `open_i`, doorbells and
// records are dropped. After reset: idle, no fault, not open.
`include "assert.svh"

module ring
  import layout_pkg::*;
  import ring_pkg::*;
#(
    parameter int unsigned MaxReads     = 32,  // 2 to 32, a power of two
    parameter int unsigned RingLog2Max  = 15,  // 5 to 15
    parameter int unsigned LogLog2Max   = 20,  // 4 to 31
    parameter int unsigned WatchdogLog2 = 22,  // 4 to 40
    parameter bit          Text         = 1'b0 // completions have classes of the text lane
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  ring_cfg_t       cfg_i,
    input  logic            open_i,   // one clock: check the configuration, zero every pointer
    input  logic            fetch_i,  // submissions may be fetched
    input  logic            halt_i,   // no new read bursts
    input  logic            clear_i,  // drop everything and discard responses, until idle
    input  ring_doorbells_t doorbells_i,
    output fault_e          fault_o,
    output logic            bus_dead_o,
    output logic            needs_reset_o,
    output logic            changed_o,
    output logic            idle_o,  // nothing is buffered, on the bus or undelivered
    output ring_pointers_t  pointers_o,
    output logic            sub_valid_o,
    input  logic            sub_ready_i,
    output submission_t     sub_o,
    input  logic            rec_valid_i,
    output logic            rec_ready_o,
    input  record_t         rec_i,
    input  logic            rec_completes_i,
    input  logic [15:0]     rec_index_i,
    // Checkpoints: one beat at a time, each to its place in the checkpoint ring.
    input  beat_t           beat_i,
    output beat_answer_t    beat_o,
    output axi_pkg::req_t   axi_req_o,
    input  axi_pkg::rsp_t   axi_rsp_i
);
  // At one verdict per 20 clocks, 64 descriptors and 32 records cover 640 clocks of latency.
  localparam int unsigned BufferLog2 = 6;
  localparam int unsigned RecordsLog2 = 5;
  localparam int unsigned MaxWritesLog2 = 6;

  fault_e fault_q;
  logic bus_dead_q;
  logic dead;
  assign dead = bus_dead_q || clear_i;

  // ---- doorbells
  logic live, cfg_fault, doorbell_fault, cq_full, log_full;
  logic [15:0] sq_tail, cq_issued;
  logic [31:0] log_issued;
  ring_doorbell #(
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max)
  ) u_doorbell (
      .clk_i,
      .rst_i,
      .cfg_i,
      .open_i,
      .clear_i,
      .doorbells_i,
      .cq_issued_i(cq_issued),
      .log_issued_i(log_issued),
      .live_o(live),
      .cfg_fault_o(cfg_fault),
      .doorbell_fault_o(doorbell_fault),
      .sq_tail_o(sq_tail),
      .cq_full_o(cq_full),
      .log_full_o(log_full)
  );

  // ---- submissions
  logic allow, read_fault, read_stray, read_pending, read_progress, read_expired, fetch_empty;
  logic store, ready, take;
  logic [BufferLog2:0] store_at;
  logic [BufferLog2-1:0] ready_at;
  logic [15:0] ready_index;
  assign allow = fetch_i && !halt_i && live && fault_q == FaultNone;
  ring_fetch #(
      .MaxReads(MaxReads),
      .BufferLog2(BufferLog2)
  ) u_fetch (
      .clk_i,
      .rst_i,
      .zero_i(open_i),
      .allow_i(allow),
      .dead_i(dead),
      .give_up_i(read_expired),
      .base_i(cfg_i.sq_base),
      .log2_i(cfg_i.sq_log2),
      .tail_i(sq_tail),
      .store_o(store),
      .store_at_o(store_at),
      .ready_o(ready),
      .ready_at_o(ready_at),
      .ready_index_o(ready_index),
      .take_i(take),
      .ar_o(axi_req_o.ar),
      .ar_valid_o(axi_req_o.ar_valid),
      .ar_ready_i(axi_rsp_i.ar_ready),
      .r_i('{id: axi_rsp_i.r.id, resp: axi_rsp_i.r.resp}),
      .r_last_i(axi_rsp_i.r.last),
      .r_valid_i(axi_rsp_i.r_valid),
      .fault_o(read_fault),
      .stray_o(read_stray),
      .pending_o(read_pending),
      .progress_o(read_progress),
      .empty_o(fetch_empty),
      .fetched_o(pointers_o.sq_head)
  );
  // A beat waits here while it is checked.
  logic [1:0][511:0] beats_q;
  always_ff @(posedge clk_i) beats_q <= {beats_q[0], axi_rsp_i.r.data};
  ring_buffer #(
      .BufferLog2(BufferLog2)
  ) u_buffer (
      .clk_i,
      .rst_i,
      .flush_i(dead),
      .store_i(store),
      .store_at_i(store_at),
      .beat_i(beats_q[1]),
      .ready_i(ready),
      .ready_at_i(ready_at),
      .ready_index_i(ready_index),
      .take_o(take),
      .valid_o(sub_valid_o),
      .accept_i(sub_ready_i),
      .descriptor_o(sub_o.descriptor),
      .index_o(sub_o.index)
  );
  ring_watchdog #(
      .Log2(WatchdogLog2)
  ) u_read_watchdog (
      .clk_i,
      .rst_i,
      .pending_i(read_pending),
      .progress_i(read_progress),
      .expired_o(read_expired)
  );

  // ---- records and completions
  logic record_take, record_room, record_answered, discard;
  logic completions_full, completion_valid, completion_take, completions_empty;
  completion_t completion;
  logic write_fault, write_stray, write_pending, write_progress, write_expired;
  // The host cannot read these records. They are accepted so that the lane can finish.
  assign discard = dead || !live;
  beat_t beat;
  always_comb begin
    beat = beat_i;
    beat.valid &= live;
  end
  ring_write #(
      .MaxWritesLog2(MaxWritesLog2)
  ) u_write (
      .clk_i,
      .rst_i,
      .zero_i(open_i),
      .dead_i(dead),
      .give_up_i(write_expired),
      .log_base_i(cfg_i.log_base),
      .log_log2_i(cfg_i.log_log2),
      .cq_base_i(cfg_i.cq_base),
      .cq_log2_i(cfg_i.sq_log2),
      .ckpt_base_i(cfg_i.ckpt_base),
      .ckpt_log2_i(cfg_i.ckpt_log2),
      .log_full_i(log_full),
      .cq_full_i(cq_full),
      .record_valid_i(rec_valid_i && live && !completions_full),
      .record_take_o(record_take),
      .record_i(rec_i),
      .completion_valid_i(completion_valid),
      .completion_take_o(completion_take),
      .completion_i(completion),
      .beat_i(beat),
      .beat_o,
      .log_issued_o(log_issued),
      .log_answered_o(pointers_o.log_tail),
      .cq_issued_o(cq_issued),
      .cq_answered_o(pointers_o.cq_tail),
      .record_answered_o(record_answered),
      .aw_o(axi_req_o.aw),
      .aw_valid_o(axi_req_o.aw_valid),
      .aw_ready_i(axi_rsp_i.aw_ready),
      .w_o(axi_req_o.w),
      .w_valid_o(axi_req_o.w_valid),
      .w_ready_i(axi_rsp_i.w_ready),
      .b_i(axi_rsp_i.b),
      .b_valid_i(axi_rsp_i.b_valid),
      .fault_o(write_fault),
      .stray_o(write_stray),
      .pending_o(write_pending),
      .progress_o(write_progress),
      .room_o(record_room)
  );
  ring_complete #(
      .DepthLog2(RecordsLog2),
      .Text(Text)
  ) u_complete (
      .clk_i,
      .rst_i,
      .flush_i(dead),
      .log2_i(cfg_i.sq_log2[3:0]),
      .cq_issued_i(cq_issued),
      .full_o(completions_full),
      .push_i(record_take),
      .completes_i(rec_completes_i),
      .index_i(rec_index_i),
      .record_i(rec_i),
      .answered_i(record_answered),
      .valid_o(completion_valid),
      .completion_o(completion),
      .take_i(completion_take),
      .empty_o(completions_empty),
      .changed_o(changed_o)
  );
  ring_watchdog #(
      .Log2(WatchdogLog2)
  ) u_write_watchdog (
      .clk_i,
      .rst_i,
      .pending_i(write_pending),
      .progress_i(write_progress),
      .expired_o(write_expired)
  );
  assign rec_ready_o = discard || (record_room && !completions_full);

  // There is always space, because it was reserved before each request.
  assign axi_req_o.r_ready = 1'b1;
  assign axi_req_o.b_ready = 1'b1;

  // ---- faults
  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i || open_i) begin
      fault_q <= FaultNone;
      bus_dead_q <= 1'b0;
    end else begin
      if (fault_q == FaultNone) begin
        if (doorbell_fault) fault_q <= FaultDoorbell;
        else if (cfg_fault) fault_q <= FaultRingConfig;
        else if (read_fault) fault_q <= FaultReadResponse;
        else if (write_fault) fault_q <= FaultWriteResponse;
        else if (read_expired || write_expired) fault_q <= FaultWatchdog;
      end
      if (read_fault || write_fault || read_expired || write_expired) bus_dead_q <= 1'b1;
    end
  end
  // The card has lost track of outstanding transfers.
  logic needs_reset_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) needs_reset_q <= 1'b0;
    else if (read_expired || write_expired || read_stray || write_stray) needs_reset_q <= 1'b1;
  end
  assign needs_reset_o = needs_reset_q;
  assign fault_o = fault_q;
  assign bus_dead_o = bus_dead_q;
  assign idle_o = fetch_empty && !sub_valid_o && !write_pending && completions_empty;

  // ---- checks
  ring_axi_rules u_rules (
      .clk_i,
      .rst_i,
      .give_up_read_i(read_expired),
      .give_up_write_i(write_expired),
      .req_i(axi_req_o),
      .rsp_i(axi_rsp_i)
  );
  logic clear_q;
  always_ff @(posedge clk_i) begin
    clear_q <= clear_i && !rst_i;
    if (!rst_i) begin
      `ASSERT(!open_i || (idle_o && !needs_reset_q && !rec_valid_i),
              "ring: opened while it has work, or may be owed answers");
      // The caller clears until the ring is idle.
      `ASSERT(!clear_q || clear_i || idle_o, "ring: cleared for too short a time");
    end
  end
endmodule
