// What is proved of the places of text windows, without bound. While the configuration is locked,
// no address changes. The window of slot s begins at byte s << stride of the blocks, at the address
// that was last written for its block, and has 2^stride bytes; a slot outside the blocks, or whose
// address would wrap, has no window. So the windows of two slots never share a byte of a block. A
// word that was not written whole is zero. `placed_o` is high exactly if the stride is allowed and
// every block starts at a multiple of 4 KiB.
//
// Two lanes; any accesses, any slots, any stride that is constant while a place is looked up.
module text_blocks_props
  import gate_pkg::*;
  import text_pkg::*;
(
    input logic clk,
    input table_access_t access,
    input logic locked,
    input logic [7:0] stride,
    input logic [1:0][15:0] slot
);
  localparam int unsigned Blocks = 7;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  table_answer_t answer;
  logic placed;
  place_t [1:0] place;
  text_blocks #(
      .Lanes(2),
      .Blocks(Blocks)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .access_i(access),
      .locked_i(locked),
      .answer_o(answer),
      .stride_i(stride),
      .placed_o(placed),
      .slot_i(slot),
      .place_o(place)
  );

  // ---- the addresses of the blocks that were written
  logic [Blocks-1:0][63:0] blocks_q, blocks_before_q;
  logic was_locked_q, was_read_q, known_q;
  logic [31:0] was_word_q;
  logic [7:0] stride_q;
  logic [1:0][15:0] slot1_q, slot2_q;
  logic [Blocks-1:0][63:0] at_q;
  logic [4:0] number;
  assign number = access.word[5:1];
  always_ff @(posedge clk) begin
    known_q <= started;
    if (rst) blocks_q <= '0;
    else if (access.valid && access.write && !locked && 32'(number) < Blocks)
      blocks_q[number[2:0]][32*access.word[0]+:32] <= access.whole ? access.data : '0;
    blocks_before_q <= blocks_q;
    was_locked_q <= !rst && locked;
    was_read_q <= !rst && access.valid && !access.write;
    was_word_q <= 32'(number) < Blocks ? blocks_q[number[2:0]][32*access.word[0]+:32] : '0;
    stride_q <= stride;
    {slot1_q, slot2_q} <= {slot, slot1_q};
    at_q <= blocks_q;
  end
  always_comb if (known_q) assume (stride == stride_q);

  // The address of each slot's window, in more bits than an address has.
  logic [1:0][40:0] place_of;
  logic [1:0][65:0] address;
  logic allowed, any_bad;
  assign allowed = stride >= 8'd11 && stride <= 8'd17;
  for (genvar l = 0; l < 2; l++) begin : g_lane
    assign place_of[l] = 41'(slot2_q[l]) << stride[4:0];
    assign address[l] = 66'(at_q[place_of[l][23:21]]) + 66'(place_of[l][20:0]);
  end
  always_comb begin
    any_bad = 1'b0;
    for (int unsigned i = 0; i < Blocks; i++) any_bad |= blocks_q[i][11:0] != '0;
  end

  logic second_q = 1'b0, third_q = 1'b0;
  always_ff @(posedge clk) {second_q, third_q} <= {known_q && started, second_q};
  always_comb begin
    if (started) begin
      // ---- the claims
      if (was_locked_q) assert (blocks_q == blocks_before_q);
      assert (placed == (allowed && !any_bad));
      if (third_q && allowed) begin
        for (int unsigned l = 0; l < 2; l++) begin
          assert (place[l].outside
              == (place_of[l][40:21] >= 20'(Blocks) || address[l][65:64] != '0));
          if (!place[l].outside) assert (place[l].address == address[l][63:0]);
          assert (64'(place[l].beats) * 64'd64 == 64'd1 << stride);
        end
      end
      assert (answer.ack == was_read_q);
      if (was_read_q) assert (answer.data == was_word_q);

      // ---- what the induction needs
      for (int unsigned i = 0; i < Blocks; i++) begin
        assert (blocks_q[i][31:0] == (dut.low_valid_q[i] ? dut.low[i] : 32'd0));
        assert (blocks_q[i][63:32] == (dut.high_valid_q[i] ? dut.high[i] : 32'd0));
        assert (dut.misaligned_q[i] == (blocks_q[i][11:0] != '0));
      end
      assert (dut.misaligned_q[31:Blocks] == '0 && dut.low_valid_q[31:Blocks] == '0
          && dut.high_valid_q[31:Blocks] == '0);
      if (second_q && allowed) begin
        assert ({dut.g_lane[0].number_q, dut.g_lane[0].offset_q}
            == 33'(41'(slot1_q[0]) << stride[4:0]));
        assert ({dut.g_lane[1].number_q, dut.g_lane[1].offset_q}
            == 33'(41'(slot1_q[1]) << stride[4:0]));
      end

      // ---- not vacuous
      cover (third_q && allowed && !place[1].outside && place[1].address[63:32] == 32'd7);
      cover (third_q && allowed && place[1].outside);
      cover (third_q && placed && was_locked_q && access.valid && access.write);
    end
  end
endmodule
