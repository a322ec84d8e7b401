// Stand-in for the HDK's DDR block, with the ports that a design without DDR connects. For lint and
// simulation only.
module sh_ddr #(
    parameter int DDR_PRESENT = 0
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        stat_clk,
    input  logic        stat_rst_n,
    input  logic        CLK_DIMM_DP,
    input  logic        CLK_DIMM_DN,
    output logic        M_ACT_N,
    output logic [17:0] M_MA,
    output logic [1:0]  M_BA,
    output logic [1:0]  M_BG,
    output logic [1:0]  M_CKE,
    output logic [1:0]  M_ODT,
    output logic [1:0]  M_CS_N,
    output logic [1:0]  M_CLK_DN,
    output logic [1:0]  M_CLK_DP,
    output logic        M_PAR,
    inout  wire  [63:0] M_DQ,
    inout  wire  [7:0]  M_ECC,
    inout  wire  [17:0] M_DQS_DP,
    inout  wire  [17:0] M_DQS_DN,
    output logic        cl_RST_DIMM_N
);
  if (DDR_PRESENT != 0) begin : g_present
    $fatal(1, "the stand-in has no DDR");
  end
  assign {M_ACT_N, M_MA, M_BA, M_BG, M_CKE, M_ODT, M_CS_N, M_CLK_DN, M_CLK_DP, M_PAR,
      cl_RST_DIMM_N} = '0;
  assign {M_DQ, M_ECC, M_DQS_DP, M_DQS_DN} = 'z;
endmodule
