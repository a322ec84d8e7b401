// Reads ranges of memory for the text window: each beat once, in order, into a small buffer.
//
// One burst is in flight at a time, with id 0. A burst has at most 512 bytes, never crosses a
// multiple of 512 bytes, and is requested only when the buffer has room for the longest burst. The
// next range may be taken while beats of the last one are still in the buffer, so the latency of
// its first burst is hidden. `range_ready_o` rises again when every beat of the range is in the
// buffer; then `range_failed_o` is high if the last beat is bad. If the range began with the first
// beat of a text's window, `head_length_o` is then the length field of this beat, and `head_call_o`
// is high if this beat has the tag of a tool call.
//
// After an error response, a burst of another length, or `give_up_i`, the range ends with one bad
// beat, which leaves the buffer after the beats before it.
// After a response without a request, or a read that was given up, the bus may still answer:
// `broken_o` rises and stays until the reset, and every later range is one bad beat without a read.
//
// Latency: a request two clocks after its range, a beat one clock after its response.
// After reset: nothing in flight, the buffer empty.
// Duties of the caller: ranges of at least one beat, inside memory that the card may read, whose
// end does not wrap; `give_up_i` in bounded time while `pending_o` is high without `progress_o`; if
// a read is in flight, a reset of the bus before the reset of this module.
`include "assert.svh"

module text_fetch
  import text_pkg::*;
#(
    parameter int unsigned BufferLog2 = 4  // 4 to 8: log2 of the beats in the buffer.
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  give_up_i,
    // ranges
    input  logic                  range_valid_i,
    output logic                  range_ready_o,
    input  logic [57:0]           range_beat_i,   // The first beat: its address over 64.
    input  logic [RangeBits-1:0]  range_beats_i,
    output logic                  range_failed_o,
    output logic [31:0]           head_length_o,
    output logic                  head_call_o,
    // beats
    output logic                  beat_valid_o,
    output logic                  beat_bad_o,
    output logic [511:0]          beat_o,         // First byte at the bottom.
    input  logic                  take_i,
    // read channels; responses are always taken
    output axi_pkg::request_t     ar_o,
    output logic                  ar_valid_o,
    input  logic                  ar_ready_i,
    input  axi_pkg::read_t        r_i,
    input  logic                  r_valid_i,
    // status
    output logic                  pending_o,      // A request or a response is awaited.
    output logic                  progress_o,
    output logic                  broken_o
);
  if (BufferLog2 < 4 || BufferLog2 > 8) begin : g_buffer_log2
    $fatal(1, "text_fetch: BufferLog2 is 4 to 8");
  end

  localparam int unsigned BurstBeats = 8;
  localparam int unsigned Beats = 2 ** BufferLog2;
  typedef logic [BufferLog2:0] count_t;

  // The range.
  logic active_q;
  logic failed_q;  // It ends with a bad beat,
  logic due_q;     // which is not in the buffer yet.
  logic [57:0] next_q;
  logic [RangeBits-1:0] left_q;
  logic opens_q;   // None of its beats is stored.
  logic [31:0] length_q;
  logic call_q;
  // The burst.
  logic ar_valid_q, flight_q;
  axi_pkg::request_t ar_q;
  logic [3:0] await_q;  // Beats of it that are still to come.
  logic broken_q;
  // The buffer.
  (* ram_style = "distributed" *) logic [511:0] mem[Beats];
  logic [Beats-1:0] bad_q;
  count_t stored_q, taken_q, held;
  assign held = stored_q - taken_q;

  // ---- requests
  logic issue, ends, fails;
  logic [3:0] to_boundary, burst;
  assign to_boundary = 4'(BurstBeats) - {1'b0, next_q[2:0]};
  assign burst = left_q < RangeBits'(to_boundary) ? left_q[3:0] : to_boundary;
  assign issue = active_q && !failed_q && !broken_q && !flight_q && left_q != '0
      && held <= count_t'(Beats - BurstBeats) && !give_up_i;

  // ---- responses
  logic known, out_of_place, beat_fails, store, store_bad;
  // A response before its request was accepted is one without a request.
  assign known = flight_q && !ar_valid_q && r_i.id == '0;
  assign out_of_place = r_i.last != (await_q == 4'd1);
  assign beat_fails = r_valid_i && known && (out_of_place || r_i.resp != axi_pkg::Okay);
  assign store = r_valid_i && known && !beat_fails && active_q && !failed_q && !broken_q;
  assign store_bad = due_q && held != count_t'(Beats);
  assign ends = active_q && !flight_q && !due_q && (failed_q || left_q == '0);
  assign fails = active_q && !failed_q && !ends && (beat_fails || give_up_i || broken_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {active_q, failed_q, due_q, ar_valid_q, flight_q, broken_q, opens_q} <= '0;
      {stored_q, taken_q} <= '0;
    end else begin
      if (ar_valid_q && ar_ready_i) ar_valid_q <= 1'b0;
      if (r_valid_i && known && r_i.last) flight_q <= 1'b0;
      if (issue) {ar_valid_q, flight_q} <= '1;
      if (give_up_i) {ar_valid_q, flight_q} <= '0;
      if (give_up_i || (r_valid_i && (!known || out_of_place))) broken_q <= 1'b1;

      if (ends) active_q <= 1'b0;
      if (range_valid_i && range_ready_o) {active_q, failed_q, opens_q} <= 3'b101;
      else if (store) opens_q <= 1'b0;
      if (fails) {failed_q, due_q} <= '1;
      if (store_bad) due_q <= 1'b0;
      if (store || store_bad) stored_q <= stored_q + 1'b1;
      if (take_i) taken_q <= taken_q + 1'b1;
    end
    if (range_valid_i && range_ready_o) begin
      next_q <= range_beat_i;
      left_q <= range_beats_i;
    end
    if (issue) begin
      ar_q.addr <= {next_q, 6'd0};
      ar_q.len <= 8'(burst) - 8'd1;
      await_q <= burst;
      next_q <= next_q + 58'(burst);
      left_q <= left_q - RangeBits'(burst);
    end else if (r_valid_i && known) await_q <= await_q - 4'd1;
    if (store && opens_q) begin
      length_q <= r_i.data[8*LengthAt+:32];
      call_q <= has_call_tag(r_i.data);
    end
    if (store) mem[stored_q[BufferLog2-1:0]] <= r_i.data;
    if (store || store_bad) bad_q[stored_q[BufferLog2-1:0]] <= store_bad;
    ar_q.id <= '0;
  end

  assign range_ready_o = !active_q;
  assign range_failed_o = failed_q;
  assign head_length_o = length_q;
  assign head_call_o = call_q;
  assign beat_valid_o = held != '0;
  assign beat_bad_o = bad_q[taken_q[BufferLog2-1:0]];
  assign beat_o = mem[taken_q[BufferLog2-1:0]];
  assign ar_o = ar_q;
  assign ar_valid_o = ar_valid_q;
  assign pending_o = flight_q;
  assign progress_o = r_valid_i || (ar_valid_q && ar_ready_i);
  assign broken_o = broken_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(range_valid_i && range_beats_i == '0), "text_fetch: a range without a beat");
      `ASSERT(!(take_i && !beat_valid_o), "text_fetch: no beat to take");
      `ASSERT(held <= count_t'(Beats), "text_fetch: more than the buffer holds");
      `ASSERT(!(store && store_bad), "text_fetch: two beats in one clock");
      `ASSERT(!(ar_valid_q && !flight_q), "text_fetch: a request that is not in flight");
    end
  end
endmodule
