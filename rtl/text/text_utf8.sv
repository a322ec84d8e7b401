// Whether the bytes of an entry are whole characters in UTF-8 (RFC 3629).
//
// Latency: `whole_o` one clock after a byte. After reset and after a start: whole.
module text_utf8
  import text_pkg::*;
(
    input  logic  clk_i,
    input  logic  rst_i,
    input  logic  start_i,
    input  item_t item_i,
    output logic  whole_o
);
  logic [1:0] left_q, left_d;
  logic [7:0] low_q, low_d, high_q, high_d;
  logic bad_q, bad_d;
  assign whole_o = left_q == 2'd0 && !bad_q;

  always_comb begin
    bad_d = bad_q;
    left_d = 2'd0;
    low_d = 8'h80;
    high_d = 8'hbf;
    if (left_q != 2'd0) begin
      left_d = left_q - 2'd1;
      bad_d = bad_q || item_i.data < low_q || item_i.data > high_q;
    end else begin
      unique case (item_i.data) inside
        [8'h00 : 8'h7f]: left_d = 2'd0;
        [8'hc2 : 8'hdf]: left_d = 2'd1;
        8'he0: {left_d, low_d} = {2'd2, 8'ha0};
        8'hed: {left_d, high_d} = {2'd2, 8'h9f};
        [8'he1 : 8'hec], [8'hee : 8'hef]: left_d = 2'd2;
        8'hf0: {left_d, low_d} = {2'd3, 8'h90};
        [8'hf1 : 8'hf3]: left_d = 2'd3;
        8'hf4: {left_d, high_d} = {2'd3, 8'h8f};
        default: bad_d = 1'b1;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) begin
      left_q <= 2'd0;
      low_q <= 8'h80;
      high_q <= 8'hbf;
      bad_q <= 1'b0;
    end else if (item_i.kind == ItemByte) begin
      left_q <= left_d;
      low_q <= low_d;
      high_q <= high_d;
      bad_q <= bad_d;
    end
  end
endmodule
