// The card: registers, life, image header, one lane and the attestation of its log, between an AXI4-Lite slave and an AXI4 master.
//
// Behaviour is that of the parts: card_csr (registers), life (states, lock, faults), image_header, lane, attest (key, table digest,
// checkpoints). `boot_nonce_i` is drawn by the shell after reset and constant from then on; zero with the flag NO_TRNG.
// Elaboration stops where a production card would have the key that everybody knows, or call itself simulated.
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
    parameter int unsigned Rounds = 1,         // SHA-256 rounds a clock: 1, 2, 4, 16; more are for simulation.
    parameter bit          Production = 1'b0,
    parameter logic [255:0] DeviceSecret = key_pkg::TestSecret,  // First byte at the top.
    parameter logic [7:0]  KeyFlags = 8'h05    // SIM 1, CLASS_KEY 2, NO_TRNG 4.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [127:0] boot_nonce_i,
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

  if (Production && (DeviceSecret == key_pkg::TestSecret || DeviceSecret == '0)) begin : g_test_key
    $fatal(1, "portcullis_top: a production card needs a secret of its own, not the public test secret");
  end
  if (Production == KeyFlags[0]) begin : g_sim_flag
    $fatal(1, "portcullis_top: key flag SIM is for every card that is not a production card, and for no other");
  end
  if (KeyFlags[7:3] != '0) begin : g_key_flags
    $fatal(1, "portcullis_top: KeyFlags has unknown bits");
  end

  // First byte lowest; the top bit of the first byte tells simulated designs apart.
  localparam logic [127:0] DesignId = design_pkg::DesignId | (KeyFlags[0] ? 128'h80 : 128'h0);
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
  logic [63:0] tick;
  tick_counter u_tick (
      .clk_i,
      .rst_i,
      .tick_o(tick)
  );

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
  logic session_valid, session_ready, committed, written, lane_idle;
  record_type_e session_type;
  fault_e session_cause;
  logic hash_tables, tables_hashed, hold, life_sign, life_signed;
  logic [255:0] found_digest, policy_digest_q;
  life_e sign_life;

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
      .digest_o(hash_tables),
      .digest_done_i(tables_hashed),
      .digest_expected_i(found_digest == cfg.expected_digest),
      .digest_same_i(found_digest == policy_digest_q),
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
      .hold_o(hold),
      .drop_o(drop),
      .streams_clear_o(streams_clear),
      .streams_clearing_i(streams_clearing),
      .record_valid_o(session_valid),
      .record_ready_i(session_ready),
      .record_type_o(session_type),
      .record_cause_o(session_cause),
      .record_committed_i(committed),
      .written_i(written),
      .lane_idle_i(lane_idle),
      .beat_i(doorbells.beat_we),
      .sign_o(life_sign),
      .sign_life_o(sign_life),
      .sign_done_i(life_sign && (life_signed || cfg.ring.ckpt_log2 == '0)),
      .life_o(status.life),
      .busy_o(status.busy),
      .fault_o(status.fault),
      .load_fault_o(status.load_fault)
  );
  assign status.locked = locked;
  assign status.tick = tick;

  // ---- attestation
  logic read, read_entropy, read_ready;
  logic [15:0] read_row;
  row_t row;
  logic [63:0] size, heartbeat_nonce;
  logic snapshot, snapshot_valid, snapshot_last;
  log_pkg::digest_t snapshot_node;
  logic beat_valid, beat_take, beat_answered;
  logic [31:0] beat_entry;
  logic [8:0] beat_at;
  logic [511:0] beat;

  always_ff @(posedge clk_i) begin
    if (rst_i) policy_digest_q <= '0;
    else if (tables_hashed && status.life == LifeOpening) policy_digest_q <= found_digest;
  end
  assign status.policy_digest = policy_digest_q;
  assign status.design_id = DesignId;
  assign status.boot_nonce = boot_nonce_i;

  attest #(
      .Rounds(Rounds),
      .KeyFlags(KeyFlags),
      .Lanes(8'(Lanes)),
      .DeviceSecret(DeviceSecret),
      .DesignId(DesignId)
  ) u_attest (
      .clk_i,
      .rst_i,
      .public_key_o(status.public_key),
      .digest_i(hash_tables),
      .digest_done_o(tables_hashed),
      .digest_o(found_digest),
      .header_i(header),
      .read_o(read),
      .read_entropy_o(read_entropy),
      .read_row_o(read_row),
      .read_ready_i(read_ready),
      .row_i(row),
      .open_i(check),
      .abort_i(ring_clear || bus_dead),
      .life_valid_i(life_sign),
      .life_i(sign_life),
      .life_done_o(life_signed),
      .interval_i(cfg.checkpoint_interval),
      .flush_i(doorbells.flush_we),
      .run_i(status.life == LifeRun),
      .size_i(size),
      .fault_i(status.fault),
      .tick_i(tick),
      .epoch_i(cfg.epoch),
      .policy_digest_i(policy_digest_q),
      .ticket_digest_i(cfg.ticket_digest),
      .boot_nonce_i,
      .heartbeat_nonce_i(heartbeat_nonce),
      .snapshot_o(snapshot),
      .snapshot_valid_i(snapshot_valid),
      .snapshot_last_i(snapshot_last),
      .snapshot_node_i(snapshot_node),
      .ring_log2_i(cfg.ring.ckpt_log2),
      .head_i(doorbells.checkpoint_head),
      .beat_valid_o(beat_valid),
      .beat_take_i(beat_take),
      .beat_entry_o(beat_entry),
      .beat_at_o(beat_at),
      .beat_o(beat),
      .beat_answered_i(beat_answered),
      .tail_o(status.checkpoint_tail)
  );

  // ---- lane
  lane #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .MaxReads(MaxReads),
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max),
      .WatchdogLog2(WatchdogLog2),
      .Rounds(Rounds),
      .LaneIndex(8'd0),
      .KeyFlags(KeyFlags)
  ) u_lane (
      .clk_i,
      .rst_i,
      .header_i(header),
      .epoch_i(cfg.epoch),
      .policy_digest_i(policy_digest_q),
      .ticket_digest_i(cfg.ticket_digest),
      .tick_i(tick),
      .heartbeat_records_i(cfg.heartbeat_records),
      .heartbeat_ticks_i(cfg.heartbeat_ticks),
      .beat_i(doorbells.beat_we && status.life == LifeRun),
      .beat_nonce_i(doorbells.beat_nonce),
      .heartbeat_nonce_o(heartbeat_nonce),
      .heartbeat_credit_o(status.heartbeat_credit),
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
      .read_i(read),
      .read_entropy_i(read_entropy),
      .read_row_i(read_row),
      .read_ready_o(read_ready),
      .read_row_o(row),
      .run_i(run),
      .hold_i(hold),
      .drop_i(drop),
      .streams_clear_i(streams_clear),
      .streams_clearing_o(streams_clearing),
      .session_valid_i(session_valid),
      .session_ready_o(session_ready),
      .session_type_i(session_type),
      .session_cause_i(session_cause),
      .committed_o(committed),
      .written_o(written),
      .idle_o(lane_idle),
      .size_o(size),
      .snapshot_i(snapshot),
      .snapshot_valid_o(snapshot_valid),
      .snapshot_last_o(snapshot_last),
      .snapshot_node_o(snapshot_node),
      .beat_valid_i(beat_valid),
      .beat_take_o(beat_take),
      .beat_entry_i(beat_entry),
      .beat_at_i(beat_at),
      .beat_data_i(beat),
      .beat_answered_o(beat_answered),
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
