// The card inside every shell: with a guard for its registers, a fence for its bus, and queues into
// the bus's clock domain.
//
//   bus_clk_i                                  card_clk_i
//   AXI4-Lite slave --> queues --------------> axil_guard --> portcullis_top
//   AXI4 master     <-- slices, write_order, queues <-- dma_fence <--
//   flr_i, flr_done_o, hint_o <--------------> card_reset, event_cdc
//
// The two clocks may be unrelated. `bus_rst_i` resets everything; `flr_i` (a level) resets only the
// card, after the bus is quiet. `flr_done_o` rises when the card is in reset and falls after
// `flr_i`; in between, registers read as all ones. `hint_o` is an interrupt hint, high for one
// clock. The boot nonce is zero, because neither shell has a tested source of randomness; so
// NO_TRNG is set in KeyFlags.
// After reset: the card in RESET, nothing on the bus.
// Duties of the caller: `bus_rst_i` high for at least one clock.
`include "assert.svh"

module shell_card #(
    parameter int unsigned PolicyRows = 256,
    parameter int unsigned EntropyRows = 64,
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,
    parameter int unsigned Rounds = 1,
    parameter int unsigned MaxReads = 32,  // Reads in flight; their ids are below it.
    parameter int unsigned WatchdogLog2 = 22,
    parameter int unsigned PatienceLog2 = 20,  // log2 of the clocks that an FLR waits for the bus.
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
    // For LEDs, in the bus's clock domain: card in reset, answers outstanding, registers dead.
    output logic [2:0]         health_o,
    // Registers: AXI4-Lite slave.
    input  axi_pkg::lite_req_t axil_req_i,
    output axi_pkg::lite_rsp_t axil_rsp_o,
    // Host memory: AXI4 master, INCR, 64 bytes per beat; writes have id 0.
    output axi_pkg::req_t      bus_req_o,
    output logic [63:0]        bus_wstrb_o,
    input  axi_pkg::rsp_t      bus_rsp_i
);
  if (!KeyFlags[2]) begin : g_no_trng
    $fatal(1, "shell_card: the boot nonce is zero, so KeyFlags must say NO_TRNG (4)");
  end

  // ---- resets: at least 64 clocks of the bus, so that both ends of every queue are in reset at
  // the same time
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
  // Connections at the card, at the fence, and at the slices before the bus's pins.
  axi_pkg::req_t card_req, fence_req, queue_req;
  axi_pkg::rsp_t card_rsp, fence_rsp, queue_rsp;
  logic [63:0] card_wstrb;
  logic [2:0] awsize, arsize;
  logic [1:0] awburst, arburst;
  logic made_up, queue_made_up, bus_made_up;

  portcullis_top #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .Rounds(Rounds),
      .MaxReads(MaxReads),
      .WatchdogLog2(WatchdogLog2),
      .Production(Production),
      .DeviceSecret(DeviceSecret),
      .KeyFlags(KeyFlags)
  ) u_card (
      .clk_i(card_clk_i),
      .rst_i(card_rst),
      .boot_nonce_i('0),
      .stale_i(stale),
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
      .m_axi_awid(card_req.aw.id), .m_axi_awaddr(card_req.aw.addr), .m_axi_awlen(card_req.aw.len),
      .m_axi_awsize(awsize), .m_axi_awburst(awburst),
      .m_axi_awvalid(card_req.aw_valid), .m_axi_awready(card_rsp.aw_ready),
      .m_axi_wdata(card_req.w.data), .m_axi_wstrb(card_wstrb), .m_axi_wlast(card_req.w.last),
      .m_axi_wvalid(card_req.w_valid), .m_axi_wready(card_rsp.w_ready),
      .m_axi_bid(card_rsp.b.id), .m_axi_bresp(card_rsp.b.resp),
      .m_axi_bvalid(card_rsp.b_valid), .m_axi_bready(card_req.b_ready),
      .m_axi_arid(card_req.ar.id), .m_axi_araddr(card_req.ar.addr), .m_axi_arlen(card_req.ar.len),
      .m_axi_arsize(arsize), .m_axi_arburst(arburst),
      .m_axi_arvalid(card_req.ar_valid), .m_axi_arready(card_rsp.ar_ready),
      .m_axi_rid(card_rsp.r.id), .m_axi_rdata(card_rsp.r.data), .m_axi_rresp(card_rsp.r.resp),
      .m_axi_rlast(card_rsp.r.last),
      .m_axi_rvalid(card_rsp.r_valid), .m_axi_rready(card_req.r_ready)
  );

  // ---- host memory
  dma_fence u_fence (
      .clk_i(card_clk_i), .rst_i(shell_rst), .card_rst_i(card_rst), .close_i(close),
      .quiet_o(quiet), .stale_o(stale),
      .s_req_i(card_req), .s_rsp_o(card_rsp),
      .m_req_o(fence_req), .m_made_up_o(made_up), .m_rsp_i(fence_rsp)
  );

  // Only register slices connect to the pins of the bus, because the pins may be far away. Write
  // data are held before their slice, so that they leave it only when their request is offered at
  // the pins.
  localparam int unsigned Request = $bits(axi_pkg::request_t);
  localparam int unsigned Write = $bits(axi_pkg::write_t) + 1;  // Plus the flag for made-up data.
  localparam int unsigned Answer = $bits(axi_pkg::answer_t);
  localparam int unsigned Read = $bits(axi_pkg::read_t);
  logic order_valid, order_ready;
  async_fifo #(.Width(Request), .Log2(3)) u_dma_aw (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst),
      .wr_valid_i(fence_req.aw_valid), .wr_ready_o(fence_rsp.aw_ready), .wr_data_i(fence_req.aw),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst),
      .rd_valid_o(queue_req.aw_valid), .rd_ready_i(queue_rsp.aw_ready), .rd_data_o(queue_req.aw)
  );
  axi_slice #(.Width(Request)) u_slice_aw (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .s_valid_i(queue_req.aw_valid), .s_ready_o(queue_rsp.aw_ready), .s_data_i(queue_req.aw),
      .m_valid_o(bus_req_o.aw_valid), .m_ready_i(bus_rsp_i.aw_ready), .m_data_o(bus_req_o.aw)
  );
  async_fifo #(.Width(Write), .Log2(4)) u_dma_w (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst),
      .wr_valid_i(fence_req.w_valid), .wr_ready_o(fence_rsp.w_ready),
      .wr_data_i({made_up, fence_req.w}),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst),
      .rd_valid_o(queue_req.w_valid), .rd_ready_i(queue_rsp.w_ready),
      .rd_data_o({queue_made_up, queue_req.w})
  );
  write_order u_order (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .awvalid_i(bus_req_o.aw_valid), .awready_i(bus_rsp_i.aw_ready),
      .wvalid_i(queue_req.w_valid), .wlast_i(queue_req.w.last), .wready_i(order_ready),
      .wvalid_o(order_valid), .wready_o(queue_rsp.w_ready)
  );
  axi_slice #(.Width(Write)) u_slice_w (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .s_valid_i(order_valid), .s_ready_o(order_ready), .s_data_i({queue_made_up, queue_req.w}),
      .m_valid_o(bus_req_o.w_valid), .m_ready_i(bus_rsp_i.w_ready),
      .m_data_o({bus_made_up, bus_req_o.w})
  );
  assign bus_wstrb_o = bus_made_up ? '0 : axi_pkg::AllBytes;
  axi_slice #(.Width(Answer)) u_slice_b (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .s_valid_i(bus_rsp_i.b_valid), .s_ready_o(bus_req_o.b_ready), .s_data_i(bus_rsp_i.b),
      .m_valid_o(queue_rsp.b_valid), .m_ready_i(queue_req.b_ready), .m_data_o(queue_rsp.b)
  );
  async_fifo #(.Width(Answer), .Log2(3)) u_dma_b (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst),
      .wr_valid_i(queue_rsp.b_valid), .wr_ready_o(queue_req.b_ready), .wr_data_i(queue_rsp.b),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst),
      .rd_valid_o(fence_rsp.b_valid), .rd_ready_i(fence_req.b_ready), .rd_data_o(fence_rsp.b)
  );
  async_fifo #(.Width(Request), .Log2(3)) u_dma_ar (
      .wr_clk_i(card_clk_i), .wr_rst_i(shell_rst),
      .wr_valid_i(fence_req.ar_valid), .wr_ready_o(fence_rsp.ar_ready), .wr_data_i(fence_req.ar),
      .rd_clk_i(bus_clk_i), .rd_rst_i(bus_rst),
      .rd_valid_o(queue_req.ar_valid), .rd_ready_i(queue_rsp.ar_ready), .rd_data_o(queue_req.ar)
  );
  axi_slice #(.Width(Request)) u_slice_ar (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .s_valid_i(queue_req.ar_valid), .s_ready_o(queue_rsp.ar_ready), .s_data_i(queue_req.ar),
      .m_valid_o(bus_req_o.ar_valid), .m_ready_i(bus_rsp_i.ar_ready), .m_data_o(bus_req_o.ar)
  );
  axi_slice #(.Width(Read)) u_slice_r (
      .clk_i(bus_clk_i), .rst_i(bus_rst),
      .s_valid_i(bus_rsp_i.r_valid), .s_ready_o(bus_req_o.r_ready), .s_data_i(bus_rsp_i.r),
      .m_valid_o(queue_rsp.r_valid), .m_ready_i(queue_req.r_ready), .m_data_o(queue_rsp.r)
  );
  async_fifo #(.Width(Read), .Log2(4)) u_dma_r (
      .wr_clk_i(bus_clk_i), .wr_rst_i(bus_rst),
      .wr_valid_i(queue_rsp.r_valid), .wr_ready_o(queue_req.r_ready), .wr_data_i(queue_rsp.r),
      .rd_clk_i(card_clk_i), .rd_rst_i(shell_rst),
      .rd_valid_o(fence_rsp.r_valid), .rd_ready_i(fence_req.r_ready), .rd_data_o(fence_rsp.r)
  );

  // ---- interrupt hint
  event_cdc u_hint (
      .from_clk_i(card_clk_i), .from_rst_i(shell_rst), .event_i(irq && !card_rst),
      .to_clk_i(bus_clk_i), .to_rst_i(bus_rst), .event_o(hint_o)
  );

  // Each shell drives these values as constants, so the card must use them. The fence generates
  // wlast itself.
  always_ff @(posedge card_clk_i) begin
    if (!card_rst) begin
      if (card_req.ar_valid)
        `ASSERT(arsize == axi_pkg::Size64 && arburst == axi_pkg::Incr,
                "shell_card: a read of another kind");
      if (card_req.aw_valid)
        `ASSERT(awsize == axi_pkg::Size64 && awburst == axi_pkg::Incr && card_req.aw.id == '0,
                "shell_card: a write of another kind");
      if (card_req.w_valid && card_rsp.w_ready)
        `ASSERT(card_wstrb == axi_pkg::AllBytes && card_req.w.last == (u_fence.owed_q == 9'd1),
                "shell_card: a beat that is not whole, or WLAST on the wrong one");
    end
  end
endmodule
