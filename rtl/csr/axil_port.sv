// The card's AXI4-Lite slave: turns accesses of the bus into requests of the register block, one at
// a time.
//
// Address, data and read address each wait in a register of their own. A request leaves for one
// clock when the block is free and the answer has a place to wait: reads and writes have a place
// each, so a master that does not take the answers of one kind gets those of the other all the
// same. Where both kinds wait they go in turn. Every answer is OKAY.
//
// Latency: a request leaves two clocks after it was accepted, at best, out of registers; its answer
// is offered one clock after the block's.
// After reset: nothing under way; READY is low in reset, so that no access is taken and lost.
// The caller owes: the AXI rules; a block that answers every request once, in the clock of the
// request or later, in bounded time.
`include "assert.svh"

module axil_port #(
    parameter int unsigned AddressWidth = 20  // 3 or more
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    // AXI4-Lite.
    output logic                    s_axil_awready,
    input  logic                    s_axil_awvalid,
    input  logic [AddressWidth-1:0] s_axil_awaddr,
    output logic                    s_axil_wready,
    input  logic                    s_axil_wvalid,
    input  logic [31:0]             s_axil_wdata,
    input  logic [3:0]              s_axil_wstrb,
    input  logic                    s_axil_bready,
    output logic                    s_axil_bvalid,
    output logic [1:0]              s_axil_bresp,
    output logic                    s_axil_arready,
    input  logic                    s_axil_arvalid,
    input  logic [AddressWidth-1:0] s_axil_araddr,
    input  logic                    s_axil_rready,
    output logic                    s_axil_rvalid,
    output logic [31:0]             s_axil_rdata,
    output logic [1:0]              s_axil_rresp,
    // Register block.
    output logic                    req_o,
    output logic                    req_write_o,
    output logic [AddressWidth-1:0] req_addr_o,   // Of a whole word.
    output logic [31:0]             req_data_o,
    output logic [31:0]             req_bits_o,   // Those that are written.
    input  logic                    rd_ack_i,
    input  logic [31:0]             rd_data_i,
    input  logic                    wr_ack_i
);
  localparam logic [1:0] Okay = 2'b00;

  // ---- accesses that wait
  logic aw_q, w_q, ar_q;
  logic [AddressWidth-1:2] awaddr_q, araddr_q;
  logic [31:0] wdata_q;
  logic [3:0] wstrb_q;
  logic issue_read, issue_write;
  assign s_axil_awready = !aw_q && !rst_i;
  assign s_axil_wready = !w_q && !rst_i;
  assign s_axil_arready = !ar_q && !rst_i;
  always_ff @(posedge clk_i) begin
    if (s_axil_awready) awaddr_q <= s_axil_awaddr[AddressWidth-1:2];
    if (s_axil_wready) {wstrb_q, wdata_q} <= {s_axil_wstrb, s_axil_wdata};
    if (s_axil_arready) araddr_q <= s_axil_araddr[AddressWidth-1:2];
    if (rst_i) {aw_q, w_q, ar_q} <= '0;
    else begin
      aw_q <= aw_q ? !issue_write : s_axil_awvalid;
      w_q <= w_q ? !issue_write : s_axil_wvalid;
      ar_q <= ar_q ? !issue_read : s_axil_arvalid;
    end
  end

  // ---- requests
  logic read_waits_q, write_waits_q;  // The block has a request of this kind, or is about to.
  logic wrote_q;                      // The last request was a write.
  logic free, can_read, can_write;
  assign free = !read_waits_q && !write_waits_q;
  assign can_read = ar_q && free && !s_axil_rvalid;
  assign can_write = aw_q && w_q && free && !s_axil_bvalid;
  assign issue_read = can_read && !(can_write && !wrote_q);
  assign issue_write = can_write && !issue_read;
  always_ff @(posedge clk_i) begin
    req_o <= !rst_i && (issue_read || issue_write);
    req_write_o <= issue_write;
    req_addr_o <= {issue_write ? awaddr_q : araddr_q, 2'b00};
    req_data_o <= wdata_q;
    for (int unsigned b = 0; b < 4; b++) req_bits_o[8*b+:8] <= {8{wstrb_q[b]}};
  end

  // ---- answers
  logic read_done, write_done;
  assign read_done = read_waits_q && rd_ack_i;
  assign write_done = write_waits_q && wr_ack_i;
  always_ff @(posedge clk_i) begin
    if (read_done) s_axil_rdata <= rd_data_i;
    if (rst_i) begin
      {read_waits_q, write_waits_q, wrote_q} <= '0;
      {s_axil_rvalid, s_axil_bvalid} <= '0;
    end else begin
      read_waits_q <= issue_read || (read_waits_q && !rd_ack_i);
      write_waits_q <= issue_write || (write_waits_q && !wr_ack_i);
      if (issue_read || issue_write) wrote_q <= issue_write;
      s_axil_rvalid <= read_done || (s_axil_rvalid && !s_axil_rready);
      s_axil_bvalid <= write_done || (s_axil_bvalid && !s_axil_bready);
    end
  end
  assign s_axil_rresp = Okay;
  assign s_axil_bresp = Okay;

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT(!(read_waits_q && write_waits_q), "axil_port: two requests at once");
  end
endmodule
