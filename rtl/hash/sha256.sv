// The compression function of SHA-256 (FIPS 180-4, 6.2.2): compresses one block into a state.
//
// A block is accepted in a clock of `start_i` and `ready_o`. It is compressed into `state_i`, or
// with `chain_i` into the digest of the block before. `ready_o` is high while the core is idle and
// in the clock of the last rounds, so each chained block takes 64/Rounds clocks. `done_o` is high
// for one clock, 64/Rounds + 1 clocks after the start. `digest_o`, a register, is valid in that
// clock, and until the next start if no block has been accepted yet. Longest paths: between
// registers, `Rounds` rounds, each with two sums that the round before has computed; from `state_i`
// and `block_i`, the two sums of the first round. After reset: idle; the present block is lost.
// Duties of the caller: a chained block only after another block since the reset.
`include "assert.svh"

module sha256
  import sha256_pkg::*;
#(
    parameter int unsigned Rounds = 1  // Per clock: 1, 2, 4 or 16. Hardware uses 1.
) (
    input  logic   clk_i,
    input  logic   rst_i,
    input  logic   start_i,
    output logic   ready_o,
    input  logic   chain_i,
    input  state_t state_i,  // H0 at the top.
    input  block_t block_i,  // First byte at the top.
    output logic   busy_o,
    output logic   done_o,
    output state_t digest_o
);
  if (Rounds != 1 && Rounds != 2 && Rounds != 4 && Rounds != 16) begin : g_bad_rounds
    $fatal(1, "Rounds is 1, 2, 4 or 16");
  end

  localparam int unsigned Steps = RoundCount / Rounds;
  typedef logic [$clog2(Steps)-1:0] step_t;

  // The sums of a round that do not depend on the round before it.
  typedef struct packed {
    word_t to_a;  // h + K + W
    word_t to_e;  // d + h + K + W
  } sums_t;
  typedef struct packed {
    state_t working;   // a at the top
    block_t schedule;  // the next 16 words, the next one at the top
    sums_t sums;       // sums of the next round
  } rounds_t;

  function automatic word_t word_of(state_t state, int unsigned at);
    return state[32*(7-at)+:32];
  endfunction

  // Computes `Rounds` rounds, beginning with round `at * Rounds`. The last round of a block also
  // adds the state that the block is compressed into; its part of the sums is added one round
  // earlier. `is_last` and `is_late` mark the clocks with the last round and with the round before
  // it. `constant` is K of the round after these rounds.
  function automatic rounds_t advance(rounds_t from, step_t at, word_t constant, state_t origin,
      logic is_last, logic is_late);
    word_t a, b, c, d, e, f, g, h, new_a, new_e;
    word_t w[16+Rounds], k;
    logic [5:0] next_round;
    state_t sum, next_sum;
    sums_t sums;
    rounds_t to;
    {a, b, c, d, e, f, g, h} = from.working;
    sums = from.sums;
    for (int unsigned i = 0; i < 16; i++) w[i] = from.schedule[32*(15-i)+:32];
    for (int unsigned i = 0; i < Rounds; i++) begin
      next_round = 6'(at) * 6'(Rounds) + 6'(i + 1);
      k = i == Rounds - 1 ? constant : RoundConstants[next_round];
      {sum, next_sum} = '0;
      if (i == Rounds - 1 && is_last) sum = origin;
      if (i == (RoundCount - 2) % Rounds && is_late) next_sum = origin;
      w[16+i] = lower_sigma1(w[14+i]) + w[9+i] + lower_sigma0(w[1+i]) + w[i];
      new_e = sums.to_e + upper_sigma1(e) + ch(e, f, g);
      new_a = sums.to_a + upper_sigma1(e) + ch(e, f, g) + upper_sigma0(a) + maj(a, b, c);
      sums.to_a = g + k + w[1+i] + word_of(next_sum, 0);
      sums.to_e = c + g + k + w[1+i] + word_of(next_sum, 4);
      h = g + word_of(sum, 7);
      g = f + word_of(sum, 6);
      f = e + word_of(sum, 5);
      e = new_e;
      d = c + word_of(sum, 3);
      c = b + word_of(sum, 2);
      b = a + word_of(sum, 1);
      a = new_a;
    end
    to.working = {a, b, c, d, e, f, g, h};
    for (int unsigned i = 0; i < 16; i++) to.schedule[32*(15-i)+:32] = w[Rounds+i];
    to.sums = sums;
    return to;
  endfunction

  logic busy_q, done_q, last_q, late_q, ready_q, load;
  logic busy_d, last_d;
  step_t step_q;      // The next step; 0 while idle.
  word_t constant_q;  // K of the first round after that step.
  logic [5:0] ahead_q;  // That round's number, plus the rounds of a step.
  state_t before_q;   // The state that the block is compressed into, from its second step on.
  rounds_t rounds_q, moved;
  state_t into;

  // A register: the user's request depends on this signal, and the user's block on the request.
  assign ready_o = ready_q;
  assign load = start_i && ready_o;
  always_comb begin
    moved = rounds_q;
    if (busy_q) moved = advance(rounds_q, step_q, constant_q, before_q, last_q, late_q);
  end
  assign into = chain_i ? moved.working : state_i;

  // The sums h + K and d + h + K for the first round of a block that is chained to the digest.
  sums_t chained, sums;
  if (Rounds == 1) begin : g_prepared
    // Computed one round before the digest to shorten the path; constant while the core is idle.
    word_t g, c;
    sums_t chained_q;
    assign g = word_of(rounds_q.working, 5) + word_of(before_q, 7);
    assign c = word_of(rounds_q.working, 1) + word_of(before_q, 3);
    always_ff @(posedge clk_i) begin
      if (busy_q && !last_q) chained_q <= {g + RoundConstants[0], c + g + RoundConstants[0]};
    end
    assign chained = chained_q;
  end else begin : g_direct
    assign chained.to_a = word_of(moved.working, 7) + RoundConstants[0];
    assign chained.to_e = word_of(moved.working, 3) + word_of(moved.working, 7) + RoundConstants[0];
  end
  always_comb begin
    sums = chained;
    if (!chain_i) begin
      sums.to_a = word_of(state_i, 7) + RoundConstants[0];
      sums.to_e = word_of(state_i, 3) + word_of(state_i, 7) + RoundConstants[0];
    end
    sums.to_a = sums.to_a + block_i[511-:32];
    sums.to_e = sums.to_e + block_i[511-:32];
  end

  assign busy_d = load || (busy_q && !last_q);
  assign last_d = busy_q && step_q == step_t'(Steps - 2);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {busy_q, done_q, last_q, late_q} <= '0;
      ready_q <= 1'b1;
      step_q <= '0;
      constant_q <= RoundConstants[Rounds];
      ahead_q <= 6'(2 * Rounds);
      before_q <= '0;
      rounds_q <= '0;
    end else begin
      done_q <= last_q;
      last_q <= last_d;
      ready_q <= !busy_d || last_d;
      late_q <= busy_q && step_q == step_t'((RoundCount - 2) / Rounds - 1);
      busy_q <= busy_d;
      if (busy_q) begin
        step_q <= step_q + 1'b1;
        constant_q <= RoundConstants[ahead_q];
        ahead_q <= ahead_q + 6'(Rounds);
      end
      if (busy_q && step_q == '0) before_q <= rounds_q.working;
      if (load) rounds_q <= '{working: into, schedule: block_i, sums: sums};
      else if (busy_q) rounds_q <= moved;
    end
  end

  assign busy_o = busy_q;
  assign done_o = done_q;
  assign digest_o = rounds_q.working;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(start_i && !ready_o), "sha256: a start while busy");
      `ASSERT(busy_q || step_q == '0, "sha256: idle between two steps");
      `ASSERT(ready_q == (!busy_q || last_q), "sha256: ready at the wrong time");
    end
  end
endmodule
