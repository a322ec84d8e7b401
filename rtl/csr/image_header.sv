// The image header and its text part: 32 and 16 words, written in LOAD, and the checks of them for
// OPEN. A card without a text lane has no words for the text part, and allows none.
//
// A word is valid after a write with all strobes; an invalid word reads as zero. Writes happen in
// the clock of `access_i`, and only while `locked_i` is low in that clock. One clock after
// `check_i`, two answers are registered: `fits_o` (magic, version, map digest, reserved bits and
// row counts fit this card) and `complete_o` (every word of the header was written, and every word
// of the text part if the header asks for one).
//
// Latency: reads acknowledge one clock after the access.
// After reset: no word valid, `header_o` all zero, both answers low.
// Duties of the caller: `check_i` only while locked.
module image_header
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,  // Rows of the policy bank.
    parameter int unsigned EntropyRows = 64,  // Rows of the entropy bank.
    parameter bit Text = 1'b0                 // The card has a text lane.
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
    output image_header_t header_o,
    output logic          has_text_o,  // The header asks for the text part.
    output image_text_t   text_o
);
  localparam int unsigned Words = HeaderWords + (Text ? TextWords : 0);
  logic [Words-1:0][31:0] words_q;
  logic [Words-1:0] valid_q;
  logic in_window, write, text_fits, text_complete;
  logic [$clog2(Words)-1:0] word;
  image_header_t header;

  assign header = words_q[HeaderWords-1:0];
  assign header_o = header;
  assign word = access_i.word[$clog2(Words)-1:0];
  assign in_window = 32'(access_i.word) < Words;
  assign write = access_i.valid && access_i.write && !locked_i && in_window;

  if (Text) begin : g_text
    image_text_t text;
    assign text = words_q[HeaderWords+:TextWords];
    assign text_o = text;
    assign has_text_o = header.parts[ImagePartsTextBit];
    assign text_fits = (header.parts & ~(8'd1 << ImagePartsTextBit)) == '0
        && (!has_text_o || image_text_reserved_is_zero(text));
    assign text_complete = !has_text_o || (&valid_q[HeaderWords+:TextWords]);
  end else begin : g_no_text
    assign text_o = '0;
    assign has_text_o = 1'b0;
    assign text_fits = header.parts == '0;
    assign text_complete = 1'b1;
  end

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
        answer_o.data <= in_window ? words_q[word] : '0;
      end
      if (check_i) begin
        complete_o <= (&valid_q[HeaderWords-1:0]) && text_complete;
        fits_o <= header.magic == 32'(ImageMagic) && header.version == 8'(LayoutVersion)
            && header.map_digest == MapDigest
            && text_fits && image_header_reserved_is_zero(header)
            && header.quantities[7:4] == '0
            && header.policy_rows != '0 && 32'(header.policy_rows) <= PolicyRows
            && header.entropy_rows != '0 && 32'(header.entropy_rows) <= EntropyRows;
      end
    end
  end
endmodule
