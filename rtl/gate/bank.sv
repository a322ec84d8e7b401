// One bank: a table of rows (bank_table) swept past a descriptor (bank_match).
//
// Rows `0 .. count_i-1` belong to the image. A step beyond them, or a step of an entry that is not
// judged, matches nothing. Apart from its table, a bank keeps no state between sweeps.
//
// Latency: `desc_i` must have the sweep's descriptor two clocks after each step; `answer_o` is
// valid with `done_o`, four clocks after a sweep's last step; `changed_o` of a step is high four
// clocks after it, so not after the answer that rests on the row. A read-back uses the sweep's read
// port and output register, possibly in a step of the sweep.
// After reset: every row invalid, so every sweep ends in a reject.
// Duties of the caller: the duties of bank_table and bank_match; `count_i` constant while sweeping;
// no `read_i` in the clock of a step.
module bank
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned Rows = 256  // 1 to 1024. Each costs 1537 bits of RAM and one flip-flop.
) (
    input  logic          clk_i,
    input  logic          rst_i,
    input  table_access_t access_i,
    input  logic          locked_i,
    input  logic          clear_i,
    output table_answer_t window_o,
    input  logic          check_i,
    input  logic [15:0]   count_i,
    output logic          complete_o,
    // Read-back: the row is valid two clocks after `read_i`.
    input  logic          read_i,
    output row_t          row_o,
    input  step_t         step_i,  // With `read_i`, `row` is the row to read back.
    input  descriptor_t   desc_i,
    output logic          changed_o,  // A row of the image is not the one that was written.
    output logic          done_o,
    output bank_answer_t  answer_o
);
  logic counts;
  assign counts = (read_i || (step_i.valid && step_i.judge)) && step_i.row < count_i;

  logic live;
  row_t row;
  assign row_o = row;
  bank_table #(
      .Rows(Rows)
  ) u_table (
      .clk_i,
      .rst_i,
      .access_i,
      .locked_i,
      .clear_i,
      .answer_o(window_o),
      .step_i(counts),
      .step_row_i(step_i.row),
      .live_o(live),
      .row_o(row),
      .changed_o,
      .check_i,
      .count_i,
      .complete_o
  );

  // The step, delayed as the row is.
  logic [1:0] step_q, first_q, last_q;
  logic [1:0][15:0] row_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) {step_q, first_q, last_q, row_q} <= '0;
    else begin
      step_q <= {step_q[0], step_i.valid};
      first_q <= {first_q[0], step_i.first};
      last_q <= {last_q[0], step_i.last};
      row_q <= {row_q[0], step_i.row};
    end
  end

  bank_match u_match (
      .clk_i,
      .rst_i,
      .step_i(step_q[1]),
      .first_i(first_q[1]),
      .last_i(last_q[1]),
      .live_i(live),
      .row_i(row),
      .index_i(row_q[1]),
      .desc_i,
      .done_o,
      .answer_o
  );
endmodule
