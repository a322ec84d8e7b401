// Proves about interrupt requests: at most one waits for its acknowledgement. A pulse lasts one
// clock. A level holds until the acknowledgement and is low for a clock after it. No hint is lost,
// and there is no request without a hint. Hints and acknowledgements are arbitrary; there may be
// unexpected ones.
module irq_request_props #(
    parameter bit Level = 1'b0
) (
    input logic clk,
    input logic hint,
    input logic ack
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic req;
  irq_request #(
      .Level(Level)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .hint_i(hint),
      .req_o(req),
      .ack_i(ack)
  );

  logic req_q, ack_q, owed_q, open_q, waited_q, first_q;
  logic begins;
  assign begins = req && !req_q;
  always_ff @(posedge clk) begin
    req_q <= req && !rst;
    ack_q <= ack;
    first_q <= rst;
    waited_q <= !rst && owed_q && !open_q && !begins;
    // Each hint needs a request that begins after it.
    owed_q <= !rst && (hint || (owed_q && !begins));
    open_q <= !rst && (begins || open_q) && !ack;

    if (!rst && !first_q) begin
      if (begins) assert (!open_q && owed_q);
      if (Level) begin
        if (req_q && !ack_q) assert (req);
        if (req_q && ack_q) assert (!req);
      end else begin
        assert (!(req && req_q));
      end
      // If a request is needed and there was no open request for a clock, it begins.
      if (waited_q) assert (begins);
      // Invariants for the induction.
      assert (!req || dut.awaiting_q);
      if (Level) assert (req == dut.awaiting_q && open_q == (req_q && !ack_q));
      assert (dut.awaiting_q == (open_q || begins));
      assert (dut.hinted_q == (owed_q && !begins));
    end

    cover (!rst && begins && ack_q);
    cover (!rst && owed_q && open_q && hint);
    cover (!rst && ack && !open_q && !req);
  end
endmodule
