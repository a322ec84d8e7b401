// Proves: the tick is zero after reset and grows by one in every clock. An entry has the tick of
// the clock in which its check ended and its credit was checked. The sequence number of a stream
// cannot be set. A slot changes only when the table is cleared, or when an entry for it is
// accepted: a BEGIN with sequence 0 on a slot that is not open, or another entry on an open slot
// with exactly the slot's next sequence. Then the slot's next sequence is one more than the
// entry's, and the slot is open unless the entry was an END. The first accepted GATE of a stream
// fixes the stream's domain, audience, register and epistemic mode until its END: a GATE with other
// values is not accepted, and only such a GATE is refused for its context. A flush changes nothing.
// One arbitrary slot is watched; entries, declarations and credit are arbitrary. A clear takes one
// clock per slot, and clears every slot.
//
// Every submitted entry is offered to the sweep ten clocks later, unchanged, and holds until it is
// accepted or flushed. The next entry is not submitted before. A judged entry is a GATE without a
// fault.
//
// In a session with the text lane, a GATE or END is judged or accepted only with an answer that
// agrees, and only if its text has the described kind and length, or if it is described as too long
// and refused by validation. An accepted END is not a tool call, and has only classes that open a
// gate. Each entry leaves with the classes of its own answer; an entry without an answer has none.
// Each fault of the text has its cause. Every GATE and END of the lane's slots, whatever its
// faults, takes exactly one answer, which is judged or settled at the decision; no other entry
// takes an answer. Answers come in the order of these entries (text_request, text_lane), so each
// entry gets its own. Exactly an accepted BEGIN renews a slot; `begins` is high until its decision.
//
// Entry check and stream table are the card's own, wired as in the lane, with four streams.
module tick_props
  import layout_pkg::*;
  import gate_pkg::*;
  import ring_pkg::*;
#(
    parameter bit Text = 1'b1  // The card has a text lane.
) (
    input logic clk,
    input logic reset,
    input logic clear,
    input logic flush,
    input declared_t declared,
    input logic spent,
    input logic sub_valid,
    input submission_t sub,
    input logic entry_ready,
    input logic text_answered,
    input text_pkg::text_answer_t text_answer,
    input logic [127:0] opening,
    input logic renewable
);
  localparam int unsigned MaxStreams = 4;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  // ---- tick
  logic [63:0] tick, tick_q;
  logic was_rst_q;
  tick_counter u_tick (
      .clk_i(clk),
      .rst_i(rst),
      .tick_o(tick)
  );
  always_ff @(posedge clk) begin
    tick_q <= tick;
    was_rst_q <= rst;
  end

  // ---- streams
  function automatic context_t context_of(descriptor_t d);
    return '{domain: d.domain, audience: d.audience, register: d.register, epistemic: d.epistemic};
  endfunction

  logic clearing, read, update, sub_ready, entry_valid, busy;
  logic text_settle, text_judge, text_renew, begins;
  logic [15:0] slot;
  stream_t stream, next;
  checked_t offered;
  entry_check #(
      .MaxStreams(MaxStreams),
      .Text(Text)
  ) u_check (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .lane_i('0),
      .declared_i(declared),
      .tick_i(tick),
      .spent_i(spent),
      .sub_valid_i(sub_valid),
      .sub_ready_o(sub_ready),
      .sub_i(sub),
      .stream_read_o(read),
      .stream_slot_o(slot),
      .stream_i(stream),
      .stream_update_o(update),
      .stream_update_stream_o(next),
      .text_answered_i(text_answered),
      .text_answer_i(text_answer),
      .text_opening_i(opening),
      .text_settle_o(text_settle),
      .text_judge_o(text_judge),
      .begins_o(begins),
      .text_renewable_i(renewable),
      .text_renew_o(text_renew),
      .entry_valid_o(entry_valid),
      .entry_ready_i(entry_ready && entry_valid),
      .entry_o(offered),
      .busy_o(busy)
  );
  descriptor_t entry;
  fault_e fault;
  logic judge;
  assign entry = offered.descriptor;
  assign fault = offered.fault;
  assign judge = offered.judge;
  logic changed;
  stream_table #(
      .MaxStreams(MaxStreams)
  ) u_streams (
      .clk_i(clk),
      .rst_i(rst),
      .clear_i(clear),
      .clearing_o(clearing),
      .read_i(read),
      .slot_i(slot),
      .stream_o(stream),
      .changed_o(changed),
      .update_i(update),
      .update_stream_i(next)
  );

  // The caller clears only while no entry is being checked, and submits none until the clear has
  // ended.
  always_comb if (clear || clearing) assume (!busy && !sub_valid);

  // The entry under check, as it was submitted, and the number of clocks since then.
  descriptor_t entry_q;
  logic [15:0] index_q;
  logic [3:0] clocks_q;
  always_ff @(posedge clk) begin
    if (sub_valid && sub_ready) {index_q, entry_q} <= sub;
    if (rst || flush || (sub_valid && sub_ready)) clocks_q <= '0;
    else if (busy && clocks_q != '1) clocks_q <= clocks_q + 4'd1;
  end

  // The watched slot, now and one clock ago, and the entry that may have changed it.
  logic [1:0] watch;
  always_ff @(posedge clk) watch <= watch;
  stream_t now, before_q;
  descriptor_t by_q;
  logic was_clearing_q, was_read_q, was_update_q, known_q, stays_q, submitted_q;
  assign now = u_streams.mem[watch].stream;
  always_ff @(posedge clk) begin
    before_q <= now;
    by_q <= entry_q;
    was_clearing_q <= clearing;
    was_read_q <= read && !rst;
    was_update_q <= update && !flush;
    stays_q <= !rst && !flush && entry_valid && !entry_ready;
    submitted_q <= !rst && !flush && sub_valid && sub_ready;
    known_q <= started;
  end

  // The watched slot was written, so it has its parity; a read whose word does not have it is
  // reported two clocks later, and no other.
  logic written_q, read2_q, odd_q, odd2_q;
  always_ff @(posedge clk) begin
    written_q <= started && (written_q || (clearing && 2'(u_streams.clear_slot_q) == watch)
        || (!clearing && update && slot[1:0] == watch));
    odd_q <= ^{u_streams.mem[watch], watch} && slot[1:0] == watch;
    {read2_q, odd2_q} <= {was_read_q && !rst, odd_q};
  end

  logic [2:0] left_q;  // Remaining clocks of a clear.
  always_ff @(posedge clk) begin
    if (rst) left_q <= '0;
    else if (clear) left_q <= 3'(MaxStreams);
    else if (left_q != '0) left_q <= left_q - 3'd1;
  end

  logic checking, in_text, deciding;
  assign checking = u_check.state_q[1];
  assign in_text = u_check.state_q[3];
  assign deciding = u_check.decide;

  // ---- the text of the entry: whether the session has texts (an arbitrary constant), and the
  // answer about this entry
  logic text, answered_q;
  text_pkg::text_answer_t answer_q;
  logic [127:0] opening_q;
  always_ff @(posedge clk) begin
    text <= text;
    opening_q <= opening;
    if (rst || (sub_valid && sub_ready)) answered_q <= 1'b0;
    else if (text_answered && !answered_q && in_text) begin
      answered_q <= 1'b1;
      answer_q <= text_answer;
    end
  end
  always_comb begin
    assume (declared.text == text && (Text || !text));
    if (known_q) assume (opening == opening_q);
    // An answer agrees exactly if it has no cause, else it has no class: text_lane proves this.
    assume (text_answer.agrees == (text_answer.cause == text_pkg::CauseNone));
    assume (text_answer.cause <= text_pkg::CauseCommitment);
    if (!text_answer.agrees) assume (text_answer.classes == '0);
  end
  function automatic entry_faults_t text_faults();
    entry_faults_t faults;
    faults = '0;
    {faults.text_window, faults.text_form, faults.text_commitment, faults.text_end} = '1;
    return faults;
  endfunction
  function automatic logic described(descriptor_t d, logic call, logic [31:0] length);
    if (d.flags[2] != call) return 1'b0;
    if (d.opcode == OpcodeEnd) return 1'b1;
    if (d.length == 16'hffff && d.validation_outcome != StageOutcomePass) return 1'b1;
    if (d.flags[0]) return 32'(d.length) <= length;
    return length >= 32'd65535 ? d.length == 16'hffff : 32'(d.length) == length;
  endfunction
  logic has_text, text_good;
  assign has_text = text && (entry_q.opcode == OpcodeGate || entry_q.opcode == OpcodeEnd)
      && 32'(entry_q.slot) < MaxStreams;
  assign text_good = answered_q && answer_q.agrees
      && described(entry_q, answer_q.call, 32'(answer_q.length))
      && (entry_q.opcode != OpcodeEnd || (answer_q.classes & ~opening) == '0);
  logic [63:0] decided_q;  // Tick of the last decision, and the credit at that time.
  logic spent_q;
  always_ff @(posedge clk) begin
    if (deciding) {decided_q, spent_q} <= {tick, spent};
  end
  logic begun_q;  // A BEGIN was accepted on the watched slot.
  always_ff @(posedge clk) begin
    if (rst || clearing) begun_q <= 1'b0;
    else if (known_q && was_update_q && by_q.slot == 16'(watch) && by_q.opcode == OpcodeBegin)
      begun_q <= 1'b1;
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      if (written_q) assert (!(^{u_streams.mem[watch], watch}));
      if (known_q && odd2_q && read2_q) assert (changed);
      if (known_q && !read2_q) assert (!changed);
      if (known_q) assert (tick == (was_rst_q ? 64'd0 : tick_q + 64'd1));
      if (known_q && now != before_q) begin
        assert (was_clearing_q || was_update_q);
        if (was_clearing_q) assert (now == '0);
        else begin
          assert (by_q.slot == 16'(watch));
          assert (now.next == by_q.sequence_ + 32'd1 && now.open == (by_q.opcode != OpcodeEnd));
          if (by_q.opcode == OpcodeBegin) assert (!before_q.open && by_q.sequence_ == '0);
          else assert (before_q.open && by_q.sequence_ == before_q.next);
          // The first GATE fixes the context; BEGIN and END clear the context.
          case (by_q.opcode)
            OpcodeGate: begin
              assert (now.judged && now.context_ == context_of(by_q));
              if (before_q.judged) assert (now.context_ == before_q.context_);
            end
            OpcodeNote: assert (now.judged == before_q.judged && now.context_ == before_q.context_);
            default: assert (!now.judged && now.context_ == '0);
          endcase
          // A stream ends before the counter of its sequence would wrap.
          assert (!now.open || now.next != '0);
        end
      end
      assert (clearing == (left_q != '0));
      if (known_q && was_clearing_q && !clearing && !was_rst_q) assert (now == '0);
      // An entry is offered only after its check, and stays until it is accepted or flushed.
      assert (sub_ready == !busy && (!entry_valid || (busy && clocks_q >= 4'd9)));
      if (!text) assert (entry_valid == (busy && clocks_q >= 4'd9));
      // An entry with a text is judged or accepted only if its own text agrees.
      if (entry_valid && has_text && (fault == FaultNone || fault == FaultCredit))
        assert (text_good && (entry_q.opcode != OpcodeEnd || !answer_q.call));
      if (entry_valid && fault == FaultTextWindow) assert (answered_q
          && (answer_q.cause == text_pkg::CauseWindow || answer_q.cause == text_pkg::CauseBus));
      if (entry_valid && fault == FaultTextForm) assert (answered_q
          && (answer_q.cause == text_pkg::CauseTag || answer_q.cause == text_pkg::CauseUtf8
          || !described(entry_q, answer_q.call, 32'(answer_q.length))));
      if (entry_valid && fault == FaultTextCommitment)
        assert (answered_q && answer_q.cause == text_pkg::CauseCommitment);
      if (entry_valid && fault == FaultTextEnd) assert (answered_q && answer_q.agrees
          && entry_q.opcode == OpcodeEnd && (answer_q.classes & ~opening) != '0);
      if (entry_valid && has_text && fault == FaultNone)
        assert (offered.found == {answer_q.classes, answer_q.established});
      else if (entry_valid) assert (offered.found == '0);
      // At the decision, the answer is either judged (it waits for the verdict) or settled.
      assert (!(text_settle && text_judge));
      if (text_settle || text_judge) assert (deciding && has_text && answered_q);
      if (deciding && has_text) assert (text_settle || text_judge);
      assert (begins == (checking && entry_q.opcode == OpcodeBegin));
      if (text_judge) assert (text_good && entry_q.opcode == OpcodeGate && update && !spent);
      if (text_renew) assert (text && update && renewable && entry_q.opcode == OpcodeBegin);
      if (update && text && entry_q.opcode == OpcodeBegin) assert (text_renew);
      if (known_q && (stays_q || submitted_q)) assert (busy);
      if (judge) assert (fault == FaultNone && entry.opcode == OpcodeGate || !entry_valid);
      if (entry_valid) begin
        assert (entry == entry_q && offered.index == index_q);
        assert (offered.tick == decided_q);
        if (fault == FaultNone) assert (!spent_q);
        if (fault == FaultCredit) assert (spent_q);
        if (fault == FaultContext && entry_q.slot == 16'(watch)) begin
          assert (entry.opcode == OpcodeGate && now.open && now.judged
              && entry.sequence_ == now.next);
          assert (context_of(entry) != now.context_);
        end
        if (judge && entry_q.slot == 16'(watch))
          assert (now.judged && now.context_ == context_of(entry));
      end
      // A slot is changed only by an accepted entry for it.
      if (known_q && was_update_q && by_q.slot == 16'(watch))
        assert (now.next == by_q.sequence_ + 32'd1 && now.open == (by_q.opcode != OpcodeEnd));

      // ---- invariants for the induction: the entry under check is the submitted one, and its slot
      // was read
      if (busy) assert (u_check.entry_q == entry_q && offered.index == index_q);
      if (clearing) begin
        assert (left_q <= 3'(MaxStreams) && 3'(u_streams.clear_slot_q) == 3'(MaxStreams) - left_q);
        if (watch < u_streams.clear_slot_q) assert (now == '0);
      end
      if (checking) assert (u_check.step_q == (clocks_q > 4'd8 ? 4'd8 : clocks_q)
          && (text || clocks_q <= 4'd8));
      if (in_text) assert (has_text && u_check.step_q == 4'd8 && clocks_q >= 4'd9);
      if (in_text) assert (u_check.text_known_q == answered_q);
      if (answered_q && in_text) begin
        assert (u_check.faults_q.text_window == (answer_q.cause == text_pkg::CauseWindow
            || answer_q.cause == text_pkg::CauseBus));
        assert (u_check.faults_q.text_commitment == !answer_q.agrees);
        assert (u_check.faults_q.text_end == (entry_q.opcode == OpcodeEnd
            && (answer_q.classes & ~opening) != '0));
        if (!u_check.faults_q.text_window) assert (u_check.faults_q.text_form
            == (answer_q.cause == text_pkg::CauseTag || answer_q.cause == text_pkg::CauseUtf8
            || !described(entry_q, answer_q.call, 32'(answer_q.length))));
        assert (u_check.found_q == {answer_q.classes, answer_q.established});
      end
      if (answered_q) assert (answer_q.agrees == (answer_q.cause == text_pkg::CauseNone)
          && answer_q.cause <= text_pkg::CauseCommitment);
      if (checking) assert (!answered_q && u_check.found_q == '0 && !u_check.text_known_q);
      if (in_text && !answered_q) assert (u_check.found_q == '0);
      // An END whose flags are not zero has the fault `reserved`.
      if (entry_q.opcode == OpcodeEnd && entry_q.flags != '0
          && (in_text || (checking && clocks_q >= 4'd2))) assert (u_check.faults_q.reserved);
      if (in_text) begin
        assert (!u_check.faults_q.credit);
        if (!answered_q) assert ((u_check.faults_q & text_faults()) == '0);
      end
      if (checking && clocks_q >= 4'd2)
        assert ((u_check.faults_q & text_faults()) == '0 && !u_check.faults_q.credit);
      if (in_text) assert (32'(entry_q.slot) < MaxStreams);
      // The slot did not change, so the faults that were found before the text are still correct.
      if (in_text && entry_q.slot == 16'(watch)) begin
        assert (u_check.faults_q.slot == bad_slot(entry_q.opcode, 1'b1, now));
        assert (u_check.faults_q.sequence_
            == bad_sequence(entry_q.opcode, entry_q.sequence_, now));
        assert (u_check.faults_q.context_
            == bad_context(entry_q.opcode, context_of(entry_q), now));
      end
      if (clearing) assert (!busy);
      if ((checking || in_text) && clocks_q >= 4'd1 && entry_q.slot == 16'(watch)) begin
        if (checking && clocks_q == 4'd1) begin
          assert (u_streams.read_q && u_streams.ram_q == u_streams.mem[watch]);
          assert (u_streams.slot_q == watch);
        end
        else assert (stream == now && !u_streams.read_q);
      end
      if (known_q) assert (u_streams.read_q == was_read_q);

      // ---- not vacuous: a stream begins, continues and ends; an entry is refused for its sequence
      if (!Text) begin
        cover (known_q && was_update_q && by_q.opcode == OpcodeBegin && now.open
            && now.next == 32'd1 && by_q.slot == 16'(watch));
        cover (was_update_q && by_q.opcode == OpcodeNote && begun_q && now.next == 32'd2
            && by_q.slot == 16'(watch));
        cover (was_update_q && by_q.opcode == OpcodeEnd && begun_q && !now.open
            && by_q.slot == 16'(watch));
        cover (entry_valid && fault == FaultSequence && begun_q && entry_q.slot == 16'(watch));
        cover (entry_valid && judge && begun_q);
        cover (entry_valid && fault == FaultContext && entry_q.slot == 16'(watch));
        cover (deciding && flush && u_check.fault == FaultNone);
      end else begin
        cover (entry_valid && judge && text && offered.found.classes != '0);
        cover (entry_valid && fault == FaultTextForm);
        cover (entry_valid && fault == FaultTextForm && answer_q.agrees && answer_q.call);
        cover (entry_valid && judge && text && answer_q.length == '0 && entry_q.length == '1);
        cover (entry_valid && fault == FaultTextEnd);
      end
    end
  end
endmodule
