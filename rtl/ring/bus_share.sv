// One AXI4 master for all lanes: whose burst is next, and whose answer came.
//
// Reads: requests in turn, one a clock; a lane's id gets its lane above it, and by that the answer finds its way back. Writes: a lane has
// request and data channel from its burst's first clock to its last, so that data come in the order of requests; in turn as well. All have id 0,
// so answers come in that order too: whose they are is kept for up to 64 bursts, and no more are in flight. A lane that
// waits sees every other served once at most. No burst is stored here and nothing is added to the way of a single lane.
//
// A lane whose watchdog expires takes its burst off the bus. A write burst that is broken off half way leaves the other side waiting for
// its rest: from then on no lane writes, and each meets its own watchdog, until `rst_i`. No other signal ends that: a session that opened over
// a broken burst would give its first beat to the address of an earlier one.
//
// Latency: none, plus the waiting for others. After reset: no burst. The caller owes: lanes that keep the rules of `ring_axi_rules`, with
// ids below 32 divided by lanes, full strobes and INCR bursts of 64-byte beats.
module bus_share
  import ring_pkg::*;
#(
    parameter int unsigned Lanes = 1  // 1, 2, 4 or 8.
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    // Lanes.
    input  logic [Lanes-1:0]        awvalid_i,
    output logic [Lanes-1:0]        awready_o,
    input  logic [Lanes-1:0][63:0]  awaddr_i,
    input  logic [Lanes-1:0][7:0]   awlen_i,
    input  logic [Lanes-1:0]        wvalid_i,
    output logic [Lanes-1:0]        wready_o,
    input  logic [Lanes-1:0]        wlast_i,
    input  logic [Lanes-1:0][511:0] wdata_i,
    output logic [Lanes-1:0]        bvalid_o,
    output logic [Lanes-1:0][4:0]   bid_o,
    output logic [Lanes-1:0][1:0]   bresp_o,
    input  logic [Lanes-1:0]        bready_i,
    input  logic [Lanes-1:0]        arvalid_i,
    output logic [Lanes-1:0]        arready_o,
    input  logic [Lanes-1:0][4:0]   arid_i,
    input  logic [Lanes-1:0][63:0]  araddr_i,
    input  logic [Lanes-1:0][7:0]   arlen_i,
    output logic [Lanes-1:0]        rvalid_o,
    output logic [Lanes-1:0][4:0]   rid_o,
    output logic [Lanes-1:0][511:0] rdata_o,
    output logic [Lanes-1:0][1:0]   rresp_o,
    output logic [Lanes-1:0]        rlast_o,
    input  logic [Lanes-1:0]        rready_i,
    // AXI4 master.
    output logic [4:0]   m_axi_awid,
    output logic [63:0]  m_axi_awaddr,
    output logic [7:0]   m_axi_awlen,
    output logic [2:0]   m_axi_awsize,
    output logic [1:0]   m_axi_awburst,
    output logic         m_axi_awvalid,
    input  logic         m_axi_awready,
    output logic [511:0] m_axi_wdata,
    output logic [63:0]  m_axi_wstrb,
    output logic         m_axi_wlast,
    output logic         m_axi_wvalid,
    input  logic         m_axi_wready,
    input  logic [4:0]   m_axi_bid,
    input  logic [1:0]   m_axi_bresp,
    input  logic         m_axi_bvalid,
    output logic         m_axi_bready,
    output logic [4:0]   m_axi_arid,
    output logic [63:0]  m_axi_araddr,
    output logic [7:0]   m_axi_arlen,
    output logic [2:0]   m_axi_arsize,
    output logic [1:0]   m_axi_arburst,
    output logic         m_axi_arvalid,
    input  logic         m_axi_arready,
    input  logic [4:0]   m_axi_rid,
    input  logic [511:0] m_axi_rdata,
    input  logic [1:0]   m_axi_rresp,
    input  logic         m_axi_rlast,
    input  logic         m_axi_rvalid,
    output logic         m_axi_rready
);
  if (Lanes != 1 && Lanes != 2 && Lanes != 4 && Lanes != 8) begin : g_lanes
    $fatal(1, "bus_share: Lanes is 1, 2, 4 or 8");
  end

  localparam int unsigned OwnBits = 5 - $clog2(Lanes);  // Bits of an id that are a lane's own.
  localparam int unsigned MaxWritesLog2 = 6;            // Write bursts in flight, of all lanes together.
  localparam logic [4:0] OwnMask = 5'((32'd1 << OwnBits) - 32'd1);
  typedef logic [(Lanes > 1 ? $clog2(Lanes) : 1)-1:0] lane_t;

  function automatic logic [4:0] shared_id(lane_t lane, logic [4:0] own);
    return (5'(lane) << OwnBits) | own;
  endfunction
  function automatic lane_t lane_of(logic [4:0] id);
    return lane_t'(id >> OwnBits);
  endfunction

  // The next lane behind `last` that wants; `last` when none does.
  function automatic lane_t next(logic [Lanes-1:0] wants, lane_t last);
    next = last;
    for (int unsigned i = Lanes; i > 0; i--) begin
      if (wants[lane_t'((32'(last) + i) % Lanes)]) next = lane_t'((32'(last) + i) % Lanes);
    end
  endfunction

  // ---- read requests
  lane_t ar_turn_q, ar_lane;
  logic ar_held_q;  // On the bus since an earlier clock.
  assign ar_lane = ar_held_q ? ar_turn_q : next(arvalid_i, ar_turn_q);
  assign m_axi_arvalid = arvalid_i[ar_lane];
  assign m_axi_arid = shared_id(ar_lane, arid_i[ar_lane]);
  assign m_axi_araddr = araddr_i[ar_lane];
  assign m_axi_arlen = arlen_i[ar_lane];
  assign m_axi_arsize = AxiSize64;
  assign m_axi_arburst = AxiIncr;

  // ---- writes
  lane_t w_turn_q, w_lane;
  logic w_held_q, broken_q, may_write, writing, w_sent, room;
  assign w_lane = w_held_q ? w_turn_q : next(awvalid_i | wvalid_i, w_turn_q);
  assign m_axi_awvalid = awvalid_i[w_lane] && may_write;
  assign m_axi_wvalid = wvalid_i[w_lane] && may_write;
  assign m_axi_awid = '0;
  assign m_axi_awaddr = awaddr_i[w_lane];
  assign m_axi_awlen = awlen_i[w_lane];
  assign m_axi_awsize = AxiSize64;
  assign m_axi_awburst = AxiIncr;
  assign m_axi_wdata = wdata_i[w_lane];
  assign m_axi_wstrb = '1;
  assign m_axi_wlast = wlast_i[w_lane];
  assign may_write = !broken_q && (w_held_q || room);
  assign writing = m_axi_awvalid || m_axi_wvalid;
  assign w_sent = writing && (!m_axi_awvalid || m_axi_awready) && (!m_axi_wvalid || (m_axi_wready && m_axi_wlast));

  // Whose bursts await their answers, in order.
  (* ram_style = "distributed" *) lane_t owner_q[2**MaxWritesLog2];
  logic [MaxWritesLog2:0] sent_q, answered_q;
  logic awaited;
  lane_t b_lane;
  assign awaited = sent_q != answered_q;
  assign room = sent_q - answered_q != (MaxWritesLog2+1)'(2 ** MaxWritesLog2);
  // An answer that nobody awaits is lane 0's fault to report.
  assign b_lane = awaited ? owner_q[answered_q[MaxWritesLog2-1:0]] : '0;
  always_ff @(posedge clk_i) begin
    if (w_sent) owner_q[sent_q[MaxWritesLog2-1:0]] <= w_lane;
    if (rst_i) {sent_q, answered_q} <= '0;
    else begin
      if (w_sent) sent_q <= sent_q + 1'b1;
      if (m_axi_bvalid && m_axi_bready && awaited) answered_q <= answered_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {ar_turn_q, w_turn_q} <= '0;
      {ar_held_q, w_held_q, broken_q} <= '0;
    end else begin
      if (m_axi_arvalid) ar_turn_q <= ar_lane;
      ar_held_q <= m_axi_arvalid && !m_axi_arready;
      if (writing) w_turn_q <= w_lane;
      w_held_q <= writing && !w_sent;
      if (w_held_q && !writing) broken_q <= 1'b1;
    end
  end

  // ---- back to the lanes
  assign m_axi_rready = rready_i[lane_of(m_axi_rid)];
  assign m_axi_bready = bready_i[b_lane];
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    assign arready_o[l] = m_axi_arready && ar_lane == lane_t'(l);
    assign awready_o[l] = m_axi_awready && w_lane == lane_t'(l) && may_write;
    assign wready_o[l] = m_axi_wready && w_lane == lane_t'(l) && may_write;
    assign rvalid_o[l] = m_axi_rvalid && lane_of(m_axi_rid) == lane_t'(l);
    assign rid_o[l] = m_axi_rid & OwnMask;
    assign rdata_o[l] = m_axi_rdata;
    assign rresp_o[l] = m_axi_rresp;
    assign rlast_o[l] = m_axi_rlast;
    assign bvalid_o[l] = m_axi_bvalid && b_lane == lane_t'(l);
    assign bid_o[l] = m_axi_bid;
    assign bresp_o[l] = m_axi_bresp;
  end
endmodule
