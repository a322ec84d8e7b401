// Clocks of the card's parts. Hardware has one. A simulator stops those of the parts in which no
// register would change (`Sleep`), so that they cost nothing; they wake in the clock in which
// something comes to them.
//
// The register block sleeps 16 clocks after the last access, the attestation 16 clocks after it was
// last busy. What the register block is shown of the others is held while it sleeps, so that its
// read multiplexer and its fields stand still.
// Without `Sleep`: wires. After reset: both awake. The caller owes: `attest_quiet_i` made of
// registers and of what stands from one edge of the clock to the next.
module card_sleep #(
    parameter bit  Sleep = 1'b0,
    parameter type shown_t = logic
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  axi_pkg::lite_req_t axil_req_i,
    input  axi_pkg::lite_rsp_t axil_rsp_i,
    input  logic               attest_quiet_i,
    output logic               csr_clk_o,
    output logic               attest_clk_o,
    input  shown_t             standing_i,
    output shown_t             shown_o
);
  if (Sleep) begin : g_sleep
    // Clocks after which the last answer is given and every register stands.
    localparam int unsigned Settle = 16;
    logic [Settle-1:0] csr_quiet_q, attest_quiet_q;
    logic csr_quiet, csr_awake, attest_awake, csr_awake_q, attest_awake_q;
    assign csr_quiet = !rst_i && !axil_req_i.aw_valid && !axil_req_i.w_valid
        && !axil_rsp_i.b_valid && !axil_req_i.ar_valid && !axil_rsp_i.r_valid;
    assign csr_awake = !csr_quiet || csr_quiet_q != '1;
    assign attest_awake = rst_i || !attest_quiet_i || attest_quiet_q != '1;
    always_ff @(posedge clk_i) begin
      csr_quiet_q <= {csr_quiet_q[Settle-2:0], csr_quiet};
      attest_quiet_q <= {attest_quiet_q[Settle-2:0], attest_quiet_i && !rst_i};
    end
    always_latch begin
      if (!clk_i) {csr_awake_q, attest_awake_q} = {csr_awake, attest_awake};
    end
    assign csr_clk_o = clk_i && csr_awake_q;
    assign attest_clk_o = clk_i && attest_awake_q;
    // Registers alone make it, no input of the card, so that in the second half of a clock it is
    // what it will be at the next edge.
    logic shown_clk;
    assign shown_clk = !clk_i && csr_awake;
    always_ff @(posedge shown_clk) shown_o <= standing_i;
  end else begin : g_awake
    assign shown_o = standing_i;
    assign csr_clk_o = clk_i;
    assign attest_clk_o = clk_i;
    logic unused;
    assign unused = &{1'b0, rst_i, attest_quiet_i, axil_req_i, axil_rsp_i};
  end
endmodule
