// Turns the two banks' answers and the host's two outcomes into a verdict, in stage order
// (gate_pkg::resolve_stages).
//
// An entry that is not judged gets no determination, independently of the banks' answers.
// Latency: one clock from `valid_i`.
// After reset: no determination.
`include "assert.svh"

module resolve
  import layout_pkg::*;
  import gate_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         valid_i,
    input  logic         judge_i,
    input  bank_answer_t policy_i,
    input  bank_answer_t entropy_i,
    input  logic [7:0]   validation_i,
    input  logic [7:0]   lineage_i,
    input  logic [7:0]   depth_i,
    input  logic [7:0]   max_depth_i,
    output logic         valid_o,
    output verdict_t     verdict_o,
    output logic [15:0]  policy_row_o,
    output logic [15:0]  entropy_row_o
);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_o <= 1'b0;
      verdict_o <= '{determination: DeterminationNone, stage: StageNone};
      policy_row_o <= 16'(RowNone);
      entropy_row_o <= 16'(RowNone);
    end else begin
      valid_o <= valid_i;
      if (valid_i) begin
        if (judge_i) begin
          verdict_o <= resolve_stages(policy_i.outcome, validation_i, lineage_i, entropy_i.outcome,
                                      depth_i, max_depth_i);
          policy_row_o <= policy_i.row;
          entropy_row_o <= entropy_i.row;
        end else begin
          verdict_o <= '{determination: DeterminationNone, stage: StageNone};
          policy_row_o <= 16'(RowNone);
          entropy_row_o <= 16'(RowNone);
        end
      end
    end
  end

  // Registered facts about the present verdict.
  logic all_pass_q, judge_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) {all_pass_q, judge_q} <= '0;
    else if (valid_i) begin
      judge_q <= judge_i;
      all_pass_q <= policy_i.outcome == StageOutcomePass && validation_i == StageOutcomePass
          && lineage_i == StageOutcomePass && entropy_i.outcome == StageOutcomePass;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i && valid_o) begin
      `ASSERT(
          (verdict_o.determination == DeterminationAdmit) == (judge_q && all_pass_q),
          "resolve: an admit without four passes, or four passes without an admit");
    end
  end
endmodule
