// The canary: breaks a contract of a part of the card, whose assertion must stop the simulation.
//
// Build with `verilator --binary --assert -CFLAGS -fcoroutines` and run it. It must print "canary: alive", end with an error, and never
// print "canary: survived". A run that prints "survived" was built without assertions, and so proves that no green result of
// that build means anything.
module canary_tb
  import gate_pkg::*;
;
  logic clk, rst, read;
  logic [3:0] clocks_q;
  stream_t stream;
  logic clearing;
  logic [31:0] open_streams;

  stream_table #(
      .MaxStreams(16)
  ) u_streams (
      .clk_i(clk),
      .rst_i(rst),
      .clear_i(1'b0),
      .clearing_o(clearing),
      .read_i(read),
      .slot_i(16'd16),  // Out of range: the contract says below MaxStreams.
      .stream_o(stream),
      .update_i(1'b0),
      .update_stream_i('0),
      .open_streams_o(open_streams)
  );

  initial begin
    clk = 1'b0;
    clocks_q = '0;
    forever #1 clk = !clk;
  end

  assign rst = clocks_q < 4'd4;
  assign read = clocks_q >= 4'd8;
  always_ff @(posedge clk) begin
    clocks_q <= clocks_q + 4'd1;
    if (clocks_q == 4'd6) $display("canary: alive, %0d streams open", open_streams);
    if (clocks_q == 4'd12) begin
      $display("canary: survived %0d %0d", clearing, stream);
      $finish;
    end
  end
endmodule
