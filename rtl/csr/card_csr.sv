// The AXI4-Lite side of the card: its port, the generated register block, and a block for each
// lane. The generated structures are converted to the card's own. Registers of missing lanes read
// as 0 and ignore writes.
//
// Table windows: an access leaves in the clock in which the register block decodes it, so after the
// lock no write is on its way. A write is acknowledged one clock later, even if it had no effect; a
// read is acknowledged when its table answers, after at most four clocks. A command gives
// `command_write_o`, and one clock later its value. Doorbells leave one clock after their write.
//
// Latency: see above.
// After reset: every register 0.
// Duties of the caller: a read acknowledge for every read access of each window.
module card_csr
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
  import ring_pkg::*;
#(
    parameter int unsigned PolicyRows = 256,
    parameter int unsigned EntropyRows = 64,
    parameter int unsigned MaxStreams = 1024,
    parameter int unsigned Lanes = 1,
    parameter int unsigned MaxReads = 32,
    parameter int unsigned RingLog2Max = 15,
    parameter int unsigned LogLog2Max = 20,
    parameter logic [7:0]  KeyFlags = 8'h01,
    parameter int unsigned TextEngines = 0,  // 0: no text lane.
    parameter int unsigned TextStates = 4096,
    parameter int unsigned TextByteClasses = 64,
    parameter int unsigned TextBlocks = 32
) (
    input  logic                        clk_i,
    input  logic                        rst_i,
    // AXI4-Lite.
    input  axi_pkg::lite_req_t          axil_req_i,
    output axi_pkg::lite_rsp_t          axil_rsp_o,
    // Card.
    input  logic                        cfg_locked_i,
    input  csr_status_t                 status_i,
    output csr_config_t                 config_o,
    output csr_doorbells_t              doorbells_o,
    input  ring_pointers_t  [Lanes-1:0] lane_pointers_i,
    output lane_config_t    [Lanes-1:0] lane_config_o,
    output ring_doorbells_t [Lanes-1:0] lane_doorbells_o,
    output logic                        command_write_o,
    output logic            [7:0]       command_o,
    output table_access_t               header_access_o,
    input  table_answer_t               header_answer_i,
    output table_access_t               blocks_access_o,
    input  table_answer_t               blocks_answer_i,
    output table_access_t               policy_access_o,
    input  table_answer_t               policy_answer_i,
    output table_access_t               entropy_access_o,
    input  table_answer_t               entropy_answer_i
);
  card_pkg::card__in_t hwif_in;
  card_pkg::card__out_t hwif_out;

  logic req, req_write, rd_ack, wr_ack;
  logic [19:0] req_addr;
  logic [31:0] req_data, req_bits, rd_data;
  axil_port #(
      .AddressWidth(20)
  ) u_port (
      .clk_i,
      .rst_i,
      .axil_req_i,
      .axil_rsp_o,
      .req_o(req),
      .req_write_o(req_write),
      .req_addr_o(req_addr),
      .req_data_o(req_data),
      .req_bits_o(req_bits),
      .rd_ack_i(rd_ack),
      .rd_data_i(rd_data),
      .wr_ack_i(wr_ack)
  );
  // The block handles one request at a time, so it never stalls; it reports no errors.
  card u_regs (
      .clk(clk_i),
      .rst(rst_i),
      .s_cpuif_req(req),
      .s_cpuif_req_is_wr(req_write),
      .s_cpuif_addr(req_addr),
      .s_cpuif_wr_data(req_data),
      .s_cpuif_wr_biten(req_bits),
      .s_cpuif_req_stall_wr(),
      .s_cpuif_req_stall_rd(),
      .s_cpuif_rd_ack(rd_ack),
      .s_cpuif_rd_err(),
      .s_cpuif_rd_data(rd_data),
      .s_cpuif_wr_ack(wr_ack),
      .s_cpuif_wr_err(),
      .hwif_in,
      .hwif_out
  );

  // ---- table windows
  logic header_wr_ack_q, policy_wr_ack_q, entropy_wr_ack_q, blocks_wr_ack_q;
  function automatic table_access_t access_of(logic valid, logic write, logic [15:0] address,
      logic [31:0] data, logic [31:0] bits);
    return '{
        valid: valid,
        write: write,
        row: address[15:6],
        word: address[5:0],
        whole: &bits,
        data: data
    };
  endfunction
  assign header_access_o = access_of(hwif_out.header.req, hwif_out.header.req_is_wr,
      16'(hwif_out.header.addr[7:2]), hwif_out.header.wr_data, hwif_out.header.wr_biten);
  assign blocks_access_o = access_of(hwif_out.text_blocks.req, hwif_out.text_blocks.req_is_wr,
      16'(hwif_out.text_blocks.addr[7:2]), hwif_out.text_blocks.wr_data,
      hwif_out.text_blocks.wr_biten);
  assign policy_access_o = access_of(hwif_out.policy_bank.req, hwif_out.policy_bank.req_is_wr,
      hwif_out.policy_bank.addr[17:2], hwif_out.policy_bank.wr_data,
      hwif_out.policy_bank.wr_biten);
  assign entropy_access_o = access_of(hwif_out.entropy_bank.req, hwif_out.entropy_bank.req_is_wr,
      hwif_out.entropy_bank.addr[17:2], hwif_out.entropy_bank.wr_data,
      hwif_out.entropy_bank.wr_biten);
  always_ff @(posedge clk_i) begin
    if (rst_i) {header_wr_ack_q, policy_wr_ack_q, entropy_wr_ack_q, blocks_wr_ack_q} <= '0;
    else begin
      header_wr_ack_q <= header_access_o.valid && header_access_o.write;
      policy_wr_ack_q <= policy_access_o.valid && policy_access_o.write;
      entropy_wr_ack_q <= entropy_access_o.valid && entropy_access_o.write;
      blocks_wr_ack_q <= blocks_access_o.valid && blocks_access_o.write;
    end
  end

  // A card without a text lane has no text blocks.
  table_answer_t blocks_answer;
  if (TextEngines != 0) begin : g_blocks
    assign blocks_answer = blocks_answer_i;
  end else begin : g_no_blocks
    always_ff @(posedge clk_i) begin
      blocks_answer.ack <= !rst_i && blocks_access_o.valid && !blocks_access_o.write;
    end
    assign blocks_answer.data = '0;
  end

  // ---- commands and doorbells
  assign command_write_o = hwif_out.command.v.swmod;
  assign command_o = hwif_out.command.v.value;

  logic heartbeat_we_q, flush_we_q, checkpoint_head_we_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) {heartbeat_we_q, flush_we_q, checkpoint_head_we_q} <= '0;
    else begin
      checkpoint_head_we_q <= hwif_out.checkpoint_head.v.swmod;
      heartbeat_we_q <= hwif_out.heartbeat_nonce_hi.v.swmod;
      flush_we_q <= hwif_out.checkpoint_flush.v.swmod;
    end
  end
  assign doorbells_o = '{
          heartbeat_we: heartbeat_we_q,
          flush_we: flush_we_q,
          checkpoint_head_we: checkpoint_head_we_q,
          checkpoint_head: hwif_out.checkpoint_head.v.value,
          heartbeat_nonce: {hwif_out.heartbeat_nonce_hi.v.value,
              hwif_out.heartbeat_nonce_lo.v.value}
      };

  // ---- configuration
  always_comb begin
    config_o.session.epoch = hwif_out.epoch.v.value;
    for (int unsigned i = 0; i < 8; i++) begin
      config_o.expected_digest[32*i+:32] = hwif_out.expected_digest[i].v.value;
      config_o.session.ticket_digest[32*i+:32] = hwif_out.ticket_digest[i].v.value;
    end
    config_o.session.heartbeat_records = hwif_out.heartbeat_records.v.value;
    config_o.session.heartbeat_ticks = hwif_out.heartbeat_ticks.v.value;
    config_o.checkpoint_interval = hwif_out.checkpoint_interval.v.value;
    config_o.ckpt_base = {hwif_out.checkpoint_hi.v.value, hwif_out.checkpoint_lo.v.value};
    config_o.ckpt_log2 = hwif_out.checkpoint_size.log2.value;
    config_o.text_tables = {hwif_out.text_tables_hi.v.value, hwif_out.text_tables_lo.v.value};
    config_o.text_stride = hwif_out.text_stride.log2.value;
  end

  // Number of lanes in the register map.
  localparam int unsigned MapLanes = 8;  // Places in the register map.
  logic [MapLanes-1:0] lane_rd_ack, lane_wr_ack;
  logic [MapLanes-1:0][31:0] lane_rd_data;
  for (genvar l = 0; l < MapLanes; l++) begin : g_lane
    if (l < Lanes) begin : g_have
      lane_csr u_lane (
          .clk_i,
          .rst_i,
          .access_i('{
              valid: hwif_out.lane[l].req,
              write: hwif_out.lane[l].req_is_wr,
              address: hwif_out.lane[l].addr,
              data: hwif_out.lane[l].wr_data,
              bits: hwif_out.lane[l].wr_biten
          }),
          .rd_ack_o(lane_rd_ack[l]),
          .rd_data_o(lane_rd_data[l]),
          .wr_ack_o(lane_wr_ack[l]),
          .cfg_locked_i,
          .pointers_i(lane_pointers_i[l]),
          .config_o(lane_config_o[l]),
          .doorbells_o(lane_doorbells_o[l])
      );
    end else begin : g_none
      assign lane_rd_data[l] = '0;
      always_ff @(posedge clk_i) begin
        if (rst_i) {lane_rd_ack[l], lane_wr_ack[l]} <= '0;
        else begin
          lane_rd_ack[l] <= hwif_out.lane[l].req && !hwif_out.lane[l].req_is_wr;
          lane_wr_ack[l] <= hwif_out.lane[l].req && hwif_out.lane[l].req_is_wr;
        end
      end
    end
  end

  // ---- registers that the card drives
  always_comb begin
    hwif_in = '{default: '0};
    hwif_in.capabilities.lanes.next = 8'(Lanes);
    hwif_in.capabilities.rows_per_clock.next = 8'd1;
    hwif_in.capabilities.digest.next = 1'b1;
    hwif_in.capabilities.signer.next = 1'b1;
    hwif_in.capabilities.heartbeat.next = 1'b1;
    hwif_in.capabilities.text.next = TextEngines != 0;
    if (TextEngines != 0) begin
      hwif_in.text_limits.engines.next = 8'(TextEngines);
      hwif_in.text_limits.states_log2.next = 8'($clog2(TextStates));
      hwif_in.text_limits.byte_classes.next = 8'(TextByteClasses);
      hwif_in.text_limits.blocks.next = 8'(TextBlocks);
    end
    hwif_in.rows.policy.next = 16'(PolicyRows);
    hwif_in.rows.entropy.next = 16'(EntropyRows);
    hwif_in.max_streams.v.next = 32'(MaxStreams);
    hwif_in.queue_limits.ring_log2.next = 8'(RingLog2Max);
    hwif_in.queue_limits.log_log2.next = 8'(LogLog2Max);
    hwif_in.queue_limits.reads.next = 8'(MaxReads);
    hwif_in.key_flags.v.next = KeyFlags;
    for (int unsigned i = 0; i < 8; i++) hwif_in.map_digest[i].v.next = MapDigest[32*i+:32];

    for (int unsigned i = 0; i < 8; i++) begin
      hwif_in.policy_digest[i].v.next = status_i.policy_digest[32*i+:32];
      hwif_in.public_key[i].v.next = status_i.public_key[32*i+:32];
    end
    for (int unsigned i = 0; i < 4; i++) begin
      hwif_in.design_id[i].v.next = status_i.design_id[32*i+:32];
      hwif_in.boot_nonce[i].v.next = status_i.boot_nonce[32*i+:32];
    end
    hwif_in.heartbeat_credit.v.next = status_i.heartbeat_credit;
    hwif_in.checkpoint_tail.v.next = status_i.checkpoint_tail;

    hwif_in.status.life.next = status_i.life[3:0];
    hwif_in.status.locked.next = status_i.locked;
    hwif_in.status.busy.next = status_i.busy;
    hwif_in.status.needs_reset.next = status_i.needs_reset;
    hwif_in.status.stale.next = status_i.stale;
    hwif_in.fault.code.next = status_i.fault;
    hwif_in.load_fault.code.next = status_i.load_fault;
    hwif_in.tick_lo.v.next = status_i.tick[31:0];
    hwif_in.tick_hi.v.next = status_i.tick[63:32];
    hwif_in.records.v.next = status_i.records;
    hwif_in.verdicts.v.next = status_i.counters.verdicts;
    hwif_in.admits.v.next = status_i.counters.admits;
    hwif_in.rejects.v.next = status_i.counters.rejects;
    hwif_in.decomposes.v.next = status_i.counters.decomposes;
    hwif_in.refused.v.next = status_i.counters.refused;
    hwif_in.open_streams.v.next = status_i.counters.open_streams;
    hwif_in.busy_clocks_lo.v.next = status_i.counters.busy_clocks[31:0];
    hwif_in.busy_clocks_hi.v.next = status_i.counters.busy_clocks[63:32];

    for (int unsigned l = 0; l < MapLanes; l++) begin
      hwif_in.lane[l].rd_ack = lane_rd_ack[l];
      hwif_in.lane[l].rd_data = lane_rd_data[l];
      hwif_in.lane[l].wr_ack = lane_wr_ack[l];
    end
    {hwif_in.header.rd_ack, hwif_in.header.rd_data} = header_answer_i;
    hwif_in.header.wr_ack = header_wr_ack_q;
    {hwif_in.policy_bank.rd_ack, hwif_in.policy_bank.rd_data} = policy_answer_i;
    hwif_in.policy_bank.wr_ack = policy_wr_ack_q;
    {hwif_in.entropy_bank.rd_ack, hwif_in.entropy_bank.rd_data} = entropy_answer_i;
    hwif_in.entropy_bank.wr_ack = entropy_wr_ack_q;

    {hwif_in.text_blocks.rd_ack, hwif_in.text_blocks.rd_data} = blocks_answer;
    hwif_in.text_blocks.wr_ack = blocks_wr_ack_q;

    // Configuration is only writable while it is not locked.
    hwif_in.epoch.v.swwel = cfg_locked_i;
    for (int unsigned i = 0; i < 8; i++) begin
      hwif_in.expected_digest[i].v.swwel = cfg_locked_i;
      hwif_in.ticket_digest[i].v.swwel = cfg_locked_i;
    end
    hwif_in.heartbeat_records.v.swwel = cfg_locked_i;
    hwif_in.heartbeat_ticks.v.swwel = cfg_locked_i;
    hwif_in.checkpoint_lo.v.swwel = cfg_locked_i;
    hwif_in.checkpoint_hi.v.swwel = cfg_locked_i;
    hwif_in.checkpoint_size.log2.swwel = cfg_locked_i;
    hwif_in.checkpoint_interval.v.swwel = cfg_locked_i;
    hwif_in.text_tables_lo.v.swwel = cfg_locked_i;
    hwif_in.text_tables_hi.v.swwel = cfg_locked_i;
    hwif_in.text_stride.log2.swwel = cfg_locked_i;
  end
endmodule
