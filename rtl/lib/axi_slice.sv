// A register slice for one channel. VALID, payload and READY all pass through a flip-flop, so both
// sides meet timing wherever they are placed on the device.
//
// Each accepted word leaves once, in order; an offered payload is held until it is accepted.
// Latency: 1 clock; throughput: one word per clock.
// After reset: empty. `s_ready_o` is low in reset, so that no word is accepted and lost.
module axi_slice #(
    parameter int unsigned Width = 8  // 1 or more
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             s_valid_i,
    output logic             s_ready_o,
    input  logic [Width-1:0] s_data_i,
    output logic             m_valid_o,
    input  logic             m_ready_i,
    output logic [Width-1:0] m_data_o
);
  logic [Width-1:0] spare_q;  // The word that came while the output had to hold.
  logic held_q;               // `spare_q` is valid.

  logic take, free;
  assign take = s_valid_i && s_ready_o;
  assign free = !m_valid_o || m_ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      m_valid_o <= 1'b0;
      held_q <= 1'b0;
      s_ready_o <= 1'b0;
    end else begin
      m_valid_o <= !free || held_q || take;
      held_q <= !free && (held_q || take);
      s_ready_o <= free || !(held_q || take);
    end
    if (free) m_data_o <= held_q ? spare_q : s_data_i;
    if (take) spare_q <= s_data_i;
  end
endmodule
