// Proves about the reset of the card: the fence is closed before the card is reset. An FLR is done
// only after a reset of full length that began with a quiet bus or at the time limit. `done` stays
// until the request falls. A request that is held is done in bounded time. Host and bus are
// arbitrary. The parameters are small; the order of the steps does not depend on them.
module card_reset_props (
    input logic clk,
    input logic flr,
    input logic quiet
);
  localparam int unsigned PatienceLog2 = 3;
  localparam int unsigned HoldClocks = 3;
  localparam logic [7:0] Bound = 8'(2 ** PatienceLog2 + HoldClocks + 5);

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic close, card_rst, done;
  card_reset #(
      .PatienceLog2(PatienceLog2),
      .HoldClocks(HoldClocks)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .flr_i(flr),
      .quiet_i(quiet),
      .close_o(close),
      .card_rst_o(card_rst),
      .done_o(done)
  );

  logic close_q, card_rst_q, done_q, flr_q, first_q;
  logic [7:0] in_reset_q, closed_q, asked_q;
  logic quiet_seen_q;  // Quiet since the fence was closed.
  always_ff @(posedge clk) begin
    close_q <= close;
    card_rst_q <= card_rst;
    done_q <= done;
    flr_q <= flr;
    first_q <= rst;
    in_reset_q <= rst || !card_rst ? '0 : in_reset_q == '1 ? in_reset_q : in_reset_q + 8'd1;
    closed_q <= rst || !close ? '0 : closed_q == '1 ? closed_q : closed_q + 8'd1;
    quiet_seen_q <= !rst && close && (quiet_seen_q || quiet);
    // Clocks for which a request has been held without `done`.
    asked_q <= rst || !flr || done ? '0 : asked_q + 8'd1;

    if (!rst && !first_q) begin
      assert (!card_rst || close);
      assert (!done || card_rst);
      // A reset begins with a closed fence, after quiet or at the time limit.
      if (card_rst && !card_rst_q)
        assert (close_q && (quiet_seen_q || closed_q >= 8'(2 ** PatienceLog2)));
      // The reset lasts long enough; `done` comes at its end.
      if (!card_rst && card_rst_q) assert (in_reset_q >= 8'(HoldClocks));
      if (done) assert (in_reset_q >= 8'(HoldClocks));
      // `done` belongs to a request, and stays while the request is held.
      if (done) assert (flr_q);
      if (done_q && flr_q) assert (done);
      // After it was closed, the fence opens only through a reset.
      if (!close && close_q) assert (card_rst_q);
      assert (asked_q < Bound);
    end

    cover (!rst && done && quiet_seen_q);
    cover (!rst && done && !quiet_seen_q && closed_q > 8'd8);
    cover (!rst && !flr && close && !card_rst);
    cover (!rst && !first_q && done_q && !done && !flr);
    cover (!rst && !close && close_q);
  end

  // Invariants for the induction: outputs follow from the state; the counters match.
  always_ff @(posedge clk) begin
    if (!rst && !first_q) begin
      if (dut.state_q == 2'd2) assert (dut.hold_q == '0);
      if (dut.state_q == 2'd0) assert (dut.hold_q < 8'(HoldClocks));
      if (card_rst && dut.state_q == 2'd0) assert (close);
    end
  end
endmodule
