// The card on an Alveo board behind AMD's XDMA block in its AXI bridge mode: on a U55C, or on a
// U250 with other constraints.
//
// Registers: the bridge's master port (BAR0, 1 MiB), through axi_to_axil. Host memory: the bridge's
// slave port, without address translation. Interrupt: request 0, held until it is acknowledged. A
// reset of the link or the slot (PERST, hot reset) resets everything, including fence and queues,
// and the bridge drops its transfers. The block gives the card no function-level reset: if the card
// has lost track of its bus (status bit `needs_reset`), its hardware reset is a hot reset of the
// slot. `axi_aclk` is 250 MHz (Gen3 x16, 512 bits); the card runs at half of it, because its hash
// core does not reach 250 MHz. `hbm_cattrip_o` is held low, as a U55C requires if it does not use
// its HBM; builds for a U250 define PORTCULLIS_NO_HBM. bitstreams/*/build.tcl makes `xdma_card`;
// for lint and simulation, `standin/` declares it. After reset: as shell_card.
//
// The block's slave port has ids of a width that its options do not set. build.tcl reads the width
// from the block that was made and defines PORTCULLIS_BLOCK_ID_BITS. A wider id is filled with
// zeros; with a narrower one, the card has only as many reads in flight as there are ids.
`include "portcullis_key.vh"
`include "assert.svh"
`ifndef PORTCULLIS_BLOCK_ID_BITS
`define PORTCULLIS_BLOCK_ID_BITS 5
`endif
module alveo_xdma #(
    parameter int unsigned PolicyRows = 256,
    parameter int unsigned EntropyRows = 64,
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,
    parameter int unsigned Rounds = 1,
    parameter int unsigned WatchdogLog2 = 22
) (
    input  logic        pcie_refclk_p_i,
    input  logic        pcie_refclk_n_i,
    input  logic        pcie_rst_n_i,
    input  logic [15:0] pcie_rxp_i,
    input  logic [15:0] pcie_rxn_i,
`ifndef PORTCULLIS_NO_HBM
    output logic        hbm_cattrip_o,
`endif
    output logic [15:0] pcie_txp_o,
    output logic [15:0] pcie_txn_o
);
`ifndef PORTCULLIS_NO_HBM
  assign hbm_cattrip_o = 1'b0;
`endif

  logic refclk, refclk_gt, pcie_rst_n, clk, rst_n, card_clk;
  IBUFDS_GTE4 #(
      .REFCLK_HROW_CK_SEL(2'b00)
  ) u_refclk (
      .O(refclk_gt),
      .ODIV2(refclk),
      .CEB(1'b0),
      .I(pcie_refclk_p_i),
      .IB(pcie_refclk_n_i)
  );
  IBUF u_perst (
      .O(pcie_rst_n),
      .I(pcie_rst_n_i)
  );
  BUFGCE_DIV #(
      .BUFGCE_DIVIDE(2)
  ) u_card_clk (
      .O(card_clk),
      .CE(1'b1),
      .CLR(1'b0),
      .I(clk)
  );
  logic bus_rst_q = 1'b1;
  always_ff @(posedge clk) bus_rst_q <= !rst_n;

  // The bridge's master port, for registers.
  logic [3:0] reg_awid;
  logic [63:0] reg_awaddr;
  logic [7:0] reg_awlen;
  logic [2:0] reg_awsize;
  logic [1:0] reg_awburst;
  logic reg_awvalid;
  logic reg_awready;
  logic [511:0] reg_wdata;
  logic [63:0] reg_wstrb;
  logic reg_wlast;
  logic reg_wvalid;
  logic reg_wready;
  logic [3:0] reg_bid;
  logic [1:0] reg_bresp;
  logic reg_bvalid;
  logic reg_bready;
  logic [3:0] reg_arid;
  logic [63:0] reg_araddr;
  logic [7:0] reg_arlen;
  logic [2:0] reg_arsize;
  logic [1:0] reg_arburst;
  logic reg_arvalid;
  logic reg_arready;
  logic [3:0] reg_rid;
  logic [511:0] reg_rdata;
  logic [1:0] reg_rresp;
  logic reg_rlast;
  logic reg_rvalid;
  logic reg_rready;
  // The bridge's slave port, for host memory.
  axi_pkg::req_t host_req;
  axi_pkg::rsp_t host_rsp;
  logic [63:0] host_wstrb;

  localparam int unsigned IdBits = `PORTCULLIS_BLOCK_ID_BITS;
  if (IdBits < 1 || IdBits > 32) begin : g_id_bits
    $fatal(1, "alveo_xdma: PORTCULLIS_BLOCK_ID_BITS is 1 to 32");
  end
  localparam int unsigned CardReads = IdBits < 5 ? 2 ** IdBits : 32;
  logic [IdBits-1:0] host_bid, host_arid, host_rid;
  assign host_arid = IdBits'(host_req.ar.id);
  assign host_rsp.b.id = 5'(host_bid);
  assign host_rsp.r.id = 5'(host_rid);
  always_ff @(posedge clk) begin
    if (!bus_rst_q) begin
      `ASSERT(!host_rsp.r_valid || host_rid == IdBits'(5'(host_rid)),
              "alveo_xdma: a read is answered with an id that was not sent");
      `ASSERT(!host_rsp.b_valid || host_bid == '0,
              "alveo_xdma: a write is answered with an id that was not sent");
    end
  end

  logic irq_req, irq_ack, hint;
  logic [2:0] health;
  xdma_card u_xdma (
      .sys_clk(refclk),
      .sys_clk_gt(refclk_gt),
      .sys_rst_n(pcie_rst_n),
      .pci_exp_txp(pcie_txp_o),
      .pci_exp_txn(pcie_txn_o),
      .pci_exp_rxp(pcie_rxp_i),
      .pci_exp_rxn(pcie_rxn_i),
      .axi_aclk(clk),
      .axi_aresetn(rst_n),
      .usr_irq_req(irq_req),
      .usr_irq_ack(irq_ack),
      .m_axib_awid(reg_awid),
      .m_axib_awaddr(reg_awaddr),
      .m_axib_awlen(reg_awlen),
      .m_axib_awsize(reg_awsize),
      .m_axib_awburst(reg_awburst),
      .m_axib_awvalid(reg_awvalid),
      .m_axib_awready(reg_awready),
      .m_axib_wdata(reg_wdata),
      .m_axib_wstrb(reg_wstrb),
      .m_axib_wlast(reg_wlast),
      .m_axib_wvalid(reg_wvalid),
      .m_axib_wready(reg_wready),
      .m_axib_bid(reg_bid),
      .m_axib_bresp(reg_bresp),
      .m_axib_bvalid(reg_bvalid),
      .m_axib_bready(reg_bready),
      .m_axib_arid(reg_arid),
      .m_axib_araddr(reg_araddr),
      .m_axib_arlen(reg_arlen),
      .m_axib_arsize(reg_arsize),
      .m_axib_arburst(reg_arburst),
      .m_axib_arvalid(reg_arvalid),
      .m_axib_arready(reg_arready),
      .m_axib_rid(reg_rid),
      .m_axib_rdata(reg_rdata),
      .m_axib_rresp(reg_rresp),
      .m_axib_rlast(reg_rlast),
      .m_axib_rvalid(reg_rvalid),
      .m_axib_rready(reg_rready),
      .s_axib_awid('0),
      .s_axib_awaddr(host_req.aw.addr),
      .s_axib_awregion('0),
      .s_axib_awlen(host_req.aw.len),
      .s_axib_awsize(3'b110),
      .s_axib_awburst(2'b01),
      .s_axib_awvalid(host_req.aw_valid),
      .s_axib_awready(host_rsp.aw_ready),
      .s_axib_wdata(host_req.w.data),
      .s_axib_wstrb(host_wstrb),
      .s_axib_wlast(host_req.w.last),
      .s_axib_wvalid(host_req.w_valid),
      .s_axib_wready(host_rsp.w_ready),
      .s_axib_bid(host_bid),
      .s_axib_bresp(host_rsp.b.resp),
      .s_axib_bvalid(host_rsp.b_valid),
      .s_axib_bready(host_req.b_ready),
      .s_axib_arid(host_arid),
      .s_axib_araddr(host_req.ar.addr),
      .s_axib_arregion('0),
      .s_axib_arlen(host_req.ar.len),
      .s_axib_arsize(3'b110),
      .s_axib_arburst(2'b01),
      .s_axib_arvalid(host_req.ar_valid),
      .s_axib_arready(host_rsp.ar_ready),
      .s_axib_rid(host_rid),
      .s_axib_rdata(host_rsp.r.data),
      .s_axib_rresp(host_rsp.r.resp),
      .s_axib_rlast(host_rsp.r.last),
      .s_axib_rvalid(host_rsp.r_valid),
      .s_axib_rready(host_req.r_ready)
  );

  axi_pkg::lite_req_t axil_req;
  axi_pkg::lite_rsp_t axil_rsp;
  // Only register slices connect to the bridge's pins.
  logic s_awvalid, s_awready, s_wvalid, s_wready, s_bvalid, s_bready, s_arvalid, s_arready,
      s_rvalid, s_rready;
  logic [48:0] s_aw, s_ar;
  logic [576:0] s_w;
  logic [5:0] s_b;
  logic [518:0] s_r;
  axi_slice #(.Width(49)) u_slice_aw (
      .clk_i(clk), .rst_i(bus_rst_q), .s_valid_i(reg_awvalid), .s_ready_o(reg_awready),
      .s_data_i({reg_awid, reg_awaddr[31:0], reg_awlen, reg_awsize, reg_awburst}),
      .m_valid_o(s_awvalid), .m_ready_i(s_awready), .m_data_o(s_aw)
  );
  axi_slice #(.Width(577)) u_slice_w (
      .clk_i(clk), .rst_i(bus_rst_q), .s_valid_i(reg_wvalid), .s_ready_o(reg_wready),
      .s_data_i({reg_wlast, reg_wstrb, reg_wdata}),
      .m_valid_o(s_wvalid), .m_ready_i(s_wready), .m_data_o(s_w)
  );
  axi_slice #(.Width(6)) u_slice_b (
      .clk_i(clk), .rst_i(bus_rst_q), .s_valid_i(s_bvalid), .s_ready_o(s_bready), .s_data_i(s_b),
      .m_valid_o(reg_bvalid), .m_ready_i(reg_bready), .m_data_o({reg_bid, reg_bresp})
  );
  axi_slice #(.Width(49)) u_slice_ar (
      .clk_i(clk), .rst_i(bus_rst_q), .s_valid_i(reg_arvalid), .s_ready_o(reg_arready),
      .s_data_i({reg_arid, reg_araddr[31:0], reg_arlen, reg_arsize, reg_arburst}),
      .m_valid_o(s_arvalid), .m_ready_i(s_arready), .m_data_o(s_ar)
  );
  axi_slice #(.Width(519)) u_slice_r (
      .clk_i(clk), .rst_i(bus_rst_q), .s_valid_i(s_rvalid), .s_ready_o(s_rready), .s_data_i(s_r),
      .m_valid_o(reg_rvalid), .m_ready_i(reg_rready),
      .m_data_o({reg_rid, reg_rdata, reg_rresp, reg_rlast})
  );

  axi_to_axil #(
      .IdWidth(4)
  ) u_registers (
      .clk_i(clk),
      .rst_i(bus_rst_q),
      .s_awid_i(s_aw[48:45]),
      .s_awaddr_i(s_aw[44:13]),
      .s_awlen_i(s_aw[12:5]),
      .s_awsize_i(s_aw[4:2]),
      .s_awburst_i(s_aw[1:0]),
      .s_awvalid_i(s_awvalid),
      .s_awready_o(s_awready),
      .s_wdata_i(s_w[511:0]),
      .s_wstrb_i(s_w[575:512]),
      .s_wlast_i(s_w[576]),
      .s_wvalid_i(s_wvalid),
      .s_wready_o(s_wready),
      .s_bid_o(s_b[5:2]),
      .s_bresp_o(s_b[1:0]),
      .s_bvalid_o(s_bvalid),
      .s_bready_i(s_bready),
      .s_arid_i(s_ar[48:45]),
      .s_araddr_i(s_ar[44:13]),
      .s_arlen_i(s_ar[12:5]),
      .s_arsize_i(s_ar[4:2]),
      .s_arburst_i(s_ar[1:0]),
      .s_arvalid_i(s_arvalid),
      .s_arready_o(s_arready),
      .s_rid_o(s_r[518:515]),
      .s_rdata_o(s_r[514:3]),
      .s_rresp_o(s_r[2:1]),
      .s_rlast_o(s_r[0]),
      .s_rvalid_o(s_rvalid),
      .s_rready_i(s_rready),
      .m_req_o(axil_req),
      .m_rsp_i(axil_rsp)
  );

  logic flr_done;
  shell_card #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .Rounds(Rounds),
      .MaxReads(CardReads),
      .WatchdogLog2(WatchdogLog2),
      .Production(`PORTCULLIS_PRODUCTION),
      .DeviceSecret(`PORTCULLIS_SECRET),
      .KeyFlags(`PORTCULLIS_KEY_FLAGS)
  ) u_card (
      .bus_clk_i(clk),
      .bus_rst_i(bus_rst_q),
      .card_clk_i(card_clk),
      .flr_i(1'b0),
      .flr_done_o(flr_done),
      .hint_o(hint),
      .health_o(health),
      .axil_req_i(axil_req),
      .axil_rsp_o(axil_rsp),
      .bus_req_o(host_req),
      .bus_wstrb_o(host_wstrb),
      .bus_rsp_i(host_rsp)
  );

  irq_request #(
      .Level(1'b1)
  ) u_irq (
      .clk_i(clk),
      .rst_i(bus_rst_q || health[0]),
      .hint_i(hint),
      .req_o(irq_req),
      .ack_i(irq_ack)
  );

  // This board uses no LEDs: the registers show the same status.
  logic unused;
  assign unused = &{1'b0, flr_done, health[2:1], reg_awaddr[63:32], reg_araddr[63:32]};
endmodule
