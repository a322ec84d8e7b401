// One lane: ring, entry check, text lane, both banks, resolution, record assembly, log, heartbeat
// credit.
//
// In a session with the text lane (`text_i`), the lane reads, hashes and scans the text of each
// GATE and END. The banks combine the classes that host and card found. The record contains the
// entry as it was fetched, and also the card's classes. Only ADMIT saves the state of a stream's
// scan. The text is read while earlier entries are swept and logged. A text that takes longer
// delays the sweep of its entry, because the sweep begins only after the answer about the text.
//
// Entries stay in order; each gives one record and one completion. While an entry is swept, the
// next is checked. Sweeps follow each other without a gap. So a verdict takes max(policy rows,
// entropy rows) clocks in steady state, and at most 16 more, if the ring keeps up. While `run_i` is
// low, entries that the ring still delivers are accepted and dropped. From the clock in which
// `run_i` falls, no record enters the log; records in the log still leave. The lane also assembles
// records of the session (OPEN, HEARTBEAT, CLOSE, ALARM). An entry's record has the tick at which
// the entry's check ended, a session's record the tick of its assembly. The log takes max(6 blocks,
// sweep) per verdict in steady state.
//
// Latency: 12 clocks from the ring to the first row, the sweep, 6 clocks to the record, then the
// log.
// After reset: empty, banks empty, not running.
// Duties of the caller: `header_i`, `session_i` and `ring_cfg_i` are constant from OPEN to the end
// of the session; a session record only while `idle_o` is high or the lane is not running;
// `streams_clear_i` and `open_i` come before `run_i`.
`include "assert.svh"

module lane
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
  import ring_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,    // 1 to 1024, 1536 bits of RAM each.
    parameter int unsigned EntropyRows = 64,    // 1 to 1024, 1536 bits of RAM each.
    // Slots of the whole card: 1 to 65536. Each costs 33 bits of RAM, in one lane.
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,           // Of the whole card: 1, 2, 4 or 8.
    parameter int unsigned MaxReads = 32,       // Reads in flight; see ring.
    parameter int unsigned RingLog2Max = 15,
    parameter int unsigned LogLog2Max = 20,
    parameter int unsigned WatchdogLog2 = 22,   // Response watchdog, log2 of clocks.
    parameter int unsigned Rounds = 1,          // SHA-256 rounds per clock in the log.
    parameter logic [7:0]  KeyFlags = 8'h01,
    // The text lane; see lane_text. 0: none. With one, at most half of a lane's ids are for reads
    // of the ring.
    parameter int unsigned TextEngines = 0,
    parameter int unsigned TextStates = 4096,
    parameter int unsigned TextByteClasses = 64
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               text_clk_i,  // `clk_i`; may stop while the session has no text lane.
    input  logic [7:0]         lane_i,  // Number of this lane; constant.
    // Session.
    input  image_header_t      header_i,
    input  session_config_t    session_i,
    input  logic [255:0]       policy_digest_i,
    input  logic [63:0]        tick_i,
    // Text lane; constants where there is none.
    input  logic               text_i,         // The session uses it.
    input  image_text_t        text_image_i,
    input  logic               text_load_i,    // Read its tables, until `text_loaded_o`.
    input  logic [63:0]        text_tables_i,  // Their address.
    output logic               text_loaded_o,
    output fault_e             text_fault_o,   // With `text_loaded_o`: why they are not loaded.
    // The text lane's memories have changed since the load.
    output logic               text_changed_o,
    output logic               changed_o,      // For one clock: another memory has changed.
    output logic               text_quiet_o,   // The text lane has nothing to do, and no input.
    output logic [15:0]        text_slot_o,    // Two clocks later, its window:
    input  text_pkg::place_t   text_place_i,
    // Heartbeats.
    input  logic               heartbeat_i,        // The host presents a heartbeat.
    input  logic [63:0]        heartbeat_nonce_i,  // Its nonce.
    output logic [63:0]        heartbeat_nonce_o,
    output logic [31:0]        heartbeat_credit_o,
    // Tables.
    input  table_access_t      policy_access_i,
    output table_answer_t      policy_answer_o,
    input  table_access_t      entropy_access_i,
    output table_answer_t      entropy_answer_o,
    input  logic               locked_i,
    input  logic               tables_clear_i,
    input  logic               check_i,  // `complete_o` answers one clock later.
    output logic               complete_o,
    // Read-back of a row for the hash, possibly during a sweep. The row is valid two clocks after
    // `read_ready_o`.
    input  readback_t          read_i,
    output logic               read_ready_o,
    output row_t               policy_read_o,
    output row_t               entropy_read_o,
    // Lifecycle.
    input  logic               run_i,
    input  logic               hold_i,  // Accept no more entries.
    input  logic               drop_i,  // Also drop a waiting session record.
    input  logic               streams_clear_i,
    output logic               streams_clearing_o,
    input  logic               session_valid_i,  // Write a session record.
    output logic               session_ready_o,
    input  record_type_e       session_type_i,
    input  fault_e             session_cause_i,
    // OPEN is in the tree of the log since the rings were opened; its place in the ring is certain.
    output logic               log_opened_o,
    output logic               log_closed_o,  // The same for CLOSE.
    output logic               written_o,     // The writes of all records were answered.
    output logic               idle_o,        // No entry or record is in the lane.
    // Checkpoints.
    output logic [63:0]        size_o,
    input  logic               snapshot_i,
    output log_pkg::snapshot_t snapshot_o,
    input  beat_t              beat_i,  // For the checkpoint ring.
    output beat_answer_t       beat_o,
    // Ring.
    input  ring_cfg_t          ring_cfg_i,
    input  logic               open_i,
    input  logic               fetch_i,
    input  logic               halt_i,
    input  logic               clear_i,
    input  ring_doorbells_t    doorbells_i,
    output fault_e             ring_fault_o,
    output logic               bus_dead_o,
    output logic               needs_reset_o,
    output logic               ring_idle_o,
    output ring_pointers_t     pointers_o,
    // Counters since OPEN.
    output counters_t          counters_o,
    output logic [31:0]        records_o,
    // AXI4 master.
    output axi_pkg::req_t      axi_req_o,
    input  axi_pkg::rsp_t      axi_rsp_i
);
  localparam int unsigned OwnBits = 5 - $clog2(Lanes);  // Bits of a lane's ids.
  if (TextEngines != 0 && MaxReads > 2 ** (OwnBits - 1)) begin : g_reads
    $fatal(1, "lane: half of the ids of reads are the text lane's");
  end

  // ---- entry check
  logic sub_valid, sub_ready, check_ready, check_busy;
  submission_t sub;
  checked_t checked;
  logic checked_valid, checked_ready;
  logic stream_read, stream_update;
  logic [15:0] stream_slot;
  stream_t stream, stream_next;
  logic spent, sent, session_take;
  logic [31:0] records_limit, ticks_limit;

  logic text;  // The session uses the text lane.
  assign text = TextEngines != 0 && text_i;
  // Text of the next entry, and of the one in the check.
  logic next_valid, next_ready, text_valid, text_ready, begins;
  logic text_answered, text_settle, text_judge, text_renewable, text_renew;
  logic text_broken, text_idle;
  fault_e text_bus_fault;
  text_pkg::text_answer_t text_answer;

  // No entry is accepted while a session record is on its way into the log: an entry after a
  // heartbeat uses the new credit.
  logic held;
  assign sub_ready = run_i ? next_ready : 1'b1;

  text_request #(
      .MaxStreams(MaxStreams),
      .Lanes(Lanes)
  ) u_request (
      .clk_i,
      .rst_i,
      .flush_i(!run_i),
      .lane_i,
      .text_i(text),
      .valid_i(sub_valid),
      .ready_o(next_ready),
      .opcode_i(sub.descriptor.opcode),
      .slot_i(sub.descriptor.slot),
      .valid_o(next_valid),
      .ready_i(check_ready && !held),
      .begins_i(begins),
      .text_slot_o,
      .text_valid_o(text_valid),
      .text_ready_i(text_ready)
  );

  entry_check #(
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .Text(TextEngines != 0)
  ) u_check (
      .clk_i,
      .rst_i,
      .lane_i,
      .flush_i(!run_i),
      .declared_i(declared_of(header_i, text)),
      .tick_i,
      .spent_i(spent),
      .sub_valid_i(next_valid && run_i && !held),
      .sub_ready_o(check_ready),
      .sub_i(sub),
      .stream_read_o(stream_read),
      .stream_slot_o(stream_slot),
      .stream_i(stream),
      .stream_update_o(stream_update),
      .stream_update_stream_o(stream_next),
      .text_answered_i(text_answered),
      .text_answer_i(text_answer),
      .text_opening_i(text_image_i.opening),
      .text_settle_o(text_settle),
      .text_judge_o(text_judge),
      .begins_o(begins),
      .text_renewable_i(text_renewable),
      .text_renew_o(text_renew),
      .entry_valid_o(checked_valid),
      .entry_ready_i(checked_ready),
      .entry_o(checked),
      .busy_o(check_busy)
  );

  heartbeat u_heartbeat (
      .clk_i,
      .rst_i,
      .open_i,
      .records_limit_i(session_i.heartbeat_records),
      .ticks_limit_i(session_i.heartbeat_ticks),
      .tick_i,
      .accept_i(stream_update),
      .start_i(session_take && (session_type_i == RecordTypeOpen
      || session_type_i == RecordTypeHeartbeat)),
      .spent_o(spent),
      .records_limit_o(records_limit),
      .ticks_limit_o(ticks_limit),
      .credit_o(heartbeat_credit_o)
  );

  logic streams_clearing, text_clearing;
  logic streams_changed, policy_changed, entropy_changed, completions_changed;
  assign streams_clearing_o = streams_clearing || text_clearing;
  assign changed_o = streams_changed || policy_changed || entropy_changed || completions_changed;
  stream_table #(
      .MaxStreams(MaxStreams / Lanes)
  ) u_streams (
      .clk_i,
      .rst_i,
      .clear_i(streams_clear_i),
      .clearing_o(streams_clearing),
      .read_i(stream_read),
      .slot_i(stream_slot >> $clog2(Lanes)),
      .stream_o(stream),
      .changed_o(streams_changed),
      .update_i(stream_update),
      .update_stream_i(stream_next)
  );

  // ---- sweep
  step_t step;
  logic sweep_busy, reading;
  logic record_free;  // There is a place for a record, so a last step may be issued.
  assign reading = (policy_access_i.valid && !policy_access_i.write)
      || (entropy_access_i.valid && !entropy_access_i.write);

  sweep u_sweep (
      .clk_i,
      .rst_i,
      .flush_i(!run_i),
      .valid_i(checked_valid),
      .ready_o(checked_ready),
      .judge_i(checked.judge),
      .policy_rows_i(header_i.policy_rows),
      .entropy_rows_i(header_i.entropy_rows),
      .hold_i(reading),
      .last_ready_i(record_free),
      .step_o(step),
      .busy_o(sweep_busy)
  );

  // Read-back shares the sweep's port.
  logic table_read;
  step_t table_step;
  table_port u_port (
      .step_i(step),
      .window_i(reading),
      .read_i(read_i.valid),
      .read_row_i(read_i.row),
      .ready_o(read_ready_o),
      .read_o(table_read),
      .step_o(table_step)
  );

  // ---- banks
  descriptor_t swept;     // The entry that is swept, as it was fetched.
  descriptor_t compared;  // The entry at the comparators.
  found_t swept_found;
  always_comb begin
    compared = swept;
    if (text) begin
      compared.classes = joined(swept.classes, swept_found.classes, text_image_i.opening);
      compared.established =
          joined(swept.established, swept_found.established, text_image_i.opening);
    end
  end
  logic policy_done, entropy_done, policy_complete, entropy_complete;
  bank_answer_t policy_answer, entropy_answer;
  assign complete_o = policy_complete && entropy_complete;

  bank #(
      .Rows(PolicyRows)
  ) u_policy (
      .clk_i,
      .rst_i,
      .access_i(policy_access_i),
      .locked_i,
      .clear_i(tables_clear_i),
      .window_o(policy_answer_o),
      .check_i,
      .count_i(header_i.policy_rows),
      .complete_o(policy_complete),
      .read_i(table_read && !read_i.entropy),
      .row_o(policy_read_o),
      .step_i(table_step),
      .desc_i(compared),
      .changed_o(policy_changed),
      .done_o(policy_done),
      .answer_o(policy_answer)
  );

  bank #(
      .Rows(EntropyRows)
  ) u_entropy (
      .clk_i,
      .rst_i,
      .access_i(entropy_access_i),
      .locked_i,
      .clear_i(tables_clear_i),
      .window_o(entropy_answer_o),
      .check_i,
      .count_i(header_i.entropy_rows),
      .complete_o(entropy_complete),
      .read_i(table_read && read_i.entropy),
      .row_o(entropy_read_o),
      .step_i(table_step),
      .desc_i(compared),
      .changed_o(entropy_changed),
      .done_o(entropy_done),
      .answer_o(entropy_answer)
  );

  // ---- record
  record_t rec;
  logic resolve_judge, resolve_valid, resolved;
  verdict_t verdict;
  logic [15:0] policy_row, entropy_row;
  resolve u_resolve (
      .clk_i,
      .rst_i,
      .valid_i(policy_done && resolve_valid),
      .judge_i(resolve_judge),
      .policy_i(policy_answer),
      .entropy_i(entropy_answer),
      .validation_i(rec.descriptor.validation_outcome),
      .lineage_i(rec.descriptor.lineage_outcome),
      .depth_i(rec.descriptor.depth),
      .max_depth_i(header_i.max_depth),
      .valid_o(resolved),
      .verdict_o(verdict),
      .policy_row_o(policy_row),
      .entropy_row_o(entropy_row)
  );

  logic rec_valid, rec_ready, rec_session, early_valid;
  logic [15:0] rec_index;
  logic committed;  // The record is in the tree, and stays until the ring accepts it.
  logic [63:0] session_nonce, presented_nonce;
  session_t session;
  always_comb begin
    session = '0;
    session.policy_digest = policy_digest_i;
    session.package_digest = header_i.package_digest;
    session.ticket_digest = session_i.ticket_digest;
    session.heartbeat_nonce =
        session_type_i == RecordTypeHeartbeat ? presented_nonce : session_nonce;
    session.heartbeat_records = records_limit;
    session.heartbeat_ticks = ticks_limit;
    session.open_streams = counters_o.open_streams;
    session.cause = session_cause_i;
    session.features[FeaturesTextLaneBit] = text;
  end
  record_assembly #(
      .KeyFlags(KeyFlags)
  ) u_record (
      .clk_i,
      .rst_i,
      .stamp_i('{lane: lane_i, epoch: session_i.epoch, tick: tick_i}),
      .run_i,
      .drop_i,
      .entry_take_i(checked_ready),
      .entry_i(checked),
      .last_i(step.valid && step.last),
      .swept_o(swept),
      .swept_found_o(swept_found),
      .early_valid_o(early_valid),
      .resolve_valid_o(resolve_valid),
      .resolve_judge_o(resolve_judge),
      .resolved_i(resolved),
      .verdict_i(verdict),
      .policy_row_i(policy_row),
      .entropy_row_i(entropy_row),
      .session_take_i(session_take),
      .session_type_i,
      .session_cause_i,
      .session_i(session),
      .free_o(record_free),
      .valid_o(rec_valid),
      .committed_i(committed),
      .ready_i(rec_ready),
      .record_o(rec),
      .session_o(rec_session),
      .index_o(rec_index)
  );
  assign idle_o = !check_busy && !sweep_busy && record_free;
  assign session_ready_o = idle_o && !drop_i;
  assign session_take = session_valid_i && session_ready_o;
  assign held = hold_i || rec_session;
  assign sent = rec_valid && rec_ready;

  session_status u_status (
      .clk_i,
      .rst_i,
      .open_i,
      .clear_i,
      .heartbeat_i,
      .heartbeat_nonce_i,
      .take_i(session_take),
      .take_type_i(session_type_i),
      .committed_i(committed && rec_session),
      .sent_i(sent),
      .type_i(rec.answer.record_type),
      .opened_o(log_opened_o),
      .closed_o(log_closed_o),
      .presented_o(presented_nonce),
      .nonce_o(session_nonce)
  );
  assign heartbeat_nonce_o = session_nonce;

  // ---- log, counters, ring
  record_t log_record;
  logic log_valid, log_ready;
  log_tree #(
      .Rounds(Rounds)
  ) u_log (
      .clk_i,
      .rst_i,
      .clear_i(open_i),
      .drop_i(!run_i),
      .early_valid_i(early_valid),
      .early_i(swept),
      .valid_i(rec_valid),
      .ready_o(rec_ready),
      .record_i(rec),
      .committed_o(committed),
      .valid_o(log_valid),
      .ready_i(log_ready),
      .record_o(log_record),
      .size_o,
      .snapshot_i,
      .snapshot_o
  );
  assign records_o = size_o[31:0];
  assign written_o = pointers_o.log_tail == records_o;

  counters u_counters (
      .clk_i,
      .rst_i,
      .clear_i(open_i),
      .record_i(sent),
      .record_type_i(rec.answer.record_type),
      .determination_i(rec.answer.determination),
      .sweep_i(step.valid && step.judge),
      .counters_o
  );

  fault_e ring_fault;
  logic ring_needs_reset, ring_idle;
  axi_pkg::req_t ring_req;
  axi_pkg::rsp_t ring_rsp;
  ring #(
      .MaxReads(MaxReads),
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max),
      .WatchdogLog2(WatchdogLog2),
      .Text(TextEngines != 0)
  ) u_ring (
      .clk_i,
      .rst_i,
      .cfg_i(ring_cfg_i),
      .open_i,
      .fetch_i,
      .halt_i,
      .clear_i,
      .doorbells_i,
      .fault_o(ring_fault),
      .bus_dead_o,
      .needs_reset_o(ring_needs_reset),
      .changed_o(completions_changed),
      .idle_o(ring_idle),
      .pointers_o,
      .sub_valid_o(sub_valid),
      .sub_ready_i(sub_ready),
      .sub_o(sub),
      .rec_valid_i(log_valid),
      .rec_ready_o(log_ready),
      .rec_i(log_record),
      .rec_completes_i(!rec_session),
      .rec_index_i(rec_index),
      .beat_i,
      .beat_o,
      .axi_req_o(ring_req),
      .axi_rsp_i(ring_rsp)
  );
  assign ring_fault_o = ring_fault != FaultNone ? ring_fault : text_bus_fault;
  assign needs_reset_o = ring_needs_reset || text_broken;
  assign ring_idle_o = ring_idle && text_idle;

  if (TextEngines != 0) begin : g_text
    axi_pkg::request_t text_ar;
    axi_pkg::read_t text_r;
    logic text_ar_valid, text_ar_ready, text_r_valid;
    lane_text #(
        .Engines(TextEngines),
        .States(TextStates),
        .ByteClasses(TextByteClasses),
        .MaxStreams(MaxStreams / Lanes),
        .Lanes(Lanes),
        .WatchdogLog2(WatchdogLog2)
    ) u_text (
        .clk_i(text_clk_i),
        .rst_i,
        .run_i,
        .load_i(text_load_i),
        .tables_i(text_tables_i),
        .image_i(text_image_i),
        .loaded_o(text_loaded_o),
        .loaded_fault_o(text_fault_o),
        .clear_slots_i(streams_clear_i && text_i),
        .clearing_slots_o(text_clearing),
        .entry_i(sub.descriptor),
        .place_i(text_place_i),
        .valid_i(text_valid),
        .ready_o(text_ready),
        .answered_o(text_answered),
        .answer_o(text_answer),
        .settle_i(text_settle),
        .judge_i(text_judge),
        .renewable_o(text_renewable),
        .renew_i(text_renew),
        .renew_slot_i(checked.descriptor.slot),
        .verdict_i(resolved && resolve_judge),
        .admit_i(verdict.determination == DeterminationAdmit),
        .ar_o(text_ar),
        .ar_valid_o(text_ar_valid),
        .ar_ready_i(text_ar_ready),
        .r_i(text_r),
        .r_valid_i(text_r_valid),
        .broken_o(text_broken),
        .fault_o(text_bus_fault),
        .changed_o(text_changed_o),
        .idle_o(text_idle)
    );
    // An answer without a request is a fault of the bus, also in a session without texts.
    assign text_quiet_o = text_idle && !text_r_valid;

    axi_pkg::request_t ar;
    logic ar_valid, ring_ar_ready, ring_r_valid;
    read_share #(
        .OwnBits(OwnBits)
    ) u_share (
        .clk_i,
        .rst_i,
        .ring_ar_i(ring_req.ar),
        .ring_ar_valid_i(ring_req.ar_valid),
        .ring_ar_ready_o(ring_ar_ready),
        .ring_r_valid_o(ring_r_valid),
        .text_ar_i(text_ar),
        .text_ar_valid_i(text_ar_valid),
        .text_ar_ready_o(text_ar_ready),
        .text_r_valid_o(text_r_valid),
        .text_r_o(text_r),
        .ar_o(ar),
        .ar_valid_o(ar_valid),
        .ar_ready_i(axi_rsp_i.ar_ready),
        .r_i(axi_rsp_i.r),
        .r_valid_i(axi_rsp_i.r_valid)
    );
    always_comb begin
      axi_req_o = ring_req;
      axi_req_o.ar = ar;
      axi_req_o.ar_valid = ar_valid;
      ring_rsp = axi_rsp_i;
      ring_rsp.ar_ready = ring_ar_ready;
      ring_rsp.r_valid = ring_r_valid;
    end
  end else begin : g_no_text
    assign {text_ready, text_answered, text_renewable} = 3'b001;
    assign {text_broken, text_changed_o, text_idle, text_quiet_o} = 4'b0011;
    assign text_clearing = 1'b0;
    assign {text_loaded_o, text_fault_o, text_bus_fault} = {1'b0, FaultNone, FaultNone};
    logic unused_clk;
    assign unused_clk = text_clk_i;
    assign text_answer = '0;
    assign axi_req_o = ring_req;
    assign ring_rsp = axi_rsp_i;
  end

  // ---- checks
  logic admit;
  assign admit = log_valid && rec.answer.determination == DeterminationAdmit;
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(policy_done == entropy_done, "lane: the banks are out of step");
      `ASSERT(!(admit && (rec_session || rec.answer.fault != FaultNone
                          || rec.answer.record_type != RecordTypeVerdict
                          || rec.answer.stage != StageNone
                          || rec.descriptor.opcode != OpcodeGate
                          || rec.descriptor.validation_outcome != StageOutcomePass
                          || rec.descriptor.lineage_outcome != StageOutcomePass)),
              "lane: an admit that no verdict allows");
      `ASSERT(!(step.valid && !locked_i), "lane: a sweep over unlocked tables");
      `ASSERT(!(step.valid && table_read), "lane: a sweep over a read-back");
    end
  end
endmodule
