// The image header: 32 words that are written in LOAD, and the checks of the header at OPEN.
//
// A word is valid after a write with all strobes; an invalid word reads as zero. A write happens in
// the clock of `access_i`, and only if `locked_i` is low in that clock. One clock after `check_i`,
// two answers are registered. `fits_o`: magic, version, map digest, reserved bits and row counts
// fit this card. `complete_o`: every word was written.
//
// Latency: reads acknowledge one clock after the access.
// After reset: no word valid, `header_o` all zero, neither answer.
// Duties of the caller: `check_i` only while locked.
module image_header
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,  // Rows of the policy bank.
    parameter int unsigned EntropyRows = 64   // Rows of the entropy bank.
) (
    input  logic          clk_i,
    input  logic          rst_i,
    input  table_access_t access_i,  // `row` is not used: the window has one row.
    input  logic          locked_i,
    input  logic          clear_i,  // Every word becomes invalid and zero.
    output table_answer_t answer_o,
    input  logic          check_i,
    output logic          fits_o,
    output logic          complete_o,
    output image_header_t header_o
);
  logic [HeaderWords-1:0][31:0] words_q;
  logic [HeaderWords-1:0] valid_q;
  logic [4:0] word;
  logic write;
  image_header_t header;

  assign header = words_q;
  assign header_o = header;
  assign word = access_i.word[4:0];
  assign write = access_i.valid && access_i.write && !locked_i && access_i.word < 6'(HeaderWords);

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      words_q <= '0;
      valid_q <= '0;
    end else if (write) begin
      words_q[word] <= access_i.whole ? access_i.data : '0;
      valid_q[word] <= access_i.whole;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      answer_o <= '0;
      fits_o <= 1'b0;
      complete_o <= 1'b0;
    end else begin
      answer_o.ack <= access_i.valid && !access_i.write;
      if (access_i.valid && !access_i.write) begin
        answer_o.data <= access_i.word < 6'(HeaderWords) ? words_q[word] : '0;
      end
      if (check_i) begin
        complete_o <= &valid_q;
        fits_o <= header.magic == 32'(ImageMagic) && header.version == 8'(LayoutVersion)
            && header.map_digest == MapDigest
            && header.parts == '0 && header.reserved_12 == '0 && header.reserved_48 == '0
            && header.quantities[7:4] == '0
            && header.policy_rows != '0 && 32'(header.policy_rows) <= PolicyRows
            && header.entropy_rows != '0 && 32'(header.entropy_rows) <= EntropyRows;
      end
    end
  end
endmodule
