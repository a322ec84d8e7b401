// A table-driven automaton: the class of a byte, then the next state by state and class.
//
// Latency: one byte a clock; `state_o` after a byte stands three clocks after `valid_i` and holds.
// `changed_o` at most five clocks after a byte for which an entry was read without its parity.
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
    output logic [Bits-1:0] state_o,
    output logic            changed_o
);
  if (States < 2 || States > 4096 || 2 ** Bits != States) begin : g_states
    $fatal(1, "text_automaton: States must be a power of two, 2 to 4096");
  end
  if (ByteClasses < 2 || ByteClasses > 64 || 2 ** ClassBits != ByteClasses) begin : g_classes
    $fatal(1, "text_automaton: ByteClasses must be a power of two, 2 to 64");
  end

  typedef struct packed {
    logic parity;
    logic [ClassBits-1:0] number;
  } class_t;
  (* no_rw_check *) class_t map[256];
  logic [1:0] valid_q;
  class_t class_q;
  logic [ClassBits-1:0] number_q;  // A clock of its own for the way to the memory.

  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemMap)
      map[write_i.at] <= {write_i.parity, write_i.data[ClassBits-1:0]};
    if (valid_i) class_q <= map[byte_i];
    number_q <= class_q.number;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else valid_q <= {valid_q[0], valid_i};
  end

  // ---- parity
  logic map_changed_q, next_changed;
  always_ff @(posedge clk_i) map_changed_q <= valid_q[0] && !rst_i && ^class_q;
  assign changed_o = map_changed_q || next_changed;

  logic [3:0][Bits-1:0] word;
  for (genvar c = 0; c < 4; c++) begin : g_word
    assign word[c] = write_i.word[c][Bits-1:0];
  end

  text_next #(
      .States(States),
      .ByteClasses(ByteClasses)
  ) u_next (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(write_i.valid && write_i.memory == MemNext),
      .write_state_i(write_i.row[Bits-1:0]),
      .write_class_i(write_i.at[ClassBits-1:0]),
      .word_i(word),
      .parity_i(write_i.parity),
      .word_parity_i(write_i.word_parity),
      .start_i(start_i),
      .state_i(state_i),
      .read_i(valid_q[1]),
      .class_i(number_q),
      .state_o(state_o),
      .changed_o(next_changed)
  );
endmodule
