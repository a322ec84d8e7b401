// Proves, without bound, with four lanes: every selected lane is offered a session record until it
// has accepted it, and then not any more. Ready is high in the clock of the last acceptance and not
// before. No other lane is offered the record. The next record starts again with all lanes. Lanes
// and lifecycle are arbitrary within the module's contract: between two requests there is a clock
// without a request; a lane that closes during a request had accepted it.
module session_fork_props
  import layout_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic valid,
    input record_type_e kind,
    input logic [3:0] log_open,
    input logic [3:0] ready
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic all, all_q, valid_q;
  logic [3:0] offered;
  record_type_e kind_q;
  session_fork #(
      .Lanes(4)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .valid_i(valid),
      .ready_o(all),
      .type_i(kind),
      .log_open_i(log_open),
      .valid_o(offered),
      .ready_i(ready)
  );

  // Lanes that accepted the present record.
  logic [3:0] taken_q, wanted;
  assign wanted = kind == RecordTypeOpen || kind == RecordTypeHeartbeat ? 4'hf : log_open;
  always_ff @(posedge clk) begin
    valid_q <= !rst && valid;
    all_q <= !rst && all;
    kind_q <= kind;
    taken_q <= rst || !valid || all ? 4'h0 : taken_q | (offered & ready);
  end
  always_comb if (!rst && valid_q && valid && !all_q) assume (kind == kind_q);

  always_comb begin
    if (started && !rst) begin
      assert (offered == (valid ? wanted & ~taken_q : 4'h0));
      assert (all == (valid && ((taken_q | (offered & ready)) & wanted) == wanted));
      // ---- invariants for the induction
      assert (dut.given_q == taken_q);
      // ---- not vacuous
      cover (all && taken_q == 4'b0111);
      cover (all && wanted == 4'b0101 && kind == RecordTypeAlarm);
      cover (valid && taken_q == 4'b0010 && offered == 4'b1101);
    end
  end
endmodule
