// The card: registers, lifecycle, image header, lanes and the attestation of their logs, between an
// AXI4-Lite slave and an AXI4 master.
//
// The parts define the behaviour: card_csr (registers), lifecycle (states, lock, faults),
// image_header, lane, attest (key, table digests, checkpoints), table_patrol (when tables are
// hashed again), session_fork (passes session records to the lanes), bus_share (one master for all
// lanes). Tables are written to all lanes at once; reading a table window shows lane 0's. At OPEN,
// at CLOSE and after each pause in RUN, every lane's tables are read back and hashed. The tables of
// the text lanes are hashed while they are loaded. Every memory that a verdict rests on is also
// checked at every read, most of them by parity. A fault in one lane is a fault of the card.
// Checkpoints go out through lane 0. While `stale_i` is high, no session opens. The shell draws
// `boot_nonce_i` after reset; then it is constant. It is zero with the flag NO_TRNG.
// Elaboration stops if a production card has the public test key or the flag SIM. `irq_o` is high
// for one clock after a completion was written; it is only a hint. After reset: RESET, tables
// locked, nothing on the master. Duties of the caller: one clock, a reset of at least one clock,
// and the AXI rules on both ports.
module portcullis_top
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
  import ring_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,   // 1 to 1024, 1537 bits of RAM each.
    parameter int unsigned EntropyRows = 64,   // 1 to 1024, 1537 bits of RAM each.
    parameter int unsigned MaxStreams = 1024,  // 1 to 65536, 67 bits of RAM each.
    parameter int unsigned Lanes = 1,          // 1, 2, 4 or 8.
    // Read bursts in flight, of all lanes together; 512 bytes of buffer each. With a text lane at
    // most 16 count.
    parameter int unsigned MaxReads = 32,
    parameter int unsigned WatchdogLog2 = 22,  // Response watchdog, log2 of clocks.
    // SHA-256 rounds a clock: 1, 2, 4, 16; more are for simulation.
    parameter int unsigned Rounds = 1,
    // Pause before the tables are hashed again in RUN, log2 of clocks: 4 to 40.
    parameter int unsigned PatrolLog2 = 24,
    // Stop the clocks of parts that have nothing to do; for simulation.
    parameter bit          Sleep = 1'b0,
    // Engines of each lane's text lane, 0 to 8; 0 is a card without one. See text_scan.
    parameter int unsigned TextEngines = 0,
    // States of an engine of the text lane.
    parameter int unsigned TextStates = 4096,
    // Classes of bytes of an engine of the text lane.
    parameter int unsigned TextByteClasses = 64,
    // Blocks of 2 MiB for text windows, 1 to 32. See text_blocks.
    parameter int unsigned TextBlocks = 32,
    parameter bit          Production = 1'b0,
    parameter logic [255:0] DeviceSecret = key_pkg::TestSecret,  // First byte at the top.
    parameter logic [7:0]  KeyFlags = 8'h05    // SIM 1, CLASS_KEY 2, NO_TRNG 4.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [127:0] boot_nonce_i,
    input  logic         stale_i,  // The shell's fence is owed answers from before the reset.
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
  if (Lanes != 1 && Lanes != 2 && Lanes != 4 && Lanes != 8) begin : g_lanes
    $fatal(1, "portcullis_top: Lanes is 1, 2, 4 or 8");
  end
  if (MaxStreams % Lanes != 0) begin : g_streams
    $fatal(1, "portcullis_top: MaxStreams must be a multiple of Lanes");
  end
  if (MaxReads < 2 * Lanes) begin : g_reads
    $fatal(1, "portcullis_top: every lane needs two reads in flight");
  end

  if (Production && (DeviceSecret == key_pkg::TestSecret || DeviceSecret == '0)) begin : g_test_key
    $fatal(1,
        "portcullis_top: a production card needs a secret of its own, not the public test secret");
  end
  if (Production == KeyFlags[0]) begin : g_sim_flag
    $fatal(1,
        "portcullis_top: key flag SIM is for every card but production cards");
  end
  if (KeyFlags[7:3] != '0) begin : g_key_flags
    $fatal(1, "portcullis_top: KeyFlags has unknown bits");
  end

  // First byte lowest; the top bit of the first byte marks simulated designs.
  localparam logic [127:0] DesignId = design_pkg::DesignId | (KeyFlags[0] ? 128'h80 : 128'h0);
  localparam int unsigned RingReads = TextEngines != 0 && MaxReads > 16 ? 16 : MaxReads;
  localparam int unsigned RingLog2Max = 15;
  localparam int unsigned LogLog2Max = 20;

  csr_config_t cfg;
  csr_doorbells_t doorbells;
  csr_status_t status;
  lane_config_t [Lanes-1:0] lane_cfg;
  ring_doorbells_t [Lanes-1:0] lane_doorbells;
  ring_pointers_t [Lanes-1:0] lane_pointers;
  logic command_write;
  logic [7:0] command;
  table_access_t header_access, blocks_access, policy_access, entropy_access;
  table_answer_t header_answer, blocks_answer, policy_answer, entropy_answer;
  logic locked, cfg_locked, tables_clear, check;

  axi_pkg::lite_req_t axil_req;
  axi_pkg::lite_rsp_t axil_rsp;

  // ---- clocks
  logic csr_clk, attest_clk, attest_quiet, text_clk, text_quiet;
  // Inputs of the register block from the other parts.
  typedef struct packed {
    csr_status_t status;
    ring_pointers_t [Lanes-1:0] lanes;
    logic cfg_locked;
    table_answer_t header, blocks, policy, entropy;
  } shown_t;
  shown_t standing, shown;
  assign standing = '{
          status: status,
          lanes: lane_pointers,
          cfg_locked: cfg_locked,
          header: header_answer,
          blocks: blocks_answer,
          policy: policy_answer,
          entropy: entropy_answer
      };
  card_sleep #(
      .Sleep(Sleep),
      .shown_t(shown_t)
  ) u_sleep (
      .clk_i,
      .rst_i,
      .axil_req_i(axil_req),
      .axil_rsp_i(axil_rsp),
      .attest_quiet_i(attest_quiet),
      .text_quiet_i(text_quiet),
      .csr_clk_o(csr_clk),
      .attest_clk_o(attest_clk),
      .text_clk_o(text_clk),
      .standing_i(standing),
      .shown_o(shown)
  );

  card_csr #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .MaxStreams(MaxStreams),
      .Lanes(Lanes),
      .MaxReads(RingReads),
      .RingLog2Max(RingLog2Max),
      .LogLog2Max(LogLog2Max),
      .KeyFlags(KeyFlags),
      .TextEngines(TextEngines),
      .TextStates(TextStates),
      .TextByteClasses(TextByteClasses),
      .TextBlocks(TextBlocks)
  ) u_csr (
      .clk_i(csr_clk),
      .rst_i,
      .axil_req_i(axil_req),
      .axil_rsp_o(axil_rsp),
      .cfg_locked_i(shown.cfg_locked),
      .status_i(shown.status),
      .config_o(cfg),
      .doorbells_o(doorbells),
      .lane_pointers_i(shown.lanes),
      .lane_config_o(lane_cfg),
      .lane_doorbells_o(lane_doorbells),
      .command_write_o(command_write),
      .command_o(command),
      .header_access_o(header_access),
      .header_answer_i(shown.header),
      .blocks_access_o(blocks_access),
      .blocks_answer_i(shown.blocks),
      .policy_access_o(policy_access),
      .policy_answer_i(shown.policy),
      .entropy_access_o(entropy_access),
      .entropy_answer_i(shown.entropy)
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
  image_text_t image_text;
  logic header_fits, header_complete, asks_text, has_text;
  logic [Lanes-1:0] banks_complete;
  image_header #(
      .PolicyRows(PolicyRows),
      .EntropyRows(EntropyRows),
      .Text(TextEngines != 0)
  ) u_header (
      .clk_i,
      .rst_i,
      .access_i(header_access),
      .locked_i(locked),
      .clear_i(tables_clear),
      .answer_o(header_answer),
      .check_i(check),
      .fits_o(header_fits),
      .complete_o(header_complete),
      .header_o(header),
      .has_text_o(asks_text),
      .text_o(image_text)
  );
  // A card without a text lane never uses one, even if the image header asks for it.
  assign has_text = TextEngines != 0 && asks_text;

  // ---- text windows and tables
  logic text_load, text_placed;
  logic [Lanes-1:0] texts_quiet, texts_changed, memories_changed;
  // In a session without a text part, the text lanes have no work.
  assign text_quiet = !has_text && !text_load && &texts_quiet;
  logic [Lanes-1:0] text_loaded;
  logic [Lanes-1:0][15:0] text_slots;
  text_pkg::place_t [Lanes-1:0] text_places;
  fault_e [Lanes-1:0] text_faults;
  fault_e text_fault;
  if (TextEngines != 0) begin : g_text
    logic windows_placed;
    text_blocks #(
        .Lanes(Lanes),
        .Blocks(TextBlocks)
    ) u_blocks (
        .clk_i,
        .rst_i,
        .access_i(blocks_access),
        .locked_i(cfg_locked),
        .answer_o(blocks_answer),
        .stride_i(cfg.text_stride),
        .placed_o(windows_placed),
        .slot_i(text_slots),
        .place_o(text_places)
    );
    assign text_placed = windows_placed && cfg.text_tables[5:0] == '0;
    // The fault of the lowest lane that has one; a fault of the bus comes before all other faults.
    always_comb begin
      text_fault = FaultNone;
      for (int l = Lanes - 1; l >= 0; l--)
        if (text_faults[l] != FaultNone && !(text_fault == FaultReadResponse
            || text_fault == FaultWatchdog)) text_fault = text_faults[l];
    end
  end else begin : g_no_text
    assign blocks_answer = '0;
    assign text_places = '0;
    assign text_placed = 1'b0;
    assign text_fault = FaultNone;
  end

  // ---- lifecycle
  logic ring_open, ring_fetch, ring_halt, ring_clear, tail_doorbell, head_doorbells;
  fault_e ring_fault;
  logic run, drop, streams_clear, session_valid, session_ready;
  // Signals of each lane.
  fault_e [Lanes-1:0] ring_faults;
  logic head_fault;
  logic [Lanes-1:0] needs_reset, bus_dead, ring_idle, streams_clearing, log_opened, log_closed,
      written, lane_idle;
  logic [Lanes-1:0] lane_session_valid, lane_session_ready;
  record_type_e session_type;
  fault_e session_cause;
  logic hash_tables, tables_hashed, hold, life_sign, life_signed;
  logic [255:0] found_digest;
  logic patrol_due, patrol_done, tables_changed;
  logic found_alike;
  life_e sign_life;

  lifecycle #(
      .Text(TextEngines != 0)
  ) u_lifecycle (
      .clk_i,
      .rst_i,
      .command_write_i(command_write),
      .command_i(command),
      .locked_o(locked),
      .cfg_locked_o(cfg_locked),
      .tables_clear_o(tables_clear),
      .check_o(check),
      .header_fits_i(header_fits),
      .complete_i(header_complete && banks_complete == '1),
      .digest_o(hash_tables),
      .digest_done_i(tables_hashed),
      .digest_expected_i(found_alike && found_digest == cfg.expected_digest),
      .digest_same_i(found_alike && found_digest == status.policy_digest),
      .changed_i(tables_changed || memories_changed != '0 || (has_text && texts_changed != '0)),
      .text_i(has_text),
      .text_placed_i(text_placed),
      .text_load_o(text_load),
      .text_loaded_i(&text_loaded),
      .text_fault_i(text_fault),
      .ring_open_o(ring_open),
      .ring_fetch_o(ring_fetch),
      .ring_halt_o(ring_halt),
      .ring_clear_o(ring_clear),
      .tail_doorbell_o(tail_doorbell),
      .head_doorbells_o(head_doorbells),
      .ring_fault_i(ring_fault),
      .ring_bus_dead_i(|bus_dead),
      .needs_reset_i(needs_reset != '0 || stale_i),
      .ring_idle_i(&ring_idle),
      .run_o(run),
      .hold_o(hold),
      .drop_o(drop),
      .streams_clear_o(streams_clear),
      .streams_clearing_i(|streams_clearing),
      .record_valid_o(session_valid),
      .record_ready_i(session_ready),
      .record_type_o(session_type),
      .record_cause_o(session_cause),
      .log_open_i(&log_opened && !(&log_closed)),
      .written_i(&written),
      .lane_idle_i(&lane_idle),
      .heartbeat_i(doorbells.heartbeat_we),
      .sign_o(life_sign),
      .sign_life_o(sign_life),
      .sign_done_i(life_sign && (life_signed || cfg.ckpt_log2 == '0)),
      .life_o(status.life),
      .busy_o(status.busy),
      .fault_o(status.fault),
      .load_fault_o(status.load_fault)
  );
  session_fork #(
      .Lanes(Lanes)
  ) u_fork (
      .clk_i,
      .rst_i,
      .valid_i(session_valid),
      .ready_o(session_ready),
      .type_i(session_type),
      .log_open_i(log_opened & ~log_closed),
      .valid_o(lane_session_valid),
      .ready_i(lane_session_ready)
  );
  assign status.locked = locked;
  assign status.needs_reset = |needs_reset;
  assign status.stale = stale_i;
  assign status.tick = tick;

  // ---- attestation
  typedef logic [(Lanes > 1 ? $clog2(Lanes) : 1)-1:0] lane_t;
  readback_t read;
  logic [2:0] read_lane;
  logic [Lanes-1:0] read_ready;
  row_t [Lanes-1:0] policy_read, entropy_read;
  logic [Lanes-1:0][63:0] size, heartbeat_nonce;
  logic [63:0] all_records;
  logic snapshot;
  logic [2:0] snapshot_lane;
  log_pkg::snapshot_t [Lanes-1:0] snapshots;
  beat_t beat;
  beat_answer_t [Lanes-1:0] beat_answers;

  assign status.design_id = DesignId;
  // This part uses the clock that never stops.
  table_patrol #(
      .PauseLog2(PatrolLog2)
  ) u_patrol (
      .clk_i,
      .rst_i,
      .run_i(status.life == LifeRun),
      .done_i(patrol_done),
      .due_o(patrol_due)
  );
  logic [31:0] ckpt_head;
  checkpoint_head u_checkpoint_head (
      .clk_i,
      .rst_i,
      .open_i(check),
      .we_i(doorbells.checkpoint_head_we && head_doorbells),
      .value_i(doorbells.checkpoint_head),
      .tail_i(status.checkpoint_tail),
      .head_o(ckpt_head),
      .fault_o(head_fault)
  );
  log_pkg::card_facts_t facts;
  assign facts = '{
          fault: status.fault,
          epoch: cfg.session.epoch,
          tick: tick,
          heartbeat_nonce: heartbeat_nonce[0],
          boot_nonce: status.boot_nonce,
          policy_digest: status.policy_digest,
          ticket_digest: cfg.session.ticket_digest
      };
  attest #(
      .Rounds(Rounds),
      .KeyFlags(KeyFlags),
      .Lanes(Lanes),
      .Text(TextEngines != 0),
      .DeviceSecret(DeviceSecret),
      .DesignId(DesignId)
  ) u_attest (
      .clk_i(attest_clk),
      .rst_i,
      .quiet_o(attest_quiet),
      .public_key_o(status.public_key),
      .digest_i(hash_tables),
      .digest_done_o(tables_hashed),
      .digest_o(found_digest),
      .digest_alike_o(found_alike),
      .patrol_i(patrol_due),
      .patrol_done_o(patrol_done),
      .changed_o(tables_changed),
      .header_i(header),
      .has_text_i(has_text),
      .text_i(image_text),
      .read_lane_o(read_lane),
      .read_o(read),
      .read_ready_i(read_ready[lane_t'(read_lane)]),
      .policy_read_i(policy_read[lane_t'(read_lane)]),
      .entropy_read_i(entropy_read[lane_t'(read_lane)]),
      .open_i(check),
      .abort_i(ring_clear || bus_dead != '0),
      .life_valid_i(life_sign),
      .life_i(sign_life),
      .life_done_o(life_signed),
      .interval_i(cfg.checkpoint_interval),
      .flush_i(doorbells.flush_we),
      .run_i(status.life == LifeRun),
      .records_i(all_records),
      .facts_i(facts),
      .snapshot_o(snapshot),
      .snapshot_lane_o(snapshot_lane),
      .size_i(size[lane_t'(snapshot_lane)]),
      .snapshot_i(snapshots[lane_t'(snapshot_lane)]),
      .ring_log2_i(cfg.ckpt_log2),
      .head_i(ckpt_head),
      .beat_o(beat),
      .beat_i(beat_answers[0]),
      .tail_o(status.checkpoint_tail)
  );

  // ---- lanes
  counters_t [Lanes-1:0] counters;
  logic [Lanes-1:0][31:0] records, credit;
  table_answer_t [Lanes-1:0] policy_answers, entropy_answers;
  assign policy_answer = policy_answers[0];
  assign entropy_answer = entropy_answers[0];

  // Connections of the lanes to the bus.
  axi_pkg::req_t lane_req[Lanes], bus_req;
  axi_pkg::rsp_t lane_rsp[Lanes], bus_rsp;

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    ring_cfg_t ring_cfg;
    assign ring_cfg = '{
            sq_base: lane_cfg[l].sq_base,
            cq_base: lane_cfg[l].cq_base,
            log_base: lane_cfg[l].log_base,
            sq_log2: lane_cfg[l].sq_log2,
            log_log2: lane_cfg[l].log_log2,
            ckpt_base: l == 0 ? cfg.ckpt_base : '0,
            ckpt_log2: l == 0 ? cfg.ckpt_log2 : '0
        };
    readback_t lane_read;
    always_comb begin
      lane_read = read;
      lane_read.valid &= read_lane == 3'(l);
    end
    // Only the doorbells that the lifecycle allows are passed on.
    ring_doorbells_t rung;
    always_comb begin
      rung = lane_doorbells[l];
      rung.sq_tail_we &= tail_doorbell;
      rung.cq_head_we &= head_doorbells;
      rung.log_head_we &= head_doorbells;
    end
    lane #(
        .PolicyRows(PolicyRows),
        .EntropyRows(EntropyRows),
        .MaxStreams(MaxStreams),
        .Lanes(Lanes),
        .MaxReads(RingReads / Lanes),
        .RingLog2Max(RingLog2Max),
        .LogLog2Max(LogLog2Max),
        .WatchdogLog2(WatchdogLog2),
        .Rounds(Rounds),
        .KeyFlags(KeyFlags),
        .TextEngines(TextEngines),
        .TextStates(TextStates),
        .TextByteClasses(TextByteClasses)
    ) u_lane (
        .clk_i,
        .rst_i,
        .text_clk_i(text_clk),
        .lane_i(8'(l)),
        .header_i(header),
        .session_i(cfg.session),
        .policy_digest_i(status.policy_digest),
        .tick_i(tick),
        .text_i(has_text),
        .text_image_i(image_text),
        .text_load_i(text_load),
        .text_tables_i(cfg.text_tables),
        .text_loaded_o(text_loaded[l]),
        .text_fault_o(text_faults[l]),
        .text_changed_o(texts_changed[l]),
        .changed_o(memories_changed[l]),
        .text_quiet_o(texts_quiet[l]),
        .text_slot_o(text_slots[l]),
        .text_place_i(text_places[l]),
        .heartbeat_i(doorbells.heartbeat_we && status.life == LifeRun),
        .heartbeat_nonce_i(doorbells.heartbeat_nonce),
        .heartbeat_nonce_o(heartbeat_nonce[l]),
        .heartbeat_credit_o(credit[l]),
        .policy_access_i(policy_access),
        .policy_answer_o(policy_answers[l]),
        .entropy_access_i(entropy_access),
        .entropy_answer_o(entropy_answers[l]),
        .locked_i(locked),
        .tables_clear_i(tables_clear),
        .check_i(check),
        .complete_o(banks_complete[l]),
        .read_i(lane_read),
        .read_ready_o(read_ready[l]),
        .policy_read_o(policy_read[l]),
        .entropy_read_o(entropy_read[l]),
        .run_i(run),
        .hold_i(hold),
        .drop_i(drop),
        .streams_clear_i(streams_clear),
        .streams_clearing_o(streams_clearing[l]),
        .session_valid_i(lane_session_valid[l]),
        .session_ready_o(lane_session_ready[l]),
        .session_type_i(session_type),
        .session_cause_i(session_cause),
        .log_opened_o(log_opened[l]),
        .log_closed_o(log_closed[l]),
        .written_o(written[l]),
        .idle_o(lane_idle[l]),
        .size_o(size[l]),
        .snapshot_i(snapshot && snapshot_lane == 3'(l)),
        .snapshot_o(snapshots[l]),
        .beat_i(l == 0 ? beat : '0),
        .beat_o(beat_answers[l]),
        .ring_cfg_i(ring_cfg),
        .open_i(ring_open),
        .fetch_i(ring_fetch),
        .halt_i(ring_halt),
        .clear_i(ring_clear),
        .doorbells_i(rung),
        .ring_fault_o(ring_faults[l]),
        .bus_dead_o(bus_dead[l]),
        .needs_reset_o(needs_reset[l]),
        .ring_idle_o(ring_idle[l]),
        .pointers_o(lane_pointers[l]),
        .counters_o(counters[l]),
        .records_o(records[l]),
        .axi_req_o(lane_req[l]),
        .axi_rsp_i(lane_rsp[l])
    );
  end

  bus_share #(
      .Lanes(Lanes)
  ) u_share (
      .clk_i,
      .rst_i,
      .lane_req_i(lane_req),
      .lane_rsp_o(lane_rsp),
      .bus_req_o(bus_req),
      .bus_rsp_i(bus_rsp)
  );

  // ---- pins: the signals that are the same for every burst are set only here
  assign m_axi_awsize = axi_pkg::Size64;
  assign m_axi_awburst = axi_pkg::Incr;
  assign m_axi_wstrb = axi_pkg::AllBytes;
  assign m_axi_arsize = axi_pkg::Size64;
  assign m_axi_arburst = axi_pkg::Incr;
  assign {m_axi_awid, m_axi_awlen, m_axi_awaddr} = bus_req.aw;
  assign {m_axi_awvalid, m_axi_wvalid, m_axi_bready} =
      {bus_req.aw_valid, bus_req.w_valid, bus_req.b_ready};
  assign {m_axi_wlast, m_axi_wdata} = bus_req.w;
  assign {m_axi_arid, m_axi_arlen, m_axi_araddr} = bus_req.ar;
  assign {m_axi_arvalid, m_axi_rready} = {bus_req.ar_valid, bus_req.r_ready};
  assign axil_req = '{
          aw_valid: s_axil_awvalid,
          w_valid: s_axil_wvalid,
          b_ready: s_axil_bready,
          ar_valid: s_axil_arvalid,
          r_ready: s_axil_rready,
          w_strb: s_axil_wstrb,
          aw_addr: 32'(s_axil_awaddr),
          w_data: s_axil_wdata,
          ar_addr: 32'(s_axil_araddr)
      };
  assign {s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_bresp} =
      {axil_rsp.aw_ready, axil_rsp.w_ready, axil_rsp.b_valid, axil_rsp.b_resp};
  assign {s_axil_arready, s_axil_rvalid, s_axil_rresp, s_axil_rdata} =
      {axil_rsp.ar_ready, axil_rsp.r_valid, axil_rsp.r_resp, axil_rsp.r_data};
  assign bus_rsp = '{
          aw_ready: m_axi_awready,
          w_ready: m_axi_wready,
          b: '{id: m_axi_bid, resp: m_axi_bresp},
          b_valid: m_axi_bvalid,
          ar_ready: m_axi_arready,
          r_valid: m_axi_rvalid,
          r: '{id: m_axi_rid, resp: m_axi_rresp, last: m_axi_rlast, data: m_axi_rdata}
      };

  // ---- status of the whole card
  logic [Lanes-1:0][15:0] cq_tail;
  for (genvar l = 0; l < Lanes; l++) begin : g_tail
    assign cq_tail[l] = lane_pointers[l].cq_tail;
  end
  card_status #(
      .Lanes(Lanes)
  ) u_status (
      .clk_i,
      .rst_i,
      .life_i(status.life),
      .hashed_i(tables_hashed),
      .digest_i(found_digest),
      .policy_digest_o(status.policy_digest),
      .boot_nonce_i,
      .boot_nonce_o(status.boot_nonce),
      .lane_fault_i(ring_faults),
      .head_fault_i(head_fault),
      .fault_o(ring_fault),
      .counters_i(counters),
      .size_i(size),
      .records_i(records),
      .credit_i(credit),
      .cq_tail_i(cq_tail),
      .counters_o(status.counters),
      .size_o(all_records),
      .records_o(status.records),
      .credit_o(status.heartbeat_credit),
      .irq_o
  );
endmodule
