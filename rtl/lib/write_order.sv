// Sends write data to the bus only after their request. AW and W come from separate queues, so
// either may be ahead of the other.
//
// A beat of data is offered as soon as its request is offered, even before the request is accepted:
// a slave may wait for data before it accepts the request. Combinational.
// After reset: no data outstanding.
// Duties of the caller: bursts of data come in the order of their requests; on both inputs, VALID
// and payload hold until READY; at most 127 requests are waiting for their data.
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
  // Accepted requests minus sent bursts of data; -1 if data were sent before their request was
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
