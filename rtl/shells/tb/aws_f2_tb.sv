// Bench of the F2 shell with a whole card: identity, a session with DMA and interrupts, FLR while
// the bus is busy and while it is dead.
//
// Build with `verilator --binary --assert`. The bench prints "aws_f2: all checks passed", or ends
// with an error.
module aws_f2_tb;
  logic clk, rst_n, hold, stall, flr, flr_done, acks;
  int unsigned irqs;

  logic [31:0] awaddr, wdata, araddr, rdata;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [1:0] bresp, rresp;
  logic [63:0] pcim_awaddr, pcim_araddr, pcim_wstrb;
  logic [7:0] pcim_awlen, pcim_arlen;
  logic [15:0] pcim_awid, pcim_arid, irq_req, irq_ack, led;
  logic [2:0] pcim_awsize, pcim_arsize;
  logic [1:0] pcim_awburst, pcim_arburst;
  logic [511:0] pcim_wdata, pcim_rdata;
  logic pcim_awvalid, pcim_awready, pcim_wlast, pcim_wvalid, pcim_wready, pcim_bvalid, pcim_bready;
  logic pcim_arvalid, pcim_arready, pcim_rlast, pcim_rvalid, pcim_rready;
  logic [4:0] rid;
  logic [31:0] id0, id1;

  // Only the ports that this shell uses are connected.
  /* verilator lint_off PINMISSING */
  portcullis_cl #(
      .PolicyRows(4),
      .EntropyRows(4),
      .MaxStreams(16),
      .Rounds(16),
      .WatchdogLog2(12),
      .PatienceLog2(10)
  ) dut (
      .clk_main_a0(clk), .rst_main_n(rst_n), .clk_hbm_ref(1'b0),
      .sh_cl_flr_assert(flr), .cl_sh_flr_done(flr_done),
      .cl_sh_id0(id0), .cl_sh_id1(id1), .cl_sh_status_vled(led),
      .cl_sh_apppf_irq_req(irq_req), .sh_cl_apppf_irq_ack(irq_ack),
      .ocl_cl_awaddr(awaddr), .ocl_cl_awuser('0), .ocl_cl_awvalid(awvalid),
      .cl_ocl_awready(awready),
      .ocl_cl_wdata(wdata), .ocl_cl_wstrb('1), .ocl_cl_wvalid(wvalid), .cl_ocl_wready(wready),
      .cl_ocl_bresp(bresp), .cl_ocl_bvalid(bvalid), .ocl_cl_bready(bready),
      .ocl_cl_araddr(araddr), .ocl_cl_aruser('0), .ocl_cl_arvalid(arvalid),
      .cl_ocl_arready(arready),
      .cl_ocl_rdata(rdata), .cl_ocl_rresp(rresp), .cl_ocl_rvalid(rvalid), .ocl_cl_rready(rready),
      .cl_sh_pcim_awid(pcim_awid), .cl_sh_pcim_awaddr(pcim_awaddr), .cl_sh_pcim_awlen(pcim_awlen),
      .cl_sh_pcim_awsize(pcim_awsize), .cl_sh_pcim_awburst(pcim_awburst),
      .cl_sh_pcim_awvalid(pcim_awvalid), .sh_cl_pcim_awready(pcim_awready),
      .cl_sh_pcim_wdata(pcim_wdata), .cl_sh_pcim_wstrb(pcim_wstrb), .cl_sh_pcim_wlast(pcim_wlast),
      .cl_sh_pcim_wvalid(pcim_wvalid), .sh_cl_pcim_wready(pcim_wready),
      .sh_cl_pcim_bid('0), .sh_cl_pcim_bresp('0), .sh_cl_pcim_bvalid(pcim_bvalid),
      .cl_sh_pcim_bready(pcim_bready),
      .cl_sh_pcim_arid(pcim_arid), .cl_sh_pcim_araddr(pcim_araddr), .cl_sh_pcim_arlen(pcim_arlen),
      .cl_sh_pcim_arsize(pcim_arsize), .cl_sh_pcim_arburst(pcim_arburst),
      .cl_sh_pcim_arvalid(pcim_arvalid), .sh_cl_pcim_arready(pcim_arready),
      .sh_cl_pcim_rid({11'd0, rid}), .sh_cl_pcim_rdata(pcim_rdata), .sh_cl_pcim_rresp('0),
      .sh_cl_pcim_rlast(pcim_rlast),
      .sh_cl_pcim_rvalid(pcim_rvalid), .cl_sh_pcim_rready(pcim_rready)
  );
  /* verilator lint_on PINMISSING */

  host_memory u_memory (
      .clk_i(clk), .rst_i(!rst_n), .hold_i(hold), .stall_i(stall),
      .awaddr_i(pcim_awaddr), .awlen_i(pcim_awlen), .awvalid_i(pcim_awvalid),
      .awready_o(pcim_awready),
      .wdata_i(pcim_wdata), .wstrb_i(pcim_wstrb), .wlast_i(pcim_wlast), .wvalid_i(pcim_wvalid),
      .wready_o(pcim_wready),
      .bvalid_o(pcim_bvalid), .bready_i(pcim_bready),
      .arid_i(pcim_arid[4:0]), .araddr_i(pcim_araddr), .arlen_i(pcim_arlen),
      .arvalid_i(pcim_arvalid),
      .arready_o(pcim_arready),
      .rid_o(rid), .rdata_o(pcim_rdata), .rlast_o(pcim_rlast), .rvalid_o(pcim_rvalid),
      .rready_i(pcim_rready)
  );

  // The shell acknowledges an interrupt after 1 to 8 clocks; until then, there must be no other
  // request.
  logic awaiting;
  logic [3:0] delay;
  always @(posedge clk) begin
    irq_ack <= '0;
    if (!rst_n) begin
      awaiting <= 1'b0;
      delay <= '0;
      irqs <= 0;
    end else begin
      if (irq_req[0]) begin
        assert (!awaiting) else $fatal(1, "interrupt requested before the acknowledgement");
        awaiting <= 1'b1;
        delay <= 4'($urandom_range(8, 1));
        irqs <= irqs + 1;
      end else if (awaiting && acks) begin
        delay <= delay - 4'd1;
        if (delay == 4'd1) begin
          irq_ack[0] <= 1'b1;
          awaiting <= 1'b0;
        end
      end
      assert (irq_req[15:1] == '0) else $fatal(1, "interrupt of another vector");
      assert (!pcim_arvalid || (pcim_arsize == 3'b110 && pcim_arburst == 2'b01
          && pcim_arid < 16'd32))
      else $fatal(1, "read request");
      assert (!pcim_awvalid || (pcim_awsize == 3'b110 && pcim_awburst == 2'b01 && pcim_awid == '0))
      else $fatal(1, "write request");
    end
  end

  // The shell allows 8 microseconds, 2000 clocks, for an access.
  task automatic host_read(input logic [31:0] addr, output logic [31:0] data);
    logic taken;
    araddr = addr;
    arvalid = 1'b1;
    for (int i = 0; i < 2000; i++) begin
      @(posedge clk);
      taken = arvalid && arready;
      if (rvalid) begin
        data = rdata;
        @(negedge clk);
        if (arvalid) $fatal(1, "an answer to a read that was not taken");
        return;
      end
      @(negedge clk);
      if (taken) arvalid = 1'b0;
    end
    $fatal(1, "no answer to a read of %h", addr);
  endtask

  logic [1:0] written;
  task automatic host_write(input logic [31:0] addr, input logic [31:0] data);
    logic aw_taken, w_taken;
    awaddr = addr;
    wdata = data;
    awvalid = 1'b1;
    wvalid = 1'b1;
    for (int i = 0; i < 2000; i++) begin
      @(posedge clk);
      aw_taken = awvalid && awready;
      w_taken = wvalid && wready;
      if (bvalid) begin
        written = bresp;
        @(negedge clk);
        if (awvalid || wvalid) $fatal(1, "an answer to a write that was not taken");
        return;
      end
      @(negedge clk);
      if (aw_taken) awvalid = 1'b0;
      if (w_taken) wvalid = 1'b0;
    end
    $fatal(1, "no answer to a write of %h", addr);
  endtask

  `include "session.svh"

  task automatic await_done(logic level, int unsigned clocks, string what);
    for (int unsigned i = 0; i < clocks; i++) begin
      @(negedge clk);
      if (flr_done == level) return;
    end
    $fatal(1, "%s: flr_done stayed %0d", what, flr_done);
  endtask

  // The hardware reset of this shell.
  task automatic recover();
    flr = 1'b1;
    await_done(1'b1, 1250 * slow, "FLR of a card that needs it");
    flr = 1'b0;
    await_done(1'b0, 50 * slow, "FLR over");
    repeat (400 * slow) @(negedge clk);
    if (led[3:0] != '0 || u_memory.reads.size() != 0 || u_memory.answers_owed != 0)
      $fatal(1, "lamps %b", led);
    identify(8'h05);
  endtask

  task automatic in_reset();
    expect_word(32'h000, 32'hffff_ffff, "magic during FLR");
    host_write(32'h40, 32'd1);
    if (written == 2'b00) $fatal(1, "a write during FLR was not refused");
  endtask

  // The bus owes answers from before the FLR: the host sees it, and the card with its tables in
  // place goes back to LOAD.
  task automatic opens_nothing();
    logic [31:0] status;
    host_read(32'h44, status);
    if (!status[7]) $fatal(1, "status of a card whose bus owes answers: %h", status);
    load_tables();
    host_write(32'h40, 32'd2);
    await_life(layout_pkg::LifeLoad, "OPEN while the bus owes answers");
    expect_word(32'h4C, 32'(layout_pkg::FaultNeedsReset), "load fault");
  endtask

  logic [31:0] word;
  initial begin
    rst_n = 1'b0;
    {hold, stall, flr, awvalid, wvalid, arvalid} = '0;
    {bready, rready, acks} = '1;
    repeat (20) @(negedge clk);
    rst_n = 1'b1;
    if (id0 == '0 || id0[15:0] != 16'h1d0f || id1 == '0) $fatal(1, "ids of the function");

    // Directly after reset, a read returns all ones or the card's value; later, the card's value.
    answered_at_once();
    repeat (200 * slow) @(negedge clk);
    identify(8'h05);
    expect_word(32'h0010_0000, 32'hffff_ffff, "above the map");
    expect_word(32'h0400_0000, 32'hffff_ffff, "above the map");

    open_session();
    refuse_two();
    $display("aws_f2: session over the shell, %0d interrupts", irqs);

    // FLR while reads are in flight on a slow bus: it is done only after the last answer.
    reads_in_flight();
    flr = 1'b1;
    repeat (250 * slow) @(negedge clk);
    if (flr_done) $fatal(1, "FLR done with reads in flight");
    hold = 1'b0;
    await_done(1'b1, 250 * slow, "FLR over a slow bus");
    if (u_memory.reads.size() != 0 || u_memory.answers_owed != 0)
      $fatal(1, "FLR done over a busy bus");
    in_reset();
    if (!led[0] || led[1]) $fatal(1, "lamps %b", led);
    repeat (50 * slow) @(negedge clk);
    if (!flr_done) $fatal(1, "FLR done fell before its request");
    flr = 1'b0;
    await_done(1'b0, 50 * slow, "FLR over");
    repeat (50 * slow) @(negedge clk);
    identify(8'h05);
    await_life(layout_pkg::LifeReset, "after FLR");
    u_memory.lines.delete();
    open_session();
    refuse_two();
    $display("aws_f2: FLR with reads in flight, and a session after it");

    // FLR while the bus does not answer: the FLR is still done, and late answers do not reach the
    // card.
    reads_in_flight();
    flr = 1'b1;
    await_done(1'b1, 1250 * slow, "FLR over a dead bus");
    flr = 1'b0;
    await_done(1'b0, 50 * slow, "FLR over");
    repeat (50 * slow) @(negedge clk);
    if (!led[1] || u_memory.reads.size() == 0) $fatal(1, "lamp of awaited answers: %b", led);
    identify(8'h05);
    opens_nothing();
    // The bus answers again; the fence accepts the late answers and opens.
    hold = 1'b0;
    repeat (100 * slow) @(negedge clk);
    if (led[3:0] != '0) $fatal(1, "lamps %b", led);
    host_read(32'h44, word);
    if (word[7]) $fatal(1, "status of a card whose bus has answered: %h", word);
    u_memory.lines.delete();
    open_session();
    refuse_two();
    $display("aws_f2: FLR over a dead bus, and a session after it");

    // FLR at random times during a session.
    repeat (4) begin
      host_write(LaneBase + 32'h18, 32'd2);
      host_write(LaneBase + 32'h2C, 32'd3);
      host_write(LaneBase + 32'h0C, 32'd4);
      repeat ($urandom_range(200 * slow)) @(negedge clk);
      flr = 1'b1;
      await_done(1'b1, 1250 * slow, "FLR at a random moment");
      if (u_memory.reads.size() != 0 || u_memory.answers_owed != 0)
        $fatal(1, "FLR done over a busy bus");
      flr = 1'b0;
      await_done(1'b0, 50 * slow, "FLR over");
      repeat (50 * slow) @(negedge clk);
      identify(8'h05);
      u_memory.lines.delete();
      open_session();
      refuse_two();
    end
    $display("aws_f2: FLR at random moments, and sessions after it");

    late_reads_and_stalled_writes();
    $display("aws_f2: late reads and stalled writes meet no later session");

    // A missing acknowledgement blocks the vector, but only until the next FLR.
    acks = 1'b0;
    host_write(LaneBase + 32'h18, 32'd2);
    host_write(LaneBase + 32'h2C, 32'd3);
    host_write(LaneBase + 32'h0C, 32'd4);
    repeat (1000 * slow) @(negedge clk);
    word = irqs;
    host_write(LaneBase + 32'h0C, 32'd6);
    repeat (1000 * slow) @(negedge clk);
    if (irqs != word || !awaiting) $fatal(1, "a request went over an open one");
    acks = 1'b1;
    repeat (100 * slow) @(negedge clk);
    if (irqs == word) $fatal(1, "the hint that waited was lost");
    $display("aws_f2: %0d reads, %0d write bursts, %0d interrupts", u_memory.reads_seen,
        u_memory.bursts_written, irqs);
    $display("aws_f2: all checks passed");
    $finish;
  end
endmodule
