// The bus rules of this master, as assertions only. Simulation and proofs use this module.
//
// They combine the strictest rules of AWS F2 and the Alveo XDMA bridge. A beat has 64 bytes; bursts
// are INCR and never cross 4 KiB. Reads have at most 512 bytes and unique ids. Strobes are full.
// Write data come from the clock of their request on. No signal is withdrawn or changed before it
// is accepted. Responses are accepted within 64 clocks. A channel that hangs may be abandoned in
// the clock after `give_up_*_i`.
`include "assert.svh"

module ring_axi_rules
  import axi_pkg::*;
(
    input  logic          clk_i,
    input  logic          rst_i,
    input  logic          give_up_read_i,
    input  logic          give_up_write_i,
    input  axi_pkg::req_t req_i,
    input  axi_pkg::rsp_t rsp_i
);
  localparam logic [6:0] MostWait = 7'd64;

  // A burst of 64-byte beats, aligned, inside one 4 KiB page.
  function automatic logic burst_ok(request_t burst);
    return burst.addr[5:0] == '0 && 9'(burst.addr[11:6]) + 9'(burst.len) < 9'd64;
  endfunction

  // These registers matter only if a channel was stalled in the clock before.
  logic ar_stalled_q, aw_stalled_q, w_stalled_q;
  request_t ar_q, aw_q;
  write_t w_q;
  logic [31:0] in_flight_q;
  logic [8:0] beats_q;
  logic [6:0] r_wait_q, b_wait_q;

  logic ar_new, aw_new;
  logic [8:0] beats_now;
  assign ar_new = req_i.ar_valid && !ar_stalled_q;
  assign aw_new = req_i.aw_valid && !aw_stalled_q;
  assign beats_now = aw_new ? 9'(req_i.aw.len) + 9'd1 : beats_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ar_stalled_q <= 1'b0;
      aw_stalled_q <= 1'b0;
      w_stalled_q <= 1'b0;
      in_flight_q <= '0;
      beats_q <= '0;
      r_wait_q <= '0;
      b_wait_q <= '0;
    end else begin
      ar_stalled_q <= req_i.ar_valid && !rsp_i.ar_ready && !give_up_read_i;
      aw_stalled_q <= req_i.aw_valid && !rsp_i.aw_ready && !give_up_write_i;
      w_stalled_q <= req_i.w_valid && !rsp_i.w_ready && !give_up_write_i;
      if (req_i.ar_valid && !rsp_i.ar_ready) ar_q <= req_i.ar;
      if (req_i.aw_valid && !rsp_i.aw_ready) aw_q <= req_i.aw;
      if (req_i.w_valid && !rsp_i.w_ready) w_q <= req_i.w;
      if (rsp_i.r_valid && req_i.r_ready && rsp_i.r.last) in_flight_q[rsp_i.r.id] <= 1'b0;
      if (ar_new) in_flight_q[req_i.ar.id] <= 1'b1;
      if (give_up_read_i) in_flight_q <= '0;
      beats_q  <= give_up_write_i ? '0 : req_i.w_valid
          && rsp_i.w_ready ? beats_now - 9'd1 : beats_now;
      r_wait_q <= rsp_i.r_valid && !req_i.r_ready ? r_wait_q + 7'd1 : '0;
      b_wait_q <= rsp_i.b_valid && !req_i.b_ready ? b_wait_q + 7'd1 : '0;

      if (ar_stalled_q) `ASSERT(req_i.ar_valid && ar_q == req_i.ar,
                                "ring_axi_rules: AR did not stand");
      if (aw_stalled_q) `ASSERT(req_i.aw_valid && aw_q == req_i.aw,
                                "ring_axi_rules: AW did not stand");
      if (w_stalled_q) `ASSERT(req_i.w_valid && w_q == req_i.w,
                               "ring_axi_rules: W did not stand");
      if (ar_new) begin
        `ASSERT(burst_ok(req_i.ar) && req_i.ar.len < 8'd8,
                "ring_axi_rules: a read burst of another kind");
        `ASSERT(!in_flight_q[req_i.ar.id], "ring_axi_rules: an id that is in flight");
      end
      if (aw_new) begin
        `ASSERT(burst_ok(req_i.aw),
                "ring_axi_rules: a write burst of another kind");
        // All data of the previous burst were sent.
        `ASSERT(beats_q == '0, "ring_axi_rules: a write burst over another's data");
      end
      if (req_i.w_valid) `ASSERT(beats_now != '0 && req_i.w.last == (beats_now == 9'd1),
                            "ring_axi_rules: data that no burst has");
      `ASSERT(r_wait_q < MostWait && b_wait_q < MostWait,
              "ring_axi_rules: a response that is not taken");
    end
  end
endmodule
