// Assembles a lane's records: the record of the swept entry when its stages are resolved, and the
// records of the session.
//
// From the clock after `entry_take_i` to the next `entry_take_i`, the entry is the swept entry
// (`swept_o`, for comparators and hashing in advance). Two clocks after its last step (`last_i`) it
// moves to the record register, and with `resolved_i` its record is offered. A session's record is
// offered one clock after `session_take_i`. `free_o`: the record register is empty, and not
// reserved for an entry whose last step was issued. An entry's record has the tick at which its
// check ended; a session's record has the tick of its assembly. While `run_i` is low, no record of
// an entry is offered, and a record of an entry is dropped unless it is in the log; `drop_i` drops
// a session's record in the same way. A record in the log (`committed_i`) stays until it is
// accepted.
//
// Latency: see above.
// After reset: empty.
// Duties of the caller: a session's record only while `free_o` is high; a last step only while
// `free_o` is high; `resolved_i` only for an entry that waits for it.
`include "assert.svh"

module record_assembly
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter logic [7:0] KeyFlags = 8'h01
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  stamp_t       stamp_i,
    input  logic         run_i,
    input  logic         drop_i,
    // The entry for the banks.
    input  logic         entry_take_i,
    input  checked_t     entry_i,
    input  logic         last_i,
    output descriptor_t  swept_o,
    output found_t       swept_found_o,  // Classes that the text lane found for it.
    output logic         early_valid_o,  // `swept_o` becomes the next record.
    // Stages of the swept entry.
    output logic         resolve_valid_o,  // An entry waits for its verdict.
    output logic         resolve_judge_o,
    input  logic         resolved_i,
    input  verdict_t     verdict_i,
    input  logic [15:0]  policy_row_i,
    input  logic [15:0]  entropy_row_i,
    // Records of the session.
    input  logic         session_take_i,
    input  record_type_e session_type_i,
    input  fault_e       session_cause_i,
    input  session_t     session_i,
    // The record.
    output logic         free_o,
    output logic         valid_o,
    input  logic         committed_i,
    input  logic         ready_i,
    output record_t      record_o,
    output logic         session_o,  // A session record is present.
    output logic [15:0]  index_o     // Ring index of an entry's record.
);
  // The swept entry.
  checked_t swept_q;
  always_ff @(posedge clk_i) if (entry_take_i) swept_q <= entry_i;
  assign swept_o = swept_q.descriptor;
  assign swept_found_o = swept_q.found;

  // The record.
  logic [1:0] last_q;
  logic taken_q;  // The register is reserved for the entry whose last step was issued.
  descriptor_t rec_desc_q;
  answer_t rec_answer_q;
  logic [15:0] rec_index_q;
  logic [63:0] rec_tick_q;
  found_t rec_found_q;
  fault_e rec_fault_q;
  logic rec_judge_q, rec_session_q, rec_valid_q;
  assign free_o = !taken_q && !rec_valid_q;
  assign valid_o = rec_valid_q && (committed_i || (!drop_i && (rec_session_q || run_i)));
  assign record_o = '{descriptor: rec_desc_q, answer: rec_answer_q};
  assign session_o = rec_valid_q && rec_session_q;
  assign index_o = rec_index_q;
  assign resolve_valid_o = taken_q;
  assign resolve_judge_o = rec_judge_q;

  // While a record is being resolved (`taken_q`), the swept descriptor may already be the next one.
  // That descriptor must not be hashed as the present record.
  logic early_q;
  assign early_valid_o = early_q && !taken_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || !run_i) early_q <= 1'b0;
    else if (entry_take_i) early_q <= 1'b1;
    else if (last_q[1]) early_q <= 1'b0;
  end

  function automatic record_type_e type_of(logic [7:0] opcode, fault_e fault);
    if (fault != FaultNone) return RecordTypeRefused;
    case (opcode)
      OpcodeGate: return RecordTypeVerdict;
      OpcodeBegin: return RecordTypeBegin;
      OpcodeEnd: return RecordTypeEnd;
      OpcodeNote: return RecordTypeNote;
      default: return RecordTypeRefused;
    endcase
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {last_q, taken_q, rec_valid_q, rec_session_q, rec_judge_q} <= '0;
      rec_fault_q <= FaultNone;
    end else begin
      last_q <= {last_q[0], last_i};
      if (last_i) taken_q <= 1'b1;
      if (last_q[1]) begin
        rec_judge_q <= swept_q.judge;
        rec_fault_q <= swept_q.fault;
      end
      if (valid_o && ready_i) rec_valid_q <= 1'b0;
      if (resolved_i && taken_q) begin
        taken_q <= 1'b0;
        rec_valid_q <= 1'b1;
        rec_session_q <= 1'b0;
      end
      if (session_take_i) begin
        rec_valid_q <= 1'b1;
        rec_session_q <= 1'b1;
      end
      if (!run_i) begin
        taken_q <= 1'b0;
        last_q <= '0;
        if (!rec_session_q && !session_take_i && !committed_i) rec_valid_q <= 1'b0;
      end
      if (drop_i && !committed_i) rec_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (last_q[1]) begin
      rec_desc_q <= swept_q.descriptor;
      rec_index_q <= swept_q.index;
      rec_tick_q <= swept_q.tick;
      rec_found_q <= swept_q.found;
    end
    if (session_take_i) rec_desc_q <= session_i;
    if (session_take_i || resolved_i) begin
      automatic answer_t answer = '0;
      answer.version = 8'(LayoutVersion);
      answer.lane = stamp_i.lane;
      answer.key_flags = KeyFlags;
      answer.epoch = stamp_i.epoch;
      // An entry's record has the tick at which its credit was checked; a session's record has the
      // tick from which credit is counted.
      answer.tick = session_take_i ? stamp_i.tick : rec_tick_q;
      if (session_take_i) begin
        answer.record_type = session_type_i;
        answer.determination = DeterminationNone;
        answer.stage = StageNone;
        answer.fault = session_cause_i;
        answer.policy_row = 16'(RowNone);
        answer.entropy_row = 16'(RowNone);
      end else begin
        answer.record_type = type_of(rec_desc_q.opcode, rec_fault_q);
        answer.determination = verdict_i.determination;
        answer.stage = verdict_i.stage;
        answer.fault = rec_fault_q;
        answer.policy_row = policy_row_i;
        answer.entropy_row = entropy_row_i;
        answer.text_classes = rec_found_q.classes;
        answer.text_established = rec_found_q.established;
      end
      rec_answer_q <= answer;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(resolved_i && taken_q && rec_valid_q), "record_assembly: a record over another");
    end
  end
endmodule
