// Proves about a register slice: each word leaves once and in order, an offer is held, at most two
// words are inside, and one word per clock can pass. The input words are numbered; the slice does
// not depend on their values.
module axi_slice_props (
    input logic clk,
    input logic rst_later,
    input logic s_valid,
    input logic m_ready
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || rst_later;

  logic s_ready, m_valid;
  logic [3:0] in_q, out_q, m_data;
  axi_slice #(
      .Width(4)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .s_valid_i(s_valid),
      .s_ready_o(s_ready),
      .s_data_i(in_q),
      .m_valid_o(m_valid),
      .m_ready_i(m_ready),
      .m_data_o(m_data)
  );

  logic stalled_q, reset_q;
  logic [3:0] data_q, words;
  assign words = in_q - out_q;
  logic [1:0] quick_q;
  always_ff @(posedge clk) begin
    reset_q <= rst;
    in_q <= rst ? '0 : in_q + 4'(s_valid && s_ready);
    out_q <= rst ? '0 : out_q + 4'(m_valid && m_ready);
    stalled_q <= !rst && m_valid && !m_ready;
    data_q <= m_data;
    quick_q <= rst || !(s_valid && s_ready && m_valid && m_ready) ? '0 : quick_q + 2'(!(&quick_q));

    if (started && !reset_q) begin
      assert (words == 4'(m_valid) + 4'(dut.held_q));
      assert (!dut.held_q || m_valid);
      if (m_valid) assert (m_data == out_q);
      if (dut.held_q) assert (dut.spare_q == out_q + 4'd1);
      if (stalled_q) assert (m_valid && m_data == data_q);
      // A word is refused only if both places are in use, or in the clock after reset.
      if (dut.held_q) assert (!s_ready);
      if (!dut.held_q && !$past(rst)) assert (s_ready);
    end
    if (started && reset_q) assert (!m_valid && !s_ready);
    cover (!rst && dut.held_q && m_ready);
    cover (!rst && quick_q == 2'd3);
  end
endmodule
