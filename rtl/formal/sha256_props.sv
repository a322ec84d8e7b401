// Proves about the hash core, without bound: in each clock it computes the next `Rounds` rounds of
// FIPS 180-4, 6.2.2, which are defined here a second time. `done_o` is high for one clock,
// 64/Rounds + 1 clocks after a block was accepted, unless a reset comes first. The digest is then
// the state that the block was compressed into plus the state after the last round. It holds until
// the next block is accepted. A chained block is compressed into the previous block's digest. A
// block is accepted exactly when the core is idle or in its last rounds.
//
// Task `prove`: one round per clock, as in hardware; task `sixteen`: as in the simulated card.
// Assumed: no start while not ready; a chained block only after another block since the reset. The
// constants K are those of sha256_pkg; only test vectors check them.
module sha256_props
  import sha256_pkg::*;
#(
    parameter int unsigned Rounds = 1
) (
    input logic clk,
    input logic reset,
    input logic start,
    input logic chain,
    input state_t state,
    input block_t block
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic any_q;  // A block was accepted since the reset.
  logic ready, busy, done;
  state_t digest;
  sha256 #(
      .Rounds(Rounds)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .ready_o(ready),
      .chain_i(chain),
      .state_i(state),
      .block_i(block),
      .busy_o(busy),
      .done_o(done),
      .digest_o(digest)
  );
  always_comb begin
    if (!rst) assume (!(start && !ready) && !(start && chain && !any_q));
  end

  // ---- FIPS 180-4 again, by wiring instead of shifts: W(t) is at `w[0]`, W(t+15) at `w[15]`
  typedef struct packed {
    word_t a, b, c, d, e, f, g, h;
    logic [15:0][31:0] w;
  } state_of_round_t;

  function automatic word_t big0(word_t x);
    return {x[1:0], x[31:2]} ^ {x[12:0], x[31:13]} ^ {x[21:0], x[31:22]};
  endfunction
  function automatic word_t big1(word_t x);
    return {x[5:0], x[31:6]} ^ {x[10:0], x[31:11]} ^ {x[24:0], x[31:25]};
  endfunction
  function automatic word_t small0(word_t x);
    return {x[6:0], x[31:7]} ^ {x[17:0], x[31:18]} ^ {3'b0, x[31:3]};
  endfunction
  function automatic word_t small1(word_t x);
    return {x[16:0], x[31:17]} ^ {x[18:0], x[31:19]} ^ {10'b0, x[31:10]};
  endfunction

  // `to_a` is h + K + W, and `to_e` is d + h + K + W.
  function automatic state_of_round_t round(state_of_round_t s, word_t to_a, word_t to_e);
    word_t choice, majority;
    state_of_round_t n;
    choice = (s.e & s.f) ^ (~s.e & s.g);
    majority = (s.a & s.b) ^ (s.a & s.c) ^ (s.b & s.c);
    n.a = to_a + big1(s.e) + choice + big0(s.a) + majority;
    {n.b, n.c, n.d} = {s.a, s.b, s.c};
    n.e = to_e + big1(s.e) + choice;
    {n.f, n.g, n.h} = {s.e, s.f, s.g};
    n.w = {small1(s.w[14]) + s.w[9] + small0(s.w[1]) + s.w[0], s.w[15:1]};
    return n;
  endfunction

  // Register values expected one clock later. They are computed from the core's own registers, so
  // that each clock is proved separately.
  state_of_round_t now, next;
  state_t now_working, next_working, into, into_q, into_kept, added;
  assign into_kept = dut.before_q;
  word_t to_a, to_e;
  logic [5:0] at;
  logic [6:0] rounds_q;  // Rounds of this block so far.
  logic going_q, ended_q, moved_q, ends;
  assign now_working = dut.rounds_q.working;
  assign ends = going_q && rounds_q == 7'(RoundCount - Rounds);
  always_comb begin
    {now.a, now.b, now.c, now.d, now.e, now.f, now.g, now.h} = now_working;
    for (int unsigned i = 0; i < 16; i++) now.w[i] = dut.rounds_q.schedule[511-32*i-:32];
    // This uses two values of the core, which assertions below check: its sums, and its copy of the
    // state that the block is compressed into. The sums of the last round include that state.
    next = now;
    for (int unsigned i = 0; i < Rounds; i++) begin
      at = 6'(dut.step_q) * 6'(Rounds) + 6'(i);
      if (i == 0) {to_a, to_e} = dut.rounds_q.sums;
      else begin
        to_a = next.h + RoundConstants[at] + next.w[0]
            + (i == Rounds - 1 && dut.last_q ? into_kept[255-:32] : '0);
        to_e = next.d + next.h + RoundConstants[at] + next.w[0]
            + (i == Rounds - 1 && dut.last_q ? into_kept[127-:32] : '0);
      end
      next = round(next, to_a, to_e);
    end
    added = dut.last_q ? into_kept : '0;
    {next.b, next.c, next.d} =
        {next.b + added[223-:32], next.c + added[191-:32], next.d + added[159-:32]};
    {next.f, next.g, next.h} =
        {next.f + added[95-:32], next.g + added[63-:32], next.h + added[31:0]};
    next_working = {next.a, next.b, next.c, next.d, next.e, next.f, next.g, next.h};
    into = state;
    if (chain) into = going_q ? next_working : now_working;
  end

  // Expected values of the digest and of the message words, one clock later.
  state_t working_q;
  block_t schedule_q;
  always_ff @(posedge clk) begin
    ended_q <= !rst && ends;
    moved_q <= !rst && (start || going_q);
    if (start) {working_q, schedule_q} <= {into, block};
    else begin
      working_q <= going_q ? next_working : now_working;
      for (int unsigned i = 0; i < 16; i++) schedule_q[511-32*i-:32] <= next.w[i];
    end
    if (rst) {going_q, any_q} <= '0;
    else if (start || going_q) begin
      rounds_q <= start ? 7'd0 : rounds_q + 7'(Rounds);
      going_q <= start || !ends;
      any_q <= 1'b1;
      if (start) into_q <= into;
    end
  end

  // Expected sums for the core's next round.
  word_t due_a, due_e, due_g, due_c, due_h, due_dh;
  always_comb begin
    due_a = now.h + RoundConstants[6'(dut.step_q) * 6'(Rounds)] + now.w[0];
    due_e = now.d + now.h + RoundConstants[6'(dut.step_q) * 6'(Rounds)] + now.w[0];
    if (Rounds == 1 && dut.last_q) begin
      {due_a, due_e} = {due_a + into_kept[255-:32], due_e + into_kept[127-:32]};
    end
    // Expected sums for the first round over the digest.
    due_g = now.g + into_kept[31:0];
    due_c = now.c + into_kept[159-:32];
    due_h = due_g + RoundConstants[0];
    due_dh = due_c + due_g + RoundConstants[0];
    if (!going_q) begin
      due_h = now.h + RoundConstants[0];
      due_dh = now.d + now.h + RoundConstants[0];
    end
  end

  logic again_q, chained_q;
  always_ff @(posedge clk) begin
    again_q <= !rst && done && start;
    chained_q <= !rst && ends && start && chain;
  end
  always_comb begin
    if (started && !rst) begin
      assert (busy == going_q && done == ended_q && ready == (!going_q || ends));
      // The registers either compute the next rounds or hold.
      if (any_q) assert (digest == working_q);
      if (moved_q && going_q) assert (dut.rounds_q.schedule == schedule_q);

      // ---- invariants for the induction
      if (going_q) assert (dut.rounds_q.sums == {due_a, due_e});
      if (Rounds == 1 && any_q && (!going_q || rounds_q > 7'd1)) begin
        assert (dut.chained == {due_h, due_dh});
      end
      assert (dut.last_q == ends);
      assert (dut.late_q == (going_q && rounds_q == 7'((RoundCount - 2) / Rounds * Rounds)));
      if (going_q && rounds_q == '0) assert (now_working == into_q);
      if (going_q && rounds_q != '0) assert (dut.before_q == into_q);
      assert (!going_q || (any_q && moved_q && rounds_q < 7'(RoundCount)));
      assert (6'(dut.step_q) == (going_q ? 6'(rounds_q / 7'(Rounds)) : '0));
      assert (rounds_q % 7'(Rounds) == '0 || !any_q);
      assert (dut.constant_q == RoundConstants[(6'(dut.step_q)+6'd1)*6'(Rounds)]);
      assert (dut.ahead_q == (6'(dut.step_q) + 6'd2) * 6'(Rounds));
      if (ended_q) assert (any_q);

      // ---- not vacuous: a digest; the next block begins in the same clock, or one clock earlier
      cover (done && any_q && !busy);
      cover (again_q && busy);
      cover (chained_q && done);
    end
  end
endmodule
