// A queue from one clock domain to another, with Gray-coded pointers, two synchronising flip-flops
// per pointer, and an output register.
//
// Each word accepted on the writing side leaves on the reading side once, in order. `rd_valid_o`
// and `rd_data_o` hold until `rd_ready_i`, whatever the writing side does.
// Latency: one clock of the writer, then 3 to 4 of the reader. Capacity: 2^Log2 + 1 entries.
// After reset: empty. `wr_ready_o` is low in reset, so that no word is accepted and lost.
// Duties of the caller: the resets of both sides overlap for four periods of the slower clock;
// timing constraints keep each path between the clocks below one period of the faster clock.
module async_fifo #(
    parameter int unsigned Width = 8,  // 1 or more; each bit costs 2^Log2 bits of RAM.
    parameter int unsigned Log2 = 3    // 2 to 8
) (
    input  logic             wr_clk_i,
    input  logic             wr_rst_i,
    input  logic             wr_valid_i,
    output logic             wr_ready_o,
    input  logic [Width-1:0] wr_data_i,
    input  logic             rd_clk_i,
    input  logic             rd_rst_i,
    output logic             rd_valid_o,
    input  logic             rd_ready_i,
    output logic [Width-1:0] rd_data_o
);
  if (Log2 < 2 || Log2 > 8) begin : g_bad_log2
    $fatal(1, "Log2 is 2 to 8");
  end

  typedef logic [Log2:0] pointer_t;
  function automatic pointer_t gray(pointer_t binary);
    return binary ^ (binary >> 1);
  endfunction

  (* ram_style = "distributed" *) logic [Width-1:0] ram_q[2**Log2];
  pointer_t wr_q, rd_q;
  pointer_t wr_gray_q, rd_gray_q;
  (* ASYNC_REG = "TRUE" *) pointer_t wr_seen_q[2];  // The writer's pointer, in the reader's clock.
  (* ASYNC_REG = "TRUE" *) pointer_t rd_seen_q[2];

  // ---- writing side. The queue is full when the pointers differ by exactly 2^Log2; in Gray code
  // the two top bits are then inverted.
  logic push;
  assign wr_ready_o = !wr_rst_i && wr_gray_q
      != {~rd_seen_q[1][Log2:Log2-1], rd_seen_q[1][Log2-2:0]};
  assign push = wr_valid_i && wr_ready_o;
  always_ff @(posedge wr_clk_i) begin
    if (push) ram_q[wr_q[Log2-1:0]] <= wr_data_i;
    if (wr_rst_i) begin
      wr_q <= '0;
      wr_gray_q <= '0;
      rd_seen_q <= '{default: '0};
    end else begin
      wr_q <= wr_q + pointer_t'(push);
      wr_gray_q <= gray(wr_q + pointer_t'(push));
      rd_seen_q <= '{rd_gray_q, rd_seen_q[0]};
    end
  end

  // ---- reading side
  logic pull;
  assign pull = wr_seen_q[1] != rd_gray_q && (!rd_valid_o || rd_ready_i);
  always_ff @(posedge rd_clk_i) begin
    if (pull) rd_data_o <= ram_q[rd_q[Log2-1:0]];
    if (rd_rst_i) begin
      rd_q <= '0;
      rd_gray_q <= '0;
      wr_seen_q <= '{default: '0};
      rd_valid_o <= 1'b0;
    end else begin
      rd_q <= rd_q + pointer_t'(pull);
      rd_gray_q <= gray(rd_q + pointer_t'(pull));
      wr_seen_q <= '{wr_gray_q, wr_seen_q[0]};
      rd_valid_o <= pull || (rd_valid_o && !rd_ready_i);
    end
  end
endmodule
