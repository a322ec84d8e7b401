// Counts clocks since reset. It cannot be loaded: its only inputs are clock and reset.
//
// After reset: 0.
module tick_counter (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic [63:0] tick_o
);
  logic [63:0] tick_q;
  assign tick_o = tick_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) tick_q <= '0;
    else tick_q <= tick_q + 64'd1;
  end
endmodule
