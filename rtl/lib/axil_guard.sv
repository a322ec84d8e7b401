// Answers every register access of the host in bounded time, whether the card can or not.
//
// One access at a time, reads and writes in turn. Addresses below 2^20 go to the card; others, and
// every access while the card is in reset, are answered here: reads with all ones, writes dropped,
// both with an error response. An access that the card does not answer within 2^PatienceLog2 clocks
// ends the same way, and from then on all do until the card is reset (`dead_o`).
// Latency: 1 clock to the card, 1 back. Bounded: 2^PatienceLog2 + 3 clocks from request to answer,
// twice that when both kinds wait.
// After reset: nothing under way. READY is low in reset, so that no access is taken and lost.
// The caller owes: address and data of a write together in the end.
module axil_guard #(
    parameter int unsigned PatienceLog2 = 8  // 4 to 10, log2 of clocks.
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        card_rst_i,
    output logic        dead_o,
    // From the host.
    input  logic        s_awvalid_i,
    output logic        s_awready_o,
    input  logic [31:0] s_awaddr_i,
    input  logic        s_wvalid_i,
    output logic        s_wready_o,
    input  logic [31:0] s_wdata_i,
    input  logic [3:0]  s_wstrb_i,
    output logic        s_bvalid_o,
    input  logic        s_bready_i,
    output logic [1:0]  s_bresp_o,
    input  logic        s_arvalid_i,
    output logic        s_arready_o,
    input  logic [31:0] s_araddr_i,
    output logic        s_rvalid_o,
    input  logic        s_rready_i,
    output logic [31:0] s_rdata_o,
    output logic [1:0]  s_rresp_o,
    // To the card.
    output logic        m_awvalid_o,
    input  logic        m_awready_i,
    output logic [19:0] m_addr_o,       // Of both kinds.
    output logic        m_wvalid_o,
    input  logic        m_wready_i,
    output logic [31:0] m_wdata_o,
    output logic [3:0]  m_wstrb_o,
    input  logic        m_bvalid_i,
    output logic        m_bready_o,
    input  logic [1:0]  m_bresp_i,
    output logic        m_arvalid_o,
    input  logic        m_arready_i,
    input  logic        m_rvalid_i,
    output logic        m_rready_o,
    input  logic [31:0] m_rdata_i,
    input  logic [1:0]  m_rresp_i
);
  if (PatienceLog2 < 4 || PatienceLog2 > 10) begin : g_bad
    $fatal(1, "PatienceLog2 is 4 to 10");
  end

  localparam logic [1:0] SlaveError = 2'b10;

  typedef enum logic [1:0] {
    StIdle,
    StCard,    // The card has the access.
    StAnswer,  // The answer is offered to the host.
    StRefuse   // Nobody has the access: it is answered here.
  } state_e;
  state_e state_q;
  logic write_q, dead_q;
  logic [PatienceLog2-1:0] patience_q;

  logic write_waits, take_write, take_read, mapped, answered, over;
  assign write_waits = s_awvalid_i && s_wvalid_i;
  // In turn: after a write a read that waits goes first, and the other way round.
  assign take_write = state_q == StIdle && !rst_i && write_waits && !(write_q && s_arvalid_i);
  assign take_read = state_q == StIdle && !rst_i && s_arvalid_i && !take_write;
  assign mapped = (take_write ? s_awaddr_i[31:20] : s_araddr_i[31:20]) == '0;
  // An answer counts once the request was accepted.
  assign answered = write_q ? m_bvalid_i && m_bready_o : m_rvalid_i && m_rready_o;
  assign over = card_rst_i || (&patience_q);

  assign s_awready_o = take_write;
  assign s_wready_o = take_write;
  assign s_arready_o = take_read;
  assign s_bvalid_o = state_q == StAnswer && write_q;
  assign s_rvalid_o = state_q == StAnswer && !write_q;
  // A late answer is taken and forgotten.
  assign m_bready_o = !m_awvalid_o && !m_wvalid_o;
  assign m_rready_o = !m_arvalid_o;
  assign dead_o = dead_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
      write_q <= 1'b0;
      patience_q <= '0;
    end else begin
      patience_q <= state_q == StCard ? patience_q + 1'b1 : '0;
      unique case (state_q)
        StIdle:
        if (take_write || take_read) begin
          write_q <= take_write;
          state_q <= mapped && !dead_q && !card_rst_i ? StCard : StRefuse;
        end
        StCard: state_q <= over ? StRefuse : answered ? StAnswer : StCard;
        StRefuse: state_q <= StAnswer;
        StAnswer: if (write_q ? s_bready_i : s_rready_i) state_q <= StIdle;
        default: state_q <= StRefuse;
      endcase
    end
    if (take_write || take_read) begin
      m_addr_o <= take_write ? s_awaddr_i[19:0] : s_araddr_i[19:0];
      m_wdata_o <= s_wdata_i;
      m_wstrb_o <= s_wstrb_i;
    end
    if (state_q == StCard) begin
      s_rdata_o <= m_rdata_i;
      s_rresp_o <= m_rresp_i;
      s_bresp_o <= m_bresp_i;
    end else if (state_q == StRefuse) begin
      s_rdata_o <= '1;
      s_rresp_o <= SlaveError;
      s_bresp_o <= SlaveError;
    end

    // The card sees no VALID taken back but by its own reset.
    if (rst_i || card_rst_i) begin
      m_awvalid_o <= 1'b0;
      m_wvalid_o <= 1'b0;
      m_arvalid_o <= 1'b0;
      dead_q <= 1'b0;
    end else begin
      m_awvalid_o <= (take_write && mapped && !dead_q) || (m_awvalid_o && !m_awready_i);
      m_wvalid_o <= (take_write && mapped && !dead_q) || (m_wvalid_o && !m_wready_i);
      m_arvalid_o <= (take_read && mapped && !dead_q) || (m_arvalid_o && !m_arready_i);
      dead_q <= dead_q || (state_q == StCard && (&patience_q));
    end
  end
endmodule
