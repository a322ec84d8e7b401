// The card's AXI4-Lite slave: turns accesses of the bus into requests of the register block, one at
// a time.
//
// Write address, write data and read address each have a register. A request is sent for one clock
// when the block is free and the answer buffer is empty. Reads and writes have separate buffers, so
// a master that does not accept answers of one kind still gets answers of the other kind. If both
// kinds wait, they take turns. Every answer is OKAY.
//
// The request outputs hold their values until the next request.
// Latency: a request leaves at least two clocks after it was accepted, from registers; its answer
// is offered one clock after the block's answer.
// After reset: idle. READY is low in reset, so that no access is accepted and lost.
// Duties of the caller: the AXI rules; a register block that answers every request once, in the
// clock of the request or later, in bounded time.
`include "assert.svh"

module axil_port #(
    parameter int unsigned AddressWidth = 20  // 3 or more
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    // AXI4-Lite.
    input  axi_pkg::lite_req_t      axil_req_i,
    output axi_pkg::lite_rsp_t      axil_rsp_o,
    // Register block.
    output logic                    req_o,
    output logic                    req_write_o,
    output logic [AddressWidth-1:0] req_addr_o,  // Address of a word.
    output logic [31:0]             req_data_o,
    output logic [31:0]             req_bits_o,  // Bits to write.
    input  logic                    rd_ack_i,
    input  logic [31:0]             rd_data_i,
    input  logic                    wr_ack_i
);
  // ---- waiting accesses
  logic aw_q, w_q, ar_q, aw_ready, w_ready, ar_ready;
  logic [AddressWidth-1:2] awaddr_q, araddr_q;
  logic [31:0] wdata_q;
  logic [3:0] wstrb_q;
  logic issue_read, issue_write;
  assign aw_ready = !aw_q && !rst_i;
  assign w_ready = !w_q && !rst_i;
  assign ar_ready = !ar_q && !rst_i;
  always_ff @(posedge clk_i) begin
    if (aw_ready) awaddr_q <= axil_req_i.aw_addr[AddressWidth-1:2];
    if (w_ready) {wstrb_q, wdata_q} <= {axil_req_i.w_strb, axil_req_i.w_data};
    if (ar_ready) araddr_q <= axil_req_i.ar_addr[AddressWidth-1:2];
    if (rst_i) {aw_q, w_q, ar_q} <= '0;
    else begin
      aw_q <= aw_q ? !issue_write : axil_req_i.aw_valid;
      w_q <= w_q ? !issue_write : axil_req_i.w_valid;
      ar_q <= ar_q ? !issue_read : axil_req_i.ar_valid;
    end
  end

  // Answers that are offered to the bus.
  logic b_valid_q, r_valid_q;         // Offered answers.
  logic [31:0] r_data_q;
  logic read_waits_q, write_waits_q;  // A request of this kind is at the block, or is sent next.
  logic wrote_q;                      // The last request was a write.
  logic free, can_read, can_write;
  assign free = !read_waits_q && !write_waits_q;
  assign can_read = ar_q && free && !r_valid_q;
  assign can_write = aw_q && w_q && free && !b_valid_q;
  assign issue_read = can_read && !(can_write && !wrote_q);
  assign issue_write = can_write && !issue_read;
  always_ff @(posedge clk_i) begin
    req_o <= !rst_i && (issue_read || issue_write);
    if (issue_read || issue_write) begin
      req_write_o <= issue_write;
      req_addr_o <= {issue_write ? awaddr_q : araddr_q, 2'b00};
      req_data_o <= wdata_q;
      for (int unsigned b = 0; b < 4; b++) req_bits_o[8*b+:8] <= {8{wstrb_q[b]}};
    end
  end

  // ---- answers
  logic read_done, write_done;
  assign read_done = read_waits_q && rd_ack_i;
  assign write_done = write_waits_q && wr_ack_i;
  always_ff @(posedge clk_i) begin
    if (read_done) r_data_q <= rd_data_i;
    if (rst_i) begin
      {read_waits_q, write_waits_q, wrote_q} <= '0;
      {r_valid_q, b_valid_q} <= '0;
    end else begin
      read_waits_q <= issue_read || (read_waits_q && !rd_ack_i);
      write_waits_q <= issue_write || (write_waits_q && !wr_ack_i);
      if (issue_read || issue_write) wrote_q <= issue_write;
      r_valid_q <= read_done || (r_valid_q && !axil_req_i.r_ready);
      b_valid_q <= write_done || (b_valid_q && !axil_req_i.b_ready);
    end
  end
  assign axil_rsp_o = '{
          aw_ready: aw_ready,
          w_ready: w_ready,
          b_valid: b_valid_q,
          b_resp: axi_pkg::Okay,
          ar_ready: ar_ready,
          r_valid: r_valid_q,
          r_resp: axi_pkg::Okay,
          r_data: r_data_q
      };

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT(!(read_waits_q && write_waits_q), "axil_port: two requests at once");
  end
endmodule
