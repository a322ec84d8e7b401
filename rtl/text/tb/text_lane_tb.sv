// Bench top: a lane's text, driven by the bench, with the rules of the bus beside it.
module text_lane_tb
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,
    parameter int unsigned MaxStreams = 16,
    parameter int unsigned WatchdogLog2 = 10,
    localparam int unsigned ScanBits = Engines * StateBits + $bits(cards_t) + $bits(accounts_t)
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic                locked_i,
    input  logic                load_valid_i,
    input  logic [63:0]         load_address_i,
    input  logic [31:0]         load_bytes_i,
    input  logic [255:0]        load_digest_i,  // First byte at the top.
    output logic                load_done_o,
    output logic [1:0]          load_result_o,
    output logic                complete_o,
    input  logic                renew_valid_i,
    output logic                renew_ready_o,
    input  logic [15:0]         renew_slot_i,
    input  logic                entry_valid_i,
    output logic                entry_ready_o,
    input  logic [63:0]         address_i,
    input  logic [11:0]         beats_i,
    input  logic                outside_i,
    input  logic [255:0]        commitment_i,  // First byte at the top.
    input  logic [15:0]         slot_i,
    output logic                answer_valid_o,
    output logic                agrees_o,
    output logic [2:0]          cause_o,
    output logic                call_o,
    output logic [31:0]         length_o,
    output logic [127:0]        classes_o,
    output logic [127:0]        established_o,
    output logic [ScanBits-1:0] state_o,  // Behind the answered entry.
    input  logic                settle_i,
    input  logic                admit_i,
    output logic                ar_valid_o,
    output logic [63:0]         ar_addr_o,
    output logic [7:0]          ar_len_o,
    output logic [4:0]          ar_id_o,
    input  logic                ar_ready_i,
    input  logic                r_valid_i,
    input  logic [4:0]          r_id_i,
    input  logic [1:0]          r_resp_i,
    input  logic                r_last_i,
    input  logic [511:0]        r_data_i,  // First byte at the bottom.
    output logic                broken_o,
    output logic                expired_o,
    output logic                changed_o,
    output logic                idle_o
);
  axi_pkg::req_t req;
  axi_pkg::rsp_t rsp;
  text_answer_t answer;
  load_answer_t load;
  logic unused_clearing;
  text_lane #(
      .Engines(Engines),
      .MaxStreams(MaxStreams),
      .WatchdogLog2(WatchdogLog2)
  ) u_lane (
      .clear_slots_i(1'b0),  // Tests renew a slot before its first entry.
      .clearing_slots_o(unused_clearing),
      .entry_i('{
              address: address_i,
              outside: outside_i,
              beats: beats_i,
              commitment: commitment_i,
              slot: slot_i,
              tables: 1'b0,
              bytes: '0
          }),
      .load_i('{
              valid: load_valid_i,
              address: load_address_i,
              bytes: load_bytes_i,
              digest: load_digest_i
          }),
      .load_o(load),
      .answer_o(answer),
      .ar_o(req.ar),
      .r_i(rsp.r),
      .*
  );
  assign state_o = u_lane.answer_scan_q;
  assign agrees_o = answer.agrees;
  assign cause_o = answer.cause;
  assign call_o = answer.call;
  assign length_o = 32'(answer.length);
  assign load_done_o = load.done;
  assign load_result_o = load.result;
  assign classes_o = answer.classes;
  assign established_o = answer.established;
  assign ar_addr_o = req.ar.addr;
  assign ar_len_o = req.ar.len;
  assign ar_id_o = req.ar.id;

  assign req.ar_valid = ar_valid_o;
  assign {req.aw, req.aw_valid, req.w, req.w_valid} = '0;
  assign {req.r_ready, req.b_ready} = '1;
  assign {rsp.aw_ready, rsp.w_ready, rsp.b, rsp.b_valid} = '0;
  assign rsp.ar_ready = ar_ready_i;
  assign rsp.r_valid = r_valid_i;
  assign rsp.r = '{id: r_id_i, resp: r_resp_i, last: r_last_i, data: r_data_i};
  ring_axi_rules u_rules (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .give_up_read_i(u_lane.give_up),
      .give_up_write_i(1'b0),
      .req_i(req),
      .rsp_i(rsp)
  );
endmodule
