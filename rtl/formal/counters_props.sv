// Proves, without bound: each record changes exactly the counters of its type, in the next clock;
// nothing else changes a counter. Admits, rejects and decomposes always add up to the verdicts. An
// unknown determination code counts as a reject.
//
// Nothing is assumed: records, sweeps, clears and resets come in any order.
module counters_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic clear,
    input logic record,
    input logic [7:0] record_type,
    input logic [7:0] determination,
    input logic sweep
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  counters_t now, before_q;
  counters dut (
      .clk_i(clk),
      .rst_i(rst),
      .clear_i(clear),
      .record_i(record),
      .record_type_i(record_type),
      .determination_i(determination),
      .sweep_i(sweep),
      .counters_o(now)
  );

  // Inputs of the last clock.
  typedef struct packed {
    logic verdict, admit, decompose, refused, stream_begins, stream_ends, sweeps, zero;
  } asked_t;
  asked_t asked_q;
  logic judged;
  assign judged = record && record_type == RecordTypeVerdict;
  always_ff @(posedge clk) begin
    before_q <= now;
    asked_q <= '{
        verdict: judged,
        admit: judged && determination == DeterminationAdmit,
        decompose: judged && determination == DeterminationDecompose,
        refused: record && record_type == RecordTypeRefused,
        stream_begins: record && record_type == RecordTypeBegin,
        stream_ends: record && record_type == RecordTypeEnd,
        sweeps: sweep,
        zero: rst || clear
    };
  end

  always_comb begin
    if (started) begin
      if (asked_q.zero) assert (now == '0);
      else begin
        assert (now.verdicts - before_q.verdicts == 32'(asked_q.verdict));
        assert (now.admits - before_q.admits == 32'(asked_q.admit));
        assert (now.decomposes - before_q.decomposes == 32'(asked_q.decompose));
        assert (now.rejects - before_q.rejects
            == 32'(asked_q.verdict && !asked_q.admit && !asked_q.decompose));
        assert (now.refused - before_q.refused == 32'(asked_q.refused));
        assert (now.open_streams - before_q.open_streams == 32'(asked_q.stream_begins)
            - 32'(asked_q.stream_ends));
        assert (now.busy_clocks - before_q.busy_clocks == 64'(asked_q.sweeps));
      end
      assert (now.admits + now.rejects + now.decomposes == now.verdicts);

      // ---- not vacuous
      cover (now.admits == 32'd1 && now.rejects == 32'd1 && now.decomposes == 32'd1);
      cover (now.open_streams == 32'd1 && now.refused == 32'd1 && now.busy_clocks == 64'd2);
      cover (asked_q.zero && before_q.verdicts == 32'd2);
    end
  end
endmodule
