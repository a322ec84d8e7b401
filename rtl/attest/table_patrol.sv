// Reports that the tables must be hashed again in RUN: 2^PauseLog2 clocks after RUN began, or after
// the last hash of this kind ended.
//
// The time from a change of a table to the fault is at most the pause, one checkpoint and two
// hashes: the first has already read the row before its change, the second finds it.
//
// Latency: `due_o` rises in the clock after the pause and stays until the hash is done or RUN ends.
// After reset: not due.
module table_patrol #(
    parameter int unsigned PauseLog2 = 24  // 4 to 40. Costs as many flip-flops.
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic run_i,
    input  logic done_i,  // The hash that was due has ended.
    output logic due_o
);
  if (PauseLog2 < 4 || PauseLog2 > 40) begin : g_pause
    $fatal(1, "table_patrol: PauseLog2 must be 4 to 40");
  end

  logic [PauseLog2-1:0] count_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || !run_i || done_i) begin
      count_q <= '0;
      due_o <= 1'b0;
    end else if (!due_o) begin
      count_q <= count_q + 1'b1;
      due_o <= count_q == '1;
    end
  end
endmodule
