// Expires when a transfer has been pending for 2^Log2 clocks without progress.
//
// `expired_o` is high for one clock, 2^Log2 clocks after the last clock with progress. Then the
// count starts again.
module ring_watchdog #(
    parameter int unsigned Log2 = 22  // 4 to 40; costs as many flip-flops
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic pending_i,
    input  logic progress_i,
    output logic expired_o
);
  if (Log2 < 4 || Log2 > 40) begin : g_bad_log2
    $fatal(1, "Log2 is 4 to 40");
  end

  // Counts to 2^Log2 - 1; in the clock after that, the watchdog expires.
  logic [Log2-1:0] count_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || !pending_i || progress_i) count_q <= '0;
    else count_q <= count_q + 1'b1;
  end

  assign expired_o = pending_i && !progress_i && (&count_q);
endmodule
