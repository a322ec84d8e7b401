// Sends write data to the bus only after their request. AW and W come from separate queues, so one
// can be ahead of the other.
//
// A beat of data is offered when its request is offered, accepted or not: a slave may wait for data
// before it accepts the request. Combinational.
// After reset: no data outstanding.
// Duties of the caller: bursts of data in the order of their requests; VALID and payload held until
// READY on both inputs; at most 127 requests whose data were not sent.
module write_order (
    input  logic clk_i,
    input  logic rst_i,
    input  logic awvalid_i,
    input  logic awready_i,
    input  logic wvalid_i,
    input  logic wlast_i,
    input  logic wready_i,  // From the bus.
    output logic wvalid_o,  // To the bus.
    output logic wready_o
);
  // Accepted requests minus sent bursts of data; -1 when the data were sent before the request was
  // accepted.
  logic signed [7:0] owed_q;
  logic pass;
  assign pass = owed_q + $signed({7'b0, awvalid_i}) > 8'sd0;
  assign wvalid_o = wvalid_i && pass;
  assign wready_o = wready_i && pass;

  always_ff @(posedge clk_i) begin
    if (rst_i) owed_q <= '0;
    else owed_q <= owed_q + 8'(awvalid_i && awready_i) - 8'(wvalid_o && wready_i && wlast_i);
  end
endmodule
