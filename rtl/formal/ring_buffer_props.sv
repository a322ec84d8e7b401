// Proves, without bound: each descriptor comes out with both stored beats and its ring index, and
// holds unchanged until it is accepted or flushed. A descriptor is only accepted when there is
// space, so none is overwritten, and each comes out once. One arbitrary slot of eight is watched.
//
// Nothing is assumed; ring_fetch proves that slots are reserved.
module ring_buffer_props
  import layout_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic flush,
    input logic store,
    input logic [3:0] store_at,
    input logic [511:0] beat,
    input logic ready,
    input logic [2:0] ready_at,
    input logic [15:0] ready_index,
    input logic accept
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic take, valid;
  descriptor_t descriptor;
  logic [15:0] index;
  ring_buffer #(
      .BufferLog2(3)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .store_i(store),
      .store_at_i(store_at),
      .beat_i(beat),
      .ready_i(ready),
      .ready_at_i(ready_at),
      .ready_index_i(ready_index),
      .take_o(take),
      .valid_o(valid),
      .accept_i(accept),
      .descriptor_o(descriptor),
      .index_o(index)
  );

  // The watched slot: its stored data.
  logic [2:0] watch;
  always_ff @(posedge clk) watch <= watch;
  logic [1:0][511:0] stored_q;
  logic [1:0] known_q;  // Stored since the first clock.
  always_ff @(posedge clk) begin
    if (store && store_at[3:1] == watch) stored_q[store_at[0]] <= beat;
    if (!started) known_q <= '0;
    else if (store && store_at[3:1] == watch) known_q[store_at[0]] <= 1'b1;
  end

  // The output: whether it is valid, and whether its descriptor is that of the watched slot.
  logic stands_q, is_watched_q;
  logic [1023:0] watched_q;
  logic [15:0] index_q;
  always_ff @(posedge clk) begin
    if (rst || flush) stands_q <= 1'b0;
    else if (ready && (!stands_q || accept)) begin
      stands_q <= 1'b1;
      is_watched_q <= ready_at == watch && (&known_q);
      watched_q <= stored_q;
      index_q <= ready_index;
    end else if (accept) stands_q <= 1'b0;
  end

  always_comb begin
    if (started) begin
      assert (take == (ready && !flush && (!stands_q || accept)) || rst);
      assert (valid == stands_q || rst);
      if (valid && !rst) begin
        assert (index == index_q);
        if (is_watched_q) assert (descriptor == watched_q);
      end
      // Invariants for the induction.
      if (known_q[0]) assert (dut.low_q[watch] == stored_q[0]);
      if (known_q[1]) assert (dut.high_q[watch] == stored_q[1]);

      // ---- not vacuous: a descriptor comes out, another directly after it, one is flushed
      cover (valid && is_watched_q && accept && take);
      cover (valid && is_watched_q && flush);
    end
  end

  logic before_q, held_q;
  logic [15:0] before_index_q;
  descriptor_t before_descriptor_q;
  always_ff @(posedge clk) begin
    before_q <= valid && !rst;
    held_q <= valid && !accept && !flush && !rst;
    {before_descriptor_q, before_index_q} <= {descriptor, index};
    if (started && !rst && held_q)
      assert (valid && descriptor == before_descriptor_q && index == before_index_q);
    cover (started && before_q && !valid);
  end
endmodule
