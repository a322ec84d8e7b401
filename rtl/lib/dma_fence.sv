// Stands between the card's AXI4 master and the bus, so that the card can be reset at any time
// without breaking a rule of the bus.
//
// Open, it is a register in each request channel and a wire for responses. Closed (`close_i`), it
// accepts no new request; what was accepted goes on, its write data included. `quiet_o`: every
// accepted request was answered. When the card is reset (`card_rst_i`) before it was quiet, the
// fence stays closed until it is: it presents what it accepted, makes up missing write data with no
// byte enabled, and takes every answer itself. So no answer to a former life reaches the next one,
// and a bus that never answers leaves the card shut off, whose watchdog then tells the host.
// `stale_o` says so. No VALID towards the bus is taken back or changed before its READY, whatever
// the card does.
// Latency: 1 clock for a request, none for a response. After reset: quiet.
// The caller owes: write data of one burst before the next request, in bursts as announced (the
// card's rule), except that a card which gave up on the bus may stop; a response only for a
// request.
module dma_fence (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         card_rst_i,
    input  logic         close_i,
    output logic         quiet_o,
    output logic         stale_o,
    // From the card.
    input  logic [63:0]  s_awaddr_i,
    input  logic [7:0]   s_awlen_i,
    input  logic         s_awvalid_i,
    output logic         s_awready_o,
    input  logic [511:0] s_wdata_i,
    input  logic [63:0]  s_wstrb_i,
    input  logic         s_wvalid_i,
    output logic         s_wready_o,
    output logic         s_bvalid_o,
    input  logic         s_bready_i,
    input  logic [4:0]   s_arid_i,
    input  logic [63:0]  s_araddr_i,
    input  logic [7:0]   s_arlen_i,
    input  logic         s_arvalid_i,
    output logic         s_arready_o,
    output logic         s_rvalid_o,
    input  logic         s_rready_i,
    // To the bus. Payloads of responses do not pass through.
    output logic [63:0]  m_awaddr_o,
    output logic [7:0]   m_awlen_o,
    output logic         m_awvalid_o,
    input  logic         m_awready_i,
    output logic [511:0] m_wdata_o,
    output logic [63:0]  m_wstrb_o,
    output logic         m_wlast_o,
    output logic         m_wvalid_o,
    input  logic         m_wready_i,
    input  logic         m_bvalid_i,
    output logic         m_bready_o,
    output logic [4:0]   m_arid_o,
    output logic [63:0]  m_araddr_o,
    output logic [7:0]   m_arlen_o,
    output logic         m_arvalid_o,
    input  logic         m_arready_i,
    input  logic         m_rlast_i,
    input  logic         m_rvalid_i,
    output logic         m_rready_o
);
  // More than the card has in flight: 32 reads, 64 writes.
  localparam logic [6:0] MostRequests = 7'd127;

  logic [6:0] reads_q, writes_q;  // Accepted and not answered.
  // Beats of write data that the accepted request announced and that were not accepted yet.
  logic [8:0] owed_q;
  logic stale_q, closed, shut;

  // The card's side is dead to the bus while it is in reset, and after that until its former life
  // is over.
  assign shut = card_rst_i || stale_q;
  assign closed = close_i || shut;
  assign quiet_o = reads_q == '0 && writes_q == '0;
  assign stale_o = stale_q;

  // ---- requests and data into their registers
  logic ar_take, aw_take, w_room, w_take, r_done, b_done;
  assign s_arready_o = !closed && !m_arvalid_o && reads_q != MostRequests;
  assign s_awready_o = !closed && !m_awvalid_o && writes_q != MostRequests && owed_q == '0;
  assign w_room = !m_wvalid_o || m_wready_i;
  assign s_wready_o = !shut && owed_q != '0 && w_room;
  assign ar_take = s_arvalid_i && s_arready_o;
  assign aw_take = s_awvalid_i && s_awready_o;
  assign w_take = owed_q != '0 && w_room && (shut || s_wvalid_i);

  // ---- answers
  assign s_rvalid_o = m_rvalid_i && !shut;
  assign s_bvalid_o = m_bvalid_i && !shut;
  assign m_rready_o = shut || s_rready_i;
  assign m_bready_o = shut || s_bready_i;
  assign r_done = m_rvalid_i && m_rready_o && m_rlast_i && reads_q != '0;
  assign b_done = m_bvalid_i && m_bready_o && writes_q != '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      m_arvalid_o <= 1'b0;
      m_awvalid_o <= 1'b0;
      m_wvalid_o <= 1'b0;
      reads_q <= '0;
      writes_q <= '0;
      owed_q <= '0;
      stale_q <= 1'b0;
    end else begin
      m_arvalid_o <= ar_take || (m_arvalid_o && !m_arready_i);
      m_awvalid_o <= aw_take || (m_awvalid_o && !m_awready_i);
      m_wvalid_o <= w_take || (m_wvalid_o && !m_wready_i);
      reads_q <= reads_q + 7'(ar_take) - 7'(r_done);
      writes_q <= writes_q + 7'(aw_take) - 7'(b_done);
      if (aw_take) owed_q <= 9'(s_awlen_i) + 9'd1;
      else if (w_take) owed_q <= owed_q - 9'd1;
      stale_q <= shut && !quiet_o;
    end
    if (ar_take) begin
      m_arid_o <= s_arid_i;
      m_araddr_o <= s_araddr_i;
      m_arlen_o <= s_arlen_i;
    end
    if (aw_take) begin
      m_awaddr_o <= s_awaddr_i;
      m_awlen_o <= s_awlen_i;
    end
    if (w_take) begin
      m_wdata_o <= shut ? '0 : s_wdata_i;
      m_wstrb_o <= shut ? '0 : s_wstrb_i;
      m_wlast_o <= owed_q == 9'd1;
    end
  end
endmodule
