// What is proved about the registers' guard: each access of the host gets one answer, of its own
// kind, in bounded time, that holds until it is taken; an address outside the map, or any access of
// a card in reset or given up, never reaches the card and is answered with all ones and an error;
// what the card answered is what the host gets; towards the card no VALID is taken back but by its
// reset. The card may answer anything at any time, or nothing. The host may leave out READY; its
// time does not count. READY is low in reset.
module axil_guard_props (
    input logic clk,
    input logic card_rst,
    input logic awvalid,
    input logic [31:0] awaddr,
    input logic wvalid,
    input logic [31:0] wdata,
    input logic [3:0] wstrb,
    input logic bready,
    input logic arvalid,
    input logic [31:0] araddr,
    input logic rready,
    input logic m_awready,
    input logic m_wready,
    input logic m_bvalid,
    input logic [1:0] m_bresp,
    input logic m_arready,
    input logic m_rvalid,
    input logic [31:0] m_rdata,
    input logic [1:0] m_rresp
);
  localparam int unsigned PatienceLog2 = 4;
  localparam logic [7:0] Bound = 8'(2 ** PatienceLog2 + 3);

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic dead, awready, wready, bvalid, arready, rvalid, m_awvalid, m_wvalid, m_bready, m_arvalid,
      m_rready;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata, m_wdata;
  logic [19:0] m_addr;
  logic [3:0] m_wstrb;
  axil_guard #(
      .PatienceLog2(PatienceLog2)
  ) dut (
      .clk_i(clk), .rst_i(rst), .card_rst_i(card_rst), .dead_o(dead),
      .s_awvalid_i(awvalid), .s_awready_o(awready), .s_awaddr_i(awaddr),
      .s_wvalid_i(wvalid), .s_wready_o(wready), .s_wdata_i(wdata), .s_wstrb_i(wstrb),
      .s_bvalid_o(bvalid), .s_bready_i(bready), .s_bresp_o(bresp),
      .s_arvalid_i(arvalid), .s_arready_o(arready), .s_araddr_i(araddr),
      .s_rvalid_o(rvalid), .s_rready_i(rready), .s_rdata_o(rdata), .s_rresp_o(rresp),
      .m_awvalid_o(m_awvalid), .m_awready_i(m_awready), .m_addr_o(m_addr),
      .m_wvalid_o(m_wvalid), .m_wready_i(m_wready), .m_wdata_o(m_wdata), .m_wstrb_o(m_wstrb),
      .m_bvalid_i(m_bvalid), .m_bready_o(m_bready), .m_bresp_i(m_bresp),
      .m_arvalid_o(m_arvalid), .m_arready_i(m_arready),
      .m_rvalid_i(m_rvalid), .m_rready_o(m_rready), .m_rdata_i(m_rdata), .m_rresp_i(m_rresp)
  );

  // Nothing is taken and lost in reset.
  always_comb if (rst) assert (!awready && !wready && !arready);

  logic taken_write, taken_read;
  assign taken_write = awvalid && awready;
  assign taken_read = arvalid && arready;

  // The access under way, as the host made it, and what may become of it.
  logic busy_q, write_q, local_q, first_q, bvalid_q, rvalid_q, ready_q, aw_q, w_q, ar_q, rst_q,
      answered_q;
  logic [31:0] addr_q, data_q, answer_q, rdata_q;
  logic [1:0] resp_q, answer_resp_q;
  logic [3:0] strb_q;
  logic [7:0] waits_q, reads_wait_q;
  always_ff @(posedge clk) begin
    first_q <= rst;
    rst_q <= card_rst;
    bvalid_q <= bvalid && !rst;
    rvalid_q <= rvalid && !rst;
    ready_q <= write_q ? bready : rready;
    rdata_q <= rdata;
    resp_q <= write_q ? bresp : rresp;
    aw_q <= !rst && m_awvalid && !m_awready && !card_rst;
    w_q <= !rst && m_wvalid && !m_wready && !card_rst;
    ar_q <= !rst && m_arvalid && !m_arready && !card_rst;
    busy_q <= !rst && (taken_write || taken_read
        || (busy_q && !(bvalid && bready) && !(rvalid && rready)));
    if (taken_write || taken_read) begin
      write_q <= taken_write;
      addr_q <= taken_write ? awaddr : araddr;
      data_q <= wdata;
      strb_q <= wstrb;
      local_q <= dead || card_rst || (taken_write ? awaddr[31:20] : araddr[31:20]) != '0;
      answered_q <= 1'b0;
    end else if (dut.state_q == 2'd1 && (write_q ? m_bvalid && m_bready : m_rvalid && m_rready)
        && !answered_q) begin
      // The card's first answer, which counts when it came in time.
      answered_q <= !card_rst && dut.patience_q != '1;
      answer_q <= m_rdata;
      answer_resp_q <= write_q ? m_bresp : m_rresp;
    end
    waits_q <= !rst && busy_q && !bvalid && !rvalid ? waits_q + 8'd1 : '0;
    // Clocks that a read waits to be taken while the host takes its answers at once.
    reads_wait_q <= !rst && arvalid && !arready && !(bvalid && !bready)
        && !(rvalid && !rready) ? reads_wait_q + 8'd1 : '0;

    if (!rst && !first_q) begin
      // One at a time, address and data of a write together.
      assert (awready == wready && !(taken_write && !(wvalid && wready))
          && !(taken_write && taken_read));
      assert (!busy_q || !(taken_write || taken_read));
      // Answers: of the kind asked, only when asked, in time, and they hold.
      assert (!bvalid || (busy_q && write_q));
      assert (!rvalid || (busy_q && !write_q));
      assert (waits_q < Bound);
      assert (reads_wait_q <= 8'(Bound + Bound + 8'd3));
      if (bvalid_q && !ready_q) assert (bvalid && bresp == resp_q);
      if (rvalid_q && !ready_q) assert (rvalid && {rdata, rresp} == {rdata_q, resp_q});
      // What the host gets: the card's word, or all ones with an error.
      if (rvalid)
        assert (answered_q && !local_q ? {rdata, rresp} == {answer_q, answer_resp_q}
            : {rdata, rresp} == {32'hffff_ffff, 2'b10});
      if (bvalid) assert (bresp == (answered_q && !local_q ? answer_resp_q : 2'b10));
      // What the card sees: the host's access, if it is mapped and the card lives; nothing else.
      if (m_awvalid || m_wvalid || m_arvalid)
        assert (m_addr == addr_q[19:0] && (dead || (addr_q[31:20] == '0 && !local_q)));
      if (m_wvalid) assert ({m_wdata, m_wstrb} == {data_q, strb_q});
      assert (!(m_arvalid && (m_awvalid || m_wvalid)));
      if (aw_q) assert (m_awvalid);
      if (w_q) assert (m_wvalid);
      if (ar_q) assert (m_arvalid);
      if (rst_q) assert (!m_awvalid && !m_wvalid && !m_arvalid && !dead);
    end

    cover (!rst && rvalid && rready && answered_q && rdata == 32'h4c55_4350);
    cover (!rst && rvalid && local_q && addr_q[31:20] == 12'd1);
    cover (!rst && dead && bvalid);
    cover (!rst && rvalid && !answered_q && !local_q && rst_q);
    cover (!rst && taken_read && write_q && awvalid && wvalid);
  end

  // Invariants that the induction needs: the guard's state and ours.
  always_ff @(posedge clk) begin
    if (!rst && !first_q) begin
      assert (busy_q == (dut.state_q != 2'd0));
      if (busy_q) assert (dut.write_q == write_q);
      // A read waits for the rest of one read and for one write at most.
      if (!dut.write_q)
        assert (reads_wait_q <= (!busy_q ? Bound + 8'd1 : rvalid ? Bound : waits_q));
      else if (busy_q)
        assert (reads_wait_q <= (bvalid ? Bound + Bound + 8'd2 : Bound + 8'd2 + waits_q));
      if (dut.state_q == 2'd1) begin
        assert (!local_q && !dead);
        assert (!answered_q);
        assert (8'(dut.patience_q) == waits_q);
      end else if (busy_q) begin
        if (dut.state_q == 2'd3) assert (!answered_q && waits_q < Bound - 8'd1);
      end
      if (!dead && m_arvalid) assert (!write_q);
      if (!dead && (m_awvalid || m_wvalid)) assert (write_q);
      if (!dead && dut.state_q != 2'd1) assert (!m_awvalid && !m_wvalid && !m_arvalid);
      if (dut.state_q == 2'd0 || dut.state_q == 2'd3 && local_q) assert (dut.patience_q == '0);
    end
  end
endmodule
