// Shares the read port of a lane's tables between the sweep and the read-back of rows for their
// hash; the window of the host comes first.
//
// The sweep never waits for a read-back, and sees none: a row is read back in a clock without a
// step, or taken along in the clock in which the sweep reads the same row. A sweep reads every row
// that counts, one a clock, so that a read-back waits at most as many clocks as the longer bank has
// rows, besides those in which the window is read.
//
// Latency: none. After reset: holds no state.
// The caller owes: no step while the window is read; a row that counts; `read_i` and `read_row_i`
// constant until `ready_o`.
module table_port
  import gate_pkg::*;
(
    input  step_t       step_i,
    // A word of a table window is being read.
    input  logic        window_i,
    // Read-back.
    input  logic        read_i,
    input  logic [15:0] read_row_i,
    output logic        ready_o,  // With `read_i`: the row stands two clocks later.
    // The port.
    output logic        read_o,  // A read of its own: no step in this clock.
    output step_t       step_o   // With the row of the read where no step is.
);
  assign ready_o = !window_i && (!step_i.valid || (step_i.judge && step_i.row == read_row_i));
  assign read_o = read_i && !window_i && !step_i.valid;
  always_comb begin
    step_o = step_i;
    if (!step_i.valid) step_o.row = read_row_i;
  end
endmodule
