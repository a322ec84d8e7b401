// Converts register accesses from XDMA's bridge (AXI4, 512 bits) to AXI4-Lite of 32 bits.
//
// It handles one transaction and one word at a time; reads and writes take turns. INCR bursts may
// have any length and size. A write accesses the words with an enabled byte, a read all words from
// its address to the end of the beat (reading registers has no side effect). FIXED and WRAP get an
// error and access nothing. A beat (read) or burst (write) gets the worst answer of its words.
// Latency: 3 clocks per word, plus those of the slave.
// After reset: idle. READY is low in reset, so that no access is accepted and lost.
// Duties of the caller: the AXI4 rules; a slave that answers in bounded time.
`include "assert.svh"

module axi_to_axil #(
    parameter int unsigned IdWidth = 4  // 1 or more
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic [IdWidth-1:0] s_awid_i,
    input  logic [31:0]        s_awaddr_i,
    input  logic [7:0]         s_awlen_i,
    input  logic [2:0]         s_awsize_i,
    input  logic [1:0]         s_awburst_i,
    input  logic               s_awvalid_i,
    output logic               s_awready_o,
    input  logic [511:0]       s_wdata_i,
    input  logic [63:0]        s_wstrb_i,
    input  logic               s_wlast_i,
    input  logic               s_wvalid_i,
    output logic               s_wready_o,
    output logic [IdWidth-1:0] s_bid_o,
    output logic [1:0]         s_bresp_o,
    output logic               s_bvalid_o,
    input  logic               s_bready_i,
    input  logic [IdWidth-1:0] s_arid_i,
    input  logic [31:0]        s_araddr_i,
    input  logic [7:0]         s_arlen_i,
    input  logic [2:0]         s_arsize_i,
    input  logic [1:0]         s_arburst_i,
    input  logic               s_arvalid_i,
    output logic               s_arready_o,
    output logic [IdWidth-1:0] s_rid_o,
    output logic [511:0]       s_rdata_o,
    output logic [1:0]         s_rresp_o,
    output logic               s_rlast_o,
    output logic               s_rvalid_o,
    input  logic               s_rready_i,
    output axi_pkg::lite_req_t m_req_o,
    input  axi_pkg::lite_rsp_t m_rsp_i
);
  localparam logic [1:0] Incr = 2'b01;
  localparam logic [1:0] SlaveError = 2'b10;

  typedef enum logic [2:0] {
    StIdle,
    StBeat,    // Write: wait for a beat. Read: begin a beat.
    StWord,    // Select the next word of the beat, or end it.
    StAccess,  // The slave has the word.
    StRead,    // A beat of read data is offered.
    StWritten  // The answer of a write is offered.
  } state_e;
  state_e state_q;

  logic write_q, refuse_q;
  logic [IdWidth-1:0] id_q;
  logic [31:0] addr_q;      // Address of the beat; the first beat may be unaligned.
  logic [2:0] size_q;
  logic [7:0] beats_q;      // Beats after this one.
  logic [511:0] data_q;
  logic [63:0] strb_q;
  logic [4:0] word_q;       // Word of the beat; 16: none.
  logic [1:0] resp_q;

  logic take_write, take_read;
  assign take_write = state_q == StIdle && !rst_i && s_awvalid_i && !(write_q && s_arvalid_i);
  assign take_read = state_q == StIdle && !rst_i && s_arvalid_i && !take_write;
  assign s_awready_o = take_write;
  assign s_arready_o = take_read;
  assign s_wready_o = state_q == StBeat && write_q;

  // Byte offsets within a beat of this size.
  logic [5:0] beat_mask;
  assign beat_mask = 6'((7'd1 << size_q) - 7'd1);

  // Words that this beat accesses, from the word at its address on.
  logic [3:0] last_word;
  logic wanted;
  assign last_word = 4'((addr_q[5:0] | beat_mask) >> 2);
  assign wanted = !write_q || strb_q[{word_q[3:0], 2'b00}+:4] != '0;

  assign s_bid_o = id_q;
  assign s_bresp_o = resp_q;
  assign s_bvalid_o = state_q == StWritten;
  assign s_rid_o = id_q;
  assign s_rdata_o = data_q;
  assign s_rresp_o = resp_q;
  assign s_rlast_o = beats_q == '0;
  assign s_rvalid_o = state_q == StRead;
  logic aw_valid_q, w_valid_q, ar_valid_q;
  logic [31:0] word_addr;  // For reads and writes.
  assign word_addr = {addr_q[31:6], word_q[3:0], 2'b00};
  assign m_req_o = '{
          aw_valid: aw_valid_q,
          w_valid: w_valid_q,
          b_ready: state_q == StAccess && write_q,
          ar_valid: ar_valid_q,
          r_ready: state_q == StAccess && !write_q,
          w_strb: strb_q[{word_q[3:0], 2'b00}+:4],
          aw_addr: word_addr,
          w_data: data_q[{word_q[3:0], 5'b0}+:32],
          ar_addr: word_addr
      };

  logic done, next_beat;
  assign done = write_q ? m_rsp_i.b_valid : m_rsp_i.r_valid;
  assign next_beat = state_q == StWord && (refuse_q || word_q > {1'b0, last_word});

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
      write_q <= 1'b0;
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
    end else begin
      aw_valid_q <= (state_q == StWord && !next_beat && write_q && wanted)
          || (aw_valid_q && !m_rsp_i.aw_ready);
      w_valid_q <= (state_q == StWord && !next_beat && write_q && wanted)
          || (w_valid_q && !m_rsp_i.w_ready);
      ar_valid_q <= (state_q == StWord && !next_beat && !write_q) || (ar_valid_q
          && !m_rsp_i.ar_ready);
      unique case (state_q)
        StIdle:
        if (take_write || take_read) begin
          write_q <= take_write;
          state_q <= StBeat;
        end
        StBeat: if (!write_q || s_wvalid_i) state_q <= StWord;
        StWord:
        if (next_beat) state_q <= !write_q ? StRead : beats_q == '0 ? StWritten : StBeat;
        else if (wanted) state_q <= StAccess;
        StAccess: if (done) state_q <= StWord;
        StRead: if (s_rready_i) state_q <= beats_q == '0 ? StIdle : StBeat;
        StWritten: if (s_bready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end

    if (take_write || take_read) begin
      id_q <= take_write ? s_awid_i : s_arid_i;
      addr_q <= take_write ? s_awaddr_i : s_araddr_i;
      beats_q <= take_write ? s_awlen_i : s_arlen_i;
      size_q <= take_write ? s_awsize_i : s_arsize_i;
      refuse_q <= (take_write ? s_awburst_i : s_arburst_i) != Incr;
      resp_q <= (take_write ? s_awburst_i : s_arburst_i) != Incr ? SlaveError : 2'b00;
    end
    if (state_q == StBeat) begin
      word_q <= {1'b0, addr_q[5:2]};
      data_q <= write_q ? s_wdata_i : '1;
      strb_q <= s_wstrb_i;
      if (!write_q) resp_q <= refuse_q ? SlaveError : 2'b00;
    end
    if (state_q == StWord && !next_beat && !wanted) word_q <= word_q + 5'd1;
    if (state_q == StAccess && done) begin
      word_q <= word_q + 5'd1;
      if (!write_q) data_q[{word_q[3:0], 5'b0}+:32] <= m_rsp_i.r_data;
      if ((write_q ? m_rsp_i.b_resp : m_rsp_i.r_resp) > resp_q)
        resp_q <= write_q ? m_rsp_i.b_resp : m_rsp_i.r_resp;
    end
    if ((next_beat && write_q && beats_q != '0)
        || (state_q == StRead && s_rready_i && beats_q != '0)) begin
      beats_q <= beats_q - 8'd1;
      addr_q <= (addr_q | {26'b0, beat_mask}) + 32'd1;
    end
  end

  // The bridge must send as many beats as its request announced.
  always_ff @(posedge clk_i) begin
    if (!rst_i && s_wvalid_i && s_wready_o) `ASSERT(s_wlast_i == (beats_q == '0),
                                                   "axi_to_axil: WLAST on the wrong beat");
  end
endmodule
