// Proves, for two unrelated clocks that may stop: every accepted entry leaves the queue once,
// unchanged and in order. The queue never has more entries than its capacity. An offer holds until
// it is accepted. An entry is offered at most three edges of the reader after its write. A crossing
// pointer changes by at most one bit at a time, so a bit sampled during its change gives the old or
// the new pointer, and both are correct. In reset nothing is accepted. The proof is by induction,
// so it holds for runs of any length. Metastability is not modelled.
module async_fifo_props (
    input logic a_clk,
    input logic b_clk,
    input logic push,
    input logic [1:0] data,
    input logic pop
);
  localparam int unsigned Log2 = 2;
  typedef logic [Log2:0] pointer_t;
  function automatic pointer_t gray(pointer_t binary);
    return binary ^ (binary >> 1);
  endfunction
  function automatic pointer_t binary(pointer_t code);
    return code ^ (code >> 1) ^ (code >> 2);
  endfunction
  function automatic logic one_bit(pointer_t a, pointer_t b);
    return ((a ^ b) & ((a ^ b) - pointer_t'(1))) == '0;
  endfunction

  // As the module requires, the reset lasts until each clock has had three edges after the first
  // edge of the other clock during the reset.
  logic [2:0] a_seen = '0;
  logic [2:0] b_seen = '0;
  always_ff @(posedge a_clk) begin
    if (!a_seen[2] && (b_seen != '0 || a_seen == '0)) a_seen <= a_seen + 3'd1;
  end
  always_ff @(posedge b_clk) begin
    if (!b_seen[2] && (a_seen != '0 || b_seen == '0)) b_seen <= b_seen + 3'd1;
  end
  logic rst;
  assign rst = !(a_seen[2] && b_seen[2]);

  logic ready, valid;
  logic [1:0] out;
  async_fifo #(
      .Width(2),
      .Log2(Log2)
  ) dut (
      .wr_clk_i(a_clk), .wr_rst_i(rst), .wr_valid_i(push), .wr_ready_o(ready), .wr_data_i(data),
      .rd_clk_i(b_clk), .rd_rst_i(rst), .rd_valid_o(valid), .rd_ready_i(pop), .rd_data_o(out)
  );

  // The numbers of entries in and out, modulo 16; and one arbitrary entry, which is tracked.
  logic [3:0] which_q, pushed_q, popped_q, pulled;
  logic [1:0] its_q;
  pointer_t wr_gray_was_q;
  always_ff @(posedge a_clk) begin
    which_q <= which_q;
    wr_gray_was_q <= rst ? '0 : dut.wr_gray_q;
    if (rst) begin
      pushed_q <= '0;
    end else if (push && ready) begin
      pushed_q <= pushed_q + 4'd1;
      if (pushed_q == which_q) its_q <= data;
    end
  end
  logic held_q;
  logic [1:0] out_q, waited_q;
  pointer_t rd_gray_was_q;
  always_ff @(posedge b_clk) begin
    rd_gray_was_q <= rst ? '0 : dut.rd_gray_q;
    held_q <= !rst && valid && !pop;
    out_q <= out;
    if (rst) popped_q <= '0;
    else if (valid && pop) popped_q <= popped_q + 4'd1;
    // Edges of the reader for which an entry has waited without being offered.
    waited_q <= !rst && !valid && dut.wr_q != dut.rd_q ? waited_q + 2'd1 : '0;
  end
  assign pulled = popped_q + 4'(valid);

  // Every pointer, counted from the oldest pointer value on either side.
  pointer_t oldest;
  assign oldest = binary(dut.rd_seen_q[1]);
  function automatic pointer_t from_oldest(pointer_t of);
    return of - oldest;
  endfunction

  always_comb begin
    if (!rst) begin
      // Entries that were pushed and not popped are in the queue in order, with the tracked entry
      // unchanged.
      assert (pushed_q - popped_q <= 4'd5);
      assert (!valid || pushed_q != popped_q);
      if (valid && popped_q == which_q) assert (out == its_q);
      if (4'(which_q - pulled) < 4'(pushed_q - pulled))
        assert (dut.ram_q[which_q[Log2-1:0]] == its_q);
      assert (pushed_q[Log2:0] == dut.wr_q && pulled[Log2:0] == dut.rd_q);
      assert (pushed_q - pulled == 4'(pointer_t'(dut.wr_q - dut.rd_q)));
      // The offer holds, and comes in time.
      if (held_q) assert (valid && out == out_q);
      if (waited_q == 2'd1) assert (valid || dut.wr_seen_q[0] != dut.rd_gray_q);
      if (waited_q == 2'd2) assert (valid || dut.wr_seen_q[1] != dut.rd_gray_q);
      if (waited_q == 2'd3) assert (valid);
      // The pointers are the Gray code of the counts, change one bit at a time, and never overtake
      // each other.
      assert (dut.wr_gray_q == gray(dut.wr_q) && dut.rd_gray_q == gray(dut.rd_q));
      assert (one_bit(dut.wr_gray_q, wr_gray_was_q) && one_bit(dut.rd_gray_q, rd_gray_was_q));
      assert (from_oldest(binary(dut.rd_seen_q[0])) <= from_oldest(dut.rd_q));
      assert (from_oldest(dut.rd_q) <= from_oldest(binary(dut.wr_seen_q[1])));
      assert (from_oldest(binary(dut.wr_seen_q[1])) <= from_oldest(binary(dut.wr_seen_q[0])));
      assert (from_oldest(binary(dut.wr_seen_q[0])) <= from_oldest(dut.wr_q));
      assert (from_oldest(dut.wr_q) <= pointer_t'(2 ** Log2));
    end
    // In reset, no entry is accepted and then lost.
    if (rst) assert (!ready);
    // A side that has had an edge in reset has its reset state.
    assert (a_seen <= 3'd4 && b_seen <= 3'd4);
    if (rst && a_seen != '0) begin
      assert (dut.wr_q == '0 && dut.wr_gray_q == '0 && dut.rd_seen_q[0] == '0
          && dut.rd_seen_q[1] == '0);
      assert (pushed_q == '0 && wr_gray_was_q == '0);
    end
    if (rst && b_seen != '0) begin
      assert (dut.rd_q == '0 && dut.rd_gray_q == '0 && dut.wr_seen_q[0] == '0
          && dut.wr_seen_q[1] == '0);
      assert (!valid && popped_q == '0 && rd_gray_was_q == '0 && waited_q == '0 && !held_q);
    end
  end

  always_ff @(posedge b_clk) begin
    cover (!rst && popped_q == 4'd2);
    cover (!rst && pushed_q - popped_q == 4'd5);
    cover (!rst && waited_q == 2'd3);
  end
endmodule
