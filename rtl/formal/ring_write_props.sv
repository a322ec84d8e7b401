// What is proved about the writer: record and completion bursts stay inside their entries of their rings, keep the rules of
// the bus, and are never issued into a full ring. Sources, slave and ring state are arbitrary.
module ring_write_props
  import layout_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input logic zero,
    input logic dead,
    input logic give_up,
    input logic log_full,
    input logic cq_full,
    input logic record_valid,
    input record_t record,
    input logic completion_valid,
    input completion_t completion,
    input logic awready,
    input logic wready,
    input logic [4:0] bid,
    input logic [1:0] bresp,
    input logic bvalid
);
  // Reset in the first clock.
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // Any configuration that the doorbell module lets through; it does not change.
  ring_cfg_t cfg;
  always_ff @(posedge clk) cfg <= cfg;
  always_comb assume (cfg_ok(cfg, 8'd15, 8'd20));

  logic record_take, completion_take, record_answered, awvalid, wvalid, wlast, fault, pending, progress, room;
  logic [31:0] log_issued, log_answered;
  logic [15:0] cq_issued, cq_answered;
  logic [63:0] awaddr;
  logic [7:0] awlen;
  logic [511:0] wdata;
  ring_write dut (
      .clk_i(clk),
      .rst_i(rst),
      .zero_i(zero),
      .dead_i(dead),
      .give_up_i(give_up),
      .log_base_i(cfg.log_base),
      .log_log2_i(cfg.log_log2),
      .cq_base_i(cfg.cq_base),
      .cq_log2_i(cfg.sq_log2),
      .log_full_i(log_full),
      .cq_full_i(cq_full),
      .record_valid_i(record_valid),
      .record_take_o(record_take),
      .record_i(record),
      .completion_valid_i(completion_valid),
      .completion_take_o(completion_take),
      .completion_i(completion),
      .log_issued_o(log_issued),
      .log_answered_o(log_answered),
      .cq_issued_o(cq_issued),
      .cq_answered_o(cq_answered),
      .record_answered_o(record_answered),
      .awaddr_o(awaddr),
      .awlen_o(awlen),
      .awvalid_o(awvalid),
      .awready_i(awready),
      .wdata_o(wdata),
      .wlast_o(wlast),
      .wvalid_o(wvalid),
      .wready_i(wready),
      .bid_i(bid),
      .bresp_i(bresp),
      .bvalid_i(bvalid),
      .fault_o(fault),
      .pending_o(pending),
      .progress_o(progress),
      .room_o(room)
  );
  ring_axi_rules rules (
      .clk_i(clk),
      .rst_i(rst),
      .give_up_read_i(1'b0),
      .give_up_write_i(give_up),
      .arid_i('0),
      .araddr_i('0),
      .arlen_i('0),
      .arsize_i(AxiSize64),
      .arburst_i(AxiIncr),
      .arvalid_i(1'b0),
      .arready_i(1'b0),
      .rid_i('0),
      .rlast_i(1'b0),
      .rvalid_i(1'b0),
      .rready_i(1'b1),
      .awid_i('0),
      .awaddr_i(awaddr),
      .awlen_i(awlen),
      .awsize_i(AxiSize64),
      .awburst_i(AxiIncr),
      .awvalid_i(awvalid),
      .awready_i(awready),
      .wdata_i(wdata),
      .wstrb_i('1),
      .wlast_i(wlast),
      .wvalid_i(wvalid),
      .wready_i(wready),
      .bvalid_i(bvalid),
      .bready_i(1'b1)
  );

  logic is_record;
  logic [63:0] log_offset, cq_offset;
  assign is_record = awlen == 8'd2;
  assign log_offset = awaddr - cfg.log_base;
  assign cq_offset = awaddr - cfg.cq_base;

  logic two_q;
  always_ff @(posedge clk) begin
    if (!rst) begin
      // A completion enters only when there is one, a record only when its ring has room.
      assert (!completion_take || (completion_valid && !cq_full && !dead));
      assert (!record_take || (record_valid && !log_full && !dead && !completion_take));
      // A record is called answered only for an OKAY answer to a record.
      assert (!record_answered || (bvalid && bresp == AxiOkay && bid == '0 && !dead));
      if (awvalid) begin
        assert (is_record || awlen == 8'd0);
        // Inside its ring, at the start of an entry, inside one page.
        if (is_record) begin
          assert (awaddr >= cfg.log_base && log_offset < 64'd256 << cfg.log_log2 && log_offset[7:0] == '0);
        end else begin
          assert (awaddr >= cfg.cq_base && cq_offset < 64'd64 << cfg.sq_log2 && cq_offset[5:0] == '0);
        end
        assert (awaddr >> 12 == (awaddr + (64'(awlen) << 6) + 64'd63) >> 12);
      end
      // Invariants that the induction needs: the rules' count of beats is the writer's.
      if (awvalid && !rules.aw_stalled_q) assert (rules.beats_q == '0 && 9'(dut.beats_q) == 9'(awlen) + 9'd1);
      else assert (rules.beats_q == 9'(dut.beats_q));
      if (rules.aw_stalled_q) assert (awvalid && rules.aw_q == {5'b0, awaddr, awlen});
      if (rules.w_stalled_q) assert (wvalid && rules.w_q == {wlast, 64'hffff_ffff_ffff_ffff, wdata});
      assert (dut.sent_q - dut.answered_q <= dut.issued_q - dut.answered_q);
    end
    assert (rules.in_flight_q == '0 && !rules.ar_stalled_q || rst);
    assert (rules.r_wait_q == '0 && rules.b_wait_q == '0 || rst);

    // Not vacuous: both kinds, the data accepted before the request, two bursts awaiting their answer.
    if (rst) two_q <= 1'b0;
    else if (dut.sent_q - dut.answered_q == 7'd2) two_q <= 1'b1;
    cover (!rst && awvalid && is_record && awaddr == cfg.log_base + 64'd256);
    cover (!rst && awvalid && !is_record && awaddr == cfg.cq_base + 64'd64);
    cover (!rst && awvalid && !wvalid);
    cover (!rst && wvalid && !awvalid);
    cover (!rst && two_q && record_answered);
    cover (!rst && fault);
  end
endmodule
