// Proves about events into another clock domain, for unrelated clocks that may stop: every event is
// stored until a request is made for it. Every request gives one pulse, and there are no other
// pulses. A request arrives within three edges of the receiver and is answered within two edges of
// the sender. The proof is by induction, so it holds for any run. Metastability is not modelled.
module event_cdc_props (
    input logic a_clk,
    input logic b_clk,
    input logic hint
);
  // As the module requires, the reset lasts until each clock has had three edges after the first
  // edge of the other clock during the reset.
  logic [2:0] a_seen = '0;
  logic [2:0] b_seen = '0;
  always_ff @(posedge a_clk) if (!a_seen[2] && (b_seen != '0 || a_seen == '0)) a_seen <= a_seen
      + 3'd1;
  always_ff @(posedge b_clk) if (!b_seen[2] && (a_seen != '0 || b_seen == '0)) b_seen <= b_seen
      + 3'd1;
  logic rst;
  assign rst = !(a_seen[2] && b_seen[2]);

  logic pulse;
  event_cdc dut (
      .from_clk_i(a_clk), .from_rst_i(rst), .event_i(hint),
      .to_clk_i(b_clk), .to_rst_i(rst), .event_o(pulse)
  );

  // A request is a change of level, which travels once around the loop.
  logic [5:0] ring;
  logic [4:0] changes;
  assign ring = {
    dut.request_q, dut.u_request.sync_q[0], dut.u_request.sync_q[1], dut.seen_q,
        dut.u_answer.sync_q[0], dut.u_answer.sync_q[1]
  };
  assign changes = ring[5:1] ^ ring[4:0];

  logic owed_q, was_q, owed_was_q;
  logic [1:0] requests_q, answer_waits_q;
  always_ff @(posedge a_clk) begin
    // An event for which no request was made so far.
    owed_q <= !rst && (hint || (owed_q && dut.request_q != dut.answer));
    owed_was_q <= !rst && owed_q;
    was_q <= !rst && dut.request_q;
    requests_q <= rst ? '0 : requests_q + 2'(dut.pending_q && dut.request_q == dut.answer);
    answer_waits_q <= !rst && dut.seen_q != dut.answer ? answer_waits_q + 2'd1 : '0;
  end
  logic [1:0] pulses_q, request_waits_q;
  always_ff @(posedge b_clk) begin
    pulses_q <= rst ? '0 : pulses_q + 2'(pulse);
    request_waits_q <= rst || dut.request_q == dut.seen_q ? '0 : request_waits_q == 2'd3 ? 2'd1
        : request_waits_q + 2'd1;
  end

  always_comb begin
    if (!rst) begin
      // No event is lost before its request, and there is no request without an event.
      assert (dut.pending_q == owed_q);
      if (dut.request_q != was_q) assert (owed_was_q);
      assert (requests_q[0] == dut.request_q);
      // Every request has given a pulse, except a request in progress.
      assert (requests_q - pulses_q == 2'(dut.request_q != dut.seen_q) + 2'(pulse));
      assert ((changes & (changes - 5'd1)) == '0);
      // Requests and answers arrive in time.
      if (request_waits_q == 2'd0) assert (ring[4] == dut.seen_q && ring[3] == dut.seen_q);
      if (request_waits_q == 2'd1)
        assert (dut.request_q != dut.seen_q && ring[4] == dut.request_q && ring[3] == dut.seen_q);
      if (request_waits_q == 2'd2) assert (dut.request_q != dut.seen_q && ring[3] == dut.request_q);
      if (request_waits_q == 2'd3) assert (ring[4] == dut.seen_q && ring[3] == dut.seen_q && pulse);
      if (answer_waits_q == 2'd0) assert (ring[1] == dut.answer);
      if (answer_waits_q == 2'd1)
        assert (dut.seen_q != dut.answer && dut.u_answer.sync_q[0] == dut.seen_q);
      assert (answer_waits_q != 2'd3);
      if (answer_waits_q == 2'd2) assert (dut.answer == dut.seen_q && changes == '0);
    end
    assert (a_seen <= 3'd4 && b_seen <= 3'd4);
    if (rst && a_seen != '0) begin
      assert (!dut.pending_q && !dut.request_q && !owed_q && !was_q && !owed_was_q);
      assert (requests_q == '0 && answer_waits_q == '0);
    end
    if (rst && b_seen != '0)
      assert (!dut.seen_q && !pulse && pulses_q == '0 && request_waits_q == '0);
    // Three edges after the first edge of the other side in reset, the levels have gone around the
    // loop.
    if (rst && b_seen >= 3'd2) assert (!dut.u_request.sync_q[0] && a_seen != '0);
    if (rst && b_seen >= 3'd3) assert (!dut.u_request.sync_q[1]);
    if (rst && a_seen >= 3'd2) assert (!dut.u_answer.sync_q[0] && b_seen != '0);
    if (rst && a_seen >= 3'd3) assert (!dut.u_answer.sync_q[1]);
  end

  always_ff @(posedge b_clk) begin
    cover (!rst && pulses_q == 2'd1 && pulse);
    cover (!rst && request_waits_q == 2'd3);
  end
endmodule
