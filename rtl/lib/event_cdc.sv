// Carries events into another clock domain. At least one pulse follows each event; several events
// that come shortly after each other may share a pulse.
//
// Latency: 3 to 4 clocks of the receiver; the next event crosses after 3 more clocks of both sides.
// After reset: nothing pending.
// Duties of the caller: the resets of both sides overlap for four periods of the slower clock.
module event_cdc (
    input  logic from_clk_i,
    input  logic from_rst_i,
    input  logic event_i,
    input  logic to_clk_i,
    input  logic to_rst_i,
    output logic event_o
);
  logic pending_q, request_q, answer, seen, seen_q;

  // A request is a change of level. The answer is the same level, coming back.
  always_ff @(posedge from_clk_i) begin
    if (from_rst_i) begin
      pending_q <= 1'b0;
      request_q <= 1'b0;
    end else begin
      pending_q <= event_i || (pending_q && request_q != answer);
      if (pending_q && request_q == answer) request_q <= !request_q;
    end
  end
  sync_bit u_request (
      .clk_i(to_clk_i),
      .d_i(request_q),
      .q_o(seen)
  );
  always_ff @(posedge to_clk_i) begin
    if (to_rst_i) begin
      seen_q  <= 1'b0;
      event_o <= 1'b0;
    end else begin
      seen_q  <= seen;
      event_o <= seen != seen_q;
    end
  end
  sync_bit u_answer (
      .clk_i(from_clk_i),
      .d_i(seen_q),
      .q_o(answer)
  );
endmodule
