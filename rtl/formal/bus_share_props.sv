// Proves the sharing of the bus, without bound, with two lanes. Each acceptance on the bus is for
// one lane's offer, and only that lane gets it. An offer stays unchanged until it is accepted, as
// long as its lane holds it. From the first clock of a write burst to its last beat, the other lane
// has no part in a write, so data come in the order of requests. A read's answer goes to the lane
// in its id, with the lane's own id. Answers to writes come in order and go to the lanes in the
// order of their bursts (shown for an arbitrary burst); an unexpected answer goes to lane 0. A
// waiting lane waits for the other lane at most once. After a broken burst nothing is written until
// the reset.
//
// Assumed: a lane holds its offer until it is accepted, or gives up for ever. It offers the data of
// a burst from the request on, one burst at a time, with the announced length. Its ids have four
// bits. The memory is arbitrary.
module bus_share_props
  import axi_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic watch,
    input logic [1:0] aw_start,
    input logic [1:0] ar_start,
    input logic [1:0] give_up,
    input logic [1:0][63:0] awaddr,
    input logic [1:0][7:0] awlen,
    input logic [1:0][511:0] wdata,
    input logic [1:0][4:0] arid,
    input logic [1:0][63:0] araddr,
    input logic [1:0][7:0] arlen,
    input logic [1:0] ready_b,
    input logic [1:0] ready_r,
    input logic m_awready,
    input logic m_wready,
    input logic [4:0] m_bid,
    input logic [1:0] m_bresp,
    input logic m_bvalid,
    input logic m_arready,
    input logic [4:0] m_rid,
    input logic [511:0] m_rdata,
    input logic [1:0] m_rresp,
    input logic m_rlast,
    input logic m_rvalid
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  // ---- lanes: bursts of one or three beats, as records and completions are
  logic [1:0] aw_q, ar_q;
  logic [1:0][1:0] left_q;  // Remaining beats of the burst on the bus.
  logic [1:0] awready, wready, arready, wvalid, wlast, bvalid, rvalid, rlast;
  logic [1:0][4:0] bid, rid;
  logic [1:0][1:0] bresp, rresp;
  logic [1:0][511:0] rdata;
  for (genvar l = 0; l < 2; l++) begin : g_lane
    assign wvalid[l] = left_q[l] != '0;
    assign wlast[l] = left_q[l] == 2'd1;
    always_ff @(posedge clk) begin
      if (rst || give_up[l]) begin
        aw_q[l] <= 1'b0;
        ar_q[l] <= 1'b0;
        left_q[l] <= '0;
      end else begin
        if (awready[l]) aw_q[l] <= 1'b0;
        if (wvalid[l] && wready[l]) left_q[l] <= left_q[l] - 2'd1;
        if (aw_start[l] && !aw_q[l] && !wvalid[l]) begin
          aw_q[l] <= 1'b1;
          left_q[l] <= awlen[l] == 8'd2 ? 2'd3 : 2'd1;
        end
        if (arready[l]) ar_q[l] <= 1'b0;
        if (ar_start[l] && !ar_q[l]) ar_q[l] <= 1'b1;
      end
    end
  end

  // The ports of the module are structures; the claims use single signals.
  req_t lane_req[2], bus_req;
  rsp_t lane_rsp[2], bus_rsp;
  for (genvar l = 0; l < 2; l++) begin : g_bus
    assign lane_req[l] = '{
            aw: '{id: '0, len: awlen[l], addr: awaddr[l]},
            aw_valid: aw_q[l],
            w_valid: wvalid[l],
            b_ready: ready_b[l],
            ar: '{id: arid[l], len: arlen[l], addr: araddr[l]},
            ar_valid: ar_q[l],
            r_ready: ready_r[l],
            w: '{last: wlast[l], data: wdata[l]}
        };
    assign {awready[l], wready[l], bvalid[l]} =
        {lane_rsp[l].aw_ready, lane_rsp[l].w_ready, lane_rsp[l].b_valid};
    assign {arready[l], rvalid[l]} = {lane_rsp[l].ar_ready, lane_rsp[l].r_valid};
    assign {bid[l], bresp[l]} = lane_rsp[l].b;
    assign {rid[l], rresp[l], rlast[l], rdata[l]} = lane_rsp[l].r;
  end
  assign bus_rsp = '{
          aw_ready: m_awready,
          w_ready: m_wready,
          b: '{id: m_bid, resp: m_bresp},
          b_valid: m_bvalid,
          ar_ready: m_arready,
          r_valid: m_rvalid,
          r: '{id: m_rid, resp: m_rresp, last: m_rlast, data: m_rdata}
      };

  logic [4:0] m_awid, m_arid;
  logic [63:0] m_awaddr, m_araddr;
  logic [7:0] m_awlen, m_arlen;
  logic m_awvalid, m_wvalid, m_wlast, m_arvalid, m_bready, m_rready;
  logic [511:0] m_wdata;
  assign {m_awid, m_awlen, m_awaddr} = bus_req.aw;
  assign {m_awvalid, m_wvalid, m_bready} = {bus_req.aw_valid, bus_req.w_valid, bus_req.b_ready};
  assign {m_wlast, m_wdata} = bus_req.w;
  assign {m_arid, m_arlen, m_araddr} = bus_req.ar;
  assign {m_arvalid, m_rready} = {bus_req.ar_valid, bus_req.r_ready};
  bus_share #(
      .Lanes(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .lane_req_i(lane_req),
      .lane_rsp_o(lane_rsp),
      .bus_req_o(bus_req),
      .bus_rsp_i(bus_rsp)
  );

  // ---- values of the clock before
  logic ar_held_q, aw_held_q, w_held_q, writing_q, broken_q;
  logic ar_lane, w_lane, ar_lane_q, w_lane_q;
  logic [1:0] gave_up_q, waits_ar_q, waits_w_q;
  logic [1:0][63:0] awaddr_q, araddr_q;
  logic [1:0][7:0] awlen_q, arlen_q;
  logic [1:0][511:0] wdata_q;
  logic [1:0][4:0] arid_q;
  logic [1:0] aw_was_q, ar_was_q, w_was_q;
  assign ar_lane = m_arid[4];
  assign w_lane = dut.w_lane;
  logic writing, done;  // A lane has the write channels; its burst ends now.
  assign writing = m_awvalid || m_wvalid;
  assign done = writing && (!m_awvalid || m_awready) && (!m_wvalid || (m_wready && m_wlast));
  always_ff @(posedge clk) begin
    ar_held_q <= !rst && m_arvalid && !m_arready;
    writing_q <= !rst && writing && !done;
    ar_lane_q <= ar_lane;
    w_lane_q <= w_lane;
    gave_up_q <= rst ? 2'b0 : give_up;
    {awaddr_q, araddr_q, awlen_q, arlen_q, wdata_q, arid_q} <=
        {awaddr, araddr, awlen, arlen, wdata, arid};
    aw_was_q <= rst ? 2'b0 : aw_q & ~awready;
    ar_was_q <= rst ? 2'b0 : ar_q & ~arready;
    w_was_q <= rst ? 2'b0 : wvalid & ~wready;
    broken_q <= !rst && (broken_q || (writing_q && !writing));
    // Whether the other lane was served while lane `l` waited.
    for (int l = 0; l < 2; l++) begin
      waits_ar_q[l] <= !rst && ar_q[l] && !(ar_lane == l[0] && m_arvalid)
          && (waits_ar_q[l] || (m_arvalid && m_arready));
      waits_w_q[l] <= !rst && aw_q[l] && !(writing && w_lane == l[0]) && (waits_w_q[l] || done);
    end
  end

  // Bursts in flight; the watched burst's lane, and the number of answers before the answer to it.
  logic [6:0] in_flight_q, before_q;
  logic owner_q, watched_q, passed_q, answered, its_answer;
  assign answered = m_bvalid && m_bready && in_flight_q != '0;
  assign its_answer = watched_q && m_bvalid && before_q == '0;
  always_ff @(posedge clk) begin
    in_flight_q <= rst ? '0 : in_flight_q + 7'(done) - 7'(answered);
    if (rst) {watched_q, passed_q} <= '0;
    else if (!watched_q) begin
      watched_q <= watch && done;
      passed_q <= 1'b0;
      owner_q <= w_lane;
      before_q <= in_flight_q - 7'(answered);
    end else if (answered) begin
      passed_q <= 1'b1;
      if (before_q == '0) watched_q <= 1'b0;
      else before_q <= before_q - 7'd1;
    end
  end

  always_comb begin
    for (int l = 0; l < 2; l++) begin
      assume (arid[l] < 5'd16);
      assume (awlen[l] == 8'd0 || awlen[l] == 8'd2);
      if (aw_was_q[l]) assume (awaddr[l] == awaddr_q[l] && awlen[l] == awlen_q[l]);
      if (ar_was_q[l])
        assume ({arid[l], araddr[l], arlen[l]} == {arid_q[l], araddr_q[l], arlen_q[l]});
      if (w_was_q[l]) assume (wdata[l] == wdata_q[l]);
    end
  end

  always_comb begin
    if (started && !rst) begin
      // The bus has the offer of one lane, and only this lane gets the acceptance.
      if (m_arvalid)
        assert (ar_q[ar_lane] && {m_arid[3:0], m_araddr, m_arlen}
            == {arid[ar_lane][3:0], araddr[ar_lane], arlen[ar_lane]});
      if (m_awvalid)
        assert (aw_q[w_lane] && {m_awaddr, m_awlen} == {awaddr[w_lane], awlen[w_lane]});
      if (m_wvalid) assert (wvalid[w_lane] && {m_wdata, m_wlast} == {wdata[w_lane], wlast[w_lane]});
      assert ((ar_q & arready) == (m_arvalid && m_arready ? 2'b01 << ar_lane : 2'b00));
      assert ((aw_q & awready) == (m_awvalid && m_awready ? 2'b01 << w_lane : 2'b00));
      assert ((wvalid & wready) == (m_wvalid && m_wready ? 2'b01 << w_lane : 2'b00));
      // Every offer reaches the bus.
      assert (m_arvalid == (ar_q != '0) || (ar_held_q && gave_up_q[ar_lane_q]));
      // Offers hold.
      if (ar_held_q && !gave_up_q[ar_lane_q]) assert (m_arvalid && ar_lane == ar_lane_q);
      if (writing_q && !gave_up_q[w_lane_q]) assert (writing && w_lane == w_lane_q);
      // After a broken burst, no other burst follows.
      if (broken_q) assert (!m_awvalid && !m_wvalid);
      // Turns.
      for (int l = 0; l < 2; l++) begin
        if (waits_ar_q[l] && m_arvalid && ar_q[l]) assert (ar_lane == l[0]);
        if (waits_w_q[l] && writing && aw_q[l]) assert (w_lane == l[0]);
      end
      // Answers.
      assert (rvalid == (m_rvalid ? 2'b01 << m_rid[4] : 2'b00));
      assert ($onehot0(bvalid) && (bvalid != '0) == m_bvalid);
      if (its_answer) assert (bvalid[owner_q]);
      if (m_bvalid && in_flight_q == '0) assert (bvalid[0]);
      if (m_rvalid)
        assert (rid[m_rid[4]] == {1'b0, m_rid[3:0]}
            && {rdata[m_rid[4]], rresp[m_rid[4]], rlast[m_rid[4]]} == {m_rdata, m_rresp, m_rlast});
      if (m_bvalid)
        assert (bid[bvalid[1]] == m_bid && bresp[bvalid[1]] == m_bresp
            && m_bready == ready_b[bvalid[1]]);
      assert (m_rready == ready_r[m_rid[4]]);
      assert (m_awid == '0);

      // ---- invariants for the induction
      assert (in_flight_q <= 7'd64 && dut.sent_q - dut.answered_q == in_flight_q);
      if (watched_q)
        assert (before_q < in_flight_q && dut.owner_q[6'(dut.answered_q + before_q)] == owner_q);
      if (writing_q) assert (in_flight_q < 7'd64);
      assert (dut.ar_held_q == ar_held_q && dut.w_held_q == writing_q && dut.broken_q == broken_q);
      if (ar_held_q)
        assert (dut.ar_turn_q == ar_lane_q && (ar_q[ar_lane_q] || gave_up_q[ar_lane_q]));
      if (writing_q)
        assert (dut.w_turn_q == w_lane_q
            && (aw_q[w_lane_q] || wvalid[w_lane_q] || gave_up_q[w_lane_q]));
      for (int l = 0; l < 2; l++) begin
        if (aw_q[l]) assert (wvalid[l] || (writing_q && w_lane_q == l[0]));
        if (wvalid[l] && !aw_q[l]) assert ((writing_q && w_lane_q == l[0]));
        if (waits_ar_q[l]) assert (dut.ar_turn_q != l[0]);
        if (waits_w_q[l]) assert (dut.w_turn_q != l[0]);
      end

      // ---- not vacuous
      cover (done && w_lane && m_wlast && left_q[0] == 2'd3 && aw_q[0]);
      cover (waits_w_q[0] && writing && !w_lane);
      cover (m_arvalid && m_arready && ar_lane && ar_q[0]);
      cover (broken_q && aw_q[1]);
      cover (m_rvalid && rvalid[1]);
      cover (its_answer && bvalid[1] && passed_q);
    end
  end
endmodule
