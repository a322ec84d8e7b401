// What is proved about the completions: none is offered before its record was answered, they come in the order of the
// records and carry that record's ring index and determination, and an offered one does not change until it is taken.
module ring_complete_props
  import layout_pkg::*;
(
    input logic clk,
    input logic flush,
    input logic [3:0] log2,
    input logic [15:0] cq_issued,
    input logic push,
    input logic completes,
    input logic [15:0] index,
    input record_t record,
    input logic answered,
    input logic take
);
  // Reset in the first clock.
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic full, valid, empty;
  completion_t completion;
  ring_complete #(
      .DepthLog2(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .log2_i(log2),
      .cq_issued_i(cq_issued),
      .full_o(full),
      .push_i(push),
      .completes_i(completes),
      .index_i(index),
      .record_i(record),
      .answered_i(answered),
      .valid_o(valid),
      .completion_o(completion),
      .take_i(take),
      .empty_o(empty)
  );

  // Watch one record, any one: the one that carries this index.
  typedef enum logic [1:0] {
    WatchNone,
    WatchPushed,
    WatchDone
  } watch_e;
  watch_e watch_q;
  logic watch_now;
  assign watch_now = push && completes && watch_q == WatchNone && index == 16'h1234;
  logic [2:0] place_q;
  logic [7:0] determination_q;
  logic answered_q;

  logic held_q;
  completion_t before_q;
  always_ff @(posedge clk) begin
    if (!rst) begin
      assume (!push || !full);
      assume (!answered || dut.answered_q != dut.pushed_q);
      assume (!take || valid);
      // Exactly one record carries the watched index.
      assume (!push || index != 16'h1234 || watch_now);
    end
    held_q <= valid && !take && !flush && !rst;
    before_q <= completion;
    if (rst || flush) begin
      watch_q <= WatchNone;
      answered_q <= 1'b0;
    end else begin
      if (watch_now) begin
        watch_q <= WatchPushed;
        place_q <= dut.pushed_q;
        determination_q <= record.answer.determination;
      end
      if (watch_q == WatchPushed && answered && dut.answered_q == place_q) answered_q <= 1'b1;
      if (take && completion.ring_index == 16'h1234) watch_q <= WatchDone;
    end
    if (!rst) begin
      if (held_q) assert (valid && completion == before_q);
      if (valid && completion.ring_index == 16'h1234) begin
        assert (watch_q == WatchPushed && answered_q);
        assert (completion.determination == determination_q);
      end
      // popped <= answered <= pushed
      assert (dut.answered_q - dut.popped_q <= dut.pushed_q - dut.popped_q);
      assert (dut.pushed_q - dut.popped_q <= 3'd4);
    end
    cover (!rst && valid && completion.ring_index == 16'h1234 && watch_q == WatchPushed);
    cover (!rst && watch_q == WatchDone && empty && completion.phase == 8'd1);
    cover (!rst && full);
    // A record that completes nothing is passed over.
    cover (!rst && !held_q && empty && dut.popped_q == 3'd1 && !dut.completes_q[0] && !flush);
  end
endmodule
