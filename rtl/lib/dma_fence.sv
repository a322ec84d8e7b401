// Stands between the card's AXI4 master and the bus, so that the card can be reset at any time
// without breaking a rule of the bus.
//
// When open, the fence is a register in each request channel, and wires for responses. When closed
// (`close_i`), it accepts no new request; accepted requests continue, with their write data.
// `quiet_o`: every accepted request was answered. If the card is reset (`card_rst_i`) before that,
// the fence stays closed until it is quiet (`stale_o`): it presents the accepted requests, supplies
// missing write data with no byte enabled, and accepts every answer itself. So no answer to a
// request from before the reset reaches the card after the reset. If the bus never answers, the
// card stays disconnected, and its watchdog reports this to the host. VALID towards the bus is
// never withdrawn or changed before READY, whatever the card does.
// Latency: 1 clock for a request, none for a response.
// After reset: quiet.
// Duties of the caller: all write data of a burst come before the next write request, with the
// announced number of beats; only a card whose watchdog expired may stop early. The bus gives a
// response only to a request.
module dma_fence (
    input  logic          clk_i,
    input  logic          rst_i,
    input  logic          card_rst_i,
    input  logic          close_i,
    output logic          quiet_o,
    output logic          stale_o,
    // From the card, which enables every byte of write data. While `shut` is high, they are unused.
    input  axi_pkg::req_t s_req_i,
    output axi_pkg::rsp_t s_rsp_o,
    // To the bus.
    output axi_pkg::req_t m_req_o,
    output logic          m_made_up_o,  // The fence itself made this beat; it writes no byte.
    input  axi_pkg::rsp_t m_rsp_i
);
  // More than the card's maximum in flight: 32 reads, 64 writes.
  localparam logic [6:0] MostRequests = 7'd127;

  logic [6:0] reads_q, writes_q;  // Accepted and unanswered.
  // Beats of write data that belong to the accepted request and were not accepted yet.
  logic [8:0] owed_q;
  logic stale_q, closed, shut;

  // The card is disconnected during its reset, and after it until all requests from before the
  // reset were answered.
  assign shut = card_rst_i || stale_q;
  assign closed = close_i || shut;
  assign quiet_o = reads_q == '0 && writes_q == '0;
  assign stale_o = stale_q;

  // ---- requests and data into their registers
  axi_pkg::request_t aw_q, ar_q;
  axi_pkg::write_t w_q;
  logic aw_valid_q, w_valid_q, ar_valid_q, made_up_q;
  logic ar_ready, aw_ready, w_room, ar_take, aw_take, w_take, r_done, b_done;
  assign ar_ready = !closed && !ar_valid_q && reads_q != MostRequests;
  assign aw_ready = !closed && !aw_valid_q && writes_q != MostRequests && owed_q == '0;
  assign w_room = !w_valid_q || m_rsp_i.w_ready;
  assign ar_take = s_req_i.ar_valid && ar_ready;
  assign aw_take = s_req_i.aw_valid && aw_ready;
  assign w_take = owed_q != '0 && w_room && (shut || s_req_i.w_valid);
  assign m_made_up_o = made_up_q;
  assign m_req_o = '{
          aw: aw_q,
          aw_valid: aw_valid_q,
          w_valid: w_valid_q,
          b_ready: shut || s_req_i.b_ready,
          ar: ar_q,
          ar_valid: ar_valid_q,
          r_ready: shut || s_req_i.r_ready,
          w: w_q
      };

  // ---- answers
  assign s_rsp_o = '{
          aw_ready: aw_ready,
          w_ready: !shut && owed_q != '0 && w_room,
          b: m_rsp_i.b,
          b_valid: m_rsp_i.b_valid && !shut,
          ar_ready: ar_ready,
          r_valid: m_rsp_i.r_valid && !shut,
          r: m_rsp_i.r
      };
  assign r_done = m_rsp_i.r_valid && m_req_o.r_ready && m_rsp_i.r.last && reads_q != '0;
  assign b_done = m_rsp_i.b_valid && m_req_o.b_ready && writes_q != '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ar_valid_q <= 1'b0;
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      reads_q <= '0;
      writes_q <= '0;
      owed_q <= '0;
      stale_q <= 1'b0;
    end else begin
      ar_valid_q <= ar_take || (ar_valid_q && !m_rsp_i.ar_ready);
      aw_valid_q <= aw_take || (aw_valid_q && !m_rsp_i.aw_ready);
      w_valid_q <= w_take || (w_valid_q && !m_rsp_i.w_ready);
      reads_q <= reads_q + 7'(ar_take) - 7'(r_done);
      writes_q <= writes_q + 7'(aw_take) - 7'(b_done);
      if (aw_take) owed_q <= 9'(s_req_i.aw.len) + 9'd1;
      else if (w_take) owed_q <= owed_q - 9'd1;
      stale_q <= shut && !quiet_o;
    end
    if (ar_take) ar_q <= s_req_i.ar;
    if (aw_take) aw_q <= s_req_i.aw;
    if (w_take) begin
      w_q <= '{last: owed_q == 9'd1, data: shut ? '0 : s_req_i.w.data};
      made_up_q <= shut;
    end
  end
endmodule
