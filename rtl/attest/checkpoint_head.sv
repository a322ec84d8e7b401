// The host's doorbell of the checkpoint ring: how many checkpoints of this session it has consumed.
//
// A doorbell is checked in the clock of its write and accepted in the next. If it is out of range,
// `fault_o` is high in that next clock instead. The head only moves forward, at most to the number
// of written checkpoints. A refused doorbell changes nothing. A doorbell in the clock after another
// is refused.
// After reset, and after `open_i`: zero.
// Duties of the caller: a `tail_i` that `open_i` zeroes and that only grows otherwise.
module checkpoint_head (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        open_i,
    input  logic        we_i,
    input  logic [31:0] value_i,
    input  logic [31:0] tail_i,  // Checkpoints written.
    output logic [31:0] head_o,  // Checkpoints consumed.
    output logic        fault_o  // One clock.
);
  logic asked_q, bad_q;
  logic [31:0] value_q;

  always_ff @(posedge clk_i) begin
    value_q <= value_i;
    bad_q <= asked_q || value_i - head_o > tail_i - head_o;
    asked_q <= we_i && !open_i && !rst_i;
    if (rst_i || open_i) head_o <= '0;
    else if (asked_q && !bad_q) head_o <= value_q;
  end
  assign fault_o = asked_q && bad_q;
endmodule
