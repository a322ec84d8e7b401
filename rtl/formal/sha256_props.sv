// What is proved of the hash core, without bound: in each clock it does the next `Rounds` rounds of FIPS 180-4, 6.2.2, as
// they are written down here a second time; `done_o` comes 64/Rounds clocks after the start, for one clock, unless a reset comes first; the digest is
// then the sum of the state that the block was compressed into and the last round's, and stands until the next start.
//
// Task `prove`: one round a clock, as in hardware; `sixteen`: sixteen, as in the simulated card.
// Assumed: no start while busy. The constants K are those of sha256_pkg, which only test vectors check.
module sha256_props
  import sha256_pkg::*;
#(
    parameter int unsigned Rounds = 1
) (
    input logic clk,
    input logic reset,
    input logic start,
    input state_t state,
    input block_t block
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic busy, done;
  state_t digest;
  sha256 #(
      .Rounds(Rounds)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .state_i(state),
      .block_i(block),
      .busy_o(busy),
      .done_o(done),
      .digest_o(digest)
  );
  always_comb if (!rst) assume (!(start && busy));

  // ---- FIPS 180-4 once more, by wiring rather than by shifts: W(t) at `w[0]`, W(t+15) at `w[15]`
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

  function automatic state_of_round_t round(state_of_round_t s, word_t k);
    word_t t1, t2;
    state_of_round_t n;
    t1 = s.h + big1(s.e) + ((s.e & s.f) ^ (~s.e & s.g)) + k + s.w[0];
    t2 = big0(s.a) + ((s.a & s.b) ^ (s.a & s.c) ^ (s.b & s.c));
    n.a = t1 + t2;
    {n.b, n.c, n.d} = {s.a, s.b, s.c};
    n.e = s.d + t1;
    {n.f, n.g, n.h} = {s.e, s.f, s.g};
    n.w = {small1(s.w[14]) + s.w[9] + small0(s.w[1]) + s.w[0], s.w[15:1]};
    return n;
  endfunction

  // What the registers should hold a clock later. It starts from the core's own registers, so that each clock is proved by itself.
  state_of_round_t now, next, due_q;
  state_t into_q;
  logic [6:0] rounds_q;  // Done of this block.
  logic going_q, ended_q, any_q, moved_q;
  always_comb begin
    {now.a, now.b, now.c, now.d, now.e, now.f, now.g, now.h} = start ? state : dut.rounds_q.working;
    for (int unsigned i = 0; i < 16; i++) now.w[i] = start ? block[511-32*i-:32] : dut.rounds_q.schedule[511-32*i-:32];
    next = now;
    for (int unsigned i = 0; i < Rounds; i++) next = round(next, RoundConstants[6'(dut.step_q) * 6'(Rounds) + 6'(i)]);
  end
  always_ff @(posedge clk) begin
    ended_q <= !rst && going_q && rounds_q == 7'(RoundCount - Rounds);
    moved_q <= !rst && (start || going_q);
    due_q <= next;
    if (rst) {going_q, any_q} <= '0;
    else if (start || going_q) begin
      rounds_q <= start ? 7'(Rounds) : rounds_q + 7'(Rounds);
      going_q <= start || rounds_q != 7'(RoundCount - Rounds);
      any_q <= 1'b1;
      if (start) into_q <= state;
    end
  end

  state_t sum, working;
  logic [7:0][31:0] left, right;
  assign working = dut.rounds_q.working;
  assign left = into_q;
  assign right = working;
  for (genvar i = 0; i < 8; i++) begin : gen_sum
    assign sum[32*i+:32] = left[i] + right[i];
  end

  block_t schedule_due;
  for (genvar i = 0; i < 16; i++) begin : gen_schedule
    assign schedule_due[511-32*i-:32] = due_q.w[i];
  end
  // The registers stand while nothing moves.
  logic stood_q;
  state_t working_q;
  always_ff @(posedge clk) begin
    stood_q <= !rst && any_q && !(start || going_q);
    working_q <= working;
  end

  logic again_q;
  always_ff @(posedge clk) again_q <= !rst && done && start;
  always_comb begin
    if (started && !rst) begin
      assert (busy == going_q && done == ended_q);
      if (any_q && !going_q) assert (digest == sum);
      if (moved_q) begin
        assert (working == {due_q.a, due_q.b, due_q.c, due_q.d, due_q.e, due_q.f, due_q.g, due_q.h});
        assert (dut.rounds_q.schedule == schedule_due);
      end
      if (stood_q) assert (working == working_q);
      // ---- what the induction needs
      if (any_q) assert (dut.before_q == into_q);
      assert (!going_q || (any_q && rounds_q < 7'(RoundCount) && rounds_q != '0));
      assert (6'(dut.step_q) == (going_q ? 6'(rounds_q / 7'(Rounds)) : '0));
      assert (rounds_q % 7'(Rounds) == '0 || !any_q);
      if (ended_q) assert (any_q && !going_q);

      // ---- not vacuous: a digest, and the next block begun in the clock of it
      cover (done && any_q);
      cover (again_q && busy);
    end
  end
endmodule
