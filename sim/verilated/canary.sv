// The canary: an assertion that fails in its sixth clock. It is built with the card's own flags; a simulator in which
// it survives checks nothing.
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
