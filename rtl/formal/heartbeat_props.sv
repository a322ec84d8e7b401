// Proves, without bound: after a record that gives credit, the credit is spent if and only if the
// limit of entries was accepted since that record, or the limit of ticks (in units of 2^16) has
// passed since that record's tick. So never more entries than the limit are accepted. Zero means no
// limit. The limits are those at OPEN; later inputs do not change them. The credit output is the
// number of entries left.
//
// Assumed: the tick grows by one per clock (shown by the proof tick) and is below 2^63. Without
// credit, and in the clock of a record that gives credit, nothing is accepted (as the lane's entry
// check ensures; the module's own assertions check both in simulation).
module heartbeat_props #(
    // The tick may jump; only for the covers, which would otherwise need 2^16 clocks.
    parameter bit Jumps = 1'b0
) (
    input logic clk,
    input logic [15:0] jump,
    input logic reset,
    input logic open,
    input logic [31:0] records_limit,
    input logic [31:0] ticks_limit,
    input logic accept,
    input logic start
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  // Arbitrary first value.
  logic [63:0] tick_q;
  always_ff @(posedge clk) tick_q <= tick_q + (Jumps ? 64'(jump) : 64'd1);
  always_comb assume (!tick_q[63]);

  logic spent;
  logic [31:0] records_latched, ticks_latched, credit;
  heartbeat dut (
      .clk_i(clk),
      .rst_i(rst),
      .open_i(open),
      .records_limit_i(records_limit),
      .ticks_limit_i(ticks_limit),
      .tick_i(tick_q),
      .accept_i(accept),
      .start_i(start),
      .spent_o(spent),
      .records_limit_o(records_latched),
      .ticks_limit_o(ticks_latched),
      .credit_o(credit)
  );
  always_comb if (!rst) assume (!(accept && (spent || start || open)));

  // The limits of the session, and the events since the record that gave credit.
  logic [31:0] records_q, ticks_q, accepted_q;
  logic [63:0] given_q;
  logic given_valid_q;
  always_ff @(posedge clk) begin
    if (rst) begin
      {records_q, ticks_q, accepted_q} <= '0;
      given_valid_q <= 1'b0;
    end else if (open) begin
      records_q <= records_limit;
      ticks_q <= ticks_limit;
      accepted_q <= '0;
      given_valid_q <= 1'b0;
    end else if (start) begin
      accepted_q <= '0;
      given_q <= tick_q;
      given_valid_q <= 1'b1;
    end else if (accept) begin
      accepted_q <= accepted_q + 32'd1;
    end
  end

  logic out_of_records, out_of_ticks;
  assign out_of_records = records_q != '0 && accepted_q >= records_q;
  assign out_of_ticks = ticks_q != '0 && tick_q - given_q >= {16'b0, ticks_q, 16'b0};

  always_comb begin
    if (!rst && started) begin
      assert (records_latched == records_q && ticks_latched == ticks_q);
      if (records_q != '0) assert (accepted_q <= records_q);
      assert (credit == (records_q == '0 ? '1 : records_q - accepted_q));
      if (given_valid_q) assert (spent == (out_of_records || out_of_ticks));
      if (records_q == '0 && ticks_q == '0 && given_valid_q) assert (!spent);

      // ---- invariants for the induction
      assert (dut.accepted_q == accepted_q || records_q == '0);
      if (given_valid_q) begin
        assert (given_q < tick_q);
        assert (dut.last_q == given_q + {16'b0, ticks_q, 16'b0} - 64'd1);
      end

      // ---- not vacuous: credit is spent by records and by ticks, and is given again
      cover (given_valid_q && out_of_records && !out_of_ticks && records_q == 32'd3);
      cover (given_valid_q && out_of_ticks && ticks_q == 32'd1);
      cover (given_valid_q && !spent && accepted_q == 32'd1 && credit == 32'd2);
    end
  end

  logic spent_before_q;
  always_ff @(posedge clk) begin
    spent_before_q <= !rst && (spent_before_q || (given_valid_q && spent));
    cover (!rst && spent_before_q && given_valid_q && !spent);
  end
endmodule
