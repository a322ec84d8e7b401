// Checks one entry at a time (CRC, layout, declarations, stream slot, sequence and context), then
// offers it to the sweep.
//
// An entry that fails gets the first fault in the order of the codes, and changes no stream. An
// entry that passes updates its stream in the clock in which its check ends. The entry gets the
// tick of that clock, and its heartbeat credit is checked at that tick. An entry is checked once
// and then held until the sweep accepts it.
//
// Latency: 10 clocks from `sub_valid_i && sub_ready_o` to `entry_valid_o`; one entry at a time.
// After reset and after `flush_i`: empty. If an entry is flushed before its check ends, it changes
// nothing.
// Duties of the caller: `declared_i` is constant while entries are in the lane; the stream table
// has two clocks of read latency.
`include "assert.svh"

module entry_check
  import layout_pkg::*;
  import gate_pkg::*;
  import ring_pkg::*;
  import crc32_pkg::*;
#(
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536. Slots from this number on are refused.
    // 1, 2, 4 or 8. Slots of other lanes are also refused.
    parameter int unsigned Lanes = 1
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        flush_i,
    input  logic [7:0]  lane_i,  // Its slots `s` have `s` modulo Lanes = `lane_i`.
    input  declared_t   declared_i,
    input  logic [63:0] tick_i,
    // The heartbeat credit is spent: correct entries are refused, too.
    input  logic        spent_i,
    // From the ring.
    input  logic        sub_valid_i,
    output logic        sub_ready_o,
    input  submission_t sub_i,
    // Stream table.
    output logic        stream_read_o,
    output logic [15:0] stream_slot_o,
    input  stream_t     stream_i,
    output logic        stream_update_o,
    output stream_t     stream_update_stream_o,
    // To the sweep; `entry_ready_i` is a pulse that empties the check.
    output logic        entry_valid_o,
    input  logic        entry_ready_i,
    output checked_t    entry_o,
    output logic        busy_o
);
  typedef enum logic [2:0] {
    StEmpty = 3'b001,
    StCheck = 3'b010,
    StHeld  = 3'b100
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

  // Seven CRC steps of 16 bytes and one of 12, then the decision.
  localparam logic [3:0] LastCrcStep = 4'd7;
  localparam logic [3:0] DecideStep = 4'd8;

  logic in_table, decide;
  fault_e fault;
  assign in_table = 32'(entry_q.slot) < MaxStreams && 32'(entry_q.slot) % Lanes == 32'(lane_i);
  assign decide = state_q == StCheck && step_q == DecideStep;
  context_t entry_context;
  assign entry_context = '{
          domain: entry_q.domain,
          audience: entry_q.audience,
          register: entry_q.register,
          epistemic: entry_q.epistemic
      };

  always_comb begin
    automatic entry_faults_t faults = '0;
    fault = FaultNone;
    if (decide) begin
      faults = faults_q;
      faults.crc = ~crc_q != entry_q.crc;
      faults.slot = bad_slot(entry_q.opcode, in_table, stream_i);
      faults.sequence_ = bad_sequence(entry_q.opcode, entry_q.sequence_, stream_i);
      faults.context_ = bad_context(entry_q.opcode, entry_context, stream_i);
      faults.credit = spent_i;
      fault = first_fault(faults);
    end
  end

  assign sub_ready_o = state_q == StEmpty;
  assign entry_valid_o = state_q == StHeld;
  assign entry_o = '{
          descriptor: entry_q,
          index: index_q,
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
      if (step_q == 4'd1) faults_q <= entry_faults(entry_q, declared_i);
      if (decide) tick_q <= tick_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      state_q <= StEmpty;
      step_q <= '0;
      fault_q <= FaultNone;
      judge_q <= 1'b0;
    end else begin
      case (state_q)
        StEmpty: begin
          step_q <= '0;
          if (sub_valid_i) state_q <= StCheck;
        end
        StCheck: begin
          step_q <= step_q + 4'd1;
          if (decide) begin
            fault_q <= fault;
            judge_q <= fault == FaultNone && entry_q.opcode == OpcodeGate;
            state_q <= StHeld;
          end
        end
        StHeld: if (entry_ready_i) state_q <= StEmpty;
        default: state_q <= StEmpty;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "entry_check: state not one-hot");
      `ASSERT(!(entry_valid_o && judge_q && fault_q != FaultNone), "entry_check: judging a fault");
      `ASSERT(!(entry_ready_i && state_q != StHeld), "entry_check: taken without an entry");
    end
  end
endmodule
