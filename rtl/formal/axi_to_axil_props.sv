// Proves about the converter of register accesses: every burst gets an answer of its own kind and
// id, with the announced number of beats. Answers hold until accepted. Each access to the registers
// is for a word of the present beat, with the word's data, strobes and address, at most once and in
// order. No word with an enabled byte is left out. FIXED and WRAP access no register. VALID is not
// withdrawn. READY is low in reset. Assumed: the bridge obeys AXI4, and the registers only answer
// requests, at any time.
module axi_to_axil_props (
    input logic clk,
    input logic [3:0] awid,
    input logic [31:0] awaddr,
    input logic [7:0] awlen,
    input logic [2:0] awsize,
    input logic [1:0] awburst,
    input logic awvalid,
    input logic [511:0] wdata,
    input logic [63:0] wstrb,
    input logic wvalid,
    input logic bready,
    input logic [3:0] arid,
    input logic [31:0] araddr,
    input logic [7:0] arlen,
    input logic [2:0] arsize,
    input logic [1:0] arburst,
    input logic arvalid,
    input logic rready,
    input axi_pkg::lite_rsp_t m_rsp
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic awready, wready, bvalid, arready, rvalid, rlast, wlast;
  axi_pkg::lite_req_t m_req;
  logic [3:0] bid, rid;
  logic [1:0] bresp, rresp;
  logic [511:0] rdata;
  axi_to_axil dut (
      .clk_i(clk), .rst_i(rst),
      .s_awid_i(awid), .s_awaddr_i(awaddr), .s_awlen_i(awlen), .s_awsize_i(awsize),
      .s_awburst_i(awburst),
      .s_awvalid_i(awvalid), .s_awready_o(awready),
      .s_wdata_i(wdata), .s_wstrb_i(wstrb), .s_wlast_i(wlast), .s_wvalid_i(wvalid),
      .s_wready_o(wready),
      .s_bid_o(bid), .s_bresp_o(bresp), .s_bvalid_o(bvalid), .s_bready_i(bready),
      .s_arid_i(arid), .s_araddr_i(araddr), .s_arlen_i(arlen), .s_arsize_i(arsize),
      .s_arburst_i(arburst),
      .s_arvalid_i(arvalid), .s_arready_o(arready),
      .s_rid_o(rid), .s_rdata_o(rdata), .s_rresp_o(rresp), .s_rlast_o(rlast), .s_rvalid_o(rvalid),
      .s_rready_i(rready),
      .m_req_o(m_req), .m_rsp_i(m_rsp)
  );
  // In reset, no access is accepted and then lost.
  always_comb if (rst) assert (!awready && !arready);

  // The bridge marks the last beat as its request has announced it.
  assign wlast = dut.beats_q == '0;

  logic taken_write, taken_read, taken_beat, given_beat;
  assign taken_write = awvalid && awready;
  assign taken_read = arvalid && arready;
  assign taken_beat = wvalid && wready;
  assign given_beat = rvalid && rready;

  // The present burst and beat, and one arbitrary word of the beat, which is watched.
  logic busy_q, write_q, refuse_q, first_q, begin_q;
  logic [3:0] id_q, lane, lane_q;
  logic [8:0] left_q;             // Beats of the burst not yet accepted (write) or given (read).
  logic [31:0] base_q, lane_data_q;
  logic [3:0] lane_strb_q;
  logic in_beat_q, served_q;      // The lane's word of this beat was answered.
  logic asked_q, aw_done_q, w_done_q, ar_done_q;
  always_ff @(posedge clk) lane_q <= lane_q;
  assign lane = lane_q;

  logic answered;
  assign answered = (m_rsp.b_valid && m_req.b_ready) || (m_rsp.r_valid && m_req.r_ready);
  // The registers answer only after they have accepted a request.
  always_comb begin
    assume (!m_rsp.b_valid || (aw_done_q && w_done_q));
    assume (!m_rsp.r_valid || ar_done_q);
  end

  logic bvalid_q, bready_q, rvalid_q, rready_q, aw_q, w_q, ar_q;
  logic [5:0] b_q;
  logic [518:0] r_q;
  logic [67:0] word_was_q;
  always_ff @(posedge clk) begin
    first_q <= rst;
    busy_q <= !rst && (taken_write || taken_read
        || (busy_q && !(bvalid && bready) && !(given_beat && rlast)));
    aw_done_q <= !rst && ((m_req.aw_valid && m_rsp.aw_ready) || aw_done_q) && !answered;
    w_done_q <= !rst && ((m_req.w_valid && m_rsp.w_ready) || w_done_q) && !answered;
    ar_done_q <= !rst && ((m_req.ar_valid && m_rsp.ar_ready) || ar_done_q) && !answered;
    if (taken_write || taken_read) begin
      write_q <= taken_write;
      id_q <= taken_write ? awid : arid;
      refuse_q <= (taken_write ? awburst : arburst) != 2'b01;
      left_q <= (taken_write ? 9'(awlen) : 9'(arlen)) + 9'd1;
    end else if (taken_beat || given_beat) begin
      left_q <= left_q - 9'd1;
    end
    if (taken_beat) begin
      lane_data_q <= wdata[{lane, 5'd0}+:32];
      lane_strb_q <= wstrb[{lane, 2'd0}+:4];
      base_q <= dut.addr_q;
      served_q <= 1'b0;
    end else if (answered && m_req.aw_addr[5:2] == lane) begin
      served_q <= 1'b1;
    end
    bvalid_q <= bvalid && !rst;
    bready_q <= bready;
    rvalid_q <= rvalid && !rst;
    rready_q <= rready;
    b_q <= {bid, bresp};
    r_q <= {rid, rdata, rresp, rlast};
    aw_q <= !rst && m_req.aw_valid && !m_rsp.aw_ready;
    w_q <= !rst && m_req.w_valid && !m_rsp.w_ready;
    ar_q <= !rst && m_req.ar_valid && !m_rsp.ar_ready;
    word_was_q <= {m_req.aw_addr, m_req.w_data, m_req.w_strb};

    if (!rst && !first_q) begin
      // There is one burst at a time. Answers have the burst's kind and id, are complete, and hold.
      assert (!(taken_write && taken_read) && !(busy_q && (taken_write || taken_read)));
      if (bvalid) assert (busy_q && write_q && left_q == '0 && bid == id_q);
      if (rvalid) assert (busy_q && !write_q && rid == id_q && rlast == (left_q == 9'd1));
      if (wready) assert (busy_q && write_q && left_q != '0);
      if (bvalid_q && !bready_q) assert (bvalid && b_q == {bid, bresp});
      if (rvalid_q && !rready_q) assert (rvalid && r_q == {rid, rdata, rresp, rlast});
      if (refuse_q && bvalid) assert (bresp == 2'b10);
      if (refuse_q && rvalid) assert (rresp == 2'b10 && rdata == '1);
      // Requests to the registers are only for an allowed burst; nothing is withdrawn or changed.
      if (m_req.aw_valid || m_req.w_valid || m_req.ar_valid) assert (busy_q && !refuse_q);
      if (m_req.aw_valid || m_req.w_valid)
        assert (write_q && m_req.aw_addr[1:0] == '0 && m_req.w_strb != '0);
      assert (m_req.ar_addr == m_req.aw_addr);
      if (m_req.ar_valid) assert (!write_q && m_req.aw_addr[1:0] == '0);
      if (aw_q) assert (m_req.aw_valid);
      if (w_q) assert (m_req.w_valid);
      if (ar_q) assert (m_req.ar_valid);
      if (aw_q || w_q || ar_q) assert (word_was_q == {m_req.aw_addr, m_req.w_data, m_req.w_strb});
      // The watched word is accessed once, with its data and address, if a byte is enabled.
      if ((m_req.aw_valid || m_req.w_valid) && m_req.aw_addr[5:2] == lane)
        assert (m_req.w_data == lane_data_q && m_req.w_strb == lane_strb_q
            && m_req.aw_addr[31:6] == base_q[31:6]
            && !served_q);
      if (bvalid && !refuse_q && lane_strb_q != '0 && lane >= base_q[5:2] && lane <= dut.last_word)
        assert (served_q);
    end

    cover (!rst && bvalid && served_q && lane == 4'd8 && bresp == 2'b00);
    cover (!rst && rvalid && !rlast && rready && dut.size_q == 3'd3);
    cover (!rst && rvalid && rlast && rready && rdata[63:0] == 64'h2_0000_0001);
    cover (!rst && bvalid && refuse_q);
    cover (!rst && m_req.w_valid && !m_req.aw_valid);
  end

  // Invariants for the induction: the converter's state matches that of this proof.
  always_ff @(posedge clk) begin
    if (!rst && !first_q) begin
      assert (dut.state_q <= 3'd5 && busy_q == (dut.state_q != 3'd0));
      if (busy_q) begin
        assert (dut.write_q == write_q && dut.id_q == id_q && dut.refuse_q == refuse_q);
        // The number of beats after the present beat.
        if (write_q && dut.state_q == 3'd1) assert (left_q == 9'(dut.beats_q) + 9'd1);
        else assert (left_q == 9'(dut.beats_q) + 9'(!write_q));
        if (refuse_q) assert (dut.resp_q == 2'b10);
        if (refuse_q && !write_q && dut.state_q != 3'd1) assert (dut.data_q == '1);
      end
      if (dut.state_q == 3'd4) assert (!write_q);
      if (dut.state_q == 3'd5) assert (write_q && dut.beats_q == '0);
      if (dut.state_q == 3'd3) assert (!refuse_q && !dut.word_q[4]);
      if (dut.state_q != 3'd3)
        assert (!m_req.aw_valid && !m_req.w_valid && !m_req.ar_valid && !aw_done_q && !w_done_q
            && !ar_done_q);
      else if (write_q)
        assert (!m_req.ar_valid && !ar_done_q && m_req.aw_valid == !aw_done_q
            && m_req.w_valid == !w_done_q
            && m_req.w_strb != '0);
      else
        assert (!m_req.aw_valid && !m_req.w_valid && !aw_done_q && !w_done_q
            && m_req.ar_valid == !ar_done_q);
      if (write_q && (dut.state_q == 3'd2 || dut.state_q == 3'd3 || dut.state_q == 3'd5)) begin
        assert (dut.data_q[{lane, 5'd0}+:32] == lane_data_q
            && dut.strb_q[{lane, 2'd0}+:4] == lane_strb_q);
        assert (dut.addr_q == base_q);
        if (!refuse_q) begin
          // Words are accessed in rising order, from the word at the address on.
          assert (dut.word_q >= {1'b0, base_q[5:2]} && dut.word_q <= 5'd16);
          assert (served_q == (lane_strb_q != '0 && lane >= base_q[5:2]
              && {1'b0, lane} < dut.word_q));
          if (dut.state_q == 3'd5) assert (dut.word_q > {1'b0, dut.last_word});
        end
      end
      if (!refuse_q && (dut.state_q == 3'd2 || dut.state_q == 3'd3)) begin
        assert (dut.word_q <= {1'b0, dut.last_word} + 5'd1);
        if (dut.state_q == 3'd3) assert (dut.word_q <= {1'b0, dut.last_word});
      end
    end
  end
endmodule
