// Shares a lane's read channel between its ring and its text lane.
//
// In the id of a text read, only the top bit of the lane's own bits is set. An answer with this bit
// goes to the text lane, any other answer to the ring. If both have a request, the owner of the
// last request waits. A request stays until it is taken, or until its owner's watchdog removes it.
//
// Latency: none, except for waiting.
// After reset: no request. Duties of the caller: ids of the ring below 2^(OwnBits - 1).
module read_share
  import axi_pkg::*;
#(
    parameter int unsigned OwnBits = 5  // Bits of an id that are the lane's own: 2 to 5.
) (
    input  logic     clk_i,
    input  logic     rst_i,
    input  request_t ring_ar_i,
    input  logic     ring_ar_valid_i,
    output logic     ring_ar_ready_o,
    output logic     ring_r_valid_o,
    input  request_t text_ar_i,
    input  logic     text_ar_valid_i,
    output logic     text_ar_ready_o,
    output logic     text_r_valid_o,
    output read_t    text_r_o,         // Without its own bit.
    // The lane's channel; the ring gets the answers in `r_i` unchanged.
    output request_t ar_o,
    output logic     ar_valid_o,
    input  logic     ar_ready_i,
    input  read_t    r_i,
    input  logic     r_valid_i
);
  if (OwnBits < 2 || OwnBits > 5) begin : g_own_bits
    $fatal(1, "read_share: OwnBits is 2 to 5");
  end
  localparam logic [4:0] TextId = 5'd1 << (OwnBits - 1);

  logic held_q, text_turn_q, text;  // The turn is that of the last request.
  assign text = held_q ? text_turn_q : text_ar_valid_i && !(ring_ar_valid_i && text_turn_q);
  assign ar_valid_o = text ? text_ar_valid_i : ring_ar_valid_i;
  always_comb begin
    ar_o = text ? text_ar_i : ring_ar_i;
    if (text) ar_o.id = text_ar_i.id | TextId;
  end
  assign text_ar_ready_o = ar_ready_i && text;
  assign ring_ar_ready_o = ar_ready_i && !text;

  always_ff @(posedge clk_i) begin
    if (rst_i) {held_q, text_turn_q} <= '0;
    else begin
      held_q <= ar_valid_o && !ar_ready_i;
      if (ar_valid_o) text_turn_q <= text;
    end
  end

  logic to_text;
  assign to_text = (r_i.id & TextId) != '0;
  assign text_r_valid_o = r_valid_i && to_text;
  assign ring_r_valid_o = r_valid_i && !to_text;
  always_comb begin
    text_r_o = r_i;
    text_r_o.id = r_i.id & ~TextId;
  end
endmodule
