// The table of stream slots: for each, whether it is open, its next sequence and its context.
//
// The check of an entry reads the entry's slot and later updates it. The only user (entry_check)
// finishes one entry before it reads for the next, so a read never comes before an update that it
// must see. `clear_i` starts a sweep that frees all slots, one per clock.
//
// A word has a parity bit over its content and the number of its slot. So an odd number of changed
// bits in a word is found when the word is read, and so is the word of a slot whose number differs
// in an odd number of bits.
//
// Latency: `stream_o` is valid two clocks after `read_i`, and holds. A read in a later clock than
// an update returns the updated slot. `changed_o` is high for one clock, two clocks after the
// `read_i` of a word without its parity.
// After reset: contents arbitrary; `clear_i` must run before the first entry (the card does it in
// OPENING).
// Duties of the caller: slots below MaxStreams; no access while `clearing_o`.
`include "assert.svh"

module stream_table
  import gate_pkg::*;
#(
    parameter int unsigned MaxStreams = 1024  // 1 to 65536. Each costs its state and 1 bit of RAM.
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,
    output logic        clearing_o,
    input  logic        read_i,
    input  logic [15:0] slot_i,  // The slot to read or update.
    output stream_t     stream_o,
    output logic        changed_o,
    input  logic        update_i,
    input  stream_t     update_stream_i
);
  if (MaxStreams < 1 || MaxStreams > 65536) begin : g_max_streams
    $fatal(1, "stream_table: MaxStreams must be 1 to 65536");
  end
  localparam int unsigned SlotBits = (MaxStreams > 1) ? $clog2(MaxStreams) : 1;

  typedef struct packed {
    logic parity;
    stream_t stream;
  } word_t;

  (* ram_style = "block" *) word_t mem[MaxStreams];
  word_t ram_q;
  logic clearing_q, read_q;
  logic [SlotBits-1:0] clear_slot_q, slot_q;

  logic [SlotBits-1:0] slot;
  assign slot = slot_i[SlotBits-1:0];

  assign clearing_o = clearing_q;

  always_ff @(posedge clk_i) begin
    if (clearing_q) mem[clear_slot_q] <= '{parity: ^clear_slot_q, stream: '0};
    else if (update_i)
      mem[slot] <= '{parity: ^{update_stream_i, slot}, stream: update_stream_i};
    if (read_i) begin
      ram_q  <= mem[slot];
      slot_q <= slot;
    end
    if (read_q) stream_o <= ram_q.stream;
    changed_o <= !rst_i && read_q && ^{ram_q, slot_q};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {clearing_q, read_q} <= '0;
      clear_slot_q <= '0;
    end else begin
      read_q <= read_i;
      if (clear_i) begin
        clearing_q <= 1'b1;
        clear_slot_q <= '0;
      end else if (clearing_q) begin
        clear_slot_q <= clear_slot_q + 1'b1;
        if (clear_slot_q == SlotBits'(MaxStreams - 1)) clearing_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(clearing_q && (read_i || update_i)), "stream_table: an access while clearing");
      `ASSERT(!(update_i && (read_i || read_q)), "stream_table: an update beside a read");
      `ASSERT(
          !((read_i || update_i) && 32'(slot_i) >= MaxStreams),
          "stream_table: slot out of range");
    end
  end
endmodule
