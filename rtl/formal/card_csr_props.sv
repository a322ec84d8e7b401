// Checks the register block's AXI4-Lite side (AMBA AXI4-Lite, A3.2): a valid response stays valid
// and unchanged until READY. Each accepted request gets at most one response, and no other response
// comes. If the master accepts its responses, each request is answered within twelve clocks. A
// write to a window leaves only during a request for that window.
//
// Bounded: the first 14 clocks after reset, in which two requests can pass, possibly a read and a
// write at the same time.
// Assumed: the master holds address and data until they are accepted; a window answers a read
// access once, three clocks later, with arbitrary data.
module card_csr_props
  import layout_pkg::*;
  import gate_pkg::*;
  import csr_pkg::*;
  import ring_pkg::*;
(
    input logic clk,
    input axi_pkg::lite_req_t axil,
    input logic locked,
    input csr_status_t status,
    input ring_pointers_t [0:0] lane_pointers,
    input logic [31:0] window_data
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  axi_pkg::lite_rsp_t rsp;
  table_access_t header_access, blocks_access, policy_access, entropy_access;
  logic [2:0] header_q, blocks_q, policy_q, entropy_q;
  card_csr dut (
      .clk_i(clk),
      .rst_i(rst),
      .axil_req_i(axil),
      .axil_rsp_o(rsp),
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
      .header_answer_i({header_q[2], window_data}),
      .blocks_access_o(blocks_access),
      .blocks_answer_i({blocks_q[2], window_data}),
      .policy_access_o(policy_access),
      .policy_answer_i({policy_q[2], window_data}),
      .entropy_access_o(entropy_access),
      .entropy_answer_i({entropy_q[2], window_data})
  );
  always_ff @(posedge clk) begin
    header_q <= rst ? '0 : {header_q[1:0], header_access.valid && !header_access.write};
    blocks_q <= rst ? '0 : {blocks_q[1:0], blocks_access.valid && !blocks_access.write};
    policy_q <= rst ? '0 : {policy_q[1:0], policy_access.valid && !policy_access.write};
    entropy_q <= rst ? '0 : {entropy_q[1:0], entropy_access.valid && !entropy_access.write};
  end

  // ---- the master
  logic aw_held_q, w_held_q, ar_held_q;
  logic [19:0] awaddr_q, araddr_q;
  logic [35:0] w_q;
  always_ff @(posedge clk) begin
    aw_held_q <= !rst && axil.aw_valid && !rsp.aw_ready;
    w_held_q <= !rst && axil.w_valid && !rsp.w_ready;
    ar_held_q <= !rst && axil.ar_valid && !rsp.ar_ready;
    {awaddr_q, araddr_q, w_q} <= {axil.aw_addr, axil.ar_addr, axil.w_data, axil.w_strb};
  end
  always_comb begin
    if (rst) assume (!axil.aw_valid && !axil.w_valid && !axil.ar_valid);
    if (aw_held_q) assume (axil.aw_valid && axil.aw_addr == awaddr_q);
    if (w_held_q) assume (axil.w_valid && {axil.w_data, axil.w_strb} == w_q);
    if (ar_held_q) assume (axil.ar_valid && axil.ar_addr == araddr_q);
  end

  // ---- requests that were accepted and not answered; how long the oldest has waited while
  // responses are accepted
  logic [3:0] addresses_q, data_q, reads_q, write_waits_q, read_waits_q;
  logic b_held_q, r_held_q, window_write_q;
  logic [1:0] bresp_q;
  logic [33:0] r_q;
  logic [3:0] answered_q;
  always_ff @(posedge clk) begin
    if (rst) {addresses_q, data_q, reads_q, write_waits_q, read_waits_q, answered_q} <= '0;
    else begin
      addresses_q <= addresses_q + 4'(axil.aw_valid && rsp.aw_ready) - 4'(rsp.b_valid
          && axil.b_ready);
      data_q <= data_q + 4'(axil.w_valid && rsp.w_ready) - 4'(rsp.b_valid && axil.b_ready);
      reads_q <= reads_q + 4'(axil.ar_valid && rsp.ar_ready) - 4'(rsp.r_valid && axil.r_ready);
      write_waits_q <= addresses_q == '0 || data_q == '0 || rsp.b_valid
          || rsp.r_valid ? 4'd0 : write_waits_q + 4'd1;
      read_waits_q <= reads_q == '0 || rsp.r_valid || rsp.b_valid ? 4'd0 : read_waits_q + 4'd1;
      answered_q <= answered_q + 4'(rsp.b_valid && axil.b_ready) + 4'(rsp.r_valid && axil.r_ready);
    end
    b_held_q <= !rst && rsp.b_valid && !axil.b_ready;
    r_held_q <= !rst && rsp.r_valid && !axil.r_ready;
    bresp_q <= rsp.b_resp;
    r_q <= {rsp.r_data, rsp.r_resp};
  end

  always_comb begin
    if (started) begin
      if (rst) assert (!rsp.aw_ready && !rsp.w_ready && !rsp.ar_ready);
      if (b_held_q) assert (rsp.b_valid && rsp.b_resp == bresp_q);
      if (r_held_q) assert (rsp.r_valid && {rsp.r_data, rsp.r_resp} == r_q);
      if (rsp.b_valid) assert (addresses_q != '0 && data_q != '0);
      if (rsp.r_valid) assert (reads_q != '0);
      assert (write_waits_q <= 4'd12 && read_waits_q <= 4'd12);
      if (policy_access.valid || entropy_access.valid || header_access.valid)
        assert (policy_access.write || entropy_access.write
            || header_access.write ? addresses_q != '0 && data_q != '0 : reads_q != '0);
      assert ($onehot0({policy_access.valid, entropy_access.valid, header_access.valid}));

      cover (answered_q == 4'd3);
      cover (r_held_q);
      cover (b_held_q);
      cover (policy_q[2] && rsp.r_valid == 1'b0 && reads_q != '0);
      cover (policy_access.valid && policy_access.write && policy_access.whole);
    end
  end
endmodule
