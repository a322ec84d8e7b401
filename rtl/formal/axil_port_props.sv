// Proves about the card's AXI4-Lite port, without bound: an offered answer stays unchanged until it
// is accepted. Each accepted access leaves as one request, in the order of its kind, one at a time,
// with its own address, data and strobes; a request holds until it is answered. Each request gives
// one answer of its own kind, a read with the block's data. READY is low in reset. An access is
// answered within `Bound` clocks, even if answers of the other kind are not accepted.
//
// Assumed: the register block answers a request once, within `Late` clocks. The master is
// arbitrary.
module axil_port_props (
    input logic clk,
    input logic reset,
    input axi_pkg::lite_req_t axil,
    input logic ack,
    input logic [31:0] ack_data
);
  localparam logic [2:0] Late = 3'd3;
  // An access may wait for one request of each kind; the rest of the bound is the way in and out.
  localparam logic [4:0] Bound = 5'd10;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  axi_pkg::lite_rsp_t rsp;
  logic req, req_write;
  logic [31:0] req_data, req_bits;
  logic [4:0] req_addr;
  logic reads_q, writes_q;  // The block has a request of this kind.
  logic rd_ack, wr_ack;
  axil_port #(
      .AddressWidth(5)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .axil_req_i(axil),
      .axil_rsp_o(rsp),
      .req_o(req),
      .req_write_o(req_write),
      .req_addr_o(req_addr),
      .req_data_o(req_data),
      .req_bits_o(req_bits),
      .rd_ack_i(rd_ack),
      .rd_data_i(ack_data),
      .wr_ack_i(wr_ack)
  );

  // ---- the register block
  logic [2:0] late_q;
  logic asked_read, asked_write;
  assign asked_read = reads_q || (req && !req_write);
  assign asked_write = writes_q || (req && req_write);
  assign rd_ack = asked_read && ack;
  assign wr_ack = asked_write && ack;
  always_ff @(posedge clk) begin
    reads_q <= !rst && asked_read && !ack;
    writes_q <= !rst && asked_write && !ack;
    late_q <= rst || req ? 3'd1 : late_q + 3'd1;
  end
  always_comb if (late_q >= Late && (reads_q || writes_q)) assume (ack);

  // A request holds until it is answered.
  logic [32+32+5:0] asks, asks_q;
  assign asks = {req_write, req_addr, req_data, req_bits};
  always_ff @(posedge clk) asks_q <= asks;
  always_comb if (!rst && (reads_q || writes_q)) assert (asks == asks_q);

  // ---- accepted accesses that were not sent yet
  logic aw_q, w_q, ar_q;
  logic [4:0] awaddr_q, araddr_q;
  logic [35:0] w_word_q;
  logic [3:0] strb;
  assign strb = {req_bits[24], req_bits[16], req_bits[8], req_bits[0]};
  always_ff @(posedge clk) begin
    if (axil.aw_valid && rsp.aw_ready) awaddr_q <= {axil.aw_addr[4:2], 2'b00};
    if (axil.w_valid && rsp.w_ready) w_word_q <= {axil.w_data, axil.w_strb};
    if (axil.ar_valid && rsp.ar_ready) araddr_q <= {axil.ar_addr[4:2], 2'b00};
    aw_q <= !rst && ((axil.aw_valid && rsp.aw_ready) || (aw_q && !(req && req_write)));
    w_q <= !rst && ((axil.w_valid && rsp.w_ready) || (w_q && !(req && req_write)));
    ar_q <= !rst && ((axil.ar_valid && rsp.ar_ready) || (ar_q && !(req && !req_write)));
  end

  // ---- answers
  logic r_due_q, b_due_q, r_held_q, b_held_q;
  logic [31:0] data_q;
  logic [33:0] r_q;
  logic [1:0] b_q;
  logic [4:0] read_waits_q, write_waits_q;
  always_ff @(posedge clk) begin
    if (rd_ack) data_q <= ack_data;
    r_due_q <= !rst && (rd_ack || (r_due_q && !(rsp.r_valid && axil.r_ready)));
    b_due_q <= !rst && (wr_ack || (b_due_q && !(rsp.b_valid && axil.b_ready)));
    r_held_q <= !rst && rsp.r_valid && !axil.r_ready;
    b_held_q <= !rst && rsp.b_valid && !axil.b_ready;
    r_q <= {rsp.r_data, rsp.r_resp};
    b_q <= rsp.b_resp;
    // Clocks for which an access waits while no answer of its kind is offered.
    read_waits_q <= rst || rsp.r_valid || !(ar_q || asked_read) ? 5'd0 : read_waits_q + 5'd1;
    write_waits_q <= rst || rsp.b_valid || !((aw_q && w_q) || asked_write) ? 5'd0
        : write_waits_q + 5'd1;
  end

  always_comb begin
    if (rst) assert (!rsp.aw_ready && !rsp.w_ready && !rsp.ar_ready);
    if (started && !rst) begin
      // Requests.
      if (req) begin
        assert (!reads_q && !writes_q);
        if (req_write) assert (aw_q && w_q && req_addr == awaddr_q && {req_data, strb} == w_word_q);
        else assert (ar_q && req_addr == araddr_q);
        for (int b = 0; b < 4; b++) assert (req_bits[8*b+:8] == {8{strb[b]}});
      end
      // No access overwrites an access that waits.
      assert (!(aw_q && rsp.aw_ready) || (req && req_write));
      assert (!(w_q && rsp.w_ready) || (req && req_write));
      assert (!(ar_q && rsp.ar_ready) || (req && !req_write));
      // Answers.
      assert (rsp.r_valid == r_due_q && rsp.b_valid == b_due_q);
      if (rsp.r_valid) assert (rsp.r_data == data_q && rsp.r_resp == 2'b00);
      if (rsp.b_valid) assert (rsp.b_resp == 2'b00);
      if (r_held_q) assert (rsp.r_valid && {rsp.r_data, rsp.r_resp} == r_q);
      if (b_held_q) assert (rsp.b_valid && rsp.b_resp == b_q);
      assert (read_waits_q <= Bound && write_waits_q <= Bound);

      // ---- invariants for the induction
      assert (!(reads_q && writes_q) && !(reads_q && rsp.r_valid) && !(writes_q && rsp.b_valid));
      if (reads_q || writes_q) assert (late_q != '0 && late_q <= Late);
      assert (dut.aw_q == (aw_q && !(req && req_write)) && dut.w_q == (w_q && !(req && req_write)));
      assert (dut.ar_q == (ar_q && !(req && !req_write)));
      assert (dut.read_waits_q == asked_read && dut.write_waits_q == asked_write);
      if (dut.aw_q) assert ({dut.awaddr_q, 2'b00} == awaddr_q);
      if (dut.w_q) assert ({dut.wdata_q, dut.wstrb_q} == w_word_q);
      if (dut.ar_q) assert ({dut.araddr_q, 2'b00} == araddr_q);

      // ---- not vacuous: the bound is reached; answers of one kind pass refused answers of the
      // other
      cover (read_waits_q == Bound);
      cover (write_waits_q == Bound);
      cover (b_held_q && rsp.r_valid && axil.r_ready && rsp.r_data == 32'h4c55_4350);
      cover (r_held_q && rsp.b_valid && axil.b_ready);
    end
  end
endmodule
