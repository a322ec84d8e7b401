// Checks that the lane obeys the assumptions of the proof commit about the log's inputs. A record
// holds from its presentation until the ring accepts it, and is withdrawn only before its leaf is
// in the tree. An early descriptor comes as the next record unless it is dropped. The log is
// cleared only without a record or early descriptor.
//
// Slot, sequence, opcode and outcomes identify a descriptor, because registers hold and move
// descriptors as a whole. Bounded: the first 26 clocks, in which an entry goes through the banks,
// the next entry waits while it is resolved, and its record leaves.
//
// Lane, sweep and resolution are the card's own, with tables of any length. Entries, banks, ring
// and log are arbitrary within their contracts, which are assumed here. The lifecycle may stop the
// lane in any clock, and starts it again when the banks are done.
module lane_log_props
  import layout_pkg::*;
  import gate_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input image_header_t header,
    input logic run,
    input logic hold,
    input logic drop,
    input logic open,
    input logic session_valid,
    input record_type_e session_type,
    input fault_e session_cause
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic session_ready, idle;
  lane dut (
      .clk_i(clk),
      .rst_i(rst),
      .lane_i('0),
      .header_i(header),
      .session_i('0),
      .policy_digest_i('0),
      .tick_i('0),
      .heartbeat_i('0),
      .heartbeat_nonce_i('0),
      .heartbeat_nonce_o(),
      .heartbeat_credit_o(),
      .policy_access_i('0),
      .policy_answer_o(),
      .entropy_access_i('0),
      .entropy_answer_o(),
      .locked_i(1'b1),
      .tables_clear_i('0),
      .check_i('0),
      .complete_o(),
      .read_i('0),
      .read_ready_o(),
      .policy_read_o(),
      .entropy_read_o(),
      .run_i(run),
      .hold_i(hold),
      .drop_i(drop),
      .streams_clear_i('0),
      .streams_clearing_o(),
      .session_valid_i(session_valid),
      .session_ready_o(session_ready),
      .session_type_i(session_type),
      .session_cause_i(session_cause),
      .log_opened_o(),
      .log_closed_o(),
      .written_o(),
      .idle_o(idle),
      .size_o(),
      .snapshot_i('0),
      .snapshot_o(),
      .beat_i('0),
      .beat_o(),
      .ring_cfg_i('0),
      .open_i(open),
      .fetch_i('0),
      .halt_i('0),
      .clear_i('0),
      .doorbells_i('0),
      .ring_fault_o(),
      .bus_dead_o(),
      .ring_idle_o(),
      .pointers_o(),
      .counters_o(),
      .records_o(),
      .axi_req_o(),
      .axi_rsp_i('0)
  );

  // The fields that identify a descriptor.
  typedef logic [71:0] tag_t;
  function automatic tag_t tag(descriptor_t descriptor);
    return {descriptor.slot, descriptor.sequence_, descriptor.opcode, descriptor.validation_outcome,
            descriptor.lineage_outcome};
  endfunction

  // ---- contracts of the arbitrary parts
  // The entry check: an entry holds until it is accepted or flushed. The next entry comes at least
  // one clock later.
  logic entry_stands_q, was_taken_q, judge_q;
  tag_t entry_q;
  fault_e fault_q;
  // The banks: an answer comes four clocks after the last step.
  logic [3:0] last_q;
  // The log: some time after a record was presented, its leaf enters the tree. The record stays
  // until the ring accepts it.
  logic in_tree_q, was_valid_q;
  // The lifecycle: a stopped lane stays stopped until the banks have answered all entries.
  logic was_stopped_q;
  logic [2:0] stopped_q;
  always_ff @(posedge clk) begin
    entry_stands_q <= !rst && run && dut.checked_valid && !dut.checked_ready;
    was_taken_q <= dut.checked_ready;
    judge_q <= dut.checked.judge;
    fault_q <= dut.checked.fault;
    entry_q <= tag(dut.checked.descriptor);
    last_q <= rst ? '0 : {last_q[2:0], dut.step.valid && dut.step.last};
    in_tree_q <= !rst && dut.committed && !dut.rec_ready;
    was_valid_q <= !rst && dut.rec_valid && !dut.rec_ready;
    was_stopped_q <= !run;
    if (rst) stopped_q <= '1;
    else if (run) stopped_q <= '0;
    else if (stopped_q != '1) stopped_q <= stopped_q + 3'd1;
  end
  always_comb begin
    assume (header.policy_rows != '0 && header.entropy_rows != '0);
    if (entry_stands_q)
      assume (dut.checked_valid && tag(dut.checked.descriptor) == entry_q
          && dut.checked.judge == judge_q && dut.checked.fault == fault_q);
    if (dut.checked.judge)
      assume (dut.checked.fault == FaultNone && dut.checked.descriptor.opcode == OpcodeGate);
    if (was_taken_q || rst) assume (!dut.checked_valid);
    if (dut.checked_valid) assume (dut.check_busy);
    assume (dut.policy_done == last_q[3] && dut.entropy_done == last_q[3]);
    if (in_tree_q) assume (dut.committed);
    else if (!was_valid_q) assume (!dut.committed);
    assume (dut.log_valid == dut.committed && dut.rec_ready == (dut.committed && dut.log_ready));
    if (open) assume (!run && was_stopped_q && idle && !session_valid);
    if (run) assume (!was_stopped_q || stopped_q == '1);
    if (rst) assume (!run && !session_valid && !open);
    if (drop) assume (!run);
  end

  // ---- the log's side of the contract, as commit_props assumes it
  logic valid, early_valid, promising, promised, promised_q, in_q, stands_q, log_drop;
  tag_t early, promise_q, record, stood_q;
  answer_t stood_answer_q;
  assign valid = dut.rec_valid;
  assign record = tag(dut.u_record.rec_desc_q);
  assign early_valid = dut.early_valid;
  assign early = tag(dut.u_record.swept_q.descriptor);
  assign log_drop = !run;
  assign promising = early_valid && (!valid || dut.committed) && !log_drop;
  // A promise is fulfilled when its record is in the tree. An early descriptor at that time belongs
  // to the next record.
  assign promised = promised_q && !(dut.committed && !in_q);
  logic kept_q;
  always_ff @(posedge clk) begin
    promised_q <= !rst && !open && !log_drop && (promising || promised);
    in_q <= !rst && dut.committed && !dut.rec_ready;
    if (promising) promise_q <= early;
    stands_q <= !rst && valid && !dut.rec_ready;
    stood_q <= record;
    stood_answer_q <= dut.u_record.rec_answer_q;
    kept_q <= !rst && ((kept_q && run) || (valid && promised));
  end
  always_comb begin
    if (started) begin
      if (open) assert (!valid && !promised && !promising);
      if (promised && promising) assert (early == promise_q);
      if (promised && !log_drop && valid && !dut.committed) assert (record == promise_q);
      if (stands_q && valid)
        assert (record == stood_q && dut.u_record.rec_answer_q == stood_answer_q);
      if (dut.committed) assert (valid);
      // Not vacuous: a promise is fulfilled while the next entry is swept; one record survives the
      // stop of the lane, another does not.
      cover (valid && promised && dut.u_record.early_q && early != promise_q);
      cover (dut.committed && promising);
      cover (dut.committed && !run && !dut.u_record.rec_session_q && !was_stopped_q);
      cover (stands_q && !valid);
      cover (kept_q && promising && early != record);
    end
  end
endmodule
