// The host's doorbell of the checkpoint ring: how many checkpoints of this session it has consumed.
//
// A doorbell is compared in the clock of its write and taken in the next, in which `fault_o` is
// high instead when it is out of range: the head moves forward only, at most up to the checkpoints
// that were written. A refused doorbell changes nothing; one in the clock after another is refused.
// After reset, and after `open_i`: zero. The caller owes: `tail_i`, which `open_i` zeroes too and
// which only grows otherwise.
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
