// The canary: an assertion that fails in the sixth clock. It is built with the same flags as the
// card. If it does not stop a simulator, that simulator checks no assertions.
module canary (
    input  logic clk_i,
    output logic alive_o
);
  logic [3:0] clocks_q = '0;

  always_ff @(posedge clk_i) begin
    clocks_q <= clocks_q + 4'd1;
    assert (clocks_q < 4'd5) else $error("canary: as it should");
  end

  assign alive_o = clocks_q != '0;
endmodule
