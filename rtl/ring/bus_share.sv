// Shares one AXI4 master among all lanes: selects the next burst and returns answers to their
// lanes.
//
// Reads: lanes take turns, one request per clock. The upper bits of the id are the lane number, by
// which the answer is routed. Writes: lanes take turns; a lane has the request and data channels
// from the first clock of its burst to the last, so data come in the order of requests. All writes
// have id 0, so answers come in that order, too; the lane of each burst in flight is stored, for up
// to 64 bursts. A waiting lane waits for each other lane at most once. No burst is stored here; for
// a single lane, the module adds nothing.
//
// A lane whose watchdog expires removes its burst from the bus. If it was a write burst that
// stopped half-way, the bus still waits for its rest. Then no lane writes until `rst_i`, and the
// watchdog of each lane expires. No other signal ends this state, because otherwise the first beat
// of a new session would be written to the address of the broken burst.
//
// Latency: none, except for waiting.
// After reset: no burst.
// Duties of the caller: lanes obey `ring_axi_rules`, with ids below 32 divided by the number of
// lanes, full strobes and INCR bursts of 64-byte beats.
module bus_share
  import axi_pkg::*;
#(
    parameter int unsigned Lanes = 1  // 1, 2, 4 or 8.
) (
    input  logic clk_i,
    input  logic rst_i,
    input  req_t lane_req_i[Lanes],
    output rsp_t lane_rsp_o[Lanes],
    output req_t bus_req_o,
    input  rsp_t bus_rsp_i
);
  if (Lanes != 1 && Lanes != 2 && Lanes != 4 && Lanes != 8) begin : g_lanes
    $fatal(1, "bus_share: Lanes is 1, 2, 4 or 8");
  end

  localparam int unsigned OwnBits = 5 - $clog2(Lanes);  // Bits of an id for a lane's own use.
  // log2 of the largest number of write bursts in flight, of all lanes together.
  localparam int unsigned MaxWritesLog2 = 6;
  localparam logic [4:0] OwnMask = 5'((32'd1 << OwnBits) - 32'd1);
  typedef logic [(Lanes > 1 ? $clog2(Lanes) : 1)-1:0] lane_t;

  function automatic logic [4:0] shared_id(lane_t lane, logic [4:0] own);
    return (5'(lane) << OwnBits) | own;
  endfunction
  function automatic lane_t lane_of(logic [4:0] id);
    return lane_t'(id >> OwnBits);
  endfunction

  // The next requesting lane after `last`; `last` if none requests.
  function automatic lane_t next(logic [Lanes-1:0] wants, lane_t last);
    next = last;
    for (int unsigned i = Lanes; i > 0; i--) begin
      if (wants[lane_t'((32'(last) + i) % Lanes)]) next = lane_t'((32'(last) + i) % Lanes);
    end
  endfunction

  logic [Lanes-1:0] asks_ar, asks_w;  // Lanes that offer a read request; a write.

  // ---- read requests
  lane_t ar_turn_q, ar_lane;
  logic ar_held_q;  // A request has been on the bus since an earlier clock.
  assign ar_lane = ar_held_q ? ar_turn_q : next(asks_ar, ar_turn_q);
  assign bus_req_o.ar_valid = lane_req_i[ar_lane].ar_valid;
  assign bus_req_o.ar = '{
          id: shared_id(ar_lane, lane_req_i[ar_lane].ar.id),
          len: lane_req_i[ar_lane].ar.len,
          addr: lane_req_i[ar_lane].ar.addr
      };

  // ---- writes
  lane_t w_turn_q, w_lane;
  logic w_held_q, broken_q, may_write, writing, w_sent, room;
  assign w_lane = w_held_q ? w_turn_q : next(asks_w, w_turn_q);
  assign bus_req_o.aw_valid = lane_req_i[w_lane].aw_valid && may_write;
  assign bus_req_o.w_valid = lane_req_i[w_lane].w_valid && may_write;
  assign bus_req_o.aw = '{
          id: '0,
          len: lane_req_i[w_lane].aw.len,
          addr: lane_req_i[w_lane].aw.addr
      };
  assign bus_req_o.w = lane_req_i[w_lane].w;
  assign may_write = !broken_q && (w_held_q || room);
  assign writing = bus_req_o.aw_valid || bus_req_o.w_valid;
  assign w_sent = writing && (!bus_req_o.aw_valid || bus_rsp_i.aw_ready)
      && (!bus_req_o.w_valid || (bus_rsp_i.w_ready && bus_req_o.w.last));

  // The lanes of the bursts that wait for answers, in order.
  (* ram_style = "distributed" *) lane_t owner_q[2**MaxWritesLog2];
  logic [MaxWritesLog2:0] sent_q, answered_q;
  logic awaited;
  lane_t b_lane;
  assign awaited = sent_q != answered_q;
  assign room = sent_q - answered_q != (MaxWritesLog2+1)'(2 ** MaxWritesLog2);
  // An unexpected answer goes to lane 0, which reports the fault.
  assign b_lane = awaited ? owner_q[answered_q[MaxWritesLog2-1:0]] : '0;
  always_ff @(posedge clk_i) begin
    if (w_sent) owner_q[sent_q[MaxWritesLog2-1:0]] <= w_lane;
    if (rst_i) {sent_q, answered_q} <= '0;
    else begin
      if (w_sent) sent_q <= sent_q + 1'b1;
      if (bus_rsp_i.b_valid && bus_req_o.b_ready && awaited) answered_q <= answered_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {ar_turn_q, w_turn_q} <= '0;
      {ar_held_q, w_held_q, broken_q} <= '0;
    end else begin
      if (bus_req_o.ar_valid) ar_turn_q <= ar_lane;
      ar_held_q <= bus_req_o.ar_valid && !bus_rsp_i.ar_ready;
      if (writing) w_turn_q <= w_lane;
      w_held_q <= writing && !w_sent;
      if (w_held_q && !writing) broken_q <= 1'b1;
    end
  end

  // ---- back to the lanes
  lane_t r_lane;
  assign r_lane = lane_of(bus_rsp_i.r.id);
  assign bus_req_o.r_ready = lane_req_i[r_lane].r_ready;
  assign bus_req_o.b_ready = lane_req_i[b_lane].b_ready;
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    assign asks_ar[l] = lane_req_i[l].ar_valid;
    assign asks_w[l] = lane_req_i[l].aw_valid || lane_req_i[l].w_valid;
    assign lane_rsp_o[l] = '{
            aw_ready: bus_rsp_i.aw_ready && w_lane == lane_t'(l) && may_write,
            w_ready: bus_rsp_i.w_ready && w_lane == lane_t'(l) && may_write,
            b: bus_rsp_i.b,
            b_valid: bus_rsp_i.b_valid && b_lane == lane_t'(l),
            ar_ready: bus_rsp_i.ar_ready && ar_lane == lane_t'(l),
            r_valid: bus_rsp_i.r_valid && r_lane == lane_t'(l),
            r: '{
                id: bus_rsp_i.r.id & OwnMask,
                resp: bus_rsp_i.r.resp,
                last: bus_rsp_i.r.last,
                data: bus_rsp_i.r.data
            }
        };
  end
endmodule
