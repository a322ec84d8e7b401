// Proves about the checkpoint ring's doorbell, without bound: a session begins with a head of zero,
// whatever was written before. The head only moves forward, never past the written checkpoints, so
// the ring never appears to hold more than its size. A doorbell in range is accepted in the next
// clock. Any other doorbell changes nothing and is a fault in that clock.
//
// Assumed: the tail is zero after an open; after that it grows by at most one, and only while the
// ring has space (as checkpoint ensures).
module checkpoint_head_props (
    input logic clk,
    input logic reset,
    input logic open,
    input logic we,
    input logic [31:0] value,
    input logic written
);
  localparam logic [31:0] Most = 32'd256;  // Entries of the largest ring.

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [31:0] tail_q, head;
  logic fault;
  checkpoint_head dut (
      .clk_i(clk),
      .rst_i(rst),
      .open_i(open),
      .we_i(we),
      .value_i(value),
      .tail_i(tail_q),
      .head_o(head),
      .fault_o(fault)
  );
  always_ff @(posedge clk) tail_q <= rst || open ? '0 : tail_q + 32'(written);
  always_comb if (written) assume (tail_q - head < Most);

  // The doorbell of the clock before, and its expected result.
  logic asked_q, after_q, opened_q, good_q, known_q;
  logic [31:0] value_q, head_q;
  always_ff @(posedge clk) begin
    known_q <= started;
    opened_q <= rst || open;
    asked_q <= !rst && !open && we;
    after_q <= asked_q;
    good_q <= value - head <= tail_q - head;
    value_q <= value;
    head_q <= head;
  end
  // The expected result one clock later, when the doorbell has been accepted.
  logic taken_q;
  logic [31:0] taken_value_q;
  always_ff @(posedge clk) begin
    taken_q <= !rst && !open && asked_q && !fault;
    taken_value_q <= value_q;
  end

  always_comb begin
    if (started && known_q) begin
      if (opened_q) assert (head == '0 && !fault);
      assert (tail_q - head <= Most);
      if (!opened_q) begin
        assert (fault == (asked_q && !(good_q && !after_q)));
        assert (head == (taken_q ? taken_value_q : head_q));
        assert (head - head_q <= tail_q - head_q);
      end

      // ---- invariants for the induction
      assert (dut.asked_q == asked_q && dut.value_q == value_q);
      if (asked_q) assert (dut.bad_q == !(good_q && !after_q));

      // ---- not vacuous
      cover (taken_q && head == 32'd2 && tail_q == 32'd3);
      cover (fault && !after_q);
      cover (opened_q && head_q == 32'd3 && !rst);
    end
  end
endmodule
