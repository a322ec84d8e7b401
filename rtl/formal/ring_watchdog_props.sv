// Proves, without bound: the watchdog expires exactly at the end of each 2^Log2 clocks with a
// pending transfer and without progress, for one clock, and expires again as long as there is no
// progress.
//
// Nothing is assumed. Proved for 2^4 clocks; the covers show that it expires, twice.
module ring_watchdog_props #(
    parameter int unsigned Log2 = 4
) (
    input logic clk,
    input logic reset,
    input logic pending,
    input logic progress
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic expired;
  ring_watchdog #(
      .Log2(Log2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .pending_i(pending),
      .progress_i(progress),
      .expired_o(expired)
  );

  // A clock of waiting shifts in a one at the bottom; progress or a full register clears all bits.
  logic [2**Log2-2:0] waited_q;
  logic waiting, twice_q;
  assign waiting = pending && !progress;
  always_ff @(posedge clk) begin
    if (rst || !waiting || (&waited_q)) waited_q <= '0;
    else waited_q <= {waited_q[2**Log2-3:0], 1'b1};
    twice_q <= !rst && (twice_q || expired);
  end

  // The register holds zeros above ones (a thermometer code); the counter is the number of ones.
  logic [Log2-1:0] ones;
  always_comb begin
    ones = '0;
    for (int unsigned i = 0; i < 2 ** Log2 - 1; i++) ones += Log2'(waited_q[i]);
  end

  always_comb begin
    if (!rst && started) begin
      assert (expired == (waiting && (&waited_q)));
      // Invariants for the induction.
      assert ((waited_q & (waited_q + 1'b1)) == '0);
      assert (dut.count_q == ones);
      cover (expired);
      cover (!waiting && (&waited_q));
    end
  end
  always_ff @(posedge clk) if (!rst) cover (twice_q && waited_q == 15'd1);
endmodule
