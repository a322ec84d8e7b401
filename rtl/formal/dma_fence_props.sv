// Proves about the fence between card and bus, for a card that may do anything at any time and may
// be reset at any time: no VALID on the bus is withdrawn or changed. Every burst has the announced
// number of beats; beats that the card did not give write no byte. When closed, nothing new begins.
// Quiet means that every request was answered. An answer reaches the card only for a request since
// the card's last reset. Assumed: the bus answers only requests.
module dma_fence_props (
    input logic clk,
    input logic card_rst,
    input logic close,
    input axi_pkg::req_t s_req,
    input axi_pkg::rsp_t m_rsp
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic quiet, stale, made_up;
  axi_pkg::rsp_t s_rsp;
  axi_pkg::req_t m_req;
  dma_fence dut (
      .clk_i(clk), .rst_i(rst), .card_rst_i(card_rst), .close_i(close), .quiet_o(quiet),
      .stale_o(stale),
      .s_req_i(s_req), .s_rsp_o(s_rsp), .m_req_o(m_req), .m_made_up_o(made_up), .m_rsp_i(m_rsp)
  );

  logic ar_taken, aw_taken, w_taken, r_given, b_given;
  assign ar_taken = s_req.ar_valid && s_rsp.ar_ready;
  assign aw_taken = s_req.aw_valid && s_rsp.aw_ready;
  assign w_taken = s_req.w_valid && s_rsp.w_ready;
  assign r_given = m_rsp.r_valid && m_req.r_ready && m_rsp.r.last;
  assign b_given = m_rsp.b_valid && m_req.b_ready;

  // Requests that the bus has accepted and not answered.
  logic [6:0] bus_reads_q, bus_writes_q;
  // Requests of the card since its last reset that were not answered.
  logic [6:0] my_reads_q, my_writes_q;
  // Beats of the present burst of write data that the bus has not accepted yet.
  logic [9:0] to_come_q;
  logic w_mine_q;
  always_comb begin
    assume (!m_rsp.r_valid || bus_reads_q != '0);
    assume (!m_rsp.b_valid || bus_writes_q != '0);
  end

  logic ar_stalled_q, aw_stalled_q, w_stalled_q, closed_q, shut_q, stale_was_q;
  logic [76:0] ar_q, aw_q;
  logic [513:0] w_q;
  logic [511:0] card_w_q;
  always_ff @(posedge clk) begin
    bus_reads_q <= rst ? '0 : bus_reads_q + 7'(m_req.ar_valid && m_rsp.ar_ready) - 7'(r_given);
    // A write is answered for the last beat of its burst.
    bus_writes_q <= rst ? '0 : bus_writes_q + 7'(m_req.w_valid && m_rsp.w_ready
        && m_req.w.last) - 7'(b_given);
    my_reads_q <= rst || card_rst ? '0
        : my_reads_q + 7'(ar_taken) - 7'(s_rsp.r_valid && s_req.r_ready && m_rsp.r.last);
    my_writes_q <= rst || card_rst ? '0 : my_writes_q + 7'(aw_taken) - 7'(s_rsp.b_valid
        && s_req.b_ready);
    to_come_q <= rst ? '0 : to_come_q + (aw_taken ? 10'(s_req.aw.len) + 10'd1 : 10'd0)
        - 10'(m_req.w_valid && m_rsp.w_ready);
    ar_stalled_q <= !rst && m_req.ar_valid && !m_rsp.ar_ready;
    aw_stalled_q <= !rst && m_req.aw_valid && !m_rsp.aw_ready;
    w_stalled_q <= !rst && m_req.w_valid && !m_rsp.w_ready;
    ar_q <= m_req.ar;
    aw_q <= m_req.aw;
    w_q <= {made_up, m_req.w};
    closed_q <= close || card_rst;
    shut_q <= card_rst || stale;
    stale_was_q <= !rst && stale;
    if (w_taken) card_w_q <= s_req.w.data;
    w_mine_q <= w_taken;

    if (!rst) begin
      if (ar_stalled_q) assert (m_req.ar_valid && ar_q == m_req.ar);
      if (aw_stalled_q) assert (m_req.aw_valid && aw_q == m_req.aw);
      if (w_stalled_q) assert (m_req.w_valid && w_q == {made_up, m_req.w});
      // After the fence has closed, only requests that already waited on the bus are offered there.
      if (closed_q || shut_q) begin
        if (!ar_stalled_q) assert (!m_req.ar_valid);
        if (!aw_stalled_q) assert (!m_req.aw_valid);
      end
      assert (!((close || card_rst || stale) && (ar_taken || aw_taken)));
      // There are as many beats as announced, with the last one marked. The card's beats are
      // unchanged; the other beats write no byte.
      assert (to_come_q == 10'(dut.owed_q) + 10'(m_req.w_valid));
      if (m_req.w_valid)
        assert (m_req.w.last == (dut.owed_q == '0)
            || (m_req.w.last && dut.owed_q != '0 && to_come_q > 10'd1));
      if (m_req.w_valid && !w_stalled_q)
        assert (made_up == !w_mine_q && m_req.w.data == (w_mine_q ? card_w_q : '0));
      // Quiet means that nothing is outstanding.
      assert (8'(dut.reads_q) == 8'(bus_reads_q) + 8'(m_req.ar_valid));
      assert (8'(dut.writes_q) == 8'(bus_writes_q) + 8'(dut.owed_q != '0)
          + 8'(m_req.w_valid && m_req.w.last));
      if (quiet)
        assert (!m_req.ar_valid && !m_req.w_valid && bus_reads_q == '0 && bus_writes_q == '0
            && dut.owed_q == '0);
      // Answers to requests from before a reset do not reach the card: while answers pass, all
      // requests in flight are newer than the reset.
      if (!card_rst && !stale) assert (my_reads_q == dut.reads_q && my_writes_q == dut.writes_q);
      else assert (!s_rsp.r_valid && !s_rsp.b_valid && m_req.r_ready && m_req.b_ready);
      if (stale) assert (my_reads_q == '0 && my_writes_q == '0);
      if (s_rsp.r_valid) assert (my_reads_q != '0);
      if (s_rsp.b_valid) assert (my_writes_q != '0);
      // `stale` ends when the bus is quiet, and only a reset sets it.
      if (stale && !stale_was_q) assert (shut_q);
    end
    cover (!rst && stale && !card_rst && m_rsp.r_valid);
    cover (!rst && stale_was_q && !stale && !card_rst && quiet);
    cover (!rst && m_req.w_valid && m_req.w.last && made_up && stale && to_come_q == 10'd1);
    cover (!rst && ar_taken && my_reads_q == 7'd2);
    cover (!rst && s_rsp.b_valid && s_req.b_ready);
    cover (!rst && close && quiet && my_writes_q == '0 && s_req.ar_valid);
  end
endmodule
