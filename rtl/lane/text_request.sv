// Asks for the text of the next entry while the entries before it are checked and judged.
//
// Stands between the ring and the check. In a session with the text lane, the check gets a GATE or
// END of this lane's slots only after its text was asked for, once. So the answers come in the
// order of these entries. Every other entry passes as it is. `text_slot_o` is the slot of the next
// entry; the text is asked for when it has stood for two clocks, so that the place of its window
// is there.
// While the check has a BEGIN that is not decided (`begins_i`), nothing is asked for: that BEGIN
// may renew the slot.
//
// Latency: none for an entry without a text; else three clocks and the wait for `text_ready_i`.
// After reset and after `flush_i`: nothing was asked for. A text that was asked for before a flush
// is the caller's. Duties of the caller: an entry stays until it is taken or flushed.
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
