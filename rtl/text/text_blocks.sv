// Where the text windows stand in host memory: the addresses of their blocks of 2 MiB, and the
// place of each slot's window.
//
// The window of slot s starts at byte s << `stride_i` of the blocks. A word of an address can be
// written only while `locked_i` is low; a word that was not written, or only in part, is zero.
// `placed_o` is high if the stride is allowed and every block starts at a multiple of 4 KiB.
//
// Latency: reads acknowledge one clock after the access; `place_o` two clocks after `slot_i`.
// After reset: every address zero. Duties of the caller: `stride_i` constant while slots are used.
module text_blocks
  import gate_pkg::*;
  import text_pkg::*;
#(
    parameter int unsigned Lanes = 1,   // One read port each.
    parameter int unsigned Blocks = 32  // 1 to 32. Each costs 64 bits of LUT RAM per port.
) (
    input  logic                       clk_i,
    input  logic                       rst_i,
    input  table_access_t              access_i,  // `row` is not used: the window has only one.
    input  logic                       locked_i,
    output table_answer_t              answer_o,
    input  logic [7:0]                 stride_i,
    output logic                       placed_o,
    input  logic   [Lanes-1:0][15:0]   slot_i,
    output place_t [Lanes-1:0]         place_o
);
  if (Blocks < 1 || Blocks > 32) begin : g_blocks
    $fatal(1, "text_blocks: Blocks must be 1 to 32");
  end

  (* ram_style = "distributed" *) logic [31:0] low[32];
  (* ram_style = "distributed" *) logic [31:0] high[32];
  logic [31:0] low_valid_q, high_valid_q, misaligned_q;
  logic [4:0] block;
  logic write;
  assign block = access_i.word[5:1];
  assign write = access_i.valid && access_i.write && !locked_i && 32'(block) < Blocks;

  always_ff @(posedge clk_i) begin
    if (write && !access_i.word[0]) low[block] <= access_i.data;
    if (write && access_i.word[0]) high[block] <= access_i.data;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {low_valid_q, high_valid_q, misaligned_q} <= '0;
      answer_o <= '0;
    end else begin
      if (write && !access_i.word[0]) begin
        low_valid_q[block] <= access_i.whole;
        misaligned_q[block] <= access_i.whole && access_i.data[11:0] != '0;
      end
      if (write && access_i.word[0]) high_valid_q[block] <= access_i.whole;
      answer_o.ack <= access_i.valid && !access_i.write;
      if (access_i.valid && !access_i.write) begin
        answer_o.data <= '0;
        if (access_i.word[0] && high_valid_q[block]) answer_o.data <= high[block];
        if (!access_i.word[0] && low_valid_q[block]) answer_o.data <= low[block];
      end
    end
  end

  assign placed_o = misaligned_q == '0 && stride_i >= 8'(StrideMin) && stride_i <= 8'(StrideMax);

  // ---- places
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [32:0] byte_of;
    logic [11:0] number_q;
    logic [BlockLog2-1:0] offset_q;
    logic [63:0] base;
    logic [64:0] address;
    assign byte_of = 33'(slot_i[l]) << stride_i[4:0];
    assign base = {
      high_valid_q[number_q[4:0]] ? high[number_q[4:0]] : 32'd0,
      low_valid_q[number_q[4:0]] ? low[number_q[4:0]] : 32'd0
    };
    assign address = 65'(base) + 65'(offset_q);
    always_ff @(posedge clk_i) begin
      {number_q, offset_q} <= byte_of;
      place_o[l].address <= address[63:0];
      place_o[l].outside <= 32'(number_q) >= Blocks || address[64];
      place_o[l].beats <= WindowBits'(1) << (stride_i[4:0] - 5'd6);
    end
  end
endmodule
