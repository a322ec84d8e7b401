// The rules of the bus that this master keeps, as assertions; no logic of its own. Simulation and proofs use it.
//
// They are the strictest of AWS F2 and the Alveo XDMA bridge: 64-byte beats, INCR, no burst across 4 KiB, reads of at most
// 512 bytes with an id that no other read in flight has, full strobes, data from the clock of its request on, nothing
// taken back or changed before it is accepted, responses accepted within 64 clocks.
// `give_up_*_i` excuses the clock after it: there a hung channel is abandoned.
module ring_axi_rules
  import ring_pkg::*;
(
    input logic clk_i,
    input logic rst_i,
    input logic give_up_read_i,
    input logic give_up_write_i,
    input logic [4:0] arid_i,
    input logic [63:0] araddr_i,
    input logic [7:0] arlen_i,
    input logic [2:0] arsize_i,
    input logic [1:0] arburst_i,
    input logic arvalid_i,
    input logic arready_i,
    input logic [4:0] rid_i,
    input logic rlast_i,
    input logic rvalid_i,
    input logic rready_i,
    input logic [4:0] awid_i,
    input logic [63:0] awaddr_i,
    input logic [7:0] awlen_i,
    input logic [2:0] awsize_i,
    input logic [1:0] awburst_i,
    input logic awvalid_i,
    input logic awready_i,
    input logic [511:0] wdata_i,
    input logic [63:0] wstrb_i,
    input logic wlast_i,
    input logic wvalid_i,
    input logic wready_i,
    input logic bvalid_i,
    input logic bready_i
);
  localparam logic [6:0] MostWait = 7'd64;

  // A burst of 64-byte beats, aligned, inside one 4 KiB page.
  function automatic logic burst_ok(logic [11:0] addr, logic [7:0] len, logic [2:0] size, logic [1:0] burst);
    return size == AxiSize64 && burst == AxiIncr && addr[5:0] == '0 && 9'(addr[11:6]) + 9'(len) < 9'd64;
  endfunction

  // Kept only when a channel was stalled in the clock before.
  logic ar_stalled_q, aw_stalled_q, w_stalled_q;
  logic [76:0] ar_q, aw_q;
  logic [576:0] w_q;
  logic [31:0] in_flight_q;
  logic [8:0] beats_q;
  logic [6:0] r_wait_q, b_wait_q;

  logic ar_new, aw_new;
  logic [8:0] beats_now;
  assign ar_new = arvalid_i && !ar_stalled_q;
  assign aw_new = awvalid_i && !aw_stalled_q;
  assign beats_now = aw_new ? 9'(awlen_i) + 9'd1 : beats_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ar_stalled_q <= 1'b0;
      aw_stalled_q <= 1'b0;
      w_stalled_q <= 1'b0;
      in_flight_q <= '0;
      beats_q <= '0;
      r_wait_q <= '0;
      b_wait_q <= '0;
    end else begin
      ar_stalled_q <= arvalid_i && !arready_i && !give_up_read_i;
      aw_stalled_q <= awvalid_i && !awready_i && !give_up_write_i;
      w_stalled_q <= wvalid_i && !wready_i && !give_up_write_i;
      if (arvalid_i && !arready_i) ar_q <= {arid_i, araddr_i, arlen_i};
      if (awvalid_i && !awready_i) aw_q <= {awid_i, awaddr_i, awlen_i};
      if (wvalid_i && !wready_i) w_q <= {wlast_i, wstrb_i, wdata_i};
      if (rvalid_i && rready_i && rlast_i) in_flight_q[rid_i] <= 1'b0;
      if (ar_new) in_flight_q[arid_i] <= 1'b1;
      if (give_up_read_i) in_flight_q <= '0;
      beats_q  <= give_up_write_i ? '0 : wvalid_i && wready_i ? beats_now - 9'd1 : beats_now;
      r_wait_q <= rvalid_i && !rready_i ? r_wait_q + 7'd1 : '0;
      b_wait_q <= bvalid_i && !bready_i ? b_wait_q + 7'd1 : '0;

      if (ar_stalled_q) assert (arvalid_i && ar_q == {arid_i, araddr_i, arlen_i});
      if (aw_stalled_q) assert (awvalid_i && aw_q == {awid_i, awaddr_i, awlen_i});
      if (w_stalled_q) assert (wvalid_i && w_q == {wlast_i, wstrb_i, wdata_i});
      if (ar_new) begin
        assert (burst_ok(araddr_i[11:0], arlen_i, arsize_i, arburst_i) && arlen_i < 8'd8);
        assert (!in_flight_q[arid_i]);
      end
      if (aw_new) begin
        assert (burst_ok(awaddr_i[11:0], awlen_i, awsize_i, awburst_i));
        // The data of the burst before has left.
        assert (beats_q == '0);
      end
      if (wvalid_i) assert (beats_now != '0 && wlast_i == (beats_now == 9'd1) && wstrb_i == '1);
      assert (r_wait_q < MostWait && b_wait_q < MostWait);
    end
  end
endmodule
