// Proves: a matching row that forbids never leads to an admit, in either bank, for any other rows,
// outcomes of the host, depth and answer of the other bank. A forbid-reject in the policy bank
// gives a reject at stage policy.
//
// Rows, descriptors and sweeps are arbitrary. Comparators, fold and resolution are the card's own.
// Whether a row matches is defined a second time, from the reference page (row_spec).
module forbid_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input logic step,
    input logic first,
    input logic last,
    input logic [1:0] live,
    input row_t policy_row,
    input row_t entropy_row,
    input logic [15:0] index,
    input descriptor_t desc,
    input logic [7:0] validation,
    input logic [7:0] lineage,
    input logic [7:0] depth,
    input logic [7:0] max_depth
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  row_t [1:0] row;
  assign row = {entropy_row, policy_row};
  logic [1:0] done;
  bank_answer_t [1:0] answer;

  // Whether this sweep presented a matching row of each forbidding kind: in the clock when it is
  // presented, one clock later, and when it is folded.
  logic [1:0] reject_now_q, decompose_now_q, reject_q, decompose_q;
  logic step_q, first_q;
  always_ff @(posedge clk) begin
    step_q <= !rst && step;
    first_q <= !rst && step && first;
  end

  for (genvar b = 0; b < 2; b++) begin : g_bank
    bank_match dut (
        .clk_i(clk),
        .rst_i(rst),
        .step_i(step),
        .first_i(first),
        .last_i(last),
        .live_i(live[b]),
        .row_i(row[b]),
        .index_i(index),
        .desc_i(desc),
        .done_o(done[b]),
        .answer_o(answer[b])
    );

    logic fits;
    row_spec u_spec (
        .row_i(row[b]),
        .entry_i(desc),
        .matches_o(fits)
    );

    always_ff @(posedge clk) begin
      automatic logic hit = !rst && step && live[b] && fits;
      reject_now_q[b] <= hit && row[b].kind == RowKindForbidReject;
      decompose_now_q[b] <= hit && row[b].kind == RowKindForbidDecompose;
      if (rst) {reject_q[b], decompose_q[b]} <= '0;
      else if (step_q) begin
        reject_q[b] <= (!first_q && reject_q[b]) || reject_now_q[b];
        decompose_q[b] <= (!first_q && decompose_q[b]) || decompose_now_q[b];
      end
    end

    always_comb begin
      if (started) begin
        // The steps of the proof: the match reaches the fold, and the fold keeps it.
        assert (dut.step_q == step_q && dut.first_q == first_q);
        if (reject_now_q[b])
          assert (dut.live_q && (&dut.conditions_q) && dut.kind_q == RowKindForbidReject);
        if (decompose_now_q[b])
          assert (dut.live_q && (&dut.conditions_q) && dut.kind_q == RowKindForbidDecompose);
        if (reject_q[b]) assert (dut.seen_q.reject);
        if (decompose_q[b]) assert (dut.seen_q.decompose);
        // The claim about a bank.
        if (reject_q[b]) assert (answer[b].outcome == StageOutcomeReject);
        if (decompose_q[b]) assert (answer[b].outcome != StageOutcomePass);
      end
    end
  end

  logic valid;
  verdict_t verdict;
  resolve u_resolve (
      .clk_i(clk),
      .rst_i(rst),
      .valid_i(done[0]),
      .judge_i(1'b1),
      .policy_i(answer[0]),
      .entropy_i(answer[1]),
      .validation_i(validation),
      .lineage_i(lineage),
      .depth_i(depth),
      .max_depth_i(max_depth),
      .valid_o(valid),
      .verdict_o(verdict),
      .policy_row_o(),
      .entropy_row_o()
  );

  // The matches of the two banks at the time of the verdict.
  logic [1:0] verdict_reject_q, verdict_decompose_q;
  always_ff @(posedge clk) begin
    if (rst) {verdict_reject_q, verdict_decompose_q} <= '0;
    else if (done[0]) begin
      verdict_reject_q <= reject_q;
      verdict_decompose_q <= decompose_q;
    end
  end
  always_comb begin
    if (started && valid) begin
      // The claim.
      if (verdict_reject_q != '0 || verdict_decompose_q != '0)
        assert (verdict.determination != DeterminationAdmit);
      if (verdict_reject_q[0])
        assert (verdict.determination == DeterminationReject && verdict.stage == StagePolicy);
      // Not vacuous: each kind occurs, and without a forbid there are admits.
      cover (verdict_reject_q[0] && !verdict_decompose_q[0]);
      cover (verdict_decompose_q[0] && !verdict_reject_q[0]
          && verdict.determination == DeterminationDecompose);
      cover (verdict_reject_q[1] && verdict.stage == StageEntropy);
      cover (verdict_decompose_q[1] && verdict.determination == DeterminationDecompose);
      cover (verdict.determination == DeterminationAdmit);
    end
  end
endmodule
