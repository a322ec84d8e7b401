// Resets the card: after the shell's own reset, and when the host requests a function-level reset
// (FLR).
//
// FLR: `close_o` rises, so that the card begins nothing new on the bus. When the bus is quiet, or
// after 2^PatienceLog2 clocks, the card is held in reset; `HoldClocks` later `done_o` rises.
// `done_o` and the reset stay until `flr_i` falls. If `flr_i` falls early, the sequence is the
// same, because a closed card must always be reset. PCIe allows 100 ms for the reset of a function;
// with the default at 125 MHz, it takes at most 8.4 ms and a few clocks.
// After reset: the fence is closed, and the card is in reset for `HoldClocks`.
module card_reset #(
    parameter int unsigned PatienceLog2 = 20,  // 2 to 24, log2 of clocks.
    parameter int unsigned HoldClocks   = 16   // 2 to 255
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic flr_i,
    input  logic quiet_i,
    output logic close_o,
    output logic card_rst_o,
    output logic done_o
);
  if (PatienceLog2 < 2 || PatienceLog2 > 24 || HoldClocks < 2 || HoldClocks > 255) begin : g_bad
    $fatal(1, "PatienceLog2 is 2 to 24, HoldClocks 2 to 255");
  end

  typedef enum logic [1:0] {
    StHold,
    StRun,
    StClose,
    StDone
  } state_e;
  state_e state_q;
  logic [PatienceLog2-1:0] patience_q;
  logic [7:0] hold_q;
  // Registers, because of their long routes. From configuration on, the card is in reset.
  logic close_q = 1'b1;
  logic card_rst_q = 1'b1;
  logic done_q = 1'b0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StHold;
      patience_q <= '0;
      hold_q <= '0;
    end else begin
      patience_q <= state_q == StClose ? patience_q + 1'b1 : '0;
      hold_q <= state_q == StHold ? hold_q + 8'd1 : '0;
      unique case (state_q)
        StRun: if (flr_i) state_q <= StClose;
        // Quiet counts only with a closed fence: before that, the card might start a request in the
        // same clock.
        StClose: if ((quiet_i && close_q) || (&patience_q)) state_q <= StHold;
        StHold: if (hold_q == 8'(HoldClocks - 1)) state_q <= flr_i ? StDone : StRun;
        StDone: if (!flr_i) state_q <= StRun;
        default: state_q <= StHold;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      close_q <= 1'b1;
      card_rst_q <= 1'b1;
      done_q <= 1'b0;
    end else begin
      close_q <= state_q != StRun;
      card_rst_q <= state_q == StHold || state_q == StDone;
      done_q <= state_q == StDone && flr_i;
    end
  end
  assign close_o = close_q;
  assign card_rst_o = card_rst_q;
  assign done_o = done_q;
endmodule
