// Proves about completions, without bound: each record of an entry gives one completion, and no
// other record does. Completions come in the order of the records, none before its record was
// answered, each with its record's values and the phase of its lap. Its CRC covers bytes 0 to 59,
// twelve at a time, each once. An offered completion does not change until it is accepted. There
// are never more records than places, although full is reported a clock late. A memory that does
// not change is never reported as changed.
//
// One arbitrary record of eight is watched, with four places.
// Assumed: the duties of the caller (no push while full or in two adjacent clocks; no answer
// without an unanswered record). Not proved: that the checksum is CRC-32.
module ring_complete_props
  import layout_pkg::*;
(
    input logic clk,
    input logic flush,
    input logic [3:0] log2,
    input logic [15:0] cq_issued,
    input logic push,
    input logic completes,
    input logic [15:0] index,
    input record_t record,
    input logic answered,
    input logic take
);
  // The reset is active in the first clock.
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic full, valid, empty, changed;
  completion_t completion;
  ring_complete #(
      .DepthLog2(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .log2_i(log2),
      .cq_issued_i(cq_issued),
      .full_o(full),
      .push_i(push),
      .completes_i(completes),
      .index_i(index),
      .record_i(record),
      .answered_i(answered),
      .valid_o(valid),
      .completion_o(completion),
      .take_i(take),
      .empty_o(empty),
      .changed_o(changed)
  );

  // Records by their number, modulo 8: pushed, answered, and begun.
  logic [2:0] pushed_q, answered_q, turned_q, watch;
  logic told_q, pushes_q;  // An answer and a push in the clock before.
  logic turn_q, taken_q;  // The begun record has a completion, which was accepted.
  always_ff @(posedge clk) watch <= watch;

  // The completion expected for the watched record, without phase and CRC; whether one is due.
  completion_t watched_q;
  logic watched_completes_q;
  completion_t now;
  always_comb begin
    now = '0;
    now.ring_index = index;
    now.determination = record.answer.determination;
    now.stage = record.answer.stage;
    now.fault = record.answer.fault;
    now.policy_row = record.answer.policy_row;
    now.entropy_row = record.answer.entropy_row;
    now.slot = record.descriptor.slot;
    now.sequence_ = record.descriptor.sequence_;
    now.epoch = record.answer.epoch;
    now.log_index = record.answer.log_index;
  end

  logic phase_q, held_q, at_work, next_completes;
  completion_t before_q;
  assign at_work = turn_q && !taken_q;
  assign next_completes = dut.completes_q[turned_q[1:0]];
  always_ff @(posedge clk) begin
    if (push && pushed_q == watch) {watched_q, watched_completes_q} <= {now, completes};
    pushes_q <= push && !rst && !flush;
    told_q <= answered && !rst && !flush;
    held_q <= valid && !take && !flush && !rst;
    before_q <= completion;
    if (rst || flush) {pushed_q, answered_q, turned_q, turn_q, taken_q} <= '0;
    else begin
      pushed_q <= pushed_q + 3'(push);
      answered_q <= answered_q + 3'(told_q);
      // The next record begins when it was answered and the record before it is done.
      if (!at_work && turned_q != answered_q) begin
        turned_q <= turned_q + 3'd1;
        turn_q <= next_completes;
        taken_q <= 1'b0;
        phase_q <= !cq_issued[log2];
      end
      if (take) taken_q <= 1'b1;
    end
  end
  // Whether the watched record waits, and whether it is begun.
  logic waits, has_turn;
  assign waits = watch - turned_q < pushed_q - turned_q;
  assign has_turn = at_work && turned_q - 3'd1 == watch;

  // The offered completion without CRC.
  completion_t facts, expected;
  always_comb begin
    facts = completion;
    facts.crc = '0;
    expected = watched_q;
    expected.phase = {7'b0, phase_q};
  end

  // Bytes 0 to 59 in words of twelve bytes; how many words the CRC has so far.
  logic [4:0][95:0] words;
  logic [2:0] words_q;
  assign words = facts[479:0];
  always_ff @(posedge clk) begin
    if (!at_work) words_q <= '0;
    else if (dut.state_q == 2'd1 && dut.step_q != '0) words_q <= words_q + 3'd1;
  end

  always_comb begin
    if (started) begin
      assume (!push || (!full && !pushes_q));
      assume (!answered || answered_q + 3'(told_q) != pushed_q);
      assume (!take || valid);

      // ---- the claims
      assert (pushed_q - turned_q <= 3'd4);
      assert (answered_q - turned_q <= pushed_q - turned_q);
      assert (answered_q + 3'(told_q) - turned_q <= pushed_q - turned_q);
      if (valid) assert (at_work && words_q == 3'd5 && completion.crc == ~dut.crc_q);
      if (valid && has_turn) assert (watched_completes_q && facts == expected);
      if (held_q) assert (valid && completion == before_q);
      assert (empty == (pushed_q == turned_q && !at_work));

      // ---- invariants for the induction
      assert (dut.told_q == told_q && dut.pushed_q == pushed_q && dut.answered_q == answered_q
          && dut.popped_q == turned_q);
      assert ((dut.state_q != 2'd0) == at_work && dut.state_q != 2'd3);
      if (dut.state_q == 2'd1) assert (words_q == (dut.step_q == '0 ? 3'd0 : dut.step_q - 3'd1));
      if (dut.state_q == 2'd1 && dut.step_q != '0) assert (dut.crc_data_q == words[words_q]);
      assert (dut.step_q <= (dut.state_q == 2'd1 ? 3'd5 : 3'd0));
      if (waits)
        assert (completion_of(dut.facts_q[watch[1:0]]) == watched_q
            && dut.completes_q[watch[1:0]] == watched_completes_q);
      if (has_turn) assert (facts == expected && watched_completes_q);
      if (pushed_q - turned_q == 3'd4) assert (full || pushes_q);
      // Every place that waits has its parity, so an intact memory is never reported.
      for (int unsigned p = 0; p < 4; p++) begin
        automatic logic [1:0] behind = 2'(p) - turned_q[1:0];
        if ({1'b0, behind} < pushed_q - turned_q)
          assert (!(^{dut.facts_q[p], dut.completes_q[p], dut.parities_q[p], 2'(p)}));
      end
      assert (!dut.changed && !dut.changed_q && !changed);

      // ---- not vacuous: a watched completion is accepted; a record is skipped; all places are in
      // use
      cover (take && has_turn && completion.phase == 8'd1);
      cover (turned_q == 3'd1 && empty && !turn_q);
      cover (full);
      cover (take && turned_q == 3'd6);
    end
  end

  function automatic completion_t completion_of(logic [223:0] facts);
    automatic completion_t of = '0;
    {of.ring_index, of.determination, of.stage, of.fault, of.policy_row, of.entropy_row, of.slot,
        of.sequence_, of.epoch,
     of.log_index} = facts;
    return of;
  endfunction
endmodule
