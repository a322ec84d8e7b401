// What is proved, without bound, of the read channel that a lane's ring and its text lane share. A
// request on the channel comes from the ring or the text lane, unchanged except for the bit of the
// id that shows the owner. Only the owner sees that the channel accepts the request, in the same
// clock. A request that was not accepted stays, unless its owner removes it. An answer goes to
// exactly one of the two, by this bit. Each waits for at most one request of the other.
//
// Any requests, any bus. Assumed: ids of the ring below 2^(OwnBits - 1), the text lane's id zero,
// and requests that change only when they are accepted or removed.
module read_share_props
  import axi_pkg::*;
#(
    parameter int unsigned OwnBits = 5
) (
    input logic clk,
    input request_t ring_ar,
    input logic ring_valid,
    input request_t text_ar,
    input logic text_valid,
    input logic ready,
    input read_t r,
    input logic r_valid
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic ring_ready, ring_r, text_ready, text_r, valid;
  request_t ar;
  read_t text_read;
  read_share #(
      .OwnBits(OwnBits)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .ring_ar_i(ring_ar),
      .ring_ar_valid_i(ring_valid),
      .ring_ar_ready_o(ring_ready),
      .ring_r_valid_o(ring_r),
      .text_ar_i(text_ar),
      .text_ar_valid_i(text_valid),
      .text_ar_ready_o(text_ready),
      .text_r_valid_o(text_r),
      .text_r_o(text_read),
      .ar_o(ar),
      .ar_valid_o(valid),
      .ar_ready_i(ready),
      .r_i(r),
      .r_valid_i(r_valid)
  );

  // ---- the requests
  logic ring_waits_q, text_waits_q, was_held_q, was_text_q;
  request_t ring_q, text_q, was_q;
  logic is_text;
  assign is_text = ar.id[OwnBits-1];
  // Requests of the text lane that were accepted while the ring waited; and the reverse.
  logic [1:0] ring_passed_q, text_passed_q;
  always_ff @(posedge clk) begin
    ring_waits_q <= !rst && ring_valid && !ring_ready;
    text_waits_q <= !rst && text_valid && !text_ready;
    {ring_q, text_q, was_q} <= {ring_ar, text_ar, ar};
    was_held_q <= !rst && valid && !ready;
    was_text_q <= is_text;
    if (rst || !ring_valid || ring_ready) ring_passed_q <= '0;
    else if (valid && ready && ring_passed_q != '1) ring_passed_q <= ring_passed_q + 2'd1;
    if (rst || !text_valid || text_ready) text_passed_q <= '0;
    else if (valid && ready && text_passed_q != '1) text_passed_q <= text_passed_q + 2'd1;
  end
  always_comb begin
    assume (ring_ar.id < 5'd1 << (OwnBits - 1) && text_ar.id == '0);
    if (ring_waits_q && ring_valid) assume (ring_ar == ring_q);
    if (text_waits_q && text_valid) assume (text_ar == text_q);
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      if (valid) begin
        assert (is_text ? text_valid : ring_valid);
        if (is_text) assert (ar == {text_ar.id | 5'd1 << (OwnBits - 1), text_ar.len, text_ar.addr});
        else assert (ar == ring_ar);
      end
      if (ring_ready && ring_valid) assert (valid && ready && !is_text);
      if (text_ready && text_valid) assert (valid && ready && is_text);
      if (valid && ready) assert (is_text ? text_ready : ring_ready);
      if (was_held_q && (was_text_q ? text_valid : ring_valid)) assert (valid && ar == was_q);
      assert (!(ring_r && text_r) && (ring_r || text_r) == r_valid);
      if (r_valid) assert (text_r == r.id[OwnBits-1]);
      if (text_r) assert (text_read == {r.id & ~(5'd1 << (OwnBits - 1)), r.resp, r.last, r.data});
      assert (ring_passed_q <= 2'd1 && text_passed_q <= 2'd1);
      if (ready) assert (valid == (ring_valid || text_valid) || was_held_q);

      // ---- what the induction needs
      assert (dut.held_q == was_held_q);
      if (was_held_q) assert (dut.text_turn_q == was_text_q);
      if (ring_passed_q != '0) assert (dut.text_turn_q || was_held_q);
      if (ring_passed_q != '0 && was_held_q) assert (!was_text_q || !ring_waits_q);
      if (text_passed_q != '0) assert (!dut.text_turn_q || was_held_q);
      if (text_passed_q != '0 && was_held_q) assert (was_text_q || !text_waits_q);
      if (ring_passed_q != '0) assert (ring_waits_q);
      if (text_passed_q != '0) assert (text_waits_q);

      // ---- not vacuous: each waits for a request of the other; the text lane removes its request
      cover (text_passed_q == 2'd1 && text_ready);
      cover (ring_passed_q == 2'd1 && ring_ready);
      cover (was_held_q && was_text_q && !text_valid && ring_valid);
    end
  end
endmodule
