// The registers of one lane: a generated block, with its structures converted to those of the lane.
//
// Configuration is writable while it is not locked. Doorbells leave one clock after their write.
// Latency: as the generated block acknowledges.
// After reset: every register 0.
// Duties of the caller: one access at a time.
module lane_csr
  import ring_pkg::*;
  import csr_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_i,
    input  lane_access_t    access_i,
    output logic            rd_ack_o,
    output logic [31:0]     rd_data_o,
    output logic            wr_ack_o,
    input  logic            cfg_locked_i,
    input  ring_pointers_t  pointers_i,
    output lane_config_t    config_o,
    output ring_doorbells_t doorbells_o
);
  lane_regs_pkg::lane_regs__in_t hwif_in;
  lane_regs_pkg::lane_regs__out_t hwif_out;

  lane_regs u_regs (
      .clk(clk_i),
      .rst(rst_i),
      .s_cpuif_req(access_i.valid),
      .s_cpuif_req_is_wr(access_i.write),
      .s_cpuif_addr(access_i.address),
      .s_cpuif_wr_data(access_i.data),
      .s_cpuif_wr_biten(access_i.bits),
      .s_cpuif_req_stall_wr(),
      .s_cpuif_req_stall_rd(),
      .s_cpuif_rd_ack(rd_ack_o),
      .s_cpuif_rd_err(),
      .s_cpuif_rd_data(rd_data_o),
      .s_cpuif_wr_ack(wr_ack_o),
      .s_cpuif_wr_err(),
      .hwif_in,
      .hwif_out
  );

  always_comb begin
    hwif_in = '{default: '0};
    hwif_in.queues.log_tail.v.next = pointers_i.log_tail;
    hwif_in.queues.sq_head.v.next = 32'(pointers_i.sq_head);
    hwif_in.queues.cq_tail.v.next = 32'(pointers_i.cq_tail);
    hwif_in.queues.sq_lo.v.swwel = cfg_locked_i;
    hwif_in.queues.sq_hi.v.swwel = cfg_locked_i;
    hwif_in.queues.sq_size.log2.swwel = cfg_locked_i;
    hwif_in.queues.cq_lo.v.swwel = cfg_locked_i;
    hwif_in.queues.cq_hi.v.swwel = cfg_locked_i;
    hwif_in.queues.log_lo.v.swwel = cfg_locked_i;
    hwif_in.queues.log_hi.v.swwel = cfg_locked_i;
    hwif_in.queues.log_size.log2.swwel = cfg_locked_i;
  end

  assign config_o = '{
          sq_base: {hwif_out.queues.sq_hi.v.value, hwif_out.queues.sq_lo.v.value},
          cq_base: {hwif_out.queues.cq_hi.v.value, hwif_out.queues.cq_lo.v.value},
          log_base: {hwif_out.queues.log_hi.v.value, hwif_out.queues.log_lo.v.value},
          sq_log2: hwif_out.queues.sq_size.log2.value,
          log_log2: hwif_out.queues.log_size.log2.value
      };

  logic sq_tail_we_q, cq_head_we_q, log_head_we_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) {sq_tail_we_q, cq_head_we_q, log_head_we_q} <= '0;
    else begin
      sq_tail_we_q <= hwif_out.queues.sq_tail.v.swmod;
      cq_head_we_q <= hwif_out.queues.cq_head.v.swmod;
      log_head_we_q <= hwif_out.queues.log_head.v.swmod;
    end
  end
  assign doorbells_o = '{
          sq_tail_we: sq_tail_we_q,
          cq_head_we: cq_head_we_q,
          log_head_we: log_head_we_q,
          sq_tail: hwif_out.queues.sq_tail.v.value,
          cq_head: hwif_out.queues.cq_head.v.value,
          log_head: hwif_out.queues.log_head.v.value
      };
endmodule
