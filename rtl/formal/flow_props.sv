// Proves about the whole card, without bound: no lane presents an admit to its log in a clock with
// a fault, of any cause and in any lane, nor outside RUN and CLOSING. Every admit that is offered
// to a ring is the verdict on a judged entry whose outcomes all pass. A fault stays the same until
// the card enters RESET. The proof commit shows that only presented records enter the log, and that
// only records in the log are offered.
//
// Also: every entry that a lane accepts from its check leaves as one record with a completion, in
// order, with the entry's descriptor and ring index, as long as the lane runs. When the lane stops,
// exactly the entries that are not in the log yet are dropped. In each lane, one arbitrary entry of
// eight is watched.
//
// Lifecycle, session_fork, lane, sweep and resolve are the card's own, with two lanes, wired by
// portcullis_top. All other parts are arbitrary in every clock, except for these contracts: an
// entry holds until it is accepted, and a judged entry is a GATE without a fault (tick). A bank
// answers four clocks after the last row (deny). A presented record enters the log, and stays until
// its ring accepts it (commit). A dead bus is a fault (ring). Tables are read back only while they
// are hashed.
module flow_props
  import layout_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic stale
);
  localparam int unsigned Lanes = 2;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  portcullis_top #(
      .Lanes(Lanes)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .boot_nonce_i('0),
      .stale_i(stale),
      .irq_o(),
      .s_axil_awready(),
      .s_axil_awvalid('0),
      .s_axil_awaddr('0),
      .s_axil_awprot('0),
      .s_axil_wready(),
      .s_axil_wvalid('0),
      .s_axil_wdata('0),
      .s_axil_wstrb('0),
      .s_axil_bready('0),
      .s_axil_bvalid(),
      .s_axil_bresp(),
      .s_axil_arready(),
      .s_axil_arvalid('0),
      .s_axil_araddr('0),
      .s_axil_arprot('0),
      .s_axil_rready('0),
      .s_axil_rvalid(),
      .s_axil_rdata(),
      .s_axil_rresp(),
      .m_axi_awid(),
      .m_axi_awaddr(),
      .m_axi_awlen(),
      .m_axi_awsize(),
      .m_axi_awburst(),
      .m_axi_awvalid(),
      .m_axi_awready('0),
      .m_axi_wdata(),
      .m_axi_wstrb(),
      .m_axi_wlast(),
      .m_axi_wvalid(),
      .m_axi_wready('0),
      .m_axi_bid('0),
      .m_axi_bresp('0),
      .m_axi_bvalid('0),
      .m_axi_bready(),
      .m_axi_arid(),
      .m_axi_araddr(),
      .m_axi_arlen(),
      .m_axi_arsize(),
      .m_axi_arburst(),
      .m_axi_arvalid(),
      .m_axi_arready('0),
      .m_axi_rid('0),
      .m_axi_rdata('0),
      .m_axi_rresp('0),
      .m_axi_rlast('0),
      .m_axi_rvalid('0),
      .m_axi_rready()
  );

  // For every lane: facts about the record at its log, the record at its ring, and its ring.
  logic [Lanes-1:0] presents, in_log, offers, stands, spoken, admit, ring_faults;
  logic [Lanes-1:0] sent_wrong, sent_watched, rec_wrong;
  // Invariants for the induction.
  logic [Lanes-1:0] count_wrong, watched_wrong, sweep_wrong, last_wrong, swept_wrong, swept_lost;
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    assign presents[l] = dut.g_lane[l].u_lane.rec_valid && !dut.g_lane[l].u_lane.committed;
    assign in_log[l] = dut.g_lane[l].u_lane.committed;
    assign stands[l] = dut.g_lane[l].u_lane.u_record.rec_valid_q;
    assign spoken[l] = dut.g_lane[l].u_lane.u_record.taken_q;
    assign offers[l] = dut.g_lane[l].u_lane.log_valid;
    assign admit[l] = dut.g_lane[l].u_lane.u_record.rec_answer_q.determination
        == DeterminationAdmit;
    assign ring_faults[l] = dut.ring_faults[l] != FaultNone;

    // ---- contracts of the arbitrary parts
    logic [3:0] last_q;
    logic stands_q, was_taken_q, judge_q, in_log_q, presents_q;
    always_ff @(posedge clk) begin
      last_q <= rst ? '0 : {last_q[2:0], dut.g_lane[l].u_lane.step.valid
          && dut.g_lane[l].u_lane.step.last};
      stands_q <= !rst && dut.run && dut.g_lane[l].u_lane.checked_valid
          && !dut.g_lane[l].u_lane.checked_ready;
      was_taken_q <= dut.g_lane[l].u_lane.checked_ready;
      judge_q <= dut.g_lane[l].u_lane.checked.judge;
      in_log_q <= !rst && dut.g_lane[l].u_lane.committed && !dut.g_lane[l].u_lane.rec_ready;
      presents_q <= !rst && presents[l];
    end
    always_comb begin
      if (stands_q)
        assume (dut.g_lane[l].u_lane.checked_valid
            && dut.g_lane[l].u_lane.checked.judge == judge_q);
      if (was_taken_q || rst) assume (!dut.g_lane[l].u_lane.checked_valid);
      assume (dut.g_lane[l].u_lane.policy_done == last_q[3]
          && dut.g_lane[l].u_lane.entropy_done == last_q[3]);
      if (dut.g_lane[l].u_lane.checked.judge) begin
        assume (dut.g_lane[l].u_lane.checked.fault == FaultNone
            && dut.g_lane[l].u_lane.checked.descriptor.opcode == OpcodeGate);
      end
      if (dut.bus_dead[l]) assume (ring_faults[l]);
      if (in_log_q) assume (dut.g_lane[l].u_lane.committed);
      else if (!presents_q) assume (!dut.g_lane[l].u_lane.committed);
      assume (dut.g_lane[l].u_lane.log_valid == dut.g_lane[l].u_lane.committed);
      assume (dut.g_lane[l].u_lane.rec_ready
          == (dut.g_lane[l].u_lane.committed && dut.g_lane[l].u_lane.log_ready));
    end

    // ---- entries by their number, modulo 8: the next entry to be accepted, and the next entry
    // whose record must leave
    typedef struct packed {
      logic [15:0] index;
      descriptor_t descriptor;
    } entry_t;
    logic [2:0] watch, taken_n_q, sent_n_q, sent_n;
    logic takes, sends, stays, in_swept, in_record;
    entry_t watched_q, swept, record;
    assign takes = dut.g_lane[l].u_lane.checked_ready;
    assign sends = dut.g_lane[l].u_lane.sent && !dut.g_lane[l].u_lane.u_record.rec_session_q;
    assign stays = in_log[l] && !dut.g_lane[l].u_lane.u_record.rec_session_q && !sends;
    assign sent_n = sent_n_q + 3'(sends);
    assign swept = '{index: dut.g_lane[l].u_lane.u_record.swept_q.index,
        descriptor: dut.g_lane[l].u_lane.u_record.swept_q.descriptor};
    assign record = '{index: dut.g_lane[l].u_lane.u_record.rec_index_q,
        descriptor: dut.g_lane[l].u_lane.u_record.rec_desc_q};
    always_ff @(posedge clk) begin
      watch <= watch;
      if (takes && taken_n_q == watch) begin
        watched_q <= '{index: dut.g_lane[l].u_lane.checked.index,
            descriptor: dut.g_lane[l].u_lane.checked.descriptor};
      end
      sent_n_q <= rst ? '0 : sent_n;
      // A stopped lane keeps no record except the one in the log.
      if (rst) taken_n_q <= '0;
      else taken_n_q <= dut.run ? taken_n_q + 3'(takes) : sent_n + 3'(stays);
    end
    // The claim: each record that leaves belongs to the next entry.
    assign sent_wrong[l] = sends && (sent_n_q == taken_n_q
        || (sent_n_q == watch && record != watched_q));
    assign sent_watched[l] = sends && sent_n_q == watch && taken_n_q == watch + 3'd2;
    // The places of the entries: the newest is swept, the oldest is in the record register.
    assign in_swept = dut.g_lane[l].u_lane.u_record.early_q;
    assign in_record = (spoken[l] && dut.g_lane[l].u_lane.u_record.last_q == '0)
        || (stands[l] && !dut.g_lane[l].u_lane.u_record.rec_session_q);
    assign count_wrong[l] = taken_n_q - sent_n_q != 3'(in_swept) + 3'(in_record);
    assign watched_wrong[l] = (in_swept && taken_n_q - 3'd1 == watch && swept != watched_q)
        || (in_record && sent_n_q == watch && record != watched_q);

    // ---- invariants for the induction. By the proof sweep, a started entry is handed over after
    // its first row.
    assign sweep_wrong[l] = (dut.g_lane[l].u_lane.u_sweep.handover_q
        && !dut.g_lane[l].u_lane.u_sweep.started_q)
        || (dut.g_lane[l].u_lane.u_sweep.active_q
            && dut.g_lane[l].u_lane.u_sweep.row_q > dut.g_lane[l].u_lane.u_sweep.last_row_q)
        || (dut.g_lane[l].u_lane.u_sweep.started_q && !dut.g_lane[l].u_lane.u_sweep.handover_q)
            != (dut.g_lane[l].u_lane.u_sweep.active_q && dut.g_lane[l].u_lane.u_sweep.row_q == '0);
    // If an entry is in the banks, the record register is reserved for it.
    assign last_wrong[l] = dut.run
        && (dut.g_lane[l].u_lane.u_record.last_q != last_q[1:0] || !$onehot0(last_q)
        || (last_q != '0 && !spoken[l]));
    // The swept entry is present from its handover until it moves to the record register. It is
    // judged only if its check permits this.
    logic past_first;
    assign past_first = dut.g_lane[l].u_lane.u_sweep.active_q
        && dut.g_lane[l].u_lane.u_sweep.row_q != '0;
    assign swept_lost[l] = (past_first && !dut.g_lane[l].u_lane.u_sweep.handover_q && !in_swept)
        || (in_swept && !past_first && dut.g_lane[l].u_lane.u_record.last_q == '0);
    assign swept_wrong[l] = dut.g_lane[l].u_lane.u_record.early_q
        && dut.g_lane[l].u_lane.u_record.swept_q.judge
        && (dut.g_lane[l].u_lane.u_record.swept_q.fault != FaultNone
            || dut.g_lane[l].u_lane.u_record.swept_q.descriptor.opcode != OpcodeGate);
    // A present record that admits is a verdict.
    assign rec_wrong[l] = dut.g_lane[l].u_lane.u_record.rec_valid_q && admit[l]
        && (dut.g_lane[l].u_lane.u_record.rec_session_q
            || dut.g_lane[l].u_lane.u_record.rec_answer_q.record_type != RecordTypeVerdict
            || dut.g_lane[l].u_lane.u_record.rec_answer_q.stage != StageNone
            || dut.g_lane[l].u_lane.u_record.rec_fault_q != FaultNone
            || dut.g_lane[l].u_lane.u_record.rec_answer_q.fault != FaultNone
            || dut.g_lane[l].u_lane.u_record.rec_desc_q.opcode != OpcodeGate
            || dut.g_lane[l].u_lane.u_record.rec_desc_q.validation_outcome != StageOutcomePass
            || dut.g_lane[l].u_lane.u_record.rec_desc_q.lineage_outcome != StageOutcomePass);
  end

  // Tables are read back only while they are hashed.
  always_comb if (dut.read.valid) assume (dut.hash_tables);

  logic known_q;
  fault_e fault_q;
  always_ff @(posedge clk) begin
    known_q <= started && !rst;
    fault_q <= dut.status.fault;
  end

  always_comb begin
    if (started && !rst) begin
      // The claim.
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (presents[l] && admit[l]) begin
          assert (dut.status.fault == FaultNone && ring_faults == '0);
          assert (dut.status.life == LifeRun || dut.status.life == LifeClosing);
        end
      end
      assert (rec_wrong == '0);
      assert (sent_wrong == '0 && count_wrong == '0 && watched_wrong == '0);
      // A fault stays, and stops the lanes.
      if (known_q && fault_q != FaultNone)
        assert (dut.status.fault == fault_q || dut.status.life == LifeReset);
      if (dut.status.fault != FaultNone) assert (!dut.run);
      // A record in the log is in the record register, which is reserved only once.
      assert ((in_log & ~stands) == '0 && (spoken & stands) == '0);
      assert (swept_wrong == '0 && swept_lost == '0 && sweep_wrong == '0 && last_wrong == '0);

      // ---- not vacuous: an admit is presented, in either state; an admit in the log is offered
      // during a fault
      cover (presents[0] && admit[0] && dut.status.life == LifeRun);
      cover (presents[1] && admit[1] && dut.status.life == LifeClosing);
      cover (dut.status.fault == FaultWatchdog && offers[0] && admit[0]);
      // The watched entry's record leaves while the next entry is swept.
      cover (sent_watched[0]);
    end
  end
endmodule
