// Synchronises one bit into another clock domain with two flip-flops.
//
// Latency: 2 to 3 clocks of `clk_i`. After configuration, the output is `Reset`.
// Duties of the caller: the source is a register, and each level lasts at least two clocks of
// `clk_i`; a shorter level may be missed.
module sync_bit #(
    parameter bit Reset = 1'b0  // Value until the first sample of the source arrives.
) (
    input  logic clk_i,
    input  logic d_i,
    output logic q_o
);
  (* ASYNC_REG = "TRUE" *) logic [1:0] sync_q = {2{Reset}};
  always_ff @(posedge clk_i) sync_q <= {sync_q[0], d_i};
  assign q_o = sync_q[1];
endmodule
