// Heartbeat credit: how many entries the card may accept before the next heartbeat, and for how
// long.
//
// The limits are latched at OPEN; zero means no limit. Credit counts from the clock of `start_i`,
// in which the record of OPEN or of a heartbeat is made; the record has the tick of that clock.
// Every accepted entry costs one unit. In a clock with tick T, `spent_o` is high if the limit of
// entries has been accepted since that record, or if T minus the record's tick has reached the
// limit of ticks.
// After reset: no limit, nothing spent.
// Duties of the caller: `open_i` comes with the session's limits; from `start_i` until its record
// is in the log, no entry is accepted.
`include "assert.svh"

module heartbeat (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        open_i,
    input  logic [31:0] records_limit_i,
    input  logic [31:0] ticks_limit_i,  // In units of 2^16 clocks.
    input  logic [63:0] tick_i,
    input  logic        accept_i,  // An entry was accepted.
    input  logic        start_i,
    output logic        spent_o,
    output logic [31:0] records_limit_o,
    output logic [31:0] ticks_limit_o,
    output logic [31:0] credit_o  // Entries left; all ones without a limit.
);
  logic [31:0] records_limit_q, ticks_limit_q, accepted_q;
  logic [63:0] last_q;  // The last tick with credit.
  logic late_q;

  assign spent_o = (records_limit_q != '0 && accepted_q >= records_limit_q) || late_q;
  assign records_limit_o = records_limit_q;
  assign ticks_limit_o = ticks_limit_q;
  assign credit_o = records_limit_q == '0 ? '1 : records_limit_q - accepted_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {records_limit_q, ticks_limit_q, accepted_q} <= '0;
      last_q <= '0;
      late_q <= 1'b0;
    end else if (open_i) begin
      records_limit_q <= records_limit_i;
      ticks_limit_q <= ticks_limit_i;
      accepted_q <= '0;
      late_q <= 1'b0;
    end else if (start_i) begin
      accepted_q <= '0;
      last_q <= tick_i + {16'b0, ticks_limit_q, 16'b0} - 64'd1;
      late_q <= 1'b0;
    end else begin
      if (accept_i && !spent_o) accepted_q <= accepted_q + 32'd1;
      late_q <= ticks_limit_q != '0 && tick_i >= last_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(accept_i && spent_o), "heartbeat: accepted without credit");
      `ASSERT(!(accept_i && start_i), "heartbeat: accepted beside the record that gives credit");
    end
  end
endmodule
