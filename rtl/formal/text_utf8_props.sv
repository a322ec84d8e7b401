// Proves, without bound: the answer is "whole" if and only if the bytes since the start are
// characters in UTF-8 by the definition of RFC 3629. The definition here decodes each character to
// its number and judges the number: not longer than needed, no surrogate, at most 10ffff. So it
// shares nothing with the ranges of bytes in text_utf8.
//
// Bytes, starts and pauses are arbitrary.
module text_utf8_props
  import text_pkg::*;
(
    input logic clk,
    input logic start,
    input item_t item
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic whole;
  text_utf8 dut (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .item_i(item),
      .whole_o(whole)
  );

  // The character that is being read: its length in bytes, the bytes that are still to come, and
  // its number so far.
  logic [2:0] length_q, left_q;
  logic [20:0] number_q;
  logic wrong_q;  // A character before this one, or a byte of this one, is none.

  function automatic logic is_character(logic [2:0] length, logic [20:0] number);
    case (length)
      3'd2: return number >= 21'h80;
      3'd3: return number >= 21'h800 && !(number >= 21'hd800 && number <= 21'hdfff);
      3'd4: return number >= 21'h1_0000 && number <= 21'h10_ffff;
      default: return 1'b0;
    endcase
  endfunction

  logic [20:0] more;
  assign more = {number_q[14:0], item.data[5:0]};
  always_ff @(posedge clk) begin
    if (rst || start) begin
      {length_q, left_q, wrong_q} <= '0;
      number_q <= '0;
    end else if (item.kind == ItemByte) begin
      if (left_q != '0) begin
        left_q <= left_q - 3'd1;
        number_q <= more;
        if (item.data[7:6] != 2'b10) wrong_q <= 1'b1;
        if (left_q == 3'd1 && !is_character(length_q, more)) wrong_q <= 1'b1;
      end else if (item.data[7]) begin
        if (item.data[7:5] == 3'b110) begin
          {length_q, left_q} <= {3'd2, 3'd1};
          number_q <= 21'(item.data[4:0]);
        end else if (item.data[7:4] == 4'b1110) begin
          {length_q, left_q} <= {3'd3, 3'd2};
          number_q <= 21'(item.data[3:0]);
        end else if (item.data[7:3] == 5'b11110) begin
          {length_q, left_q} <= {3'd4, 3'd3};
          number_q <= 21'(item.data[2:0]);
        end else wrong_q <= 1'b1;
      end
    end
  end

  // The lowest number that the character can still become. When the second byte is known, all that
  // it can become are characters, or none is.
  logic [20:0] lowest;
  always_comb begin
    lowest = number_q;
    if (left_q == 3'd1) lowest = number_q << 6;
    if (left_q == 3'd2) lowest = number_q << 12;
  end
  logic second_q;  // The second byte is known.
  assign second_q = left_q != '0 && left_q + 3'd1 < length_q;
  logic first;  // Only the first byte is known, and it begins a character.
  assign first = left_q != '0 && left_q + 3'd1 == length_q;

  always_comb begin
    if (started) begin
      // The claim.
      assert (whole == (left_q == '0 && !wrong_q));
      // The steps of the proof.
      if (wrong_q) assert (dut.bad_q);
      assert (left_q == '0 || first || second_q);
      assert (left_q <= 3'd3 && (left_q == '0 || (length_q >= 3'd2 && length_q <= 3'd4)));
      if (first && length_q == 3'd2) assert (number_q <= 21'h1f);
      if (first && length_q == 3'd3) assert (number_q <= 21'hf);
      if (first && length_q == 3'd4) assert (number_q <= 21'h7);
      if (second_q) begin
        assert (number_q < (length_q == 3'd3 ? 21'h400 : left_q == 3'd2 ? 21'h200 : 21'h8000));
      end
      if (!dut.bad_q) begin
        assert (3'(dut.left_q) == left_q);
        if (second_q) assert (is_character(length_q, lowest));
        if (second_q) assert (dut.low_q == 8'h80 && dut.high_q == 8'hbf);
        if (first && length_q == 3'd2) assert (number_q >= 21'h2);
        if (first && length_q == 3'd4) assert (number_q <= 21'h4);
        if (first) begin
          assert (dut.low_q == (length_q == 3'd3 && number_q == 21'h0 ? 8'ha0
              : length_q == 3'd4 && number_q == 21'h0 ? 8'h90 : 8'h80));
          assert (dut.high_q == (length_q == 3'd3 && number_q == 21'hd ? 8'h9f
              : length_q == 3'd4 && number_q == 21'h4 ? 8'h8f : 8'hbf));
        end
      end else if (!wrong_q) begin
        // The card has found the fault earlier than the definition does.
        assert (left_q != '0);
        if (first) begin
          assert (length_q == 3'd2 ? number_q < 21'h2 : length_q == 3'd4 && number_q > 21'h4);
        end
        if (second_q) assert (!is_character(length_q, lowest));
      end
      // Not vacuous: characters of each length are whole; a surrogate is not.
      cover (whole && length_q == 3'd2 && number_q == 21'h80);
      cover (whole && length_q == 3'd3 && number_q == 21'hd7ff);
      cover (whole && length_q == 3'd4 && number_q == 21'h10_ffff);
      cover (!whole && left_q == '0 && length_q == 3'd3 && number_q == 21'hd800);
      cover (!whole && left_q == '0 && length_q == 3'd4 && number_q == 21'h11_0000);
    end
  end
endmodule
