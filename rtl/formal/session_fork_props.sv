// What is proved, without bound, with four lanes: every lane that is to have a session record is
// offered it until it has taken it, and then no more; life hears of it in the clock in which the
// last has, and not before; no other lane is offered it; and the next record starts anew. Lanes and
// life are free but for what the head of the module asks: a wish changes only by a clock without
// one, and a lane that is closed meanwhile was asked already.
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

  // Lanes that took the record that is wished for.
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
      // ---- what the induction needs
      assert (dut.given_q == taken_q);
      // ---- not vacuous
      cover (all && taken_q == 4'b0111);
      cover (all && wanted == 4'b0101 && kind == RecordTypeAlarm);
      cover (valid && taken_q == 4'b0010 && offered == 4'b1101);
    end
  end
endmodule
