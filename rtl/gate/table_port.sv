// Shares the read port of a lane's tables between the sweep and the read-back of rows for the hash.
// Reads of the host's window have priority.
//
// A read-back neither delays nor changes the sweep: a row is read back in a clock without a step,
// or in the clock in which the sweep reads the same row. A sweep reads every row of the image, one
// per clock. So a read-back waits at most one clock for each row of the longer bank, and one for
// each clock in which the window is read.
//
// Latency: none. It has no state.
// Duties of the caller: no step while the window is read; `read_row_i` is a row of the image;
// `read_i` and `read_row_i` are constant until `ready_o`.
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
    output logic        read_o,  // Read back in a clock without a step.
    output step_t       step_o   // Without a step, it has the row of the read-back.
);
  assign ready_o = !window_i && (!step_i.valid || (step_i.judge && step_i.row == read_row_i));
  assign read_o = read_i && !window_i && !step_i.valid;
  always_comb begin
    step_o = step_i;
    if (!step_i.valid) step_o.row = read_row_i;
  end
endmodule
