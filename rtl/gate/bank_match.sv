// The rule of one bank over a sweep: compares one row per clock with a descriptor and combines the
// matches into an answer.
//
// The rows of a sweep come in ascending order, with `first_i` in the first clock and `last_i` in
// the last, perhaps the same one. Without `live_i`, nothing matches. Forbid-reject wins over
// forbid-decompose, and that over permit. If no row matches, the answer is a reject.
//
// Latency: `answer_o` is valid with `done_o`, two clocks after `last_i`. It holds until the next
// sweep reaches the same stage.
// After reset: no answer, `answer_o` is a reject.
// Duties of the caller: `desc_i` constant during a sweep; `row_i` valid while `live_i`.
`include "assert.svh"

module bank_match
  import layout_pkg::*;
  import gate_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         step_i,  // A clock of a sweep.
    input  logic         first_i,
    input  logic         last_i,
    input  logic         live_i,  // The row is valid and within the image's row count.
    input  row_t         row_i,
    input  logic [15:0]  index_i,
    input  descriptor_t  desc_i,
    output logic         done_o,
    output bank_answer_t answer_o
);
  // First the comparison, then the combination.
  conditions_t conditions, conditions_q;
  logic step_q, first_q, last_q, live_q;
  logic [7:0] kind_q;
  logic [15:0] index_q;
  bank_seen_t seen_q;

  row_match u_match (
      .row_i,
      .desc_i,
      .conditions_o(conditions)
  );

  always_ff @(posedge clk_i) begin
    if (step_i && live_i) begin
      conditions_q <= conditions;
      kind_q <= row_i.kind;
      index_q <= index_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {step_q, first_q, last_q, live_q, done_o} <= '0;
      seen_q <= '0;
    end else begin
      step_q <= step_i;
      first_q <= step_i && first_i;
      last_q <= step_i && last_i;
      live_q <= step_i && live_i;
      done_o <= last_q;
      if (step_q)
        seen_q <= bank_fold(first_q ? '0 : seen_q, live_q && (&conditions_q), kind_q, index_q);
    end
  end

  assign answer_o = bank_answer(seen_q);

  always_ff @(posedge clk_i) begin
    if (!rst_i && done_o) begin
      `ASSERT(
          !(answer_o.outcome == StageOutcomePass && (seen_q.reject || seen_q.decompose)),
          "bank_match: a pass beside a matching forbid");
      `ASSERT(
          !(answer_o.outcome == StageOutcomePass && !seen_q.permit),
          "bank_match: a pass without a permit");
    end
  end
endmodule
