// Bench of the Alveo shell with a whole card: register accesses of the bridge, a session with DMA
// and level interrupts, a reset of the link while the bus is busy.
//
// Build with `verilator --binary --assert`. The bench prints "alveo_xdma: all checks passed", or
// ends with an error. It drives the stand-in of the XDMA block through the stand-in's variables.
module alveo_xdma_tb;
  logic clk, rst_n, hold, stall;
  int unsigned irqs;

  // Only the ports that the stand-in uses are connected.
  /* verilator lint_off PINMISSING */
  alveo_xdma #(
      .PolicyRows(4),
      .EntropyRows(4),
      .MaxStreams(16),
      .Rounds(16),
      .WatchdogLog2(12)
  ) dut (
      .pcie_refclk_p_i(1'b0), .pcie_refclk_n_i(1'b1), .pcie_rst_n_i(1'b1),
      .pcie_rxp_i('0), .pcie_rxn_i('0)
  );
  /* verilator lint_on PINMISSING */

  // Set in the same simulation step as `clk`; session.svh checks this.
  always @(clk) dut.u_xdma.axi_aclk = clk;

  // ---- the block's outputs
  logic [31:0] awaddr, araddr;
  logic [7:0] awlen, arlen;
  logic [2:0] awsize, arsize;
  logic [1:0] awburst, arburst;
  logic awvalid, wvalid, wlast, bready, arvalid, rready, irq_ack;
  logic [511:0] wdata;
  logic [63:0] wstrb;
  always_comb begin
    dut.u_xdma.axi_aresetn = rst_n;
    dut.u_xdma.usr_irq_ack = irq_ack;
    dut.u_xdma.m_axib_awid = 4'd3;
    dut.u_xdma.m_axib_awaddr = {32'd0, awaddr};
    dut.u_xdma.m_axib_awlen = awlen;
    dut.u_xdma.m_axib_awsize = awsize;
    dut.u_xdma.m_axib_awburst = awburst;
    dut.u_xdma.m_axib_awvalid = awvalid;
    dut.u_xdma.m_axib_wdata = wdata;
    dut.u_xdma.m_axib_wstrb = wstrb;
    dut.u_xdma.m_axib_wlast = wlast;
    dut.u_xdma.m_axib_wvalid = wvalid;
    dut.u_xdma.m_axib_bready = bready;
    dut.u_xdma.m_axib_arid = 4'd5;
    dut.u_xdma.m_axib_araddr = {32'd0, araddr};
    dut.u_xdma.m_axib_arlen = arlen;
    dut.u_xdma.m_axib_arsize = arsize;
    dut.u_xdma.m_axib_arburst = arburst;
    dut.u_xdma.m_axib_arvalid = arvalid;
    dut.u_xdma.m_axib_rready = rready;
    dut.u_xdma.s_axib_bid = '0;
    dut.u_xdma.s_axib_bresp = '0;
    dut.u_xdma.s_axib_rresp = '0;
  end
  host_memory #(
      .IdBits(`PORTCULLIS_BLOCK_ID_BITS)
  ) u_memory (
      .clk_i(clk), .rst_i(!rst_n), .hold_i(hold), .stall_i(stall),
      .awaddr_i(dut.u_xdma.s_axib_awaddr), .awlen_i(dut.u_xdma.s_axib_awlen),
      .awvalid_i(dut.u_xdma.s_axib_awvalid),
      .awready_o(dut.u_xdma.s_axib_awready),
      .wdata_i(dut.u_xdma.s_axib_wdata), .wstrb_i(dut.u_xdma.s_axib_wstrb),
      .wlast_i(dut.u_xdma.s_axib_wlast),
      .wvalid_i(dut.u_xdma.s_axib_wvalid), .wready_o(dut.u_xdma.s_axib_wready),
      .bvalid_o(dut.u_xdma.s_axib_bvalid), .bready_i(dut.u_xdma.s_axib_bready),
      .arid_i(dut.u_xdma.s_axib_arid), .araddr_i(dut.u_xdma.s_axib_araddr),
      .arlen_i(dut.u_xdma.s_axib_arlen),
      .arvalid_i(dut.u_xdma.s_axib_arvalid), .arready_o(dut.u_xdma.s_axib_arready),
      .rid_o(dut.u_xdma.s_axib_rid), .rdata_o(dut.u_xdma.s_axib_rdata),
      .rlast_o(dut.u_xdma.s_axib_rlast),
      .rvalid_o(dut.u_xdma.s_axib_rvalid), .rready_i(dut.u_xdma.s_axib_rready)
  );

  // The block acknowledges a request after 1 to 8 clocks; until then, the request must not fall.
  logic irq_was, ack_was;
  logic [3:0] delay;
  always @(posedge clk) begin
    irq_ack <= 1'b0;
    ack_was <= irq_ack;
    irq_was <= dut.u_xdma.usr_irq_req;
    if (!rst_n) begin
      delay <= '0;
      irqs <= 0;
      irq_was <= 1'b0;
    end else if (dut.u_xdma.usr_irq_req) begin
      delay <= delay - 4'd1;
      if (!irq_was) begin
        irqs <= irqs + 1;
        delay <= 4'($urandom_range(8, 1));
      end else if (delay == 4'd1) begin
        irq_ack <= 1'b1;
      end
    end else begin
      assert (!irq_was || ack_was) else $fatal(1, "request fell without its acknowledgement");
      delay <= '0;
    end
  end

  // ---- accesses
  logic [511:0] beat;
  logic [1:0] resp;
  task automatic read_beats(logic [31:0] addr, logic [7:0] len, logic [2:0] size,
      logic [1:0] burst);
    int unsigned left;
    logic taken;
    left = 32'(len) + 1;
    araddr = addr;
    arlen = len;
    arsize = size;
    arburst = burst;
    arvalid = 1'b1;
    rready = 1'b1;
    for (int i = 0; i < 20000; i++) begin
      @(posedge clk);
      taken = arvalid && dut.u_xdma.m_axib_arready;
      if (dut.u_xdma.m_axib_rvalid && rready) begin
        beat = dut.u_xdma.m_axib_rdata;
        resp = dut.u_xdma.m_axib_rresp;
        assert (!arvalid) else $fatal(1, "an answer to a read that was not taken");
        assert (dut.u_xdma.m_axib_rid == 4'd5) else $fatal(1, "id of a read");
        left = left - 1;
        assert (dut.u_xdma.m_axib_rlast == (left == 0))
        else $fatal(1, "rlast with %0d beats left", left);
      end
      @(negedge clk);
      if (left == 0) return;
      if (taken) arvalid = 1'b0;
      rready = $urandom_range(3) != 0;
    end
    $fatal(1, "no answer to a read of %h", addr);
  endtask

  task automatic write_beat(logic [31:0] addr, logic [2:0] size, logic [511:0] data,
      logic [63:0] strobes, logic [1:0] burst);
    logic aw_taken, w_taken, done;
    awaddr = addr;
    awsize = size;
    awlen = '0;
    awburst = burst;
    wdata = data;
    wstrb = strobes;
    wlast = 1'b1;
    awvalid = 1'b1;
    wvalid = 1'b1;
    bready = 1'b1;
    for (int i = 0; i < 20000; i++) begin
      @(posedge clk);
      aw_taken = awvalid && dut.u_xdma.m_axib_awready;
      w_taken = wvalid && dut.u_xdma.m_axib_wready;
      done = dut.u_xdma.m_axib_bvalid && bready;
      if (done) begin
        assert (!awvalid && !wvalid) else $fatal(1, "an answer to a write that was not taken");
        assert (dut.u_xdma.m_axib_bid == 4'd3) else $fatal(1, "id of a write");
        resp = dut.u_xdma.m_axib_bresp;
      end
      @(negedge clk);
      if (done) return;
      if (aw_taken) awvalid = 1'b0;
      if (w_taken) wvalid = 1'b0;
      bready = $urandom_range(3) != 0;
    end
    $fatal(1, "no answer to a write of %h", addr);
  endtask

  task automatic host_read(input logic [31:0] addr, output logic [31:0] data);
    read_beats(addr, 8'd0, 3'd2, 2'b01);
    data = beat[{addr[5:2], 5'd0}+:32];
  endtask

  // Some bridges send a beat of full size with four bytes enabled, as here.
  task automatic host_write(input logic [31:0] addr, input logic [31:0] data);
    write_beat({addr[31:6], 6'd0}, 3'd6, {16{data}}, 64'hf << addr[5:0], 2'b01);
  endtask

  `include "session.svh"

  // The hardware reset of this shell: the link goes down and comes back.
  task automatic recover();
    rst_n = 1'b0;
    repeat (10) @(negedge clk);
    hold = 1'b0;
    rst_n = 1'b1;
    answered_at_once();
    repeat (200 * slow) @(negedge clk);
    identify(8'h05);
    await_life(layout_pkg::LifeReset, "after a link reset");
  endtask

  task automatic again();
    recover();
    u_memory.lines.delete();
    open_session();
    refuse_two();
  endtask

  initial begin
    rst_n = 1'b0;
    {hold, stall, awvalid, wvalid, arvalid} = '0;
    {bready, rready} = '1;
    repeat (20) @(negedge clk);
    rst_n = 1'b1;
    answered_at_once();
    repeat (200 * slow) @(negedge clk);
    identify(8'h05);
    if (dut.hbm_cattrip_o) $fatal(1, "cattrip");

    // Accesses of 64 bytes, of 8 bytes and of two beats; and a kind of burst that must be refused.
    read_beats(32'h000, 8'd0, 3'd6, 2'b01);
    if (beat[31:0] != 32'h4c55_4350 || beat[511:256] != layout_pkg::MapDigest)
      $fatal(1, "a line of registers: %h", beat);
    read_beats(32'h020, 8'd0, 3'd3, 2'b01);
    if (beat[319:256] != layout_pkg::MapDigest[63:0] || beat[351:320] != '1)
      $fatal(1, "eight bytes: %h", beat);
    read_beats(32'h028, 8'd1, 3'd3, 2'b01);
    if (beat[447:384] != layout_pkg::MapDigest[191:128])
      $fatal(1, "the second of two beats: %h", beat);
    read_beats(32'h000, 8'd1, 3'd6, 2'b10);
    if (resp == 2'b00 || beat != '1) $fatal(1, "a WRAP burst was served");
    write_beat(32'h040, 3'd6, {16{32'd1}}, 64'hf, 2'b00);
    if (resp == 2'b00) $fatal(1, "a FIXED burst was served");
    await_life(layout_pkg::LifeReset, "after a refused write");
    host_write(32'h060, 32'h1234_5678);
    write_beat(32'h060, 3'd2, {16{32'haabb_ccdd}}, 64'h2 << 32, 2'b01);
    expect_word(32'h060, 32'h1234_cc78, "one byte");
    write_beat(32'h060, 3'd6, {128'd4, 128'd3, 64'hb, 64'ha, 128'd1}, 64'hff << 32, 2'b01);
    expect_word(32'h060, 32'd3, "eight bytes written");
    expect_word(32'h064, 32'd0, "eight bytes written");

    open_session();
    refuse_two();
    $display("alveo_xdma: session over the shell, %0d interrupts", irqs);

    // The link goes down while reads are in flight, and then at random times. Both sides of the bus
    // drop their transfers.
    reads_in_flight();
    again();
    repeat (4) begin
      host_write(LaneBase + 32'h18, 32'd2);
      host_write(LaneBase + 32'h2C, 32'd3);
      host_write(LaneBase + 32'h0C, 32'd4);
      repeat ($urandom_range(200 * slow)) @(negedge clk);
      again();
    end
    late_reads_and_stalled_writes();
    $display("alveo_xdma: late reads and stalled writes meet no later session");
    $display("alveo_xdma: %0d reads, %0d write bursts, %0d interrupts", u_memory.reads_seen,
        u_memory.bursts_written, irqs);
    $display("alveo_xdma: all checks passed");
    $finish;
  end
endmodule
