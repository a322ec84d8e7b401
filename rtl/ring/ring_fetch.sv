// Fetches submissions: issues read bursts, gives the buffer the place of each beat, and tracks
// which descriptors are complete.
//
// A burst is planned in one clock, if there are entries to fetch and the buffer has space for the
// longest burst. It is requested in the next clock, or as soon as its id is free. A burst has up to
// four descriptors, never extends past the tail, and never crosses a multiple of 512 bytes. Each
// burst in flight has its own id; beats of different bursts may come in any order. `store_o` gives
// the place of a beat two clocks after the beat. Descriptors are delivered in ring order, at most
// one per two clocks: `ready_o` rises in the clock after the next descriptor was found complete in
// the buffer, and stays until `take_i`.
//
// `dead_i` (the bus is dead or being cleared): there is no new request, and no beat is stored or
// delivered; responses of requests in flight are counted until all have come. `give_up_i` abandons
// these requests and removes the present request from the bus. An error response, an unknown id or
// a wrong burst length gives `fault_o` for one clock, in the clock after the beat. `stray_o` is
// high in that clock if the beat belongs to no request, by its id or its place. Without any
// `give_up_i` and `stray_o`, nothing is outstanding on a correct bus while nothing is in flight.
// After reset: nothing in flight, counters zero. `zero_i` zeroes the counters; the caller gives it
// only when idle.
`include "assert.svh"

module ring_fetch
  import ring_pkg::*;
#(
    parameter int unsigned MaxReads   = 32,  // 2 to 32, a power of two: bursts in flight
    parameter int unsigned BufferLog2 = 6    // 3 to 8: log2 of the descriptors in the buffer
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  zero_i,
    input  logic                  allow_i,  // new requests may be issued
    input  logic                  dead_i,
    input  logic                  give_up_i,
    input  logic [63:0]           base_i,
    input  logic [7:0]            log2_i,
    input  logic [15:0]           tail_i,
    // towards the buffer
    output logic                  store_o,     // store the beat of two clocks ago
    output logic [BufferLog2:0]   store_at_o,  // descriptor, then beat within it
    output logic                  ready_o,
    output logic [BufferLog2-1:0] ready_at_o,
    output logic [15:0]           ready_index_o,  // entries submitted before it, modulo 2^16
    input  logic                  take_i,
    // read channels
    output axi_pkg::request_t     ar_o,
    output logic                  ar_valid_o,
    input  logic                  ar_ready_i,
    input  axi_pkg::answer_t      r_i,  // the data go to the buffer
    input  logic                  r_last_i,
    input  logic                  r_valid_i,
    // status
    output logic                  fault_o,
    output logic                  stray_o,
    output logic                  pending_o,  // a request or a response is outstanding
    output logic                  progress_o,
    output logic                  empty_o,  // nothing is in flight or in the buffer
    // entries whose descriptor is complete and in order, modulo 2^16
    output logic [15:0]           fetched_o
);
  if (MaxReads < 2 || MaxReads > 32 || 2 ** $clog2(MaxReads) != MaxReads) begin : g_bad_max_reads
    $fatal(1, "MaxReads is a power of two, 2 to 32");
  end
  if (BufferLog2 < 3 || BufferLog2 > 8) begin : g_bad_buffer_log2
    $fatal(1, "BufferLog2 is 3 to 8");
  end

  localparam int unsigned IdBits = $clog2(MaxReads);
  localparam int unsigned Slots = 2 ** BufferLog2;
  typedef logic [IdBits-1:0] id_t;
  typedef logic [BufferLog2-1:0] slot_t;

  // Counters of entries, modulo 2^16: delivered <= fetched <= requested <= tail.
  logic [15:0] requested_q, delivered_q;
  // Buffer slots that hold a complete descriptor.
  logic [Slots-1:0] whole_q;

  // Bursts in flight, by id.
  logic [MaxReads-1:0] busy_q;
  logic [IdBits:0] reads_q;
  logic [BufferLog2:0] at_q[MaxReads];  // where the next beat of the burst belongs
  logic [3:0] left_q[MaxReads];  // beats of the burst that are missing
  id_t next_id_q;

  logic arvalid_q;
  axi_pkg::request_t ar_q;

  // ---- requests
  logic [15:0] waiting;  // entries submitted and not requested
  logic [15:0] held;  // entries requested and not delivered: each has a slot
  logic [2:0] to_boundary;
  logic planned_q, issue;
  logic [2:0] entries_q;  // entries of the planned burst

  assign waiting = tail_i - requested_q;
  assign held = requested_q - delivered_q;
  assign to_boundary = 3'(BurstEntries) - {1'b0, requested_q[1:0]};
  assign issue = planned_q && allow_i && !zero_i && !dead_i && !(arvalid_q && !ar_ready_i)
      && !busy_q[next_id_q];

  // A plan stays valid until it is issued, because `waiting` only grows and `held` only shrinks.
  always_ff @(posedge clk_i) begin
    if (rst_i || zero_i || dead_i || issue) planned_q <= 1'b0;
    else if (!planned_q) planned_q <= waiting != '0 && held <= 16'(Slots - BurstEntries);
    if (!planned_q) entries_q <= waiting < 16'(to_boundary) ? waiting[2:0] : to_boundary;
  end

  // ---- responses: the state of a beat's id is looked up in the clock of the beat; the beat is
  // checked in the next clock
  typedef struct packed {
    logic valid;
    logic known;  // A burst with this id is in flight.
    logic okay;
    logic last;
    logic last_left;  // This is the last beat of the burst.
    id_t id;
    logic [3:0] left;
    logic [BufferLog2:0] at;
  } beat_t;
  beat_t beat_q;
  id_t beat_id;
  logic again, beat_bad, store, burst_done;
  assign beat_id = r_i.id[IdBits-1:0];
  // The beat before has the same id, and is being checked.
  assign again = beat_q.valid && beat_q.id == beat_id;
  always_ff @(posedge clk_i) begin
    beat_q.valid <= r_valid_i && !rst_i && !give_up_i;
    // A response before its request was accepted counts as a response without a request.
    beat_q.known <= r_i.id == 5'(beat_id) && busy_q[beat_id] && !(arvalid_q && ar_q.id == r_i.id)
        && !(again && beat_q.known && beat_q.last);
    beat_q.okay <= r_i.resp == axi_pkg::Okay;
    beat_q.last <= r_last_i;
    beat_q.last_left <= again ? beat_q.left == 4'd2 : left_q[beat_id] == 4'd1;
    beat_q.id <= beat_id;
    beat_q.left <= again ? beat_q.left - 1'b1 : left_q[beat_id];
    beat_q.at <= again ? beat_q.at + 1'b1 : at_q[beat_id];
  end
  assign beat_bad = !beat_q.known || !beat_q.okay || beat_q.last != beat_q.last_left;
  assign store = beat_q.valid && !dead_i && !beat_bad;
  assign stray_o = beat_q.valid && (!beat_q.known || beat_q.last != beat_q.last_left);
  assign burst_done = beat_q.valid && beat_q.known && beat_q.last;

  always_ff @(posedge clk_i) begin
    if (rst_i || give_up_i) begin
      arvalid_q <= 1'b0;
      busy_q <= '0;
      reads_q <= '0;
    end else begin
      if (arvalid_q && ar_ready_i) arvalid_q <= 1'b0;
      if (burst_done) busy_q[beat_q.id] <= 1'b0;
      if (issue) begin
        arvalid_q <= 1'b1;
        busy_q[next_id_q] <= 1'b1;
      end
      if (issue != burst_done) reads_q <= issue ? reads_q + 1'b1 : reads_q - 1'b1;
    end

    if (rst_i) begin
      ar_q <= '0;
      next_id_q <= '0;
    end else if (issue) begin
      ar_q.id <= 5'(next_id_q);
      ar_q.addr <= entry_address(base_i, 32'(requested_q) & index_mask(log2_i), DescriptorLog2);
      ar_q.len <= {4'b0, entries_q, 1'b0} - 8'd1;
      next_id_q <= next_id_q + 1'b1;
    end
    if (issue) begin
      at_q[next_id_q] <= {slot_t'(requested_q), 1'b0};
      left_q[next_id_q] <= {entries_q, 1'b0};
    end
    // Beats are counted even while the bus is dead, to find whether the last beat of a burst is a
    // stray one.
    if (beat_q.valid && beat_q.known) begin
      at_q[beat_q.id] <= beat_q.at + 1'b1;
      left_q[beat_q.id] <= beat_q.left - 1'b1;
    end
  end

  // ---- where the beat belongs
  logic store_q;
  logic [BufferLog2:0] store_at_q;
  always_ff @(posedge clk_i) begin
    store_q <= store && !rst_i;
    store_at_q <= beat_q.at;
  end

  // ---- delivery
  logic ready_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || zero_i) begin
      requested_q <= '0;
      delivered_q <= '0;
      whole_q <= '0;
    end else if (dead_i) begin
      // The content of the buffer is dropped; beats of requests in flight are not stored any more.
      delivered_q <= requested_q;
      whole_q <= '0;
    end else begin
      if (issue) requested_q <= requested_q + 16'(entries_q);
      if (take_i) begin
        delivered_q <= delivered_q + 16'd1;
        whole_q[slot_t'(delivered_q)] <= 1'b0;
      end
      if (store_q && store_at_q[0]) whole_q[store_at_q[BufferLog2:1]] <= 1'b1;
    end
    ready_q <= !rst_i && !zero_i && !dead_i && !take_i && whole_q[ready_at_o];
  end

  assign store_o = store_q;
  assign store_at_o = store_at_q;
  assign ready_at_o = slot_t'(delivered_q);
  assign ready_o = ready_q && !dead_i;
  assign ready_index_o = delivered_q;

  assign ar_o = ar_q;
  assign ar_valid_o = arvalid_q;

  assign fault_o = beat_q.valid && !dead_i && beat_bad;
  assign pending_o = reads_q != '0;
  assign progress_o = r_valid_i || (arvalid_q && ar_ready_i);
  assign empty_o = reads_q == '0 && held == '0;
  assign fetched_o = delivered_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(held <= 16'(Slots), "ring_fetch: more than the buffer holds");
      `ASSERT(!take_i || ready_o, "ring_fetch: no descriptor to take");
      // A plan stays valid until it is issued.
      `ASSERT(!planned_q || dead_i || zero_i
                  || (16'(entries_q) <= waiting && held + 16'(entries_q) <= 16'(Slots)),
              "ring_fetch: a plan that is no longer true");
      `ASSERT(!planned_q || (entries_q != '0 && entries_q <= to_boundary),
              "ring_fetch: a plan across a boundary");
      // A request on the bus is in flight.
      `ASSERT(!arvalid_q || busy_q[id_t'(ar_q.id)], "ring_fetch: a request that is not in flight");
      `ASSERT(32'(reads_q) == $countones(busy_q), "ring_fetch: reads are miscounted");
    end
  end
endmodule
