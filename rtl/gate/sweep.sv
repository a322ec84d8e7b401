// Sweeps a checked entry through both banks, one step per clock. The first step of the next entry
// can directly follow the last step of this entry.
//
// A judged entry takes max(policy_rows_i, entropy_rows_i) steps. Any other entry takes one step
// that matches nothing, so that all entries stay in order. `hold_i` delays a step, because a window
// read uses the RAM port. `last_ready_i`: the answer has a place, so the last step may come.
//
// Latency: the first step comes one clock after `valid_i`. In the clock of `ready_o`, the caller
// must load the entry into the comparators' descriptor register, where it must be valid two clocks
// after the first step.
// After reset: idle.
// Duties of the caller: `valid_i` stays high until `ready_o` or a flush; row counts of at least 1.
`include "assert.svh"

module sweep
  import gate_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        flush_i,  // Drop the entry being swept.
    input  logic        valid_i,
    output logic        ready_o,
    input  logic        judge_i,
    input  logic [15:0] policy_rows_i,
    input  logic [15:0] entropy_rows_i,
    input  logic        hold_i,
    input  logic        last_ready_i,
    output step_t       step_o,
    output logic        busy_o
);
  logic active_q, judge_q, started_q, handover_q;
  logic [15:0] row_q, last_row_q;
  logic at_last, start, step;

  assign at_last = row_q == last_row_q;
  assign step = active_q && !hold_i && !(at_last && !last_ready_i) && !flush_i;
  assign step_o = '{valid: step, first: row_q == '0, last: at_last, judge: judge_q, row: row_q};
  assign start = valid_i && !started_q && (!active_q || (step && at_last));
  assign ready_o = handover_q;
  assign busy_o = active_q || handover_q || started_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      {active_q, judge_q, started_q, handover_q} <= '0;
      {row_q, last_row_q} <= '0;
    end else begin
      handover_q <= step && row_q == '0;
      if (start) begin
        active_q <= 1'b1;
        started_q <= 1'b1;
        judge_q <= judge_i;
        row_q <= '0;
        if (!judge_i) last_row_q <= '0;
        else last_row_q <= (policy_rows_i > entropy_rows_i ? policy_rows_i : entropy_rows_i)
            - 16'd1;
      end else if (step) begin
        if (at_last) active_q <= 1'b0;
        else row_q <= row_q + 16'd1;
      end
      if (handover_q) started_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT(
        !(ready_o && !started_q),
        "sweep: a handover of an entry that did not start");
  end
endmodule
