// The card: registers, life, image header and one lane, between an AXI4-Lite slave and an AXI4 master.
//
// Behaviour is that of the parts: card_csr (registers), life (states, lock, faults), image_header, lane.
// `irq_o` is high for one clock after a completion was written; it is a hint and nothing waits for it.
// After reset: RESET, tables locked, nothing on the master. The caller owes: one clock, a reset of at
// least one clock, and the AXI rules on both ports.
module portcullis_top
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,   // 1 to 1024, 1536 bits of RAM each.
    parameter int unsigned EntropyRows = 64,   // 1 to 1024, 1536 bits of RAM each.
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536, 33 bits of RAM each.
    parameter int unsigned Lanes = 1,          // 1: the register map holds one lane.
    parameter int unsigned MaxReads = 32,      // Read bursts in flight, 512 bytes of buffer each.
    parameter int unsigned WatchdogLog2 = 22,  // Response watchdog, log2 of clocks.
    parameter logic [7:0]  KeyFlags = 8'h01    // SIM, CLASS_KEY, NO_TRNG.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    output logic         irq_o,
    // AXI4-Lite slave.
    output logic         s_axil_awready,
    input  logic         s_axil_awvalid,
    input  logic [19:0]  s_axil_awaddr,
    input  logic [2:0]   s_axil_awprot,
    output logic         s_axil_wready,
    input  logic         s_axil_wvalid,
    input  logic [31:0]  s_axil_wdata,
    input  logic [3:0]   s_axil_wstrb,
    input  logic         s_axil_bready,
    output logic         s_axil_bvalid,
    output logic [1:0]   s_axil_bresp,
    output logic         s_axil_arready,
    input  logic         s_axil_arvalid,
    input  logic [19:0]  s_axil_araddr,
    input  logic [2:0]   s_axil_arprot,
    input  logic         s_axil_rready,
    output logic         s_axil_rvalid,
    output logic [31:0]  s_axil_rdata,
    output logic [1:0]   s_axil_rresp,
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
  if (Lanes != 1) begin : g_lanes
    $fatal(1, "portcullis_top: Lanes must be 1: the generated register map holds the rings of one lane");
  end

  localparam int unsigned RingLog2Max = 15;
  localparam int unsigned LogLog2Max = 20;

  csr_config_t cfg;
  csr_doorbells_t doorbells;
  csr_status_t status;
  logic command_write;
  logic [7:0] command;
  table_access_t header_access, policy_access, entropy_access;
  logic header_rd_ack, policy_rd_ack, entropy_rd_ack;
  logic [31:0] header_rd_data, policy_rd_data, entropy_rd_data;
  logic locked, cfg_locked, tables_clear, check;

  card_csr #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .MaxReads(MaxReads),
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max),
      .KeyFlags(KeyFlags)
  ) u_csr (
      .clk_i,
      .rst_i,
      .s_axil_awready,
      .s_axil_awvalid,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_wready,
      .s_axil_wvalid,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_bready,
      .s_axil_bvalid,
      .s_axil_bresp,
      .s_axil_arready,
      .s_axil_arvalid,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_rready,
      .s_axil_rvalid,
      .s_axil_rdata,
      .s_axil_rresp,
      .cfg_locked_i(cfg_locked),
      .status_i(status),
      .config_o(cfg),
      .doorbells_o(doorbells),
      .command_write_o(command_write),
      .command_o(command),
      .header_access_o(header_access),
      .header_rd_ack_i(header_rd_ack),
      .header_rd_data_i(header_rd_data),
      .policy_access_o(policy_access),
      .policy_rd_ack_i(policy_rd_ack),
      .policy_rd_data_i(policy_rd_data),
      .entropy_access_o(entropy_access),
      .entropy_rd_ack_i(entropy_rd_ack),
      .entropy_rd_data_i(entropy_rd_data)
  );

  // ---- time
  logic [63:0] tick_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) tick_q <= '0;
    else tick_q <= tick_q + 64'd1;
  end

  // ---- image header
  image_header_t header;
  logic header_fits, header_complete, banks_complete;
  image_header #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows)
  ) u_header (
      .clk_i,
      .rst_i,
      .access_i(header_access),
      .locked_i(locked),
      .clear_i(tables_clear),
      .rd_ack_o(header_rd_ack),
      .rd_data_o(header_rd_data),
      .check_i(check),
      .fits_o(header_fits),
      .complete_o(header_complete),
      .header_o(header)
  );

  // ---- life
  logic ring_open, ring_fetch, ring_halt, ring_clear, tail_doorbell, head_doorbells;
  fault_e ring_fault;
  logic bus_dead, ring_idle, run, drop, streams_clear, streams_clearing;
  logic session_valid, session_ready, sent, written, lane_idle;
  record_type_e session_type;
  fault_e session_cause;
  // Parts that this card does not have: no digest of the tables, no heartbeat, no checkpoints.
  logic unsupported;
  assign unsupported = cfg.expected_digest != '0 || cfg.heartbeat_records != '0 || cfg.heartbeat_ticks != '0
      || cfg.checkpoint_size != '0;

  life u_life (
      .clk_i,
      .rst_i,
      .command_write_i(command_write),
      .command_i(command),
      .locked_o(locked),
      .cfg_locked_o(cfg_locked),
      .tables_clear_o(tables_clear),
      .check_o(check),
      .header_fits_i(header_fits),
      .complete_i(header_complete && banks_complete),
      .unsupported_i(unsupported),
      .ring_open_o(ring_open),
      .ring_fetch_o(ring_fetch),
      .ring_halt_o(ring_halt),
      .ring_clear_o(ring_clear),
      .tail_doorbell_o(tail_doorbell),
      .head_doorbells_o(head_doorbells),
      .ring_fault_i(ring_fault),
      .ring_bus_dead_i(bus_dead),
      .ring_idle_i(ring_idle),
      .run_o(run),
      .drop_o(drop),
      .streams_clear_o(streams_clear),
      .streams_clearing_i(streams_clearing),
      .record_valid_o(session_valid),
      .record_ready_i(session_ready),
      .record_type_o(session_type),
      .record_cause_o(session_cause),
      .record_sent_i(sent),
      .written_i(written),
      .lane_idle_i(lane_idle),
      .life_o(status.life),
      .busy_o(status.busy),
      .fault_o(status.fault),
      .load_fault_o(status.load_fault)
  );
  assign status.locked = locked;
  assign status.tick = tick_q;

  // ---- lane
  lane #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .MaxReads(MaxReads),
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max),
      .WatchdogLog2(WatchdogLog2),
      .LaneIndex(8'd0),
      .KeyFlags(KeyFlags)
  ) u_lane (
      .clk_i,
      .rst_i,
      .header_i(header),
      .epoch_i(cfg.epoch),
      .ticket_digest_i(cfg.ticket_digest),
      .tick_i(tick_q),
      .policy_access_i(policy_access),
      .policy_rd_ack_o(policy_rd_ack),
      .policy_rd_data_o(policy_rd_data),
      .entropy_access_i(entropy_access),
      .entropy_rd_ack_o(entropy_rd_ack),
      .entropy_rd_data_o(entropy_rd_data),
      .locked_i(locked),
      .tables_clear_i(tables_clear),
      .check_i(check),
      .complete_o(banks_complete),
      .run_i(run),
      .drop_i(drop),
      .streams_clear_i(streams_clear),
      .streams_clearing_o(streams_clearing),
      .session_valid_i(session_valid),
      .session_ready_o(session_ready),
      .session_type_i(session_type),
      .session_cause_i(session_cause),
      .sent_o(sent),
      .written_o(written),
      .idle_o(lane_idle),
      .ring_cfg_i(cfg.ring),
      .open_i(ring_open),
      .fetch_i(ring_fetch),
      .halt_i(ring_halt),
      .clear_i(ring_clear),
      .sq_tail_we_i(doorbells.sq_tail_we && tail_doorbell),
      .sq_tail_i(doorbells.sq_tail),
      .cq_head_we_i(doorbells.cq_head_we && head_doorbells),
      .cq_head_i(doorbells.cq_head),
      .log_head_we_i(doorbells.log_head_we && head_doorbells),
      .log_head_i(doorbells.log_head),
      .ring_fault_o(ring_fault),
      .bus_dead_o(bus_dead),
      .ring_idle_o(ring_idle),
      .sq_head_o(status.sq_head),
      .cq_tail_o(status.cq_tail),
      .log_tail_o(status.log_tail),
      .counters_o(status.counters),
      .records_o(status.records),
      .open_streams_o(status.open_streams),
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bid,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready
  );

  // ---- interrupt hint
  logic [15:0] cq_tail_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cq_tail_q <= '0;
      irq_o <= 1'b0;
    end else begin
      cq_tail_q <= status.cq_tail;
      irq_o <= status.cq_tail != cq_tail_q && status.life != LifeOpening;
    end
  end
endmodule
