// What is proved about the fence between card and bus, for a card that may do anything at any time,
// its reset included: no VALID on the bus is taken back or changed; every burst has the beats that
// it announced, and what the card did not give is written to no byte; closed, nothing new begins;
// quiet means that every request was answered; an answer reaches the card only for a request of its
// present life. The bus answers only what it was asked.
module dma_fence_props (
    input logic clk,
    input logic card_rst,
    input logic close,
    input logic [63:0] awaddr,
    input logic [7:0] awlen,
    input logic awvalid,
    input logic [511:0] wdata,
    input logic [63:0] wstrb,
    input logic wvalid,
    input logic bready,
    input logic [4:0] arid,
    input logic [63:0] araddr,
    input logic [7:0] arlen,
    input logic arvalid,
    input logic rready,
    input logic m_awready,
    input logic m_wready,
    input logic m_bvalid,
    input logic m_arready,
    input logic m_rlast,
    input logic m_rvalid
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic quiet, stale, s_awready, s_wready, s_bvalid, s_arready, s_rvalid;
  logic m_awvalid, m_wvalid, m_wlast, m_bready, m_arvalid, m_rready;
  logic [63:0] m_awaddr, m_araddr, m_wstrb;
  logic [7:0] m_awlen, m_arlen;
  logic [4:0] m_arid;
  logic [511:0] m_wdata;
  dma_fence dut (
      .clk_i(clk), .rst_i(rst), .card_rst_i(card_rst), .close_i(close), .quiet_o(quiet),
      .stale_o(stale),
      .s_awaddr_i(awaddr), .s_awlen_i(awlen), .s_awvalid_i(awvalid), .s_awready_o(s_awready),
      .s_wdata_i(wdata), .s_wstrb_i(wstrb), .s_wvalid_i(wvalid), .s_wready_o(s_wready),
      .s_bvalid_o(s_bvalid), .s_bready_i(bready),
      .s_arid_i(arid), .s_araddr_i(araddr), .s_arlen_i(arlen), .s_arvalid_i(arvalid),
      .s_arready_o(s_arready),
      .s_rvalid_o(s_rvalid), .s_rready_i(rready),
      .m_awaddr_o(m_awaddr), .m_awlen_o(m_awlen), .m_awvalid_o(m_awvalid), .m_awready_i(m_awready),
      .m_wdata_o(m_wdata), .m_wstrb_o(m_wstrb), .m_wlast_o(m_wlast), .m_wvalid_o(m_wvalid),
      .m_wready_i(m_wready),
      .m_bvalid_i(m_bvalid), .m_bready_o(m_bready),
      .m_arid_o(m_arid), .m_araddr_o(m_araddr), .m_arlen_o(m_arlen), .m_arvalid_o(m_arvalid),
      .m_arready_i(m_arready),
      .m_rlast_i(m_rlast), .m_rvalid_i(m_rvalid), .m_rready_o(m_rready)
  );

  logic ar_taken, aw_taken, w_taken, r_given, b_given;
  assign ar_taken = arvalid && s_arready;
  assign aw_taken = awvalid && s_awready;
  assign w_taken = wvalid && s_wready;
  assign r_given = m_rvalid && m_rready && m_rlast;
  assign b_given = m_bvalid && m_bready;

  // Of the bus: requests accepted and not answered; beats and bursts of data still to come from the
  // fence's side.
  logic [6:0] bus_reads_q, bus_writes_q;
  // Of the card: requests of its present life that were not answered, and whether all of them are
  // of this life.
  logic [6:0] my_reads_q, my_writes_q;
  // Of the burst whose data pass: beats that the bus has not accepted.
  logic [9:0] to_come_q;
  logic w_mine_q;
  always_comb begin
    assume (!m_rvalid || bus_reads_q != '0);
    assume (!m_bvalid || bus_writes_q != '0);
  end

  logic ar_stalled_q, aw_stalled_q, w_stalled_q, closed_q, shut_q, stale_was_q;
  logic [76:0] ar_q;
  logic [71:0] aw_q;
  logic [576:0] w_q;
  logic [575:0] card_w_q;
  always_ff @(posedge clk) begin
    bus_reads_q <= rst ? '0 : bus_reads_q + 7'(m_arvalid && m_arready) - 7'(r_given);
    // The last beat of a burst is what a write is answered for.
    bus_writes_q <= rst ? '0 : bus_writes_q + 7'(m_wvalid && m_wready && m_wlast) - 7'(b_given);
    my_reads_q <= rst || card_rst ? '0
        : my_reads_q + 7'(ar_taken) - 7'(s_rvalid && rready && m_rlast);
    my_writes_q <= rst || card_rst ? '0 : my_writes_q + 7'(aw_taken) - 7'(s_bvalid && bready);
    to_come_q <= rst ? '0 : to_come_q + (aw_taken ? 10'(awlen) + 10'd1 : 10'd0)
        - 10'(m_wvalid && m_wready);
    ar_stalled_q <= !rst && m_arvalid && !m_arready;
    aw_stalled_q <= !rst && m_awvalid && !m_awready;
    w_stalled_q <= !rst && m_wvalid && !m_wready;
    ar_q <= {m_arid, m_araddr, m_arlen};
    aw_q <= {m_awaddr, m_awlen};
    w_q <= {m_wlast, m_wstrb, m_wdata};
    closed_q <= close || card_rst;
    shut_q <= card_rst || stale;
    stale_was_q <= !rst && stale;
    if (w_taken) card_w_q <= {wstrb, wdata};
    w_mine_q <= w_taken;

    if (!rst) begin
      if (ar_stalled_q) assert (m_arvalid && ar_q == {m_arid, m_araddr, m_arlen});
      if (aw_stalled_q) assert (m_awvalid && aw_q == {m_awaddr, m_awlen});
      if (w_stalled_q) assert (m_wvalid && w_q == {m_wlast, m_wstrb, m_wdata});
      // Closed, nothing begins that was not accepted before.
      if (closed_q || shut_q) begin
        if (!ar_stalled_q) assert (!m_arvalid);
        if (!aw_stalled_q) assert (!m_awvalid);
      end
      assert (!((close || card_rst || stale) && (ar_taken || aw_taken)));
      // Beats: as many as announced, the last one marked; the card's as it gave them, the others
      // empty.
      assert (to_come_q == 10'(dut.owed_q) + 10'(m_wvalid));
      if (m_wvalid)
        assert (m_wlast == (dut.owed_q == '0)
            || (m_wlast && dut.owed_q != '0 && to_come_q > 10'd1));
      if (m_wvalid && !w_stalled_q) assert ({m_wstrb, m_wdata} == (w_mine_q ? card_w_q : '0));
      // Quiet is quiet.
      assert (8'(dut.reads_q) == 8'(bus_reads_q) + 8'(m_arvalid));
      assert (8'(dut.writes_q) == 8'(bus_writes_q) + 8'(dut.owed_q != '0)
          + 8'(m_wvalid && m_wlast));
      if (quiet)
        assert (!m_arvalid && !m_wvalid && bus_reads_q == '0 && bus_writes_q == '0
            && dut.owed_q == '0);
      // Answers of a former life reach nobody: while answers pass, all that is in flight is of this
      // life.
      if (!card_rst && !stale) assert (my_reads_q == dut.reads_q && my_writes_q == dut.writes_q);
      else assert (!s_rvalid && !s_bvalid && m_rready && m_bready);
      if (stale) assert (my_reads_q == '0 && my_writes_q == '0);
      if (s_rvalid) assert (my_reads_q != '0);
      if (s_bvalid) assert (my_writes_q != '0);
      // Stale ends with quiet, and comes only from a reset.
      if (stale && !stale_was_q) assert (shut_q);
    end
    cover (!rst && stale && !card_rst && m_rvalid);
    cover (!rst && stale_was_q && !stale && !card_rst && quiet);
    cover (!rst && m_wvalid && m_wlast && m_wstrb == '0 && stale && to_come_q == 10'd1);
    cover (!rst && ar_taken && my_reads_q == 7'd2);
    cover (!rst && s_bvalid && bready);
    cover (!rst && close && quiet && my_writes_q == '0 && arvalid);
  end
endmodule
