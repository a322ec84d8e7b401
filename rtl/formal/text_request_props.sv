// What is proved of the requests for texts, without bound.
//
// Every entry of the ring reaches the check once, unchanged and in order: it is taken from the ring
// in the clock in which the check takes it. In a session with the text lane, a GATE or END of the
// lane's slots reaches the check only after exactly one request for its text. A text is requested
// only for the entry that the ring offers, after its slot number was constant for two clocks. For
// all other entries, no text is requested, and they do not wait. Nothing is requested while the
// check has a BEGIN that is not decided, or during a flush. A flush clears the mark of a request.
//
// Any check and any text lane. Assumed: an entry stays until it is taken or flushed.
module text_request_props
  import layout_pkg::*;
  import ring_pkg::*;
#(
    parameter int unsigned Lanes = 2
) (
    input logic clk,
    input logic flush,
    input logic [7:0] lane,
    input logic text,
    input logic valid,
    input submission_t sub,
    input logic check_ready,
    input logic begins,
    input logic text_ready
);
  localparam int unsigned MaxStreams = 8;
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic ready, passed, asks;
  logic [15:0] slot;
  text_request #(
      .MaxStreams(MaxStreams),
      .Lanes(Lanes)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .lane_i(lane),
      .text_i(text),
      .valid_i(valid),
      .ready_o(ready),
      .opcode_i(sub.descriptor.opcode),
      .slot_i(sub.descriptor.slot),
      .valid_o(passed),
      .ready_i(check_ready),
      .begins_i(begins),
      .text_slot_o(slot),
      .text_valid_o(asks),
      .text_ready_i(text_ready)
  );

  // ---- the ring's entry: whether it stays, and the requests for its text
  logic stays_q, was_text_q;
  submission_t sub_q;
  logic [1:0] asked_q;  // Requests that the text lane took, at most 2 of them counted.
  logic [1:0] stood_q;
  logic taken, requested, has_text;
  logic [7:0] lane_q;
  assign taken = passed && check_ready;
  assign requested = asks && text_ready;
  assign has_text = text && (sub.descriptor.opcode == OpcodeGate
      || sub.descriptor.opcode == OpcodeEnd) && 32'(sub.descriptor.slot) < MaxStreams
      && 32'(sub.descriptor.slot) % Lanes == 32'(lane);
  always_ff @(posedge clk) begin
    stays_q <= !rst && !flush && valid && !ready;
    {sub_q, was_text_q, lane_q} <= {sub, text, lane};
    if (rst || flush || !valid || taken) {asked_q, stood_q} <= '0;
    else begin
      if (requested && asked_q != 2'd2) asked_q <= asked_q + 2'd1;
      stood_q <= {stood_q[0], 1'b1};
    end
  end
  always_comb if (stays_q) assume (valid && sub == sub_q && text == was_text_q && lane == lane_q);

  always_comb begin
    if (started) begin
      // ---- the claims
      assert ((valid && ready) == taken);
      if (passed) assert (valid && asked_q == 2'(has_text));
      if (valid && !has_text) assert (passed && ready == check_ready && !asks);
      if (asks) begin
        assert (valid && has_text && asked_q == '0 && stood_q == 2'b11);
        assert (!begins && !flush && !taken);
      end
      assert (slot == sub.descriptor.slot);
      assert (asked_q != 2'd2);
      // The text of an entry is requested as soon as these conditions hold.
      if (valid && has_text && asked_q == '0 && stood_q == 2'b11 && !begins && !flush)
        assert (asks);

      // ---- what the induction needs
      assert (dut.asked_q == asked_q[0] && dut.stood_q == stood_q);

      // ---- not vacuous
      cover (taken && has_text);
      cover (taken && !has_text && stays_q);
      cover (flush && asked_q == 2'd1);
    end
  end
endmodule
