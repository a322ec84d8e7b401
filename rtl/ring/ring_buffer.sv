// Holds fetched descriptors in RAM, with an output register.
//
// A beat is stored in the clock of `store_i`. `ready_i` means that the descriptor at `ready_at_i`
// is complete. When the output register is free, the descriptor moves there (`take_o`) and is valid
// from the next clock until it is accepted or `flush_i` drops it.
module ring_buffer
  import layout_pkg::*;
#(
    parameter int unsigned BufferLog2 = 6  // 3 to 8; RAM of 2^BufferLog2 times 1,024 bits
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  flush_i,
    input  logic                  store_i,
    input  logic [BufferLog2:0]   store_at_i,  // descriptor, then beat within it
    input  logic [511:0]          beat_i,
    input  logic                  ready_i,
    input  logic [BufferLog2-1:0] ready_at_i,
    input  logic [15:0]           ready_index_i,
    output logic                  take_o,
    output logic                  valid_o,
    input  logic                  accept_i,
    output descriptor_t           descriptor_o,
    output logic [15:0]           index_o
);
  if (BufferLog2 < 3 || BufferLog2 > 8) begin : g_bad_buffer_log2
    $fatal(1, "BufferLog2 is 3 to 8");
  end

  localparam int unsigned Slots = 2 ** BufferLog2;

  (* ram_style = "distributed" *)logic [511:0] low_q[Slots];
  (* ram_style = "distributed" *)logic [511:0] high_q[Slots];
  logic valid_q;
  logic [1023:0] descriptor_q;
  logic [15:0] index_q;

  assign take_o = ready_i && !flush_i && (!valid_q || accept_i);

  always_ff @(posedge clk_i) begin
    if (store_i && !store_at_i[0]) low_q[store_at_i[BufferLog2:1]] <= beat_i;
    if (store_i && store_at_i[0]) high_q[store_at_i[BufferLog2:1]] <= beat_i;
    if (take_o) begin
      descriptor_q <= {high_q[ready_at_i], low_q[ready_at_i]};
      index_q <= ready_index_i;
    end
    if (rst_i || flush_i) valid_q <= 1'b0;
    else if (take_o) valid_q <= 1'b1;
    else if (accept_i) valid_q <= 1'b0;
  end

  assign valid_o = valid_q;
  assign descriptor_o = descriptor_t'(descriptor_q);
  assign index_o = index_q;
endmodule
