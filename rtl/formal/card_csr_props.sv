// What is checked of the register block's AXI4-Lite side (AMBA AXI4-Lite, A3.2): a response, once
// valid, stays valid and unchanged until it is ready; there is never a response without a request
// that was accepted, nor a second one to the same; with a master that takes its responses each
// accepted request is answered within twelve clocks; a write to a window leaves only with a request
// for that window under way.
//
// Bounded: the first 14 clocks after reset, in which two requests can pass, reads and writes beside
// each other.
// Assumed: the master holds address and data until they are taken; a window answers a read access
// three clocks later, once, with any data.
module card_csr_props
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input logic awvalid,
    input logic [19:0] awaddr,
    input logic wvalid,
    input logic [31:0] wdata,
    input logic [3:0] wstrb,
    input logic bready,
    input logic arvalid,
    input logic [19:0] araddr,
    input logic rready,
    input logic locked,
    input csr_status_t status,
    input ring_pointers_t [0:0] lane_pointers,
    input logic [31:0] window_data
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic awready, wready, bvalid, arready, rvalid;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  table_access_t header_access, policy_access, entropy_access;
  logic [2:0] header_q, policy_q, entropy_q;
  card_csr dut (
      .clk_i(clk),
      .rst_i(rst),
      .s_axil_awready(awready),
      .s_axil_awvalid(awvalid),
      .s_axil_awaddr(awaddr),
      .s_axil_awprot('0),
      .s_axil_wready(wready),
      .s_axil_wvalid(wvalid),
      .s_axil_wdata(wdata),
      .s_axil_wstrb(wstrb),
      .s_axil_bready(bready),
      .s_axil_bvalid(bvalid),
      .s_axil_bresp(bresp),
      .s_axil_arready(arready),
      .s_axil_arvalid(arvalid),
      .s_axil_araddr(araddr),
      .s_axil_arprot('0),
      .s_axil_rready(rready),
      .s_axil_rvalid(rvalid),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .cfg_locked_i(locked),
      .status_i(status),
      .config_o(),
      .doorbells_o(),
      .lane_pointers_i(lane_pointers),
      .lane_config_o(),
      .lane_doorbells_o(),
      .command_write_o(),
      .command_o(),
      .header_access_o(header_access),
      .header_rd_ack_i(header_q[2]),
      .header_rd_data_i(window_data),
      .policy_access_o(policy_access),
      .policy_rd_ack_i(policy_q[2]),
      .policy_rd_data_i(window_data),
      .entropy_access_o(entropy_access),
      .entropy_rd_ack_i(entropy_q[2]),
      .entropy_rd_data_i(window_data)
  );
  always_ff @(posedge clk) begin
    header_q <= rst ? '0 : {header_q[1:0], header_access.valid && !header_access.write};
    policy_q <= rst ? '0 : {policy_q[1:0], policy_access.valid && !policy_access.write};
    entropy_q <= rst ? '0 : {entropy_q[1:0], entropy_access.valid && !entropy_access.write};
  end

  // ---- the master
  logic aw_held_q, w_held_q, ar_held_q;
  logic [19:0] awaddr_q, araddr_q;
  logic [35:0] w_q;
  always_ff @(posedge clk) begin
    aw_held_q <= !rst && awvalid && !awready;
    w_held_q <= !rst && wvalid && !wready;
    ar_held_q <= !rst && arvalid && !arready;
    {awaddr_q, araddr_q, w_q} <= {awaddr, araddr, wdata, wstrb};
  end
  always_comb begin
    if (rst) assume (!awvalid && !wvalid && !arvalid);
    if (aw_held_q) assume (awvalid && awaddr == awaddr_q);
    if (w_held_q) assume (wvalid && {wdata, wstrb} == w_q);
    if (ar_held_q) assume (arvalid && araddr == araddr_q);
  end

  // ---- what was accepted and not answered; how long the oldest has waited while responses are
  // taken
  logic [3:0] addresses_q, data_q, reads_q, write_waits_q, read_waits_q;
  logic b_held_q, r_held_q, window_write_q;
  logic [1:0] bresp_q;
  logic [33:0] r_q;
  logic [3:0] answered_q;
  always_ff @(posedge clk) begin
    if (rst) {addresses_q, data_q, reads_q, write_waits_q, read_waits_q, answered_q} <= '0;
    else begin
      addresses_q <= addresses_q + 4'(awvalid && awready) - 4'(bvalid && bready);
      data_q <= data_q + 4'(wvalid && wready) - 4'(bvalid && bready);
      reads_q <= reads_q + 4'(arvalid && arready) - 4'(rvalid && rready);
      write_waits_q <= addresses_q == '0 || data_q == '0 || bvalid
          || rvalid ? 4'd0 : write_waits_q + 4'd1;
      read_waits_q <= reads_q == '0 || rvalid || bvalid ? 4'd0 : read_waits_q + 4'd1;
      answered_q <= answered_q + 4'(bvalid && bready) + 4'(rvalid && rready);
    end
    b_held_q <= !rst && bvalid && !bready;
    r_held_q <= !rst && rvalid && !rready;
    bresp_q <= bresp;
    r_q <= {rdata, rresp};
  end

  always_comb begin
    if (started) begin
      if (rst) assert (!awready && !wready && !arready);
      if (b_held_q) assert (bvalid && bresp == bresp_q);
      if (r_held_q) assert (rvalid && {rdata, rresp} == r_q);
      if (bvalid) assert (addresses_q != '0 && data_q != '0);
      if (rvalid) assert (reads_q != '0);
      assert (write_waits_q <= 4'd12 && read_waits_q <= 4'd12);
      if (policy_access.valid || entropy_access.valid || header_access.valid)
        assert (policy_access.write || entropy_access.write
            || header_access.write ? addresses_q != '0 && data_q != '0 : reads_q != '0);
      assert ($onehot0({policy_access.valid, entropy_access.valid, header_access.valid}));

      cover (answered_q == 4'd3);
      cover (r_held_q);
      cover (b_held_q);
      cover (policy_q[2] && rvalid == 1'b0 && reads_q != '0);
      cover (policy_access.valid && policy_access.write && policy_access.whole);
    end
  end
endmodule
