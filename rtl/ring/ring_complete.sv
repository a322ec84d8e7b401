// Turns answered records into completions, in order.
//
// A record's values enter with `push_i` when its write is issued. Each `answered_i` means that the
// oldest unanswered record is now in host memory. Then its completion is built: one clock to read
// the values, six for the CRC; `valid_o` holds until `take_i`. Records that need no completion are
// skipped. `phase` follows from `cq_issued_i`, the number of completions issued before. `flush_i`
// drops everything. `full_o` is one clock late.
//
// The values have a parity bit, over them and the number of their place. If values are read without
// it, `changed_o` is high for one clock; then they and all later ones give no completion, until a
// flush.
// After reset: empty.
// Duties of the caller: no `push_i` in two adjacent clocks.
`include "assert.svh"

module ring_complete
  import layout_pkg::*;
  import crc32_pkg::*;
#(
    // 2 to 8: log2 of the unanswered records; RAM of 2^DepthLog2 times 226 bits
    parameter int unsigned DepthLog2 = 5,
    parameter bit Text = 1'b0  // Records have classes of the text lane: 128 bits more
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        flush_i,
    input  logic [3:0]  log2_i,  // of the completion ring
    input  logic [15:0] cq_issued_i,
    output logic        full_o,
    input  logic        push_i,
    input  logic        completes_i,
    input  logic [15:0] index_i,
    input  record_t     record_i,
    input  logic        answered_i,
    output logic        valid_o,
    output completion_t completion_o,
    input  logic        take_i,
    output logic        empty_o,
    output logic        changed_o
);
  if (DepthLog2 < 2 || DepthLog2 > 8) begin : g_bad_depth_log2
    $fatal(1, "DepthLog2 is 2 to 8");
  end

  typedef struct packed {
    logic [15:0] index;
    logic [7:0] determination;
    logic [7:0] stage;
    logic [15:0] fault;
    logic [15:0] policy_row;
    logic [15:0] entropy_row;
    logic [15:0] slot;
    logic [31:0] sequence_number;
    logic [31:0] epoch;
    logic [63:0] log_index;
  } facts_t;

  typedef enum logic [1:0] {
    StIdle,
    StCrc,
    StReady
  } state_e;

  // Five steps of 12 bytes, each one clock after its bytes were selected.
  localparam logic [2:0] LastCrcStep = 3'd5;

  (* ram_style = "distributed" *)facts_t facts_q[2**DepthLog2];
  logic [2**DepthLog2-1:0] completes_q;
  // popped <= answered <= pushed
  logic [DepthLog2:0] pushed_q, answered_q, popped_q;
  logic told_q;  // A record was answered in the clock before.

  state_e state_q;
  logic [2:0] step_q;
  facts_t now_q;
  logic phase_q;
  logic [31:0] crc_q;
  // Data of this step, selected one clock before to keep the selection out of the CRC path.
  logic [95:0] crc_data_q;

  facts_t facts;  // Values of the next record.
  assign facts = '{
          index: index_i,
          determination: record_i.answer.determination,
          stage: record_i.answer.stage,
          fault: record_i.answer.fault,
          policy_row: record_i.answer.policy_row,
          entropy_row: record_i.answer.entropy_row,
          slot: record_i.descriptor.slot,
          sequence_number: record_i.descriptor.sequence_,
          epoch: record_i.answer.epoch,
          log_index: record_i.answer.log_index
      };

  logic [127:0] text_classes_q;
  logic [127:0] text_classes;  // Of the next record.
  assign text_classes = Text ? record_i.answer.text_classes : '0;
  logic pop;
  assign pop = state_q == StIdle && popped_q != answered_q;

  completion_t completion;
  always_comb begin
    completion = '0;
    completion.ring_index = now_q.index;
    completion.phase = {7'b0, phase_q};
    completion.determination = now_q.determination;
    completion.stage = now_q.stage;
    completion.fault = now_q.fault;
    completion.policy_row = now_q.policy_row;
    completion.entropy_row = now_q.entropy_row;
    completion.slot = now_q.slot;
    completion.sequence_ = now_q.sequence_number;
    completion.epoch = now_q.epoch;
    completion.log_index = now_q.log_index;
    completion.text_classes = text_classes_q;
    completion.crc = ~crc_q;
  end

  // ---- parity
  logic parity;
  (* ram_style = "distributed" *) logic parities_q[2**DepthLog2];
  logic odd_q;  // Parity of what was stored beside the values.
  logic was_pop_q, changed, changed_q;
  assign parity = ^{facts, text_classes, completes_i, pushed_q[DepthLog2-1:0]};
  assign changed = was_pop_q && ^{now_q, text_classes_q, odd_q};
  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) {was_pop_q, changed_o, changed_q} <= '0;
    else begin
      was_pop_q <= pop;
      changed_o <= changed;
      if (changed) changed_q <= 1'b1;
    end
  end

  logic [DepthLog2:0] held;
  logic room;
  assign held = pushed_q - popped_q;
  assign room = held != (DepthLog2 + 1)'(2 ** DepthLog2);

  if (Text) begin : g_text
    (* ram_style = "distributed" *) logic [127:0] classes_q[2**DepthLog2];
    always_ff @(posedge clk_i) begin
      if (room) classes_q[pushed_q[DepthLog2-1:0]] <= text_classes;
      if (pop) text_classes_q <= classes_q[popped_q[DepthLog2-1:0]];
    end
  end else begin : g_no_text
    assign text_classes_q = '0;
  end

  always_ff @(posedge clk_i) begin
    // While there is space, the inputs are stored in every clock; only a push keeps them.
    if (room) facts_q[pushed_q[DepthLog2-1:0]] <= facts;
    if (room) completes_q[pushed_q[DepthLog2-1:0]] <= completes_i;
    if (room) parities_q[pushed_q[DepthLog2-1:0]] <= parity;
    if (pop) begin
      now_q   <= facts_q[popped_q[DepthLog2-1:0]];
      odd_q   <= ^{parities_q[popped_q[DepthLog2-1:0]], completes_q[popped_q[DepthLog2-1:0]],
          popped_q[DepthLog2-1:0]};
      // The phase is 1 on the first lap of the ring; then it alternates.
      phase_q <= !cq_issued_i[log2_i];
      crc_q   <= '1;
    end
    if (state_q == StCrc) begin
      if (step_q != LastCrcStep) crc_data_q <= completion[96*step_q+:96];
      if (step_q != '0) crc_q <= crc32_step96(crc_q, crc_data_q);
    end

    if (rst_i || flush_i) begin
      pushed_q <= '0;
      answered_q <= '0;
      popped_q <= '0;
      state_q <= StIdle;
      step_q <= '0;
    end else begin
      if (push_i) pushed_q <= pushed_q + 1'b1;
      if (told_q) answered_q <= answered_q + 1'b1;
      if (pop) popped_q <= popped_q + 1'b1;
      unique case (state_q)
        StIdle: if (pop && completes_q[popped_q[DepthLog2-1:0]] && !changed_q) state_q <= StCrc;
        StCrc: begin
          step_q <= step_q == LastCrcStep ? '0 : step_q + 3'd1;
          if (step_q == LastCrcStep) state_q <= changed_q ? StIdle : StReady;
        end
        StReady: if (take_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  logic full_q;
  always_ff @(posedge clk_i) begin
    told_q <= !rst_i && !flush_i && answered_i;
    full_q <= !rst_i && !flush_i && !room;
  end
  assign full_o = full_q;
  assign valid_o = state_q == StReady;
  assign completion_o = completion;
  assign empty_o = pushed_q == popped_q && state_q == StIdle;

  always_ff @(posedge clk_i) begin
    if (!rst_i && !flush_i) begin
      `ASSERT(!push_i || room, "ring_complete: a record without a place");
      `ASSERT(!answered_i || answered_q + (DepthLog2 + 1)'(told_q) != pushed_q,
              "ring_complete: an answer to no record");
      `ASSERT(!take_i || valid_o, "ring_complete: no completion to take");
    end
  end
endmodule
