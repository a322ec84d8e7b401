// What is proved of the text lane between check and verdict, without bound.
//
// - The state of a slot is saved only while the lane runs, when a verdict admits an entry, and with
//   the answer about this entry. Every other answer is settled without a save: by the check, by a
//   verdict that does not admit, or in a clock in which the lane does not run.
// - The check sees an answer only if the answer does not wait for a verdict.
// - The tables are requested only while `load` is high. A load counts as good only if the text lane
//   reports it as good, and its tables are complete.
// - A broken bus is a fault in the same clock, and stays a fault.
//
// The text lane may do anything, except that an answer stands until it is settled (the proof
// text_lane shows this), and that a broken bus stays broken. Assumed: the properties of the check
// that the proof tick shows; one verdict per judged entry while the lane runs; no load meanwhile.
module lane_text_props
  import layout_pkg::*;
  import text_pkg::*;
(
    input logic clk,
    input logic run,
    input logic load,
    input logic [63:0] tables,
    input image_text_t image,
    input descriptor_t entry,
    input place_t place,
    input logic valid,
    input logic settle,
    input logic judge,
    input logic renew,
    input logic [15:0] renew_slot,
    input logic verdict,
    input logic admits,
    input logic ar_ready,
    input axi_pkg::read_t r,
    input logic r_valid
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic loaded, ready, answered, renewable, ar_valid, broken, idle;
  fault_e loaded_fault, fault;
  text_answer_t answer;
  axi_pkg::request_t ar;
  lane_text #(
      .Engines(1),
      .States(4),
      .ByteClasses(2),
      .MaxStreams(4)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .run_i(run),
      .load_i(load),
      .tables_i(tables),
      .image_i(image),
      .loaded_o(loaded),
      .loaded_fault_o(loaded_fault),
      .entry_i(entry),
      .place_i(place),
      .valid_i(valid),
      .ready_o(ready),
      .answered_o(answered),
      .answer_o(answer),
      .settle_i(settle),
      .judge_i(judge),
      .renewable_o(renewable),
      .renew_i(renew),
      .renew_slot_i(renew_slot),
      .verdict_i(verdict),
      .admit_i(admits),
      .ar_o(ar),
      .ar_valid_o(ar_valid),
      .ar_ready_i(ar_ready),
      .r_i(r),
      .r_valid_i(r_valid),
      .broken_o(broken),
      .fault_o(fault),
      .idle_o(idle)
  );

  // ---- assumptions about the text lane
  logic stands_q, was_broken_q, gave_up_q, was_faulty_q;
  text_answer_t answer_q;
  always_ff @(posedge clk) begin
    stands_q <= !rst && dut.answer_valid && !dut.settle;
    answer_q <= answer;
    was_broken_q <= !rst && broken;
    gave_up_q <= !rst && dut.expired;
    was_faulty_q <= !rst && fault != FaultNone;
  end
  always_comb begin
    if (stands_q) assume (dut.answer_valid && answer == answer_q);
    if (was_broken_q || gave_up_q) assume (broken);
    if (rst) assume (!dut.answer_valid && !broken && !dut.expired);
  end

  // ---- the entry that was judged, and its answer
  logic judged_q, load_good_q, load_done_q;
  text_answer_t judged_answer_q;
  always_ff @(posedge clk) begin
    if (rst || !run || verdict) judged_q <= 1'b0;
    if (!rst && run && judge) {judged_q, judged_answer_q} <= {1'b1, answer};
    if (rst || !load) {load_good_q, load_done_q} <= '0;
    else if (dut.loaded.done) begin
      load_done_q <= 1'b1;
      load_good_q <= dut.loaded.result == LoadGood && dut.complete;
    end
  end
  always_comb begin
    if (judge || settle) assume (run && answered && !(judge && settle));
    if (verdict && run) assume (judged_q);
    if (renew) assume (renewable);
    if (load) assume (!run);
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      if (dut.admit) assert (dut.settle && run && verdict && admits && judged_q
          && answer == judged_answer_q);
      if (dut.settle) assert (dut.answer_valid);
      if (dut.settle && run) assert (judged_q ? verdict : settle);
      if (dut.answer_valid && !run) assert (dut.settle && !dut.admit);
      if (run && verdict) assert (dut.settle && dut.admit == admits);
      if (answered) assert (dut.answer_valid && !judged_q && run);
      if (dut.request.valid) assert (load && !loaded);
      if (loaded && load) assert (load_done_q && (loaded_fault == FaultNone) == load_good_q);
      assert ((fault != FaultNone) == broken);
      if (was_faulty_q) assert (fault != FaultNone);

      // ---- what the induction needs
      assert (dut.judging_q == judged_q);
      if (judged_q) assert (dut.answer_valid && answer == judged_answer_q);
      assert (loaded == load_done_q || !load);
      if (load) assert (loaded == load_done_q);

      // ---- not vacuous
      cover (dut.admit && answer.classes != '0);
      cover (dut.settle && judged_q && !run);
      cover (loaded && loaded_fault == FaultNone);
      cover (fault == FaultWatchdog);
    end
  end
endmodule
