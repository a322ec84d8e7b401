// What is proved of the states of stream slots, without bound: a slot changes only by a save to it
// and by a clear, and then to what was saved or cleared to; a clear leaves no slot out. A read
// gives the content of its slot one clock later, and the answer holds until the next read.
//
// A word that was saved or cleared has its parity, over its content and the number of its slot. Two
// clocks after a read, the change is reported if and only if the word does not have its parity. The
// content at that time is arbitrary, as if bits had changed. Any one slot is watched for good.
//
// Assumed, as the module asks: slots that there are, no read beside a save, and neither during a
// clear.
module text_slots_props (
    input logic clk,
    input logic reset,
    input logic clear,
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
  logic clearing, changed;
  text_slots #(
      .MaxStreams(MaxStreams),
      .Bits(8)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .clear_i(clear),
      .clearing_o(clearing),
      .slot_i(slot),
      .read_i(read),
      .state_o(answer),
      .changed_o(changed),
      .save_i(save),
      .state_i(state)
  );
  always_comb begin
    assume (32'(slot) < MaxStreams);
    assume (!(read && save));
    assume (!(clearing && (read || save)));
  end

  logic [2:0] watched;
  always_ff @(posedge clk) watched <= watched;
  always_comb assume (32'(watched) < MaxStreams);

  logic [8:0] word, word_q;
  logic [7:0] saved_q, answer_q;
  logic mine, writes, is_saved_q, other_saved_q, was_read_q, was_any_read_q, was_write_q;
  logic was_seen_q, odd_q, odd2_q, was_read2_q, was_any_read2_q;
  logic is_cleared_q, was_clearing_q, live_q;
  assign word = dut.mem[watched];
  assign mine = slot == 16'(watched);
  assign writes = (save && mine) || (clearing && dut.clear_slot_q == watched);
  always_ff @(posedge clk) begin
    word_q <= word;
    answer_q <= answer;
    was_seen_q <= started;
    was_write_q <= writes;
    was_any_read_q <= read;
    was_read_q <= read && mine;
    live_q <= !rst;
    odd_q <= ^{word, watched};
    odd2_q <= odd_q;
    was_any_read2_q <= was_any_read_q && live_q && !rst;
    was_read2_q <= was_read_q && live_q && !rst;
    if (writes) saved_q <= state;
    is_saved_q <= started && (is_saved_q || writes);
    other_saved_q <= started && (other_saved_q || (is_saved_q && save && !mine));
    was_clearing_q <= clearing && !clear && !rst;
    is_cleared_q <= !rst && !clear && (is_cleared_q || (clearing && dut.clear_slot_q == watched));
  end

  always_comb begin
    if (started && was_seen_q) begin
      if (was_write_q) assert (word[7:0] == saved_q && !(^{word, watched}));
      else assert (word == word_q);
      if (is_saved_q) assert (word[7:0] == saved_q && !(^{word, watched}));
      if (was_read_q) assert (answer == word_q[7:0]);
      if (!was_any_read_q) assert (answer == answer_q);
      // The report.
      if (was_read2_q) assert (changed == odd2_q);
      if (!was_any_read2_q) assert (!changed);
      // A clear.
      if (clearing) assert (32'(dut.clear_slot_q) < MaxStreams);
      if (clearing && dut.clear_slot_q > watched) assert (is_cleared_q);
      if (was_clearing_q && !clearing) assert (is_cleared_q);
      // The steps of the proof.
      assert (dut.read_q == (was_any_read_q && live_q));
      if (was_read_q) assert (dut.word_q == word_q && dut.slot_q == watched);
      // Not vacuous: a slot is read back behind a save to another one; a change is reported; a
      // clear ends.
      cover (was_read_q && is_saved_q && other_saved_q && answer == 8'h5a);
      cover (was_read2_q && changed);
      cover (was_clearing_q && !clearing && watched == 3'd4);
    end
  end
endmodule
