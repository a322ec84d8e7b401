// What is proved of a lane's slots, without bound:
//
// - The content of a slot changes only when the slot is renewed, or when an entry of this slot
//   whose text agreed is admitted. Then the classes of the answer are added to the established
//   classes, and, if the entry is not a tool call, the state of the scan at the answer is saved.
//   A refused entry changes nothing.
// - A scan starts once per entry, from the content of the entry's own slot; or from the state of a
//   new stream, if the entry is a tool call or no text was admitted since the slot was renewed. At
//   that time every earlier entry of the slot is settled.
// - An answer is about the entry that was begun last, has the classes and the state of the scan
//   when the answer comes, and stays until its verdict. If it does not agree, it has no class. It
//   agrees only if the text agrees and the scan has not reported a changed memory.
// - A slot is renewed only when all entries of it that were taken are settled.
// - Only bytes of requested tables go to the memories, and none of them to the scan. A request for
//   tables is taken only while the lock is open and nothing is under way. It is answered as good
//   only if its bytes agreed with the digest and the tables are complete.
//
// One arbitrary slot is watched. The scan may do anything. So may the window, except that entries
// are begun and answered in order, one at a time, and that an entry is answered as a tool call
// exactly if it was begun as one; the proof text_window shows this.
// Assumed: no clear of all slots (text_slots proves what it does), slots below MaxStreams, a
// verdict only for an answer, and no verdict that admits an entry whose text does not agree.
module text_lane_props
  import text_pkg::*;
(
    input logic clk,
    input logic locked,
    input load_request_t load_request,
    input logic renew_valid,
    input logic [15:0] renew_slot,
    input logic entry_valid,
    input text_entry_t entry,
    input logic settle,
    input logic admit,
    input axi_pkg::rsp_t rsp
);
  localparam int unsigned MaxStreams = 3;
  localparam int unsigned ScanBits = StateBits + $bits(cards_t) + $bits(accounts_t);

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  load_answer_t load_answer;
  logic idle;
  logic complete, renew_ready, entry_ready, answer_valid, ar_valid, broken, changed;
  text_answer_t answer;
  axi_pkg::request_t ar;
  text_lane #(
      .Engines(1),
      .States(4),
      .ByteClasses(2),
      .GapClasses(2),
      .MaxStreams(MaxStreams),
      .WatchdogLog2(4)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .locked_i(locked),
      .load_i(load_request),
      .load_o(load_answer),
      .complete_o(complete),
      .clear_slots_i(1'b0),
      .clearing_slots_o(),
      .renew_valid_i(renew_valid),
      .renew_ready_o(renew_ready),
      .renew_slot_i(renew_slot),
      .entry_valid_i(entry_valid),
      .entry_ready_o(entry_ready),
      .entry_i(entry),
      .answer_valid_o(answer_valid),
      .answer_o(answer),
      .settle_i(settle),
      .admit_i(admit),
      .ar_o(ar),
      .ar_valid_o(ar_valid),
      .ar_ready_i(rsp.ar_ready),
      .r_i(rsp.r),
      .r_valid_i(rsp.r_valid),
      .broken_o(broken),
      .changed_o(changed),
      .idle_o(idle)
  );
  always_comb begin
    if (renew_valid) assume (32'(renew_slot) < MaxStreams);
    if (entry_valid) assume (32'(entry.slot) < MaxStreams);
    if (settle) assume (answer_valid);
    if (settle && admit) assume (answer.agrees);
  end

  // ---- the window, as text_window has it: the entry that waits and the one that is scanned
  logic waits_q, runs_q, was_begun_q, waiting_tables_q, running_tables_q, running_call_q;
  logic accepts;
  assign accepts = dut.offers && dut.ready;
  logic [15:0] waiting_slot_q, running_slot_q;
  always_ff @(posedge clk) begin
    if (rst) {waits_q, runs_q} <= '0;
    else begin
      if (dut.begins) {waits_q, runs_q} <= 2'b01;
      if (accepts) waits_q <= 1'b1;
      if (dut.answer_valid && dut.answer_ready) runs_q <= 1'b0;
    end
    if (accepts) begin
      waiting_slot_q <= dut.given.slot;
      waiting_tables_q <= dut.given.tables;
    end
    was_begun_q <= !rst && dut.begins;
    if (dut.begins) begin
      {running_slot_q, running_tables_q} <= {waiting_slot_q, waiting_tables_q};
      running_call_q <= dut.begins_call;
    end
  end
  always_comb begin
    assume (dut.under_way == {runs_q, waits_q} && dut.ready == !waits_q);
    if (waits_q) assume (dut.slots[0] == waiting_slot_q && dut.begins_slot == waiting_slot_q
        && dut.begins_tables == waiting_tables_q);
    if (waits_q && waiting_tables_q) assume (!dut.begins_call);
    if (runs_q) assume (dut.is_call == running_call_q);
    if (runs_q) assume (dut.slots[1] == running_slot_q && dut.is_tables == running_tables_q);
    if (!runs_q) assume (dut.item.kind == ItemNone);
    if (dut.begins) assume (waits_q && !runs_q && !dut.hold);
    if (dut.answer_valid) assume (runs_q && !was_begun_q);
  end

  logic [15:0] watched;
  always_ff @(posedge clk) watched <= watched;
  always_comb assume (32'(watched) < MaxStreams);

  // Without a clear, the memories never clear.
  always_comb if (!rst) assert (dut.clearing == '0);

  // Content of the slot, each with its mark of renewal: established classes; state of the scan.
  logic [128:0] word, word_q;
  logic [ScanBits:0] scan, scan_q;
  assign word = dut.u_established.mem[watched[1:0]].state;
  assign scan = dut.u_scans.mem[watched[1:0]].state;

  // Entries of the slot that were taken and not settled.
  logic [2:0] open_q;
  logic takes, settles;
  assign takes = accepts && !dut.given.tables && dut.given.slot == watched;
  // The entry that was begun last, and the answer that waits for its verdict.
  logic [15:0] begun_slot_q, answered_slot_q;
  logic begun_call_q, answered_call_q, begun_now_q, comes, agrees_q;
  logic [127:0] established_q, answered_established_q, answered_classes_q;
  logic [ScanBits-1:0] answered_state_q;
  assign settles = settle && answered_slot_q == watched;
  assign comes = dut.answer_valid && dut.answer_ready && !running_tables_q;
  logic starts_new;
  assign starts_new = begun_call_q || scan[ScanBits];

  logic renewed_q, saved_q, saved_call_q;
  logic [127:0] saved_word_q;
  logic [ScanBits-1:0] saved_scan_q;
  always_ff @(posedge clk) begin
    word_q <= word;
    scan_q <= scan;
    open_q <= rst ? '0 : open_q + 3'(takes) - 3'(settles);
    begun_now_q <= !rst && dut.begins && !waiting_tables_q;
    if (dut.begins && !waiting_tables_q) begin
      begun_slot_q <= dut.begins_slot;
      begun_call_q <= dut.begins_call;
    end
    if (begun_now_q) established_q <= word[128] ? '0 : word[127:0];
    if (comes) begin
      answered_slot_q <= begun_slot_q;
      answered_call_q <= begun_call_q;
      agrees_q <= dut.window_cause == CauseNone && !changed;
      answered_established_q <= established_q;
      answered_classes_q <= dut.classes;
      answered_state_q <= dut.scan_state;
    end
    renewed_q <= !rst && renew_valid && renew_ready && renew_slot == watched;
    saved_q <= !rst && settles && admit;
    saved_call_q <= answered_call_q;
    saved_word_q <= answered_established_q | answered_classes_q;
    saved_scan_q <= answered_state_q;
  end

  // ---- loads
  logic loading_q, load_agreed_q, load_ended_q;
  always_ff @(posedge clk) begin
    load_ended_q <= !rst && dut.answer_valid && runs_q && running_tables_q;
    load_agreed_q <= dut.window_cause == CauseNone && complete && !dut.bad;
    if (rst) loading_q <= 1'b0;
    else if (accepts && dut.given.tables) loading_q <= 1'b1;
    else if (dut.answer_valid && runs_q && running_tables_q) loading_q <= 1'b0;
  end

  logic admitted_q, admitted_call_q, was_saved_q, was_refused_q;
  always_ff @(posedge clk) begin
    admitted_q <= !rst && (admitted_q || (settles && admit && answered_classes_q != '0));
    admitted_call_q <= !rst && (admitted_call_q || (settles && admit && answered_call_q));
    was_refused_q <= !rst && (was_refused_q || (settles && !admit));
    was_saved_q <= started;
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      if (was_saved_q) begin
        if (renewed_q) assert (word[128] && scan[ScanBits]);
        else if (saved_q) assert (word == {1'b0, saved_word_q});
        else assert (word == word_q);
        if (saved_q && !renewed_q && !saved_call_q) assert (scan == {1'b0, saved_scan_q});
        else if (!renewed_q) assert (scan == scan_q);
      end
      assert (dut.start_q == begun_now_q);
      if (begun_now_q && begun_slot_q == watched) begin
        assert (dut.starts_new == starts_new);
        assert (starts_new || dut.scan.state == scan[ScanBits-1:0]);
        assert (!answer_valid || answered_slot_q != watched);
      end
      if (answer_valid) begin
        assert (answer.agrees == agrees_q && answer.call == answered_call_q);
        if (agrees_q) assert (answer.classes == answered_classes_q);
        else assert (answer.classes == '0 && answer.established == '0);
        if (agrees_q && answered_slot_q == watched)
          assert (answer.established == answered_established_q);
      end
      if (renew_valid && renew_ready && renew_slot == watched) assert (open_q == '0);
      if (accepts && dut.given.tables) begin
        assert (!locked && load_request.valid && !waits_q && !runs_q && !answer_valid);
        assert (dut.clear);
      end else assert (!dut.clear);
      if (accepts && !dut.given.tables) assert (complete && locked && entry_valid && entry_ready);
      if (entry_valid && entry_ready) assert (accepts && !dut.given.tables);
      if (dut.load_byte) assert (runs_q && running_tables_q && loading_q);
      if (dut.text_item.kind != ItemNone) assert (runs_q && !running_tables_q);
      if (load_answer.done) assert (load_ended_q && (load_answer.result == LoadGood)
          == load_agreed_q);

      // ---- what the induction needs
      assert (open_q == 3'(dut.under_way[1] && !running_tables_q && dut.slots[1] == watched)
          + 3'(dut.under_way[0] && !waiting_tables_q && dut.slots[0] == watched)
          + 3'(answer_valid && answered_slot_q == watched));
      assert (dut.load_taken_q == loading_q);
      assert (loading_q == ((waits_q && waiting_tables_q) || (runs_q && running_tables_q)));
      if (waits_q && waiting_tables_q) assert (!runs_q && !answer_valid);
      if (runs_q && running_tables_q) assert (!answer_valid);
      if (runs_q && running_tables_q && waits_q) assert (!waiting_tables_q);
      if (begun_now_q) assert (!running_tables_q);
      if (dut.under_way[1] && !running_tables_q)
        assert (dut.slots[1] == begun_slot_q && running_call_q == begun_call_q);
      if (dut.under_way[1]) assert (32'(dut.slots[1]) < MaxStreams);
      if (dut.under_way[0]) assert (32'(dut.slots[0]) < MaxStreams);
      if (begun_now_q) begin
        assert (dut.under_way[1] && dut.call_q == begun_call_q);
        if (begun_slot_q == watched) assert (dut.established == word && dut.scan == scan);
      end else if (dut.under_way[1] && !running_tables_q && begun_slot_q == watched)
        assert (dut.established_q == established_q);
      if (dut.unsettled_q) begin
        assert (dut.answer_slot_q == answered_slot_q && dut.answer_q.agrees == agrees_q);
        assert (32'(answered_slot_q) < MaxStreams && dut.answer_q.classes
            == (agrees_q ? answered_classes_q : '0));
        assert (dut.answer_scan_q == answered_state_q);
        assert (dut.answer_q.call == answered_call_q);
        if (answered_slot_q == watched)
          assert (dut.answer_q.established == (agrees_q ? answered_established_q : '0));
      end

      // ---- not vacuous: a second entry of a slot that starts behind an admitted one, one behind a
      // refused one, a renewal behind an entry
      cover (begun_now_q && begun_slot_q == watched && admitted_q && !starts_new);
      cover (begun_now_q && begun_slot_q == watched && was_refused_q && answer_valid);
      cover (renewed_q && admitted_q);
      // The first text after an admitted call: a new scan, with the classes of the call.
      cover (begun_now_q && begun_slot_q == watched && admitted_call_q && starts_new
          && !begun_call_q && !word[128] && word[127:0] != '0);
      cover (load_answer.done && load_answer.result == LoadGood);
      cover (load_answer.done && load_answer.result == LoadBad);
      cover (answer_valid && answer.cause == CauseBus && changed);
    end
  end
endmodule
