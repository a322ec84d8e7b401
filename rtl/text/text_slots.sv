// The scan's state of each stream slot, as of its last admitted byte.
//
// A slot changes only by a save to it and by a clear. A clear writes `state_i` to every slot, one
// per clock, while `clearing_o` is high.
//
// A word has a parity bit over its content and the number of its slot. So an odd number of changed
// bits in a word is found when the word is read, and so is the word of a slot whose number differs
// in an odd number of bits.
//
// Latency: `state_o` stands one clock after `read_i` and holds. `changed_o` is high for one clock,
// two clocks after the `read_i` of a word without its parity.
// After reset: contents arbitrary; a clear must end before the first read. The caller owes: a
// slot's first entry begins with the state of a new stream, not with that of the slot; slots below
// MaxStreams; no read beside a save; no read and no save while `clearing_o`.
`include "assert.svh"

module text_slots #(
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536. Each costs Bits + 1 of RAM.
    parameter int unsigned Bits = 1
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  logic            clear_i,
    output logic            clearing_o,
    input  logic [15:0]     slot_i,
    input  logic            read_i,
    output logic [Bits-1:0] state_o,
    output logic            changed_o,
    input  logic            save_i,
    input  logic [Bits-1:0] state_i
);
  if (MaxStreams < 1 || MaxStreams > 65536) begin : g_max_streams
    $fatal(1, "text_slots: MaxStreams must be 1 to 65536");
  end
  localparam int unsigned SlotBits = (MaxStreams > 1) ? $clog2(MaxStreams) : 1;

  typedef struct packed {
    logic parity;
    logic [Bits-1:0] state;
  } word_t;

  (* ram_style = "block" *) word_t mem[MaxStreams];
  word_t word_q;
  logic clearing_q, read_q;
  logic [SlotBits-1:0] clear_slot_q, slot, slot_q;
  assign slot = clearing_q ? clear_slot_q : slot_i[SlotBits-1:0];
  assign state_o = word_q.state;
  assign clearing_o = clearing_q;

  always_ff @(posedge clk_i) begin
    if (save_i || clearing_q) mem[slot] <= '{parity: ^{state_i, slot}, state: state_i};
    if (read_i) begin
      word_q <= mem[slot];
      slot_q <= slot;
    end
    changed_o <= !rst_i && read_q && ^{word_q, slot_q};
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
      `ASSERT(!(read_i && save_i), "text_slots: a read beside a save");
      `ASSERT(!(clearing_q && (read_i || save_i)), "text_slots: an access while clearing");
      `ASSERT(
          !((read_i || save_i) && 32'(slot_i) >= MaxStreams), "text_slots: slot out of range");
    end
  end
endmodule
