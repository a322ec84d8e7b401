// Heartbeat credit: how much the card may still accept before an outside party is heard again.
//
// The limits are latched at OPEN; zero is no limit. Every accepted entry costs one record of credit. From the clock in which
// either limit is reached `spent_o` is high, until a heartbeat's record is in the log (`beat_i`).
// After reset: no limit, nothing spent.
// The caller owes: `open_i` with the session's limits.
module heartbeat (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        open_i,
    input  logic [31:0] records_limit_i,
    input  logic [31:0] ticks_limit_i,   // Of 2^16 clocks.
    input  logic [63:0] tick_i,
    input  logic        accept_i,        // An entry was accepted.
    input  logic        beat_i,
    output logic        spent_o,
    output logic [31:0] records_limit_o,
    output logic [31:0] ticks_limit_o,
    output logic [31:0] credit_o         // Records left; all ones without a limit.
);
  logic [31:0] records_limit_q, ticks_limit_q, accepted_q;
  logic [63:0] since_q;
  logic late_q;

  assign spent_o = (records_limit_q != '0 && accepted_q >= records_limit_q) || late_q;
  assign records_limit_o = records_limit_q;
  assign ticks_limit_o = ticks_limit_q;
  assign credit_o = records_limit_q == '0 ? '1 : records_limit_q - accepted_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {records_limit_q, ticks_limit_q, accepted_q} <= '0;
      since_q <= '0;
      late_q <= 1'b0;
    end else if (open_i) begin
      records_limit_q <= records_limit_i;
      ticks_limit_q <= ticks_limit_i;
      accepted_q <= '0;
      since_q <= tick_i;
      late_q <= 1'b0;
    end else if (beat_i) begin
      accepted_q <= '0;
      since_q <= tick_i;
      late_q <= 1'b0;
    end else begin
      if (accept_i && !spent_o) accepted_q <= accepted_q + 32'd1;
      late_q <= ticks_limit_q != '0 && (tick_i - since_q) >> 16 >= 64'(ticks_limit_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) assert (!(accept_i && spent_o)) else $error("heartbeat: accepted without credit");
  end
endmodule
