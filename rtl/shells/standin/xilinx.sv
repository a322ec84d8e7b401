// Stand-ins for the primitives of UltraScale+ that the shells use, for lint and simulation only.
/* verilator lint_off DECLFILENAME */

// Divides a clock. The shells drive CE and CLR with constants. If a bench sets `free`, the bench
// generates the clock itself.
module BUFGCE_DIV #(
    parameter int BUFGCE_DIVIDE = 1
) (
    output logic O,
    input  logic CE,
    input  logic CLR,
    input  logic I
);
  if (BUFGCE_DIVIDE != 2) begin : g_bad
    $fatal(1, "the stand-in divides by 2");
  end
  logic half_q = 1'b0;
  logic free = 1'b0;
  // A blocking assignment, so that this edge is in the same simulation step as the edge of `I`.
  always @(posedge I) if (!free && CE) half_q = !half_q && !CLR;
  assign O = half_q;
endmodule

// Input buffers of a reference clock and of a pin.
module IBUFDS_GTE4 #(
    parameter logic [1:0] REFCLK_HROW_CK_SEL = 2'b00
) (
    output logic O,
    output logic ODIV2,
    input  logic CEB,
    input  logic I,
    input  logic IB
);
  assign O = I && !IB && !CEB;
  assign ODIV2 = O ^ REFCLK_HROW_CK_SEL[1];
endmodule

module IBUF (
    output logic O,
    input  logic I
);
  assign O = I;
endmodule
/* verilator lint_on DECLFILENAME */
