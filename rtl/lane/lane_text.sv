// Connects the text lane with the check of entries, their verdicts, the bus and OPEN.
//
// An answer belongs to the entry in the check, until `judge_i`. Then it waits for the verdict of
// this entry, and only ADMIT saves the state of the slot. While `run_i` is low, every answer is
// settled without an admit, so that nothing stays under way.
// The tables are loaded while `load_i` is high, and locked otherwise. `loaded_o` and its result
// stay until `load_i` falls.
//
// After a read that was given up, or a response without a request, `broken_o` is high and `fault_o`
// holds the fault; both stay until the reset. If a memory of the scan or of the slots has changed,
// `changed_o` rises when an entry's scan reads there, before that entry is answered, and stays
// until the next load. That entry and all later ones are not admitted.
// `clear_slots_i` makes all slots those of new streams; `clearing_slots_o` is high until then.
// After reset: no tables, nothing under way. Duties of the caller: as for `text_lane`; `load_i`
// rises only while `run_i` is low and `idle_o` is high, and stays until `loaded_o` or until the
// session is given up; `clear_slots_i` between the load and the first entry, and no entry before
// the clear is done.
`include "assert.svh"

module lane_text
  import layout_pkg::*;
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,        // As in text_lane.
    parameter int unsigned States = 4096,      // As in text_lane.
    parameter int unsigned ByteClasses = 64,   // As in text_lane.
    parameter int unsigned MaxStreams = 1024,  // Slots of this lane.
    parameter int unsigned Lanes = 1,          // Of the whole card.
    parameter int unsigned WatchdogLog2 = 22
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic              run_i,
    // Tables.
    input  logic              load_i,
    input  logic [63:0]       tables_i,   // Address.
    input  image_text_t       image_i,
    output logic              loaded_o,
    output fault_e            loaded_fault_o,
    // Slots.
    input  logic              clear_slots_i,
    output logic              clearing_slots_o,
    // The next entry with a text.
    input  descriptor_t       entry_i,
    input  place_t            place_i,    // Of its slot's window.
    input  logic              valid_i,
    output logic              ready_o,
    // The entry in the check.
    output logic              answered_o,
    output text_answer_t      answer_o,
    input  logic              settle_i,
    input  logic              judge_i,
    output logic              renewable_o,
    input  logic              renew_i,
    input  logic [15:0]       renew_slot_i,
    // The verdict of the entry that was judged last.
    input  logic              verdict_i,
    input  logic              admit_i,
    // Bus.
    output axi_pkg::request_t ar_o,
    output logic              ar_valid_o,
    input  logic              ar_ready_i,
    input  axi_pkg::read_t    r_i,
    input  logic              r_valid_i,
    output logic              broken_o,
    output fault_e            fault_o,
    output logic              changed_o,
    output logic              idle_o
);
  logic judging_q, answer_valid, settle, admit, complete, expired;
  text_entry_t entry;
  load_request_t request;
  load_answer_t loaded;
  always_comb begin
    entry = '0;
    entry.address = place_i.address;
    entry.outside = place_i.outside;
    entry.beats = place_i.beats;
    entry.commitment = log_pkg::digest_bytes(entry_i.commitment);
    entry.slot = entry_i.slot >> $clog2(Lanes);
  end
  assign request = '{
          valid: load_i && !loaded_o && !loaded.done,
          address: tables_i,
          bytes: image_i.bytes,
          digest: log_pkg::digest_bytes(image_i.digest)
      };

  // An answer is settled once: with the verdict, by the check, or because the lane does not run.
  assign answered_o = answer_valid && !judging_q && run_i;
  assign admit = run_i && judging_q && verdict_i && admit_i;
  assign settle = answer_valid && (!run_i || (judging_q ? verdict_i : settle_i));

  text_lane #(
      .Engines(Engines),
      .States(States),
      .ByteClasses(ByteClasses),
      .GapClasses(ByteClasses),
      .MaxStreams(MaxStreams),
      .WatchdogLog2(WatchdogLog2)
  ) u_text (
      .clk_i,
      .rst_i,
      .locked_i(!load_i),
      .load_i(request),
      .load_o(loaded),
      .complete_o(complete),
      .clear_slots_i,
      .clearing_slots_o,
      .renew_valid_i(renew_i),
      .renew_ready_o(renewable_o),
      .renew_slot_i(renew_slot_i >> $clog2(Lanes)),
      .entry_valid_i(valid_i),
      .entry_ready_o(ready_o),
      .entry_i(entry),
      .answer_valid_o(answer_valid),
      .answer_o,
      .settle_i(settle),
      .admit_i(admit),
      .ar_o,
      .ar_valid_o,
      .ar_ready_i,
      .r_i,
      .r_valid_i,
      .broken_o,
      .expired_o(expired),
      .changed_o,
      .idle_o
  );

  always_ff @(posedge clk_i) begin
    if (rst_i || !run_i) judging_q <= 1'b0;
    else if (judge_i) judging_q <= 1'b1;
    else if (verdict_i) judging_q <= 1'b0;
  end

  // A load that was given up may still answer; an answer counts only while `load_i` is high.
  always_ff @(posedge clk_i) begin
    if (rst_i || !load_i) begin
      loaded_o <= 1'b0;
      loaded_fault_o <= FaultReadResponse;
    end else if (loaded.done) begin
      loaded_o <= 1'b1;
      unique case (loaded.result)
        LoadGood: loaded_fault_o <= complete ? FaultNone : FaultImageHeader;
        LoadDigest: loaded_fault_o <= FaultImageDigest;
        LoadBad: loaded_fault_o <= FaultImageHeader;
        default: loaded_fault_o <= fault_o == FaultNone ? FaultReadResponse : fault_o;
      endcase
    end
  end

  // `expired_q` records the cause of the fault; it does not change after `broken_o` has risen.
  logic expired_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) expired_q <= 1'b0;
    else if (expired && !broken_o) expired_q <= 1'b1;
  end
  always_comb begin
    fault_o = FaultNone;
    if (broken_o) fault_o = expired_q ? FaultWatchdog : FaultReadResponse;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(judge_i && judging_q), "lane_text: two verdicts are awaited");
      `ASSERT(!(judging_q && !answer_valid), "lane_text: a verdict is awaited for no answer");
      `ASSERT(!(renew_i && !renewable_o), "lane_text: a slot is renewed that is in use");
      `ASSERT(!(load_i && run_i), "lane_text: tables are loaded while the lane runs");
    end
  end
endmodule
