// The card as every shell carries it: behind a guard for its registers, a fence for its bus and
// queues into the bus's clock.
//
//   bus_clk_i                                  card_clk_i
//   AXI4-Lite slave --> queues --------------> axil_guard --> portcullis_top
//   AXI4 master     <-- slices, write_order, queues <-- dma_fence <--
//   flr_i, flr_done_o, hint_o <--------------> card_reset, event_cdc
//
// The clocks need have no relation. `bus_rst_i` resets all; `flr_i` (a level) the card alone, after
// the bus is quiet; `flr_done_o` rises when the card is in reset and falls after `flr_i`. Registers
// answer all ones meanwhile. `hint_o` is an interrupt hint, one clock. The boot nonce is zero:
// neither shell has a source of randomness that was tested, so NO_TRNG stands in every KeyFlags.
// After reset: the card in RESET, nothing on the bus. The caller owes: `bus_rst_i` high for one
// clock at least.
`include "assert.svh"

module shell_card #(
    parameter int unsigned PolicyRows = 256,
    parameter int unsigned EntropyRows = 64,
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,
    parameter int unsigned Rounds = 1,
    parameter int unsigned WatchdogLog2 = 22,
    parameter int unsigned PatienceLog2 = 20,  // Clocks that an FLR waits for the bus, log2.
    parameter bit Production = 1'b0,
    parameter logic [255:0] DeviceSecret = key_pkg::TestSecret,
    parameter logic [7:0] KeyFlags = 8'h05
) (
    input  logic               bus_clk_i,
    input  logic               bus_rst_i,
    input  logic               card_clk_i,
    input  logic               flr_i,
    output logic               flr_done_o,
    output logic               hint_o,
    // Card in reset, bus stale, registers dead; for lamps. In the bus's clock.
    output logic [2:0]         health_o,
    // Registers: AXI4-Lite slave.
    input  axi_pkg::lite_req_t axil_req_i,
    output axi_pkg::lite_rsp_t axil_rsp_o,
    // Host memory: AXI4 master, INCR, 64 bytes a beat; writes carry id 0.
    output logic [63:0]        m_awaddr_o,
    output logic [7:0]         m_awlen_o,
    output logic               m_awvalid_o,
    input  logic               m_awready_i,
    output logic [511:0]       m_wdata_o,
    output logic [63:0]        m_wstrb_o,
    output logic               m_wlast_o,
    output logic               m_wvalid_o,
    input  logic               m_wready_i,
    input  logic [4:0]         m_bid_i,
    input  logic [1:0]         m_bresp_i,
    input  logic               m_bvalid_i,
    output logic               m_bready_o,
    output logic [4:0]         m_arid_o,
    output logic [63:0]        m_araddr_o,
    output logic [7:0]         m_arlen_o,
    output logic               m_arvalid_o,
    input  logic               m_arready_i,
    input  logic [4:0]         m_rid_i,
    input  logic [511:0]       m_rdata_i,
    input  logic [1:0]         m_rresp_i,
    input  logic               m_rlast_i,
    input  logic               m_rvalid_i,
    output logic               m_rready_o
);
  if (!KeyFlags[2]) begin : g_no_trng
    $fatal(1, "shell_card: the boot nonce is zero, so KeyFlags must say NO_TRNG (4)");
  end

  // ---- resets: 64 clocks on the bus's side at least, so that both ends of every queue are in
  // reset at once
  logic [5:0] stretch_q = '0;
  logic bus_rst, shell_rst;
  logic bus_rst_q = 1'b1;
  always_ff @(posedge bus_clk_i) begin
    if (bus_rst_i) stretch_q <= '0;
    else if (!(&stretch_q)) stretch_q <= stretch_q + 6'd1;
    bus_rst_q <= bus_rst_i || !(&stretch_q);
  end
  assign bus_rst = bus_rst_q;
  sync_bit #(.Reset(1'b1)) u_shell_rst (.clk_i(card_clk_i), .d_i(bus_rst_q), .q_o(shell_rst));

  logic flr, flr_done, close, quiet, stale, dead, card_rst;
  sync_bit u_flr (.clk_i(card_clk_i), .d_i(flr_i), .q_o(flr));
  card_reset #(.PatienceLog2(PatienceLog2)) u_reset (
      .clk_i(card_clk_i),
      .rst_i(shell_rst),
      .flr_i(flr),
      .quiet_i(quiet),
      .close_o(close),
      .card_rst_o(card_rst),
      .done_o(flr_done)
  );
  sync_bit u_flr_done (.clk_i(bus_clk_i), .d_i(flr_done), .q_o(flr_done_o));
  sync_bit u_in_reset (.clk_i(bus_clk_i), .d_i(card_rst), .q_o(health_o[0]));
  sync_bit u_stale (.clk_i(bus_clk_i), .d_i(stale), .q_o(health_o[1]));
  sync_bit u_dead (.clk_i(bus_clk_i), .d_i(dead), .q_o(health_o[2]));

  // ---- registers
  axi_pkg::lite_req_t host_req, guard_req;
  axi_pkg::lite_rsp_t host_rsp, guard_rsp;
  async_fifo #(.Width(32), .Log2(2)) u_reg_aw (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst), .wr_valid_i(axil_req_i.aw_valid),
      .wr_ready_o(axil_rsp_o.aw_ready),
      .wr_data_i(axil_req_i.aw_addr),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst), .rd_valid_o(host_req.aw_valid),
      .rd_ready_i(host_rsp.aw_ready),
      .rd_data_o(host_req.aw_addr)
  );
  async_fifo #(.Width(36), .Log2(2)) u_reg_w (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst), .wr_valid_i(axil_req_i.w_valid),
      .wr_ready_o(axil_rsp_o.w_ready),
      .wr_data_i({axil_req_i.w_strb, axil_req_i.w_data}),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst), .rd_valid_o(host_req.w_valid),
      .rd_ready_i(host_rsp.w_ready),
      .rd_data_o({host_req.w_strb, host_req.w_data})
  );
  async_fifo #(.Width(2), .Log2(2)) u_reg_b (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst), .wr_valid_i(host_rsp.b_valid),
      .wr_ready_o(host_req.b_ready),
      .wr_data_i(host_rsp.b_resp),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst), .rd_valid_o(axil_rsp_o.b_valid),
      .rd_ready_i(axil_req_i.b_ready),
      .rd_data_o(axil_rsp_o.b_resp)
  );
  async_fifo #(.Width(32), .Log2(2)) u_reg_ar (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst), .wr_valid_i(axil_req_i.ar_valid),
      .wr_ready_o(axil_rsp_o.ar_ready),
      .wr_data_i(axil_req_i.ar_addr),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst), .rd_valid_o(host_req.ar_valid),
      .rd_ready_i(host_rsp.ar_ready),
      .rd_data_o(host_req.ar_addr)
  );
  async_fifo #(.Width(34), .Log2(2)) u_reg_r (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst), .wr_valid_i(host_rsp.r_valid),
      .wr_ready_o(host_req.r_ready),
      .wr_data_i({host_rsp.r_resp, host_rsp.r_data}),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst), .rd_valid_o(axil_rsp_o.r_valid),
      .rd_ready_i(axil_req_i.r_ready),
      .rd_data_o({axil_rsp_o.r_resp, axil_rsp_o.r_data})
  );

  axil_guard u_guard (
      .clk_i(card_clk_i), .rst_i(shell_rst), .card_rst_i(card_rst), .dead_o(dead),
      .s_req_i(host_req), .s_rsp_o(host_rsp), .m_req_o(guard_req), .m_rsp_i(guard_rsp)
  );

  // ---- the card
  logic irq;
  logic k_awvalid, k_awready, k_wvalid, k_wready, k_wlast, k_bvalid, k_bready, k_arvalid, k_arready,
      k_rvalid, k_rready;
  logic [4:0] k_awid, k_arid, f_bid, f_arid, f_rid;
  logic [63:0] k_awaddr, k_wstrb, k_araddr, f_awaddr, f_wstrb, f_araddr;
  logic [7:0] k_awlen, k_arlen, f_awlen, f_arlen;
  logic [2:0] k_awsize, k_arsize;
  logic [1:0] k_awburst, k_arburst, f_bresp, f_rresp;
  logic [511:0] k_wdata, f_wdata, f_rdata;
  logic f_awvalid, f_awready, f_wvalid, f_wready, f_wlast, f_bvalid, f_bready, f_arvalid, f_arready,
      f_rvalid, f_rready;
  logic f_rlast;

  portcullis_top #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .Rounds(Rounds),
      .WatchdogLog2(WatchdogLog2),
      .Production(Production),
      .DeviceSecret(DeviceSecret),
      .KeyFlags(KeyFlags)
  ) u_card (
      .clk_i(card_clk_i),
      .rst_i(card_rst),
      .boot_nonce_i('0),
      .irq_o(irq),
      .s_axil_awready(guard_rsp.aw_ready), .s_axil_awvalid(guard_req.aw_valid),
      .s_axil_awaddr(guard_req.aw_addr[19:0]),
      .s_axil_awprot('0),
      .s_axil_wready(guard_rsp.w_ready), .s_axil_wvalid(guard_req.w_valid),
      .s_axil_wdata(guard_req.w_data),
      .s_axil_wstrb(guard_req.w_strb),
      .s_axil_bready(guard_req.b_ready), .s_axil_bvalid(guard_rsp.b_valid),
      .s_axil_bresp(guard_rsp.b_resp),
      .s_axil_arready(guard_rsp.ar_ready), .s_axil_arvalid(guard_req.ar_valid),
      .s_axil_araddr(guard_req.ar_addr[19:0]),
      .s_axil_arprot('0),
      .s_axil_rready(guard_req.r_ready), .s_axil_rvalid(guard_rsp.r_valid),
      .s_axil_rdata(guard_rsp.r_data),
      .s_axil_rresp(guard_rsp.r_resp),
      .m_axi_awid(k_awid), .m_axi_awaddr(k_awaddr), .m_axi_awlen(k_awlen), .m_axi_awsize(k_awsize),
      .m_axi_awburst(k_awburst), .m_axi_awvalid(k_awvalid), .m_axi_awready(k_awready),
      .m_axi_wdata(k_wdata), .m_axi_wstrb(k_wstrb), .m_axi_wlast(k_wlast), .m_axi_wvalid(k_wvalid),
      .m_axi_wready(k_wready),
      .m_axi_bid(f_bid), .m_axi_bresp(f_bresp), .m_axi_bvalid(k_bvalid), .m_axi_bready(k_bready),
      .m_axi_arid(k_arid), .m_axi_araddr(k_araddr), .m_axi_arlen(k_arlen), .m_axi_arsize(k_arsize),
      .m_axi_arburst(k_arburst), .m_axi_arvalid(k_arvalid), .m_axi_arready(k_arready),
      .m_axi_rid(f_rid), .m_axi_rdata(f_rdata), .m_axi_rresp(f_rresp), .m_axi_rlast(f_rlast),
      .m_axi_rvalid(k_rvalid), .m_axi_rready(k_rready)
  );

  // ---- host memory
  dma_fence u_fence (
      .clk_i(card_clk_i), .rst_i(shell_rst), .card_rst_i(card_rst), .close_i(close),
      .quiet_o(quiet), .stale_o(stale),
      .s_awaddr_i(k_awaddr), .s_awlen_i(k_awlen), .s_awvalid_i(k_awvalid), .s_awready_o(k_awready),
      .s_wdata_i(k_wdata), .s_wstrb_i(k_wstrb), .s_wvalid_i(k_wvalid), .s_wready_o(k_wready),
      .s_bvalid_o(k_bvalid), .s_bready_i(k_bready),
      .s_arid_i(k_arid), .s_araddr_i(k_araddr), .s_arlen_i(k_arlen), .s_arvalid_i(k_arvalid),
      .s_arready_o(k_arready),
      .s_rvalid_o(k_rvalid), .s_rready_i(k_rready),
      .m_awaddr_o(f_awaddr), .m_awlen_o(f_awlen), .m_awvalid_o(f_awvalid), .m_awready_i(f_awready),
      .m_wdata_o(f_wdata), .m_wstrb_o(f_wstrb), .m_wlast_o(f_wlast), .m_wvalid_o(f_wvalid),
      .m_wready_i(f_wready),
      .m_bvalid_i(f_bvalid), .m_bready_o(f_bready),
      .m_arid_o(f_arid), .m_araddr_o(f_araddr), .m_arlen_o(f_arlen), .m_arvalid_o(f_arvalid),
      .m_arready_i(f_arready),
      .m_rlast_i(f_rlast), .m_rvalid_i(f_rvalid), .m_rready_o(f_rready)
  );

  // The pins of the bus meet nothing but register slices: they may be far away. Write data are held
  // back before their slice, so that none leaves it before its request is offered behind the other
  // one.
  logic q_awvalid, q_awready, q_wvalid, q_wready, o_wvalid, o_wready, q_bvalid, q_bready;
  logic q_arvalid, q_arready, q_rvalid, q_rready;
  logic [71:0] q_aw;
  logic [576:0] q_w;
  logic [6:0] q_b;
  logic [76:0] q_ar;
  logic [519:0] q_r;
  async_fifo #(.Width(72), .Log2(3)) u_dma_aw (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst), .wr_valid_i(f_awvalid), .wr_ready_o(f_awready),
      .wr_data_i({f_awlen, f_awaddr}),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst), .rd_valid_o(q_awvalid), .rd_ready_i(q_awready),
      .rd_data_o(q_aw)
  );
  axi_slice #(.Width(72)) u_slice_aw (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .s_valid_i(q_awvalid), .s_ready_o(q_awready),
      .s_data_i(q_aw),
      .m_valid_o(m_awvalid_o), .m_ready_i(m_awready_i), .m_data_o({m_awlen_o, m_awaddr_o})
  );
  async_fifo #(.Width(577), .Log2(4)) u_dma_w (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst), .wr_valid_i(f_wvalid), .wr_ready_o(f_wready),
      .wr_data_i({f_wlast, f_wstrb, f_wdata}),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst), .rd_valid_o(q_wvalid), .rd_ready_i(q_wready),
      .rd_data_o(q_w)
  );
  write_order u_order (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .awvalid_i(m_awvalid_o), .awready_i(m_awready_i),
      .wvalid_i(q_wvalid), .wlast_i(q_w[576]), .wready_i(o_wready), .wvalid_o(o_wvalid),
      .wready_o(q_wready)
  );
  axi_slice #(.Width(577)) u_slice_w (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .s_valid_i(o_wvalid), .s_ready_o(o_wready),
      .s_data_i(q_w),
      .m_valid_o(m_wvalid_o), .m_ready_i(m_wready_i), .m_data_o({m_wlast_o, m_wstrb_o, m_wdata_o})
  );
  axi_slice #(.Width(7)) u_slice_b (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .s_valid_i(m_bvalid_i), .s_ready_o(m_bready_o),
      .s_data_i({m_bresp_i, m_bid_i}),
      .m_valid_o(q_bvalid), .m_ready_i(q_bready), .m_data_o(q_b)
  );
  async_fifo #(.Width(7), .Log2(3)) u_dma_b (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst), .wr_valid_i(q_bvalid), .wr_ready_o(q_bready),
      .wr_data_i(q_b),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst), .rd_valid_o(f_bvalid), .rd_ready_i(f_bready),
      .rd_data_o({f_bresp, f_bid})
  );
  async_fifo #(.Width(77), .Log2(3)) u_dma_ar (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst), .wr_valid_i(f_arvalid), .wr_ready_o(f_arready),
      .wr_data_i({f_arid, f_arlen, f_araddr}),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst), .rd_valid_o(q_arvalid), .rd_ready_i(q_arready),
      .rd_data_o(q_ar)
  );
  axi_slice #(.Width(77)) u_slice_ar (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .s_valid_i(q_arvalid), .s_ready_o(q_arready),
      .s_data_i(q_ar),
      .m_valid_o(m_arvalid_o), .m_ready_i(m_arready_i), .m_data_o({m_arid_o, m_arlen_o, m_araddr_o})
  );
  axi_slice #(.Width(520)) u_slice_r (
      .clk_i(bus_clk_i), .rst_i(bus_rst), .s_valid_i(m_rvalid_i), .s_ready_o(m_rready_o),
      .s_data_i({m_rlast_i, m_rresp_i, m_rid_i, m_rdata_i}),
      .m_valid_o(q_rvalid), .m_ready_i(q_rready), .m_data_o(q_r)
  );
  async_fifo #(.Width(520), .Log2(4)) u_dma_r (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst), .wr_valid_i(q_rvalid), .wr_ready_o(q_rready),
      .wr_data_i(q_r),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst), .rd_valid_o(f_rvalid), .rd_ready_i(f_rready),
      .rd_data_o({f_rlast, f_rresp, f_rid, f_rdata})
  );

  // ---- interrupt hint
  event_cdc u_hint (
      .from_clk_i(card_clk_i), .from_rst_i(shell_rst), .event_i(irq && !card_rst),
      .to_clk_i(bus_clk_i), .to_rst_i(bus_rst), .event_o(hint_o)
  );

  // What the shells drive as constants the card must keep to; the fence makes wlast itself.
  always_ff @(posedge card_clk_i) begin
    if (!card_rst) begin
      if (k_arvalid) `ASSERT(k_arsize == 3'b110 && k_arburst == 2'b01,
                             "shell_card: a read of another kind");
      if (k_awvalid) `ASSERT(k_awsize == 3'b110 && k_awburst == 2'b01 && k_awid == '0,
                             "shell_card: a write of another kind");
      if (k_wvalid && k_wready) `ASSERT(k_wlast == (u_fence.owed_q == 9'd1),
                                         "shell_card: WLAST on the wrong beat");
    end
  end
endmodule
