// Where the log stands: every record of a lane passes here, in order, and gets its log index.
//
// In this version it only counts. It holds no record: a record has its index in the clock in which the next part takes it,
// so a record withdrawn before that leaves no gap.
//
// Latency: none. After reset: the next index is 0. `clear_i` starts a session's log over at 0.
// The caller owes: no record in the clock of `clear_i`.
module log_count
  import layout_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,
    input  logic        valid_i,
    output logic        ready_o,
    input  record_t     record_i,   // `answer.log_index` is ignored.
    output logic        valid_o,
    input  logic        ready_i,
    output record_t     record_o,
    output logic [31:0] count_o     // Records that passed since `clear_i`, modulo 2^32.
);
  logic [63:0] count_q;
  assign valid_o = valid_i;
  assign ready_o = ready_i;
  assign count_o = count_q[31:0];

  always_comb begin
    record_o = record_i;
    record_o.answer.log_index = count_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) count_q <= '0;
    else if (valid_i && ready_i) count_q <= count_q + 64'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) assert (!(clear_i && valid_i)) else $error("log_count: a record in the clock of clear");
  end
endmodule
