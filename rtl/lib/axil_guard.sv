// Answers every register access of the host in bounded time, even if the card does not answer.
//
// It handles one access at a time; reads and writes take turns. Addresses below 2^20 go to the
// card. The guard itself answers other addresses, and every access while the card is in reset:
// reads get all ones, writes are dropped, and both get an error response. If the card does not
// answer within 2^PatienceLog2 clocks, the guard answers in this way, too, and does so for all
// accesses until the card is reset (`dead_o`).
// Latency: 1 clock to the card, 1 back. Bound: 2^PatienceLog2 + 3 clocks from request to answer,
// twice that when both kinds wait.
// After reset: idle. READY is low in reset, so that no access is accepted and lost.
// Duties of the caller: each write has both an address and data.
module axil_guard #(
    parameter int unsigned PatienceLog2 = 8  // 4 to 10, log2 of clocks.
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               card_rst_i,
    output logic               dead_o,
    // From the host.
    input  axi_pkg::lite_req_t s_req_i,
    output axi_pkg::lite_rsp_t s_rsp_o,
    // To the card.
    output axi_pkg::lite_req_t m_req_o,
    input  axi_pkg::lite_rsp_t m_rsp_i
);
  if (PatienceLog2 < 4 || PatienceLog2 > 10) begin : g_bad
    $fatal(1, "PatienceLog2 is 4 to 10");
  end

  localparam logic [1:0] SlaveError = 2'b10;

  typedef enum logic [1:0] {
    StIdle,
    StCard,    // The card has the access.
    StAnswer,  // The answer is offered to the host.
    StRefuse   // The guard answers the access itself.
  } state_e;
  state_e state_q;
  logic write_q, dead_q;
  // Towards the card.
  logic aw_valid_q, w_valid_q, ar_valid_q, b_ready, r_ready;
  logic [19:0] addr_q;  // Address of the read or write.
  logic [31:0] data_q;
  logic [3:0] strb_q;
  // The answer to the host.
  logic [31:0] r_data_q;
  logic [1:0] b_resp_q, r_resp_q;
  logic [PatienceLog2-1:0] patience_q;

  logic write_waits, take_write, take_read, mapped, answered, over;
  assign write_waits = s_req_i.aw_valid && s_req_i.w_valid;
  // After a write a waiting read goes first, and after a read a waiting write.
  assign take_write = state_q == StIdle && !rst_i && write_waits && !(write_q && s_req_i.ar_valid);
  assign take_read = state_q == StIdle && !rst_i && s_req_i.ar_valid && !take_write;
  assign mapped = (take_write ? s_req_i.aw_addr[31:20] : s_req_i.ar_addr[31:20]) == '0;
  // An answer counts only if the request was accepted before.
  assign answered = write_q ? m_rsp_i.b_valid && b_ready : m_rsp_i.r_valid && r_ready;
  assign over = card_rst_i || (&patience_q);

  assign s_rsp_o = '{
          aw_ready: take_write,
          w_ready: take_write,
          b_valid: state_q == StAnswer && write_q,
          b_resp: b_resp_q,
          ar_ready: take_read,
          r_valid: state_q == StAnswer && !write_q,
          r_resp: r_resp_q,
          r_data: r_data_q
      };
  // An answer that comes late is accepted and dropped.
  assign b_ready = !aw_valid_q && !w_valid_q;
  assign r_ready = !ar_valid_q;
  assign m_req_o = '{
          aw_valid: aw_valid_q,
          w_valid: w_valid_q,
          b_ready: b_ready,
          ar_valid: ar_valid_q,
          r_ready: r_ready,
          w_strb: strb_q,
          aw_addr: {12'b0, addr_q},
          w_data: data_q,
          ar_addr: {12'b0, addr_q}
      };
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
        StAnswer: if (write_q ? s_req_i.b_ready : s_req_i.r_ready) state_q <= StIdle;
        default: state_q <= StRefuse;
      endcase
    end
    if (take_write || take_read) begin
      addr_q <= take_write ? s_req_i.aw_addr[19:0] : s_req_i.ar_addr[19:0];
      data_q <= s_req_i.w_data;
      strb_q <= s_req_i.w_strb;
    end
    if (state_q == StCard) begin
      r_data_q <= m_rsp_i.r_data;
      r_resp_q <= m_rsp_i.r_resp;
      b_resp_q <= m_rsp_i.b_resp;
    end else if (state_q == StRefuse) begin
      r_data_q <= '1;
      r_resp_q <= SlaveError;
      b_resp_q <= SlaveError;
    end

    // Only the card's own reset withdraws VALID towards the card.
    if (rst_i || card_rst_i) begin
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      dead_q <= 1'b0;
    end else begin
      aw_valid_q <= (take_write && mapped && !dead_q) || (aw_valid_q && !m_rsp_i.aw_ready);
      w_valid_q <= (take_write && mapped && !dead_q) || (w_valid_q && !m_rsp_i.w_ready);
      ar_valid_q <= (take_read && mapped && !dead_q) || (ar_valid_q && !m_rsp_i.ar_ready);
      dead_q <= dead_q || (state_q == StCard && (&patience_q));
    end
  end
endmodule
