// Proves, without bound: a judged entry takes one step for each row, from row 0 to the last row of
// the longer bank, in order. Any other entry takes a single step that is not judged. There is no
// step in a clock with hold or flush, no last step before there is space for the answer, and no
// step of the next entry in between. Each started entry is handed over once, in the clock after its
// first step; no other entry is. Steps are not delayed: with space and without hold, each clock has
// a step.
//
// Assumed, by the module's contract: an entry holds unchanged until it is accepted or flushed; in
// the clock after that, the next entry is not valid yet. Row counts are constant and at least 1
// (the card refuses an image without rows).
module sweep_props
  import gate_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic flush,
    input logic valid,
    input logic judge,
    input logic hold,
    input logic last_ready
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [15:0] policy_rows, entropy_rows, rows;
  always_ff @(posedge clk) {policy_rows, entropy_rows} <= {policy_rows, entropy_rows};
  always_comb assume (policy_rows != '0 && entropy_rows != '0);
  assign rows = policy_rows > entropy_rows ? policy_rows : entropy_rows;

  logic ready, busy;
  step_t step;
  sweep dut (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .valid_i(valid),
      .ready_o(ready),
      .judge_i(judge),
      .policy_rows_i(policy_rows),
      .entropy_rows_i(entropy_rows),
      .hold_i(hold),
      .last_ready_i(last_ready),
      .step_o(step),
      .busy_o(busy)
  );

  logic stands_q, stood_judge_q, taken_q;
  always_ff @(posedge clk) begin
    stands_q <= !rst && !flush && valid && !ready;
    taken_q <= ready;
    stood_judge_q <= judge;
  end
  always_comb begin
    if (stands_q) assume (valid && judge == stood_judge_q);
    if (taken_q) assume (!valid);
  end

  // The expected sweep: whether it is active, its entry and its row; whether it has begun with the
  // entry at the input.
  logic going_q, going_judge_q, begun_q, hand_q;
  logic [15:0] at_q, end_row;
  logic may_step, ends, begins;
  assign end_row = going_judge_q ? rows - 16'd1 : 16'd0;
  assign ends = going_q && at_q == end_row;
  assign may_step = going_q && !hold && !flush && !(ends && !last_ready);
  assign begins = valid && !begun_q && (!going_q || (may_step && ends));
  always_ff @(posedge clk) begin
    if (rst || flush) {going_q, begun_q, hand_q} <= '0;
    else begin
      hand_q <= may_step && at_q == '0;
      if (begins) begin
        going_q <= 1'b1;
        going_judge_q <= judge;
        begun_q <= 1'b1;
        at_q <= '0;
      end else if (may_step) begin
        if (ends) going_q <= 1'b0;
        at_q <= at_q + 16'd1;
      end
      if (hand_q) begun_q <= 1'b0;
    end
  end

  logic twice_q;
  always_ff @(posedge clk) begin
    twice_q <= !rst && !flush && (twice_q || (step.valid && step.last && step.judge));
  end
  always_comb begin
    if (started && !rst) begin
      assert (step.valid == may_step);
      assert (ready == hand_q);
      assert (busy == (going_q || hand_q || begun_q));
      if (step.valid) begin
        assert (step.row == at_q && step.judge == going_judge_q);
        assert (step.first == (at_q == '0) && step.last == ends);
        assert (step.row < rows);
      end

      // ---- invariants for the induction
      if (going_q) begin
        assert (dut.active_q && dut.row_q == at_q && dut.last_row_q == end_row
            && dut.judge_q == going_judge_q);
        assert (at_q <= end_row);
      end else assert (!dut.active_q);
      assert (dut.started_q == begun_q && dut.handover_q == hand_q);
      if (begun_q) assert (valid || flush);
      if (hand_q) assert (begun_q);
      assert ((begun_q && !hand_q) == (going_q && at_q == '0));

      // ---- not vacuous: a sweep of three rows, another directly after it, one held at its last
      // row, a flush during a sweep
      cover (step.valid && step.last && step.judge && rows == 16'd3 && policy_rows == 16'd2);
      cover (begins && step.valid && step.last && step.judge && at_q == 16'd1);
      cover (twice_q && step.valid && step.last && step.judge && rows == 16'd4);
      cover (ends && !last_ready && step.judge && at_q != '0);
      cover (step.valid && step.last && !step.judge);
      cover (flush && going_q && at_q == 16'd2);
    end
  end
endmodule
