// What is checked about the crossing of clocks, for two clocks in any relation, both free to stop: what leaves the queue is what entered it, in
// order, nothing twice, nothing made up; an offer holds until it is taken; every event gives a pulse after it within its round trip, and
// no pulse comes without an event. Bounded: 32 steps of a common time base, which is
// 16 edges of either clock, four of them in reset. Metastability is
// not modelled.
module async_fifo_props (
    input logic a_clk,
    input logic b_clk,
    input logic push,
    input logic [1:0] data,
    input logic pop,
    input logic hint
);
  // Reset until both clocks have had three edges in it after the other's first, as the modules ask for.
  logic [2:0] a_seen = '0;
  logic [2:0] b_seen = '0;
  always_ff @(posedge a_clk) if (!a_seen[2] && (b_seen != '0 || a_seen == '0)) a_seen <= a_seen + 3'd1;
  always_ff @(posedge b_clk) if (!b_seen[2] && (a_seen != '0 || b_seen == '0)) b_seen <= b_seen + 3'd1;
  logic rst;
  assign rst = !(a_seen[2] && b_seen[2]);

  logic ready, valid;
  logic [1:0] out;
  async_fifo #(
      .Width(2),
      .Log2(2)
  ) dut (
      .wr_clk_i(a_clk), .wr_rst_i(rst), .wr_valid_i(push), .wr_ready_o(ready), .wr_data_i(data),
      .rd_clk_i(b_clk), .rd_rst_i(rst), .rd_valid_o(valid), .rd_ready_i(pop), .rd_data_o(out)
  );

  // One entry, any one.
  logic [3:0] which_q, pushed_q, popped_q;
  logic [1:0] its_q, out_q;
  logic its_valid_q, held_q;
  always_ff @(posedge a_clk) begin
    which_q <= which_q;
    if (rst) begin
      pushed_q <= '0;
      its_valid_q <= 1'b0;
    end else if (push && ready) begin
      pushed_q <= pushed_q + 4'd1;
      if (pushed_q == which_q) begin
        its_q <= data;
        its_valid_q <= 1'b1;
      end
    end
  end
  always_ff @(posedge b_clk) begin
    held_q <= !rst && valid && !pop;
    out_q <= out;
    if (rst) popped_q <= '0;
    else if (valid && pop) popped_q <= popped_q + 4'd1;
    if (!rst) begin
      if (valid) assert (popped_q < pushed_q);
      if (valid && popped_q == which_q) assert (its_valid_q && out == its_q);
      if (held_q) assert (valid && out == out_q);
    end
  end
  always_comb if (!rst) assert (pushed_q - popped_q <= 4'd5);

  // ---- events
  logic pulse;
  event_cdc events (
      .from_clk_i(a_clk), .from_rst_i(rst), .event_i(hint),
      .to_clk_i(b_clk), .to_rst_i(rst), .event_o(pulse)
  );
  logic [3:0] hints_q, pulses_q;
  always_ff @(posedge a_clk) hints_q <= rst ? '0 : hints_q + 4'(hint);
  always_ff @(posedge b_clk) begin
    pulses_q <= rst ? '0 : pulses_q + 4'(pulse);
    if (!rst && pulse) assert (pulses_q < hints_q);
  end
  // At rest, with nothing under way on either side, every event was followed by a pulse.
  logic rest;
  assign rest = !rst && !events.pending_q && events.request_q == events.answer && events.seen == events.request_q &&
      events.seen_q == events.request_q && !pulse;
  always_comb if (rest && hints_q != '0) assert (pulses_q != '0);

  always_ff @(posedge b_clk) begin
    cover (!rst && popped_q == 4'd4);
    cover (!rst && pushed_q - popped_q == 4'd5);
    cover (rest && pulses_q == 4'd2);
  end
endmodule
