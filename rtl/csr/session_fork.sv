// Gives each session record that life asks for to every lane that is to have it, and tells life
// when all have.
//
// OPEN and HEARTBEAT are for every lane; ALARM and CLOSE for each whose log is open: OPEN is in it,
// and CLOSE is not. Lanes take a record when each of them can; life hears of it in the clock of the
// last. A wish that is taken back leaves the lanes that have taken it with it.
//
// Latency: none. After reset: nothing given. The caller owes: a wish that changes only by a clock
// without one.
module session_fork
  import layout_pkg::*;
#(
    parameter int unsigned Lanes = 1
) (
    input  logic             clk_i,
    input  logic             rst_i,
    // Life.
    input  logic             valid_i,
    output logic             ready_o,
    input  record_type_e     type_i,
    // Lanes.
    input  logic [Lanes-1:0] log_open_i,
    output logic [Lanes-1:0] valid_o,
    input  logic [Lanes-1:0] ready_i
);
  logic [Lanes-1:0] given_q, taken, wants;
  assign wants = (type_i == RecordTypeOpen || type_i == RecordTypeHeartbeat) ? '1 : log_open_i;
  assign valid_o = {Lanes{valid_i}} & wants & ~given_q;
  assign taken = valid_o & ready_i;
  assign ready_o = valid_i && (given_q | taken | ~wants) == '1;

  always_ff @(posedge clk_i) begin
    if (rst_i || !valid_i || ready_o) given_q <= '0;
    else given_q <= given_q | taken;
  end
endmodule
