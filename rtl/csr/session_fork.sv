// Passes each session record of the lifecycle to every lane that needs it, and reports when all
// have accepted it.
//
// OPEN and HEARTBEAT are for every lane. ALARM and CLOSE are for each lane whose log is open, that
// is, has OPEN but not CLOSE. Each lane accepts the record when it can; `ready_o` is high in the
// clock of the last acceptance. After a withdrawn request, lanes with the record keep it.
//
// Latency: none.
// After reset: idle.
// Duties of the caller: a clock without `valid_i` between two requests.
module session_fork
  import layout_pkg::*;
#(
    parameter int unsigned Lanes = 1
) (
    input  logic             clk_i,
    input  logic             rst_i,
    // Lifecycle.
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
