// A table-driven automaton: the class of a byte, then the next state by state and class.
//
// Latency: one byte a clock; `state_o` after a byte stands two clocks after `valid_i` and holds.
// After reset: state 0; tables arbitrary.
// The caller owes: no start while a byte is under way; tables whose states and classes are below
// the parameters; no write while a byte is under way.
module text_automaton
  import text_pkg::*;
#(
    parameter int unsigned States = 4096,     // Power of two, 2 to 4096.
    parameter int unsigned ByteClasses = 64,  // Power of two, 2 to 64. States x ByteClasses words.
    localparam int unsigned Bits = $clog2(States),
    localparam int unsigned ClassBits = $clog2(ByteClasses)
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  table_write_t    write_i,  // Of this part.
    input  logic            start_i,
    input  logic [Bits-1:0] state_i,  // With `start_i`.
    input  logic            valid_i,
    input  logic [7:0]      byte_i,
    output logic [Bits-1:0] state_o
);
  if (States < 2 || States > 4096 || 2 ** Bits != States) begin : g_states
    $fatal(1, "text_automaton: States must be a power of two, 2 to 4096");
  end
  if (ByteClasses < 2 || ByteClasses > 64 || 2 ** ClassBits != ByteClasses) begin : g_classes
    $fatal(1, "text_automaton: ByteClasses must be a power of two, 2 to 64");
  end

  logic [ClassBits-1:0] map[256];
  (* ram_style = "ultra" *) logic [Bits-1:0] next[States * ByteClasses];

  logic valid_q, started_q;
  logic [ClassBits-1:0] class_q;
  logic [Bits-1:0] next_q, start_q;

  // The output register of the RAM is the state, except after a start.
  assign state_o = started_q ? start_q : next_q;

  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemMap)
      map[write_i.address[7:0]] <= write_i.data[ClassBits-1:0];
    if (write_i.valid && write_i.memory == MemNext)
      next[{write_i.address[ByteClassBits+:Bits], write_i.address[ClassBits-1:0]}]
          <= write_i.data[Bits-1:0];
    if (valid_i) class_q <= map[byte_i];
    if (valid_q) next_q <= next[{state_o, class_q}];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      started_q <= 1'b1;
      start_q <= '0;
    end else begin
      valid_q <= valid_i;
      if (start_i) begin
        started_q <= 1'b1;
        start_q <= state_i;
      end else if (valid_q) started_q <= 1'b0;
    end
  end
endmodule
