// The clocks of the card's parts. Hardware has one clock. With `Sleep`, a simulator stops the
// clocks of parts in which no register would change, to save time. A part wakes in the clock of its
// next input.
//
// The register block sleeps 16 clocks after the last access, the attestation and the text lanes 16
// clocks after they were last busy. While the register block sleeps, its status inputs are held,
// so that its read multiplexer and its fields do not change. Without `Sleep`, the module is only
// wires.
// After reset: all parts awake.
// Duties of the caller: `attest_quiet_i` and `text_quiet_i` from registers and from signals that
// are stable between clock edges.
module card_sleep #(
    parameter bit  Sleep = 1'b0,
    parameter type shown_t = logic
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  axi_pkg::lite_req_t axil_req_i,
    input  axi_pkg::lite_rsp_t axil_rsp_i,
    input  logic               attest_quiet_i,
    input  logic               text_quiet_i,
    output logic               csr_clk_o,
    output logic               attest_clk_o,
    output logic               text_clk_o,
    input  shown_t             standing_i,
    output shown_t             shown_o
);
  if (Sleep) begin : g_sleep
    // Number of clocks after which the last answer was given and every register is stable.
    localparam int unsigned Settle = 16;
    logic [Settle-1:0] csr_quiet_q, attest_quiet_q, text_quiet_q;
    logic csr_quiet, csr_awake, attest_awake, text_awake;
    logic csr_awake_q, attest_awake_q, text_awake_q;
    assign csr_quiet = !rst_i && !axil_req_i.aw_valid && !axil_req_i.w_valid
        && !axil_rsp_i.b_valid && !axil_req_i.ar_valid && !axil_rsp_i.r_valid;
    assign csr_awake = !csr_quiet || csr_quiet_q != '1;
    assign attest_awake = rst_i || !attest_quiet_i || attest_quiet_q != '1;
    assign text_awake = rst_i || !text_quiet_i || text_quiet_q != '1;
    always_ff @(posedge clk_i) begin
      csr_quiet_q <= {csr_quiet_q[Settle-2:0], csr_quiet};
      attest_quiet_q <= {attest_quiet_q[Settle-2:0], attest_quiet_i && !rst_i};
      text_quiet_q <= {text_quiet_q[Settle-2:0], text_quiet_i && !rst_i};
    end
    // While the clock is low: each gated clock is then free of glitches.
    always_ff @(negedge clk_i) begin
      {csr_awake_q, attest_awake_q, text_awake_q} <= {csr_awake, attest_awake, text_awake};
    end
    assign csr_clk_o = clk_i && csr_awake_q;
    assign attest_clk_o = clk_i && attest_awake_q;
    assign text_clk_o = clk_i && text_awake_q;
    // `csr_awake` depends on registers only, not on inputs of the card. So in the second half of a
    // clock it already has its value for the next edge.
    logic shown_clk;
    assign shown_clk = !clk_i && csr_awake;
    always_ff @(posedge shown_clk) shown_o <= standing_i;
  end else begin : g_awake
    assign shown_o = standing_i;
    assign csr_clk_o = clk_i;
    assign attest_clk_o = clk_i;
    assign text_clk_o = clk_i;
    logic unused;
    assign unused = &{1'b0, rst_i, attest_quiet_i, text_quiet_i, axil_req_i, axil_rsp_i};
  end
endmodule
