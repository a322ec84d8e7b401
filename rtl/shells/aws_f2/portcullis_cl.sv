// The card as custom logic on the small shell of AWS F2.
//
// Registers: OCL (AppPF BAR0, the first MiB; the rest of its 64 MiB reads as all ones). Host
// memory: PCIM. Interrupt: vector 0 of 16. FLR: handshake. `clk_main_a0` is always 250 MHz; the
// card runs at half of it, because its hash core does not reach 250 MHz. Virtual LEDs: 0 card in
// reset, 1 answers from before a reset are outstanding, 2 the card does not answer, 3 FLR in
// progress. All other interfaces of the shell are tied off. `cl_ports.vh` and `sh_ddr` come from
// the HDK in the builder's checkout; for lint and simulation, `standin/` declares them.
// `portcullis_ids.vh` gives the ids of the PCI function.
// After reset: as shell_card.
`include "portcullis_ids.vh"
`include "portcullis_key.vh"
module portcullis_cl #(
    parameter int unsigned PolicyRows = 256,
    parameter int unsigned EntropyRows = 64,
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,
    parameter int unsigned Rounds = 1,
    parameter int unsigned WatchdogLog2 = 22,
    parameter int unsigned PatienceLog2 = 20
) (
    `include "cl_ports.vh"
);
  logic card_clk;
  BUFGCE_DIV #(
      .BUFGCE_DIVIDE(2)
  ) u_card_clk (
      .O(card_clk),
      .CE(1'b1),
      .CLR(1'b0),
      .I(clk_main_a0)
  );

  // Registers at the shell's pins.
  logic bus_rst_q = 1'b1;
  logic flr_q;
  always_ff @(posedge clk_main_a0) begin
    bus_rst_q <= !rst_main_n;
    flr_q <= sh_cl_flr_assert && rst_main_n;
  end

  axi_pkg::lite_req_t axil_req;
  axi_pkg::lite_rsp_t axil_rsp;
  assign axil_req = '{
          aw_valid: ocl_cl_awvalid,
          w_valid: ocl_cl_wvalid,
          b_ready: ocl_cl_bready,
          ar_valid: ocl_cl_arvalid,
          r_ready: ocl_cl_rready,
          w_strb: ocl_cl_wstrb,
          aw_addr: ocl_cl_awaddr,
          w_data: ocl_cl_wdata,
          ar_addr: ocl_cl_araddr
      };
  assign {cl_ocl_awready, cl_ocl_wready, cl_ocl_bvalid, cl_ocl_bresp} =
      {axil_rsp.aw_ready, axil_rsp.w_ready, axil_rsp.b_valid, axil_rsp.b_resp};
  assign {cl_ocl_arready, cl_ocl_rvalid, cl_ocl_rresp, cl_ocl_rdata} =
      {axil_rsp.ar_ready, axil_rsp.r_valid, axil_rsp.r_resp, axil_rsp.r_data};

  axi_pkg::req_t host_req;
  axi_pkg::rsp_t host_rsp;
  logic hint;
  logic [2:0] health;
  logic irq_req;
  shell_card #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .Rounds(Rounds),
      .WatchdogLog2(WatchdogLog2),
      .PatienceLog2(PatienceLog2),
      .Production(`PORTCULLIS_PRODUCTION),
      .DeviceSecret(`PORTCULLIS_SECRET),
      .KeyFlags(`PORTCULLIS_KEY_FLAGS)
  ) u_card (
      .bus_clk_i(clk_main_a0),
      .bus_rst_i(bus_rst_q),
      .card_clk_i(card_clk),
      .flr_i(flr_q),
      .flr_done_o(cl_sh_flr_done),
      .hint_o(hint),
      .health_o(health),
      .axil_req_i(axil_req),
      .axil_rsp_o(axil_rsp),
      .bus_req_o(host_req),
      .bus_wstrb_o(cl_sh_pcim_wstrb),
      .bus_rsp_i(host_rsp)
  );

  assign cl_sh_pcim_awid = 16'(host_req.aw.id);
  assign {cl_sh_pcim_awaddr, cl_sh_pcim_awlen} = {host_req.aw.addr, host_req.aw.len};
  assign {cl_sh_pcim_wdata, cl_sh_pcim_wlast} = {host_req.w.data, host_req.w.last};
  assign cl_sh_pcim_arid = 16'(host_req.ar.id);
  assign {cl_sh_pcim_araddr, cl_sh_pcim_arlen} = {host_req.ar.addr, host_req.ar.len};
  assign {cl_sh_pcim_awvalid, cl_sh_pcim_wvalid, cl_sh_pcim_arvalid} =
      {host_req.aw_valid, host_req.w_valid, host_req.ar_valid};
  assign {cl_sh_pcim_bready, cl_sh_pcim_rready} = {host_req.b_ready, host_req.r_ready};
  assign host_rsp = '{
          aw_ready: sh_cl_pcim_awready,
          w_ready: sh_cl_pcim_wready,
          b: '{id: sh_cl_pcim_bid[4:0], resp: sh_cl_pcim_bresp},
          b_valid: sh_cl_pcim_bvalid,
          ar_ready: sh_cl_pcim_arready,
          r_valid: sh_cl_pcim_rvalid,
          r: '{
              id: sh_cl_pcim_rid[4:0],
              resp: sh_cl_pcim_rresp,
              last: sh_cl_pcim_rlast,
              data: sh_cl_pcim_rdata
          }
      };

  // 64-byte INCR bursts; the other signals have the only values that the shell supports.
  assign cl_sh_pcim_awsize = axi_pkg::Size64;
  assign cl_sh_pcim_awburst = axi_pkg::Incr;
  assign cl_sh_pcim_awcache = '0;
  assign cl_sh_pcim_awlock = '0;
  assign cl_sh_pcim_awprot = '0;
  assign cl_sh_pcim_awqos = '0;
  assign cl_sh_pcim_awuser = '0;
  assign cl_sh_pcim_wid = '0;
  assign cl_sh_pcim_wuser = '0;
  assign cl_sh_pcim_arsize = axi_pkg::Size64;
  assign cl_sh_pcim_arburst = axi_pkg::Incr;
  assign cl_sh_pcim_arcache = '0;
  assign cl_sh_pcim_arlock = '0;
  assign cl_sh_pcim_arprot = '0;
  assign cl_sh_pcim_arqos = '0;
  assign cl_sh_pcim_aruser = '0;

  // A reset of the card clears the open request: otherwise, if the reset lost the acknowledgement,
  // the vector would be blocked for ever.
  irq_request #(
      .Level(1'b0)
  ) u_irq (
      .clk_i(clk_main_a0),
      .rst_i(bus_rst_q || health[0]),
      .hint_i(hint),
      .req_o(irq_req),
      .ack_i(sh_cl_apppf_irq_ack[0])
  );
  assign cl_sh_apppf_irq_req = {15'b0, irq_req};

  assign cl_sh_id0 = `PORTCULLIS_SH_ID0;
  assign cl_sh_id1 = `PORTCULLIS_SH_ID1;
  assign cl_sh_status_vled = {12'b0, flr_q, health};

  // ---- not used
  assign cl_sh_status0 = '0;
  assign cl_sh_status1 = '0;
  assign cl_sh_status2 = '0;
  assign cl_sh_dma_wr_full = 1'b0;
  assign cl_sh_dma_rd_full = 1'b0;

  // PCIS (BAR4) and SDA are not used. A request waits until it times out in the shell, as in the
  // template of the HDK.
  assign cl_sh_dma_pcis_awready = 1'b0;
  assign cl_sh_dma_pcis_wready = 1'b0;
  assign cl_sh_dma_pcis_bid = '0;
  assign cl_sh_dma_pcis_bresp = '0;
  assign cl_sh_dma_pcis_bvalid = 1'b0;
  assign cl_sh_dma_pcis_arready = 1'b0;
  assign cl_sh_dma_pcis_rid = '0;
  assign cl_sh_dma_pcis_rdata = '0;
  assign cl_sh_dma_pcis_rresp = '0;
  assign cl_sh_dma_pcis_rlast = 1'b0;
  assign cl_sh_dma_pcis_ruser = '0;
  assign cl_sh_dma_pcis_rvalid = 1'b0;
  assign cl_sda_awready = 1'b0;
  assign cl_sda_wready = 1'b0;
  assign cl_sda_bresp = '0;
  assign cl_sda_bvalid = 1'b0;
  assign cl_sda_arready = 1'b0;
  assign cl_sda_rdata = '0;
  assign cl_sda_rresp = '0;
  assign cl_sda_rvalid = 1'b0;

  // The shell needs sh_ddr even if DDR is not used.
  sh_ddr #(
      .DDR_PRESENT(0)
  ) u_ddr (
      .clk(clk_main_a0),
      .rst_n(!bus_rst_q),
      .stat_clk(clk_main_a0),
      .stat_rst_n(!bus_rst_q),
      .CLK_DIMM_DP,
      .CLK_DIMM_DN,
      .M_ACT_N,
      .M_MA,
      .M_BA,
      .M_BG,
      .M_CKE,
      .M_ODT,
      .M_CS_N,
      .M_CLK_DN,
      .M_CLK_DP,
      .M_PAR,
      .M_DQ,
      .M_ECC,
      .M_DQS_DP,
      .M_DQS_DN,
      .cl_RST_DIMM_N(RST_DIMM_N)
  );
  assign cl_sh_ddr_stat_ack = 1'b1;
  assign cl_sh_ddr_stat_rdata = '0;
  assign cl_sh_ddr_stat_int = '0;

  assign tdo = 1'b0;
  assign hbm_apb_paddr_1 = '0;
  assign hbm_apb_pprot_1 = '0;
  assign hbm_apb_psel_1 = 1'b0;
  assign hbm_apb_penable_1 = 1'b0;
  assign hbm_apb_pwrite_1 = 1'b0;
  assign hbm_apb_pwdata_1 = '0;
  assign hbm_apb_pstrb_1 = '0;
  assign hbm_apb_pready_1 = 1'b0;
  assign hbm_apb_prdata_1 = '0;
  assign hbm_apb_pslverr_1 = 1'b0;
  assign hbm_apb_paddr_0 = '0;
  assign hbm_apb_pprot_0 = '0;
  assign hbm_apb_psel_0 = 1'b0;
  assign hbm_apb_penable_0 = 1'b0;
  assign hbm_apb_pwrite_0 = 1'b0;
  assign hbm_apb_pwdata_0 = '0;
  assign hbm_apb_pstrb_0 = '0;
  assign hbm_apb_pready_0 = 1'b0;
  assign hbm_apb_prdata_0 = '0;
  assign hbm_apb_pslverr_0 = 1'b0;
  assign PCIE_EP_TXP = '0;
  assign PCIE_EP_TXN = '0;
  assign PCIE_RP_PERSTN = 1'b0;
  assign PCIE_RP_TXP = '0;
  assign PCIE_RP_TXN = '0;
endmodule
