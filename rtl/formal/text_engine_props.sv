// What is proved of an engine, without bound: which classes it finds, for any tables and any states
// of its automaton. Seven clocks after a byte it finds the classes whose match ends with the byte,
// or ended before it, by the report of the state behind the byte. Seven clocks after an end it
// finds the classes whose match ends if the text does. It finds nothing at other times. Behind the
// first byte of an entry it leaves out, of what ended before the byte, what the state at the start
// reports as found if the text ends.
//
// Four states and 2 classes of bytes; the automaton is any. Assumed, as the module asks: a start
// and a write only while nothing is under way, no item beside a start.
module text_engine_props
  import text_pkg::*;
(
    input logic clk,
    input table_write_t write,
    input logic start,
    input logic [StateBits-1:0] from,
    input item_t item
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  typedef logic [EngineClasses-1:0] classes_t;
  logic [StateBits-1:0] state;
  classes_t found;
  logic changed;
  text_engine #(
      .States(4),
      .ByteClasses(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .write_i(write),
      .start_i(start),
      .state_i(from),
      .item_i(item),
      .state_o(state),
      .found_o(found),
      .changed_o(changed)
  );

  // ---- the last clocks, the latest first
  item_e [6:0] kinds_q;
  logic [4:0] starts_q;
  logic [3:0][1:0] states_q;
  always_ff @(posedge clk) begin
    kinds_q <= rst ? {7{ItemNone}} : {kinds_q[5:0], item.kind};
    starts_q <= rst ? '0 : {starts_q[3:0], start};
    states_q <= {states_q[2:0], state[1:0]};
  end
  logic under_way, items_under_way;
  always_comb begin
    items_under_way = 1'b0;
    for (int unsigned i = 0; i < 7; i++) if (kinds_q[i] != ItemNone) items_under_way = 1'b1;
    under_way = items_under_way || starts_q != '0;
    assume (item.kind != item_e'(2'd3));
    if (start) assume (!items_under_way && item.kind == ItemNone);
    if (write.valid) assume (!under_way && !start && item.kind == ItemNone);
  end

  // The report of the state four clocks ago, and three clocks ago.
  typedef struct packed {
    classes_t at_end;
    classes_t ended;
    classes_t now;
  } report_t;
  report_t [1:0] report;
  for (genvar i = 0; i < 2; i++) begin : g_report
    logic [8:0] row;
    logic [2:0][EngineClasses:0] entry;
    assign row = dut.row_of[states_q[i+2]];
    assign entry = dut.rows[row[8:1]];
    assign report[i] = '{
        now: entry[0][EngineClasses:1],
        ended: entry[1][EngineClasses:1],
        at_end: entry[2][EngineClasses:1]
    };
  end

  // What the end of the last entry has reported, until the first byte of this entry is done.
  classes_t known_q, known_before_q;
  logic was_started_q;
  always_ff @(posedge clk) begin
    if (rst) known_q <= '0;
    else if (starts_q[3]) known_q <= report[0].at_end;
    else if (kinds_q[5] == ItemByte) known_q <= '0;
    known_before_q <= known_q;
    was_started_q <= started;
  end

  classes_t expected;
  always_comb begin
    expected = '0;
    if (kinds_q[6] == ItemByte) expected = report[1].now | (report[1].ended & ~known_before_q);
    if (kinds_q[6] == ItemEnd) expected = report[1].at_end;
  end

  always_comb begin
    if (started && was_started_q) begin
      assert (found == expected);
      assert (state[StateBits-1:2] == '0);

      // ---- what the induction needs
      assert (dut.known_q == known_q);

      // ---- not vacuous
      cover (kinds_q[6] == ItemByte && report[1].ended == 16'h8003 && found == 16'h8001);
      cover (kinds_q[6] == ItemEnd && found == 16'h8001);
    end
  end
endmodule
