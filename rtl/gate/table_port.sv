// Shares the read port of a lane's tables between the sweep and the read-back of rows for hashing;
// reads of the host's window come first.
//
// A read-back does not delay or change the sweep: a row is read back in a clock without a step, or
// in the clock in which the sweep reads the same row. A sweep reads every row of the image, one per
// clock, so a read-back waits at most as many clocks as the longer bank has rows, plus those in
// which the window is read.
//
// Latency: none. It has no state.
// Duties of the caller: no step while the window is read; a row of the image; `read_i` and
// `read_row_i` constant until `ready_o`.
module table_port
  import gate_pkg::*;
(
    input  step_t       step_i,
    // A word of a table window is being read.
    input  logic        window_i,
    // Read-back.
    input  logic        read_i,
    input  logic [15:0] read_row_i,
    output logic        ready_o,  // With `read_i`: the row is valid two clocks later.
    // The port.
    output logic        read_o,  // A read-back in a clock without a step.
    output step_t       step_o   // Without a step, it has the row of the read-back.
);
  assign ready_o = !window_i && (!step_i.valid || (step_i.judge && step_i.row == read_row_i));
  assign read_o = read_i && !window_i && !step_i.valid;
  always_comb begin
    step_o = step_i;
    if (!step_i.valid) step_o.row = read_row_i;
  end
endmodule
