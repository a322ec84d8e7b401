// Checks one entry at a time (CRC, layout, declarations, stream slot, sequence, context and text),
// then offers it to the sweep.
//
// An entry that fails gets the first fault in the order of the codes, and changes no stream. An
// entry that passes updates its stream in the clock in which its check ends. The entry gets the
// tick of that clock, and its heartbeat credit is checked at that tick. An entry is checked once
// and then held until the sweep accepts it.
//
// In a session with the text lane (`declared_i.text`), a GATE or END of this lane's slots has a
// text. The entry is decided when the answer about its text is there, and leaves with the classes
// that the text lane found. If the entry needs no verdict of the banks, its answer is settled at
// once; if it is judged, `text_judge_o` leaves the answer to the caller. An accepted BEGIN renews
// its slot in the clock of its decision.
//
// Latency: 10 clocks from `sub_valid_i && sub_ready_o` to `entry_valid_o`, and the time of the
// text; one entry at a time.
// After reset and after `flush_i`: empty. An entry that is flushed before the end of its check
// changes nothing; the caller must settle the answer about its text.
// Duties of the caller: `declared_i` and `text_opening_i` constant while entries are in the lane; a
// stream table with two clocks of read latency.
`include "assert.svh"

module entry_check
  import layout_pkg::*;
  import gate_pkg::*;
  import ring_pkg::*;
  import text_pkg::*;
  import crc32_pkg::*;
#(
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536. Slots from this number on are refused.
    // 1, 2, 4 or 8. Slots of other lanes are also refused.
    parameter int unsigned Lanes = 1,
    parameter bit Text = 1'b0  // The card has a text lane; else no session uses one.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         flush_i,
    input  logic [7:0]   lane_i,  // Its slots are those that are `lane_i` modulo Lanes.
    input  declared_t    declared_i,
    input  logic [63:0]  tick_i,
    // The heartbeat credit is spent: also refuse correct entries.
    input  logic         spent_i,
    // From the ring.
    input  logic         sub_valid_i,
    output logic         sub_ready_o,
    input  submission_t  sub_i,
    // Stream table.
    output logic         stream_read_o,
    output logic [15:0]  stream_slot_o,
    input  stream_t      stream_i,
    output logic         stream_update_o,
    output stream_t      stream_update_stream_o,
    // Text of the entry in `entry_o`.
    input  logic         text_answered_i,  // `text_answer_i` is the answer about it.
    input  text_answer_t text_answer_i,
    input  logic [127:0] text_opening_i,  // Classes that open a gate.
    output logic         text_settle_o,  // The answer is not needed any more.
    output logic         text_judge_o,  // The answer waits for the verdict of the entry.
    output logic         begins_o,  // A BEGIN is not decided.
    input  logic         text_renewable_i,  // The slot of `entry_o` can be renewed in this clock,
    output logic         text_renew_o,  // and is.
    // To the sweep; `entry_ready_i` is a pulse that empties the check.
    output logic         entry_valid_o,
    input  logic         entry_ready_i,
    output checked_t     entry_o,
    output logic         busy_o
);
  typedef enum logic [3:0] {
    StEmpty = 4'b0001,
    StCheck = 4'b0010,
    StHeld  = 4'b0100,
    StText  = 4'b1000  // The answer about the text is awaited.
  } state_e;

  state_e state_q;
  logic [3:0] step_q;
  descriptor_t entry_q;
  logic [15:0] index_q;
  logic [31:0] crc_q;
  // Data of this step, selected one clock before to keep the selection out of the CRC path.
  logic [127:0] crc_data_q;
  logic [63:0] tick_q;
  entry_faults_t faults_q;
  fault_e fault_q;
  logic judge_q;
  logic text_known_q;  // The answer in StText was there.
  found_t found_q;

  // Seven CRC steps of 16 bytes and one of 12, then the decision.
  localparam logic [3:0] LastCrcStep = 4'd7;
  localparam logic [3:0] DecideStep = 4'd8;

  declared_t declared;
  always_comb begin
    declared = declared_i;
    declared.text = Text && declared_i.text;
  end
  logic in_table, at_end, text_waits, renew_waits, decide_text, decide;
  entry_faults_t faults;
  fault_e fault;
  assign in_table = in_lane(entry_q.slot, lane_i, MaxStreams, Lanes);
  assign at_end = state_q == StCheck && step_q == DecideStep;
  assign decide_text = state_q == StText && text_known_q;
  context_t entry_context;
  assign entry_context = '{
          domain: entry_q.domain,
          audience: entry_q.audience,
          register: entry_q.register,
          epistemic: entry_q.epistemic
      };

  // All faults but that of the credit. In StText, `faults_q` contains the faults of the text.
  always_comb begin
    faults = '0;
    if (at_end) begin
      faults = faults_q;
      faults.crc = ~crc_q != entry_q.crc;
      faults.slot = bad_slot(entry_q.opcode, in_table, stream_i);
      faults.sequence_ = bad_sequence(entry_q.opcode, entry_q.sequence_, stream_i);
      faults.context_ = bad_context(entry_q.opcode, entry_context, stream_i);
    end
    if (decide_text) faults = faults_q;
  end
  assign text_waits = at_end && declared.text
      && entry_has_text(entry_q.opcode, entry_q.slot, lane_i, MaxStreams, Lanes);
  assign renew_waits = declared.text && entry_q.opcode == OpcodeBegin && faults == '0
      && !text_renewable_i;
  assign decide = decide_text || (at_end && !text_waits && !renew_waits);
  always_comb begin
    automatic entry_faults_t all = faults;
    all.credit = spent_i;
    fault = decide ? first_fault(all) : FaultNone;
  end

  // ---- the text
  entry_faults_t text_faults;
  always_comb begin
    automatic cause_e cause = text_answer_i.cause;
    automatic logic read = cause != CauseWindow && cause != CauseBus;
    text_faults = '0;
    text_faults.text_window = !read;
    // The flag `call` must fit the tag. An END has no flags, so its text is never a tool call.
    text_faults.text_form = cause == CauseTag || cause == CauseUtf8
        || (read && text_answer_i.call != entry_q.flags[FlagsCallBit])
        || (read && bad_length(entry_q.opcode, entry_q.flags[FlagsInertPrefixBit],
                               entry_q.validation_outcome != StageOutcomePass,
                               entry_q.length, 32'(text_answer_i.length)));
    // Every answer that does not agree is a fault, whatever its cause.
    text_faults.text_commitment = !text_answer_i.agrees;
    text_faults.text_end = entry_q.opcode == OpcodeEnd
        && (text_answer_i.classes & ~text_opening_i) != '0;
  end
  assign begins_o = state_q == StCheck && entry_q.opcode == OpcodeBegin;
  assign text_settle_o = decide_text && !text_judge_o;
  assign text_judge_o = decide_text && !flush_i && faults == '0 && !spent_i
      && entry_q.opcode == OpcodeGate;
  assign text_renew_o = stream_update_o && declared.text && entry_q.opcode == OpcodeBegin;

  assign sub_ready_o = state_q == StEmpty;
  assign entry_valid_o = state_q == StHeld;
  assign entry_o = '{
          descriptor: entry_q,
          index: index_q,
          found: found_q,
          tick: tick_q,
          fault: fault_q,
          judge: judge_q
      };
  assign busy_o = state_q != StEmpty;

  assign stream_read_o = state_q == StCheck && step_q == 4'd0 && in_table;
  assign stream_slot_o = entry_q.slot;
  assign stream_update_o = decide && fault == FaultNone && !flush_i;
  assign stream_update_stream_o =
      stream_after(entry_q.opcode, entry_q.sequence_, entry_context, stream_i);

  always_ff @(posedge clk_i) begin
    if (state_q == StEmpty && sub_valid_i) begin
      entry_q <= sub_i.descriptor;
      index_q <= sub_i.index;
      crc_q <= Crc32Init;
      crc_data_q <= sub_i.descriptor[127:0];
    end
    if (state_q == StCheck) begin
      crc_data_q <= entry_q[128*3'(step_q[2:0]+3'd1)+:128];
      if (step_q < LastCrcStep) crc_q <= crc32_step(crc_q, crc_data_q);
      else if (step_q == LastCrcStep) crc_q <= crc32_step96(crc_q, crc_data_q[95:0]);
      if (step_q == 4'd1) faults_q <= entry_faults(entry_q, declared);
    end
    if (text_waits) faults_q <= faults;
    if (state_q == StText && text_answered_i && !text_known_q) faults_q <= faults_q | text_faults;
    if (decide) tick_q <= tick_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      state_q <= StEmpty;
      step_q <= '0;
      fault_q <= FaultNone;
      judge_q <= 1'b0;
      text_known_q <= 1'b0;
      found_q <= '0;
    end else begin
      case (state_q)
        StEmpty: begin
          step_q <= '0;
          text_known_q <= 1'b0;
          found_q <= '0;
          if (sub_valid_i) state_q <= StCheck;
        end
        StCheck: begin
          if (!at_end) step_q <= step_q + 4'd1;
          if (text_waits) state_q <= StText;
        end
        StText: begin
          if (text_answered_i && !text_known_q) begin
            text_known_q <= 1'b1;
            found_q <= '{
                classes: text_answer_i.classes,
                established: text_answer_i.established
            };
          end
        end
        StHeld: if (entry_ready_i) state_q <= StEmpty;
        default: state_q <= StEmpty;
      endcase
      if (decide) begin
        fault_q <= fault;
        judge_q <= fault == FaultNone && entry_q.opcode == OpcodeGate;
        state_q <= StHeld;
        if (fault != FaultNone) found_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "entry_check: state not one-hot");
      `ASSERT(!(entry_valid_o && judge_q && fault_q != FaultNone), "entry_check: judging a fault");
      `ASSERT(!(entry_valid_o && judge_q && declared.text && !text_known_q),
              "entry_check: judging an entry whose text is not known");
      `ASSERT(!(entry_ready_i && state_q != StHeld), "entry_check: taken without an entry");
    end
  end
endmodule
