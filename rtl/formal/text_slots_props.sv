// What is proved of the states of stream slots, without bound: a slot changes only by a save to it,
// and then to what was saved; a read gives what the last save to its slot gave, one clock later,
// and the answer holds until the next read. Any one slot is watched for good.
//
// Assumed, as the module asks: slots that there are, and no read beside a save.
module text_slots_props (
    input logic clk,
    input logic reset,
    input logic [15:0] slot,
    input logic read,
    input logic save,
    input logic [7:0] state
);
  localparam int unsigned MaxStreams = 5;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [7:0] answer;
  text_slots #(
      .MaxStreams(MaxStreams),
      .Bits(8)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .slot_i(slot),
      .read_i(read),
      .state_o(answer),
      .save_i(save),
      .state_i(state)
  );
  always_comb begin
    assume (32'(slot) < MaxStreams);
    assume (!(read && save));
  end

  logic [2:0] watched;
  always_ff @(posedge clk) watched <= watched;
  always_comb assume (32'(watched) < MaxStreams);

  logic [7:0] word, word_q, saved_q, answer_q;
  logic mine, is_saved_q, other_saved_q, was_read_q, was_any_read_q, was_save_q, was_seen_q;
  assign word = dut.mem[watched];
  assign mine = slot == 16'(watched);
  always_ff @(posedge clk) begin
    word_q <= word;
    answer_q <= answer;
    was_seen_q <= started;
    was_save_q <= save && mine;
    was_any_read_q <= read;
    was_read_q <= read && mine;
    if (save && mine) saved_q <= state;
    is_saved_q <= started && (is_saved_q || (save && mine));
    other_saved_q <= started && (other_saved_q || (is_saved_q && save && !mine));
  end

  always_comb begin
    if (started && was_seen_q) begin
      if (was_save_q) assert (word == saved_q);
      else assert (word == word_q);
      if (is_saved_q) assert (word == saved_q);
      if (was_read_q) assert (answer == word_q);
      if (!was_any_read_q) assert (answer == answer_q);
      // Not vacuous: a slot is read back behind a save to another one.
      cover (was_read_q && is_saved_q && other_saved_q && answer == 8'h5a);
    end
  end
endmodule
