// The scan's state of each stream slot, as of its last admitted byte.
//
// A slot changes only by a save to it.
// Latency: `state_o` stands one clock after `read_i` and holds.
// After reset: contents arbitrary. The caller owes: a slot's first entry begins with the state of
// a new stream, not with that of the slot; slots below MaxStreams; no read beside a save.
`include "assert.svh"

module text_slots #(
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536. Each costs Bits of RAM.
    parameter int unsigned Bits = 1
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  logic [15:0]     slot_i,
    input  logic            read_i,
    output logic [Bits-1:0] state_o,
    input  logic            save_i,
    input  logic [Bits-1:0] state_i
);
  if (MaxStreams < 1 || MaxStreams > 65536) begin : g_max_streams
    $fatal(1, "text_slots: MaxStreams must be 1 to 65536");
  end
  localparam int unsigned SlotBits = (MaxStreams > 1) ? $clog2(MaxStreams) : 1;

  (* ram_style = "block" *) logic [Bits-1:0] mem[MaxStreams];
  logic [SlotBits-1:0] slot;
  assign slot = slot_i[SlotBits-1:0];

  always_ff @(posedge clk_i) begin
    if (save_i) mem[slot] <= state_i;
    if (read_i) state_o <= mem[slot];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(read_i && save_i), "text_slots: a read beside a save");
      `ASSERT(
          !((read_i || save_i) && 32'(slot_i) >= MaxStreams), "text_slots: slot out of range");
    end
  end
endmodule
