// The compression function of SHA-256 (FIPS 180-4, 6.2.2): one block into one state.
//
// `start_i` takes state and block in its clock and does the first rounds on them at once; `done_o` is up for one
// clock, 64/Rounds clocks later (start and done inclusive: 65, 33, 17, 5 clocks). `digest_o` is right in that clock
// and until the next start. A start may come in the clock of `done_o`: 64/Rounds clocks a block.
// Paths: from `state_i` and `block_i` through a multiplexer and `Rounds` rounds; `digest_o` is an addition behind
// registers.
// After reset: idle. A reset forgets the block under way.
// The caller owes: no start while `busy_o`.
module sha256
  import sha256_pkg::*;
#(
    parameter int unsigned Rounds = 1  // a clock: 1, 2, 4 or 16. Hardware takes 1; the others shorten simulations.
) (
    input  logic   clk_i,
    input  logic   rst_i,
    input  logic   start_i,
    input  state_t state_i,   // H0 at the top
    input  block_t block_i,   // first byte at the top
    output logic   busy_o,
    output logic   done_o,
    output state_t digest_o
);
  if (Rounds != 1 && Rounds != 2 && Rounds != 4 && Rounds != 16) begin : gen_bad_rounds
    $fatal(1, "Rounds is 1, 2, 4 or 16");
  end

  localparam int unsigned Steps = RoundCount / Rounds;
  typedef logic [$clog2(Steps)-1:0] step_t;

  typedef struct packed {
    state_t working;   // a at the top
    block_t schedule;  // the next 16 words, the next one at the top
  } rounds_t;

  // `Rounds` rounds, of which the first is round `at * Rounds`.
  function automatic rounds_t advance(rounds_t from, step_t at);
    word_t a, b, c, d, e, f, g, h, t1, t2;
    word_t w[16+Rounds];
    rounds_t to;
    {a, b, c, d, e, f, g, h} = from.working;
    for (int unsigned i = 0; i < 16; i++) w[i] = from.schedule[32*(15-i)+:32];
    for (int unsigned i = 0; i < Rounds; i++) begin
      w[16+i] = lower_sigma1(w[14+i]) + w[9+i] + lower_sigma0(w[1+i]) + w[i];
      t1 = h + upper_sigma1(e) + ch(e, f, g) + RoundConstants[6'(at) * 6'(Rounds) + 6'(i)] + w[i];
      t2 = upper_sigma0(a) + maj(a, b, c);
      {h, g, f, e, d, c, b, a} = {g, f, e, d + t1, c, b, a, t1 + t2};
    end
    to.working = {a, b, c, d, e, f, g, h};
    for (int unsigned i = 0; i < 16; i++) to.schedule[32*(15-i)+:32] = w[Rounds+i];
    return to;
  endfunction

  logic busy_q, done_q;
  step_t step_q;      // the next step; 0 while idle
  state_t before_q;   // the state that the block is compressed into
  rounds_t rounds_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {busy_q, done_q} <= '0;
      step_q <= '0;
      before_q <= '0;
      rounds_q <= '0;
    end else begin
      done_q <= busy_q && step_q == '1;
      if (start_i) begin
        busy_q <= 1'b1;
        before_q <= state_i;
      end else if (step_q == '1) begin
        busy_q <= 1'b0;
      end
      if (start_i || busy_q) begin
        rounds_q <= advance(start_i ? {state_i, block_i} : rounds_q, step_q);
        step_q <= step_q + 1'b1;
      end
    end
  end

  assign busy_o = busy_q;
  assign done_o = done_q;
  for (genvar i = 0; i < 8; i++) begin : gen_digest
    assign digest_o[32*i+:32] = before_q[32*i+:32] + rounds_q.working[32*i+:32];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!(start_i && busy_q)) else $error("sha256: a start while busy");
      assert (busy_q || step_q == '0) else $error("sha256: idle between two steps");
      assert (!(busy_q && done_q)) else $error("sha256: done while busy");
    end
  end
endmodule
