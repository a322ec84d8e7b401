// One engine: an automaton over the bytes of a stream and, of each state, the classes of which a
// match ends with the byte, ended before it, or ends if the text does.
//
// What the first byte of an entry shows to have ended before it is not reported when the end of
// the last entry reported it: the state at the start says which classes those are.
//
// Latency: `found_o` of an item seven clocks after it; `state_o` three clocks after it. `changed_o`
// at most eight clocks after an item or a start for which an entry was read without its parity.
// After reset: nothing is under way.
// Duties of the caller: no start and no write while an item is under way; an end only behind a
// byte.
module text_engine
  import text_pkg::*;
#(
    parameter int unsigned States = 4096,    // As in text_automaton; each costs 8 bits more.
    parameter int unsigned ByteClasses = 64  // As in text_automaton.
) (
    input  logic                     clk_i,
    input  logic                     rst_i,
    input  table_write_t             write_i,  // Of this part.
    input  logic                     start_i,
    input  logic [StateBits-1:0]     state_i,
    input  item_t                    item_i,
    output logic [StateBits-1:0]     state_o,
    output logic [EngineClasses-1:0] found_o,
    output logic                     changed_o
);
  localparam int unsigned Bits = $clog2(States);

  logic [Bits-1:0] state;
  logic automaton_changed;
  text_automaton #(
      .States(States),
      .ByteClasses(ByteClasses)
  ) u_automaton (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(write_i),
      .start_i(start_i),
      .state_i(state_i[Bits-1:0]),
      .valid_i(item_i.kind == ItemByte),
      .byte_i(item_i.data),
      .state_o(state),
      .changed_o(automaton_changed)
  );
  assign state_o = StateBits'(state);

  typedef struct packed {
    logic [EngineClasses-1:0] at_end;
    logic [EngineClasses-1:0] ended;
    logic [EngineClasses-1:0] now;
  } report_t;

  // The lowest bit of an entry is its parity.
  (* no_rw_check *) logic [8:0] row_of[States];
  (* no_rw_check *) logic [2:0][EngineClasses:0] rows[256];
  logic [Bits-1:0] state_q;  // So that `row_of` does not lengthen the wires of the loop.
  logic [8:0] row_q;
  logic [2:0][EngineClasses:0] row_report_q;
  report_t report;
  assign report = '{
      now: row_report_q[0][EngineClasses:1],
      ended: row_report_q[1][EngineClasses:1],
      at_end: row_report_q[2][EngineClasses:1]
  };

  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemRowOf)
      row_of[write_i.row[Bits-1:0]] <= {write_i.data[7:0], write_i.parity};
    if (write_i.valid && write_i.memory == MemRow)
      rows[write_i.row[7:0]][write_i.at[1:0]] <= {write_i.data, write_i.parity};
    state_q <= state;
    row_q <= row_of[state_q];
    row_report_q <= rows[row_q[8:1]];
  end

  // The item and the start beside the state, its row, and its report.
  item_e [5:0] kind_q;
  logic [3:0] start_q;
  logic [EngineClasses-1:0] known_q;

  // An entry is checked where it is used: behind an item, and behind a start. A report has many
  // bits, so its parity has a register.
  logic used_q, odd_q;
  always_ff @(posedge clk_i) begin
    odd_q <= ^row_report_q;
    used_q <= !rst_i && (kind_q[5] != ItemNone || start_q[3]);
    changed_o <= !rst_i && (automaton_changed || (used_q && odd_q)
        || ((kind_q[4] != ItemNone || start_q[2]) && ^row_q));
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      kind_q <= {6{ItemNone}};
      start_q <= '0;
      known_q <= '0;
      found_o <= '0;
    end else begin
      kind_q <= {kind_q[4:0], item_i.kind};
      start_q <= {start_q[2:0], start_i};
      if (start_q[3]) known_q <= report.at_end;
      else if (kind_q[5] == ItemByte) known_q <= '0;
      found_o <= '0;
      if (kind_q[5] == ItemByte) found_o <= report.now | (report.ended & ~known_q);
      if (kind_q[5] == ItemEnd) found_o <= report.at_end;
    end
  end
endmodule
