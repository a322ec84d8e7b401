// Stand-in for the hash core in proofs: it has the same ports, any latency of at least one clock,
// and any digest.
//
// As in the core, a block may be accepted in the clock before `done_o`, which is high for one
// clock. The digest holds from `done_o` to the next start. A reset drops the present block. A proof
// with the stand-in holds for every core with these properties, whatever it computes.
module sha256
  import sha256_pkg::*;
#(
    parameter int unsigned Rounds = 1  // Not used.
) (
    input  logic   clk_i,
    input  logic   rst_i,
    input  logic   start_i,
    output logic   ready_o,
    input  logic   chain_i,
    input  state_t state_i,
    input  block_t block_i,
    output logic   busy_o,
    output logic   done_o,
    output state_t digest_o
);
  // These signals have no driver, so the solver chooses a new value in every clock. Each is read
  // only once, because every read would be a separate choice.
  logic finish;
  state_t any_digest;

  logic working_q, done_q, ended;
  state_t digest_q;
  assign ended = working_q && finish;
  always_ff @(posedge clk_i) begin
    if (rst_i) {working_q, done_q} <= '0;
    else begin
      working_q <= (start_i && ready_o) || (working_q && !ended);
      done_q <= ended;
    end
    if (working_q || start_i) digest_q <= any_digest;
  end
  assign ready_o = !working_q || ended;
  assign busy_o = working_q;
  assign done_o = done_q;
  assign digest_o = digest_q;
endmodule
