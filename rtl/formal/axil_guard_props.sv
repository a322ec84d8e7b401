// Proves about the registers' guard: each access of the host gets one answer, of its own kind, in
// bounded time, which holds until it is accepted. An access outside the map, or while the card is
// in reset or dead, never reaches the card; it gets all ones and an error. The card's answers reach
// the host unchanged. Only the card's reset withdraws VALID towards the card. READY is low in
// reset. The card may answer anything at any time, or nothing. The host may delay READY; such time
// does not count.
module axil_guard_props (
    input logic clk,
    input logic card_rst,
    input axi_pkg::lite_req_t s_req,
    input axi_pkg::lite_rsp_t m_rsp
);
  localparam int unsigned PatienceLog2 = 4;
  localparam logic [7:0] Bound = 8'(2 ** PatienceLog2 + 3);

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic dead;
  axi_pkg::lite_rsp_t s_rsp;
  axi_pkg::lite_req_t m_req;
  axil_guard #(
      .PatienceLog2(PatienceLog2)
  ) dut (
      .clk_i(clk), .rst_i(rst), .card_rst_i(card_rst), .dead_o(dead),
      .s_req_i(s_req), .s_rsp_o(s_rsp),
      .m_req_o(m_req), .m_rsp_i(m_rsp)
  );

  // In reset, no access is accepted and then lost.
  always_comb if (rst) assert (!s_rsp.aw_ready && !s_rsp.w_ready && !s_rsp.ar_ready);

  logic taken_write, taken_read;
  assign taken_write = s_req.aw_valid && s_rsp.aw_ready;
  assign taken_read = s_req.ar_valid && s_rsp.ar_ready;

  // The present access, as the host made it, and the answer to it.
  logic busy_q, write_q, local_q, first_q, bvalid_q, rvalid_q, ready_q, aw_q, w_q, ar_q, rst_q,
      answered_q;
  logic [31:0] addr_q, data_q, answer_q, rdata_q;
  logic [1:0] resp_q, answer_resp_q;
  logic [3:0] strb_q;
  logic [7:0] waits_q, reads_wait_q;
  always_ff @(posedge clk) begin
    first_q <= rst;
    rst_q <= card_rst;
    bvalid_q <= s_rsp.b_valid && !rst;
    rvalid_q <= s_rsp.r_valid && !rst;
    ready_q <= write_q ? s_req.b_ready : s_req.r_ready;
    rdata_q <= s_rsp.r_data;
    resp_q <= write_q ? s_rsp.b_resp : s_rsp.r_resp;
    aw_q <= !rst && m_req.aw_valid && !m_rsp.aw_ready && !card_rst;
    w_q <= !rst && m_req.w_valid && !m_rsp.w_ready && !card_rst;
    ar_q <= !rst && m_req.ar_valid && !m_rsp.ar_ready && !card_rst;
    busy_q <= !rst && (taken_write || taken_read
        || (busy_q && !(s_rsp.b_valid && s_req.b_ready) && !(s_rsp.r_valid && s_req.r_ready)));
    if (taken_write || taken_read) begin
      write_q <= taken_write;
      addr_q <= taken_write ? s_req.aw_addr : s_req.ar_addr;
      data_q <= s_req.w_data;
      strb_q <= s_req.w_strb;
      local_q <= dead || card_rst || (taken_write ? s_req.aw_addr[31:20]
          : s_req.ar_addr[31:20]) != '0;
      answered_q <= 1'b0;
    end else if (dut.state_q == 2'd1 && (write_q ? m_rsp.b_valid && m_req.b_ready
        : m_rsp.r_valid && m_req.r_ready)
        && !answered_q) begin
      // The card's first answer; it counts if it came in time.
      answered_q <= !card_rst && dut.patience_q != '1;
      answer_q <= m_rsp.r_data;
      answer_resp_q <= write_q ? m_rsp.b_resp : m_rsp.r_resp;
    end
    waits_q <= !rst && busy_q && !s_rsp.b_valid && !s_rsp.r_valid ? waits_q + 8'd1 : '0;
    // Clocks since a read request waits for READY, without a clock in which the host delays an
    // answer.
    reads_wait_q <= !rst && s_req.ar_valid && !s_rsp.ar_ready && !(s_rsp.b_valid && !s_req.b_ready)
        && !(s_rsp.r_valid && !s_req.r_ready) ? reads_wait_q + 8'd1 : '0;

    if (!rst && !first_q) begin
      // There is one access at a time; address and data of a write are accepted together.
      assert (s_rsp.aw_ready == s_rsp.w_ready && !(taken_write && !(s_req.w_valid && s_rsp.w_ready))
          && !(taken_write && taken_read));
      assert (!busy_q || !(taken_write || taken_read));
      // Answers have the requested kind, come only after a request and in time, and hold.
      assert (!s_rsp.b_valid || (busy_q && write_q));
      assert (!s_rsp.r_valid || (busy_q && !write_q));
      assert (waits_q < Bound);
      assert (reads_wait_q <= 8'(Bound + Bound + 8'd3));
      if (bvalid_q && !ready_q) assert (s_rsp.b_valid && s_rsp.b_resp == resp_q);
      if (rvalid_q && !ready_q)
        assert (s_rsp.r_valid && {s_rsp.r_data, s_rsp.r_resp} == {rdata_q, resp_q});
      // The host gets the card's word, or all ones with an error.
      if (s_rsp.r_valid)
        assert (answered_q && !local_q ? {s_rsp.r_data, s_rsp.r_resp} == {answer_q, answer_resp_q}
            : {s_rsp.r_data, s_rsp.r_resp} == {32'hffff_ffff, 2'b10});
      if (s_rsp.b_valid) assert (s_rsp.b_resp == (answered_q && !local_q ? answer_resp_q : 2'b10));
      // The card only gets the host's access, and only if it is in the map and the card is alive.
      if (m_req.aw_valid || m_req.w_valid || m_req.ar_valid)
        assert (m_req.aw_addr == 32'(addr_q[19:0]) && m_req.ar_addr == m_req.aw_addr
            && (dead || (addr_q[31:20] == '0 && !local_q)));
      if (m_req.w_valid) assert ({m_req.w_data, m_req.w_strb} == {data_q, strb_q});
      assert (!(m_req.ar_valid && (m_req.aw_valid || m_req.w_valid)));
      if (aw_q) assert (m_req.aw_valid);
      if (w_q) assert (m_req.w_valid);
      if (ar_q) assert (m_req.ar_valid);
      if (rst_q) assert (!m_req.aw_valid && !m_req.w_valid && !m_req.ar_valid && !dead);
    end

    cover (!rst && s_rsp.r_valid && s_req.r_ready && answered_q && s_rsp.r_data == 32'h4c55_4350);
    cover (!rst && s_rsp.r_valid && local_q && addr_q[31:20] == 12'd1);
    cover (!rst && dead && s_rsp.b_valid);
    cover (!rst && s_rsp.r_valid && !answered_q && !local_q && rst_q);
    cover (!rst && taken_read && write_q && s_req.aw_valid && s_req.w_valid);
  end

  // Invariants for the induction: the guard's state matches that of this proof.
  always_ff @(posedge clk) begin
    if (!rst && !first_q) begin
      assert (busy_q == (dut.state_q != 2'd0));
      if (busy_q) assert (dut.write_q == write_q);
      // A read waits at most for the rest of one read, and for one write.
      if (!dut.write_q)
        assert (reads_wait_q <= (!busy_q ? Bound + 8'd1 : s_rsp.r_valid ? Bound : waits_q));
      else if (busy_q)
        assert (reads_wait_q <= (s_rsp.b_valid ? Bound + Bound + 8'd2 : Bound + 8'd2 + waits_q));
      if (dut.state_q == 2'd1) begin
        assert (!local_q && !dead);
        assert (!answered_q);
        assert (8'(dut.patience_q) == waits_q);
      end else if (busy_q) begin
        if (dut.state_q == 2'd3) assert (!answered_q && waits_q < Bound - 8'd1);
      end
      if (!dead && m_req.ar_valid) assert (!write_q);
      if (!dead && (m_req.aw_valid || m_req.w_valid)) assert (write_q);
      if (!dead && dut.state_q != 2'd1)
        assert (!m_req.aw_valid && !m_req.w_valid && !m_req.ar_valid);
      if (dut.state_q == 2'd0 || dut.state_q == 2'd3 && local_q) assert (dut.patience_q == '0);
    end
  end
endmodule
