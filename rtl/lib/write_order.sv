// Lets write data onto the bus no earlier than their request: AW and W come out of queues of their
// own, which may run ahead of each other.
//
// A beat of data is offered once the request that it belongs to is offered, accepted or not; a
// slave that waits for data before it accepts the request is served. Combinational; after reset
// nothing is owed.
// The caller owes: bursts of data in the order of their requests; VALID and payload held until
// READY on both inputs; at most 127 requests whose data have not left.
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
  // Requests accepted less bursts of data that left; -1 when the data left before the request was
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
