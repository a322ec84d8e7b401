// Requests the text of the next entry while the entries before it are checked and judged.
//
// The module is between the ring and the check. In a session with the text lane, it passes a GATE
// or END of this lane's slots to the check only after exactly one request for its text. So the
// answers come in the order of these entries. All other entries pass at once. `text_slot_o` is the
// slot of the next entry. The text is requested after this number was constant for two clocks,
// because the place of its window is known only then.
// While the check has a BEGIN that is not decided (`begins_i`), nothing is requested, because this
// BEGIN may renew the slot.
//
// Latency: none for an entry without a text; else three clocks and the wait for `text_ready_i`.
// After reset and after `flush_i`: no request. Duties of the caller: an entry stays until it is
// taken or flushed; the answer to a request before a flush must be settled.
module text_request
  import gate_pkg::*;
#(
    parameter int unsigned MaxStreams = 1024,  // As in entry_check.
    parameter int unsigned Lanes = 1           // As in entry_check.
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        flush_i,
    input  logic [7:0]  lane_i,
    input  logic        text_i,  // The session has texts.
    // From the ring.
    input  logic        valid_i,
    output logic        ready_o,
    input  logic [7:0]  opcode_i,
    input  logic [15:0] slot_i,
    // To the check.
    output logic        valid_o,
    input  logic        ready_i,
    input  logic        begins_i,
    // To the text lane.
    output logic [15:0] text_slot_o,
    output logic        text_valid_o,
    input  logic        text_ready_i
);
  logic asked_q, has_text;
  logic [1:0] stood_q;
  assign has_text = text_i && entry_has_text(opcode_i, slot_i, lane_i, MaxStreams, Lanes);
  assign valid_o = valid_i && (!has_text || asked_q);
  assign ready_o = ready_i && (!has_text || asked_q);
  assign text_slot_o = slot_i;
  assign text_valid_o = valid_i && has_text && !asked_q && stood_q[1] && !begins_i && !flush_i;

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i || !valid_i || ready_o) {asked_q, stood_q} <= '0;
    else begin
      stood_q <= {stood_q[0], 1'b1};
      if (text_valid_o && text_ready_i) asked_q <= 1'b1;
    end
  end
endmodule
