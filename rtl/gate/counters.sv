// Counts a lane's records by kind since OPEN, modulo 2^32, and the open streams. An entry that is
// dropped because of a fault, before it is in the log, neither counts nor begins or ends a stream.
//
// Latency: a record counts one clock after `record_i`.
// After reset and `clear_i`: zero.
module counters
  import layout_pkg::*;
  import gate_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic       clear_i,
    input  logic       record_i,  // A record with this answer was handed to the ring.
    input  logic [7:0] record_type_i,
    input  logic [7:0] determination_i,
    input  logic       sweep_i,  // A clock in which a bank sweeps.
    output counters_t  counters_o
);
  counters_t c_q;
  assign counters_o = c_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) c_q <= '0;
    else begin
      if (sweep_i) c_q.busy_clocks <= c_q.busy_clocks + 64'd1;
      if (record_i) begin
        if (record_type_i == RecordTypeRefused) c_q.refused <= c_q.refused + 32'd1;
        if (record_type_i == RecordTypeBegin) c_q.open_streams <= c_q.open_streams + 32'd1;
        if (record_type_i == RecordTypeEnd) c_q.open_streams <= c_q.open_streams - 32'd1;
        if (record_type_i == RecordTypeVerdict) begin
          c_q.verdicts <= c_q.verdicts + 32'd1;
          case (determination_i)
            DeterminationAdmit: c_q.admits <= c_q.admits + 32'd1;
            DeterminationDecompose: c_q.decomposes <= c_q.decomposes + 32'd1;
            default: c_q.rejects <= c_q.rejects + 32'd1;
          endcase
        end
      end
    end
  end
endmodule
