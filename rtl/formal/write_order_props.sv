// Proves about the order of writes: data are offered only after their request was offered. Offered
// data are not withdrawn, and data are not delayed after their request was offered. The queues hold
// VALID; the bus is arbitrary.
module write_order_props (
    input logic clk,
    input logic awvalid,
    input logic awready,
    input logic wvalid,
    input logic wlast,
    input logic wready
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic wvalid_bus, wready_queue;
  write_order dut (
      .clk_i(clk),
      .rst_i(rst),
      .awvalid_i(awvalid),
      .awready_i(awready),
      .wvalid_i(wvalid),
      .wlast_i(wlast),
      .wready_i(wready),
      .wvalid_o(wvalid_bus),
      .wready_o(wready_queue)
  );

  // The number of offered requests and of sent bursts of data. The queue holds what it offers.
  logic aw_stalled_q, w_stalled_q, wlast_q;
  logic [7:0] offered_q, left_q;
  logic [7:0] offered;
  assign offered = offered_q + 8'(awvalid && !aw_stalled_q);
  always_comb begin
    if (aw_stalled_q) assume (awvalid);
    if (w_stalled_q) assume (wvalid && wlast == wlast_q);
    // The caller's limit, and at most one request that is accepted only after its data were sent.
    assume (8'(offered_q - left_q) < 8'd120);
  end
  always_ff @(posedge clk) begin
    aw_stalled_q <= !rst && awvalid && !awready;
    w_stalled_q <= !rst && wvalid && !wready_queue;
    wlast_q <= wlast;
    offered_q <= rst ? '0 : offered;
    left_q <= rst ? '0 : left_q + 8'(wvalid_bus && wready && wlast);

    if (!rst) begin
      // Modulo 256: the number of offered bursts that were not sent.
      assert (wvalid_bus == (wvalid && 8'(offered - left_q) != '0));
      assert ((wvalid_bus && wready) == (wvalid && wready_queue));
      assert (8'(offered - left_q) < 8'd128);
      assert (dut.owed_q == $signed(8'(offered_q - left_q - 8'(aw_stalled_q))));
      if (w_stalled_q && $past(wvalid_bus)) assert (wvalid_bus);
    end
    cover (!rst && wvalid_bus && wready && wlast && awvalid && !awready);
    cover (!rst && wvalid && !wvalid_bus);
    cover (!rst && left_q == 8'd3);
  end
endmodule
