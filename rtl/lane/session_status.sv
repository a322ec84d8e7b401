// State of a lane's log in the session: whether OPEN and CLOSE are in the log, and the nonce of the
// last heartbeat in the log.
//
// A record in the tree counts as in the log, even if the ring has no space for it yet; so nothing
// can follow CLOSE. `opened_o` and `closed_o` rise when their record is in the tree, and fall with
// `open_i` or `clear_i`. A presented nonce (`presented_o`) becomes the session's (`nonce_o`) one
// clock after its record has left for the ring.
// After reset: neither record is in the log, both nonces are 0.
// Duties of the caller: one session record at a time.
module session_status
  import layout_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         open_i,
    input  logic         clear_i,
    // The host presents a heartbeat.
    input  logic         heartbeat_i,
    input  logic [63:0]  heartbeat_nonce_i,
    // A session record is assembled.
    input  logic         take_i,
    input  record_type_e take_type_i,
    // The record is a session record and in the tree.
    input  logic         committed_i,  // It is a session record and in the tree.
    input  logic         sent_i,       // The record leaves for the ring.
    input  logic [7:0]   type_i,
    output logic         opened_o,
    output logic         closed_o,
    output logic [63:0]  presented_o,
    output logic [63:0]  nonce_o
);
  logic opened_q, closed_q, session_in;
  assign session_in = committed_i && !clear_i;
  assign opened_o = opened_q || (session_in && type_i == RecordTypeOpen);
  assign closed_o = closed_q || (session_in && type_i == RecordTypeClose);
  always_ff @(posedge clk_i) begin
    if (rst_i || open_i || clear_i) {opened_q, closed_q} <= '0;
    else {opened_q, closed_q} <= {opened_o, closed_o};
  end

  logic [63:0] nonce_q, presented_q, recorded_q;
  assign presented_o = presented_q;
  assign nonce_o = nonce_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || open_i) {nonce_q, presented_q, recorded_q} <= '0;
    else begin
      if (heartbeat_i) presented_q <= heartbeat_nonce_i;
      if (take_i && take_type_i == RecordTypeHeartbeat) recorded_q <= presented_q;
      if (sent_i && type_i == RecordTypeHeartbeat) nonce_q <= recorded_q;
    end
  end
endmodule
