// Host memory behind an AXI4 slave, for the benches of the shells. It has lines of 64 bytes, and
// READY and answers come at random; reads are answered in any order. While `hold_i` is high it does
// not answer; while `stall_i` is high it does not accept writes. A reset keeps the lines.
//
// It checks the duties of a master: VALID and payload hold until READY; only bursts that F2 and
// XDMA allow; unique ids of reads; write data not before their request was offered; every answer is
// accepted.
module host_memory #(
    parameter int unsigned IdBits = 5
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         hold_i,
    input  logic         stall_i,
    input  logic [63:0]  awaddr_i,
    input  logic [7:0]   awlen_i,
    input  logic         awvalid_i,
    output logic         awready_o,
    input  logic [511:0] wdata_i,
    input  logic [63:0]  wstrb_i,
    input  logic         wlast_i,
    input  logic         wvalid_i,
    output logic         wready_o,
    output logic         bvalid_o,
    input  logic         bready_i,
    input  logic [IdBits-1:0] arid_i,
    input  logic [63:0]  araddr_i,
    input  logic [7:0]   arlen_i,
    input  logic         arvalid_i,
    output logic         arready_o,
    output logic [IdBits-1:0] rid_o,
    output logic [511:0] rdata_o,
    output logic         rlast_o,
    output logic         rvalid_o,
    input  logic         rready_i
);
  typedef struct packed {
    logic [IdBits-1:0] id;
    logic [63:0] addr;
    logic [7:0]  len;
  } request_t;

  logic [511:0] lines[logic [63:0]];
  request_t reads[$];
  request_t writes[$];
  int unsigned reads_seen = 0, bursts_written = 0, lines_written = 0, beats_empty = 0;
  int unsigned answers_owed = 0;
  logic [31:0] ids = '0;
  logic [8:0] read_beat = '0, write_beat = '0;
  int unsigned pick;
  // The data of the offered request came before the request was accepted. The answer comes after
  // the acceptance.
  logic early = 1'b0;

  logic ar_stalled, aw_stalled, w_stalled;
  logic [76:0] ar_was;
  logic [71:0] aw_was;
  logic [576:0] w_was;

  function automatic void check_burst(logic [63:0] addr, logic [7:0] len);
    assert (addr[5:0] == '0 && 32'(addr[11:6]) + 32'(len) < 64)
    else $fatal(1, "burst %h + %0d", addr, len);
  endfunction

  always @(posedge clk_i) begin
    // READY is high in three of four clocks.
    arready_o <= $urandom_range(3) != 0;
    awready_o <= !stall_i && $urandom_range(3) != 0;
    wready_o <= !stall_i && $urandom_range(3) != 0;
    if (rst_i) begin
      reads.delete();
      writes.delete();
      answers_owed = 0;
      early = 1'b0;
      ids <= '0;
      {read_beat, write_beat} <= '0;
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
      {ar_stalled, aw_stalled, w_stalled} <= '0;
    end else begin
      if (ar_stalled)
        assert (arvalid_i && ar_was == {arid_i, araddr_i, arlen_i}) else $fatal(1, "AR taken back");
      if (aw_stalled)
        assert (awvalid_i && aw_was == {awaddr_i, awlen_i}) else $fatal(1, "AW taken back");
      if (w_stalled)
        assert (wvalid_i && w_was == {wlast_i, wstrb_i, wdata_i}) else $fatal(1, "W taken back");
      ar_stalled <= arvalid_i && !arready_o;
      aw_stalled <= awvalid_i && !awready_o;
      w_stalled <= wvalid_i && !wready_o;
      ar_was <= {arid_i, araddr_i, arlen_i};
      aw_was <= {awaddr_i, awlen_i};
      w_was <= {wlast_i, wstrb_i, wdata_i};

      if (arvalid_i && arready_o) begin
        check_burst(araddr_i, arlen_i);
        assert (!ids[arid_i] && arlen_i < 8'd8) else $fatal(1, "read id %0d in flight", arid_i);
        ids[arid_i] <= 1'b1;
        reads.push_back('{arid_i, araddr_i, arlen_i});
        reads_seen <= reads_seen + 1;
      end
      if (awvalid_i && !aw_stalled) begin
        check_burst(awaddr_i, awlen_i);
        writes.push_back('{5'd0, awaddr_i, awlen_i});
      end
      if (wvalid_i && wready_o) begin
        assert (writes.size() > 0) else $fatal(1, "data before their request");
        assert (wlast_i == (write_beat == 9'(writes[0].len)))
        else $fatal(1, "wlast in beat %0d", write_beat);
        if (wstrb_i == '1) begin
          lines[writes[0].addr + {49'd0, write_beat, 6'd0}] = wdata_i;
          lines_written <= lines_written + 1;
        end else begin
          assert (wstrb_i == '0) else $fatal(1, "strobes %h", wstrb_i);
          beats_empty <= beats_empty + 1;
        end
        write_beat <= write_beat + 9'd1;
        if (wlast_i) begin
          write_beat <= '0;
          void'(writes.pop_front());
          bursts_written <= bursts_written + 1;
          answers_owed = answers_owed + 1;
          if (writes.size() == 0) early = awvalid_i;
        end
      end
      if (awvalid_i && awready_o) early = 1'b0;

      if (bvalid_o) begin
        assert (bready_i) else $fatal(1, "B refused");
        bvalid_o <= 1'b0;
      end else if (answers_owed > 32'(early) && !hold_i && $urandom_range(1) != 0) begin
        bvalid_o <= 1'b1;
        answers_owed = answers_owed - 1;
      end

      if (rvalid_o && rready_i) rvalid_o <= 1'b0;
      if ((!rvalid_o || rready_i) && reads.size() > 0 && !hold_i && $urandom_range(3) != 0) begin
        if (read_beat == '0) begin
          pick = $urandom_range(reads.size() - 1);
          reads.push_front(reads[pick]);
          reads.delete(pick + 1);
        end
        rvalid_o <= 1'b1;
        rid_o <= reads[0].id;
        rdata_o <= lines.exists(reads[0].addr + {49'd0, read_beat, 6'd0})
            ? lines[reads[0].addr + {49'd0, read_beat, 6'd0}] : '0;
        rlast_o <= read_beat == 9'(reads[0].len);
        read_beat <= read_beat + 9'd1;
        if (read_beat == 9'(reads[0].len)) begin
          read_beat <= '0;
          ids[reads[0].id] <= 1'b0;
          void'(reads.pop_front());
        end
      end
    end
  end
endmodule
