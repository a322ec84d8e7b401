// Proves: a table into which only zeros were ever written denies everything. This holds from reset,
// for any RAM contents at power-up, every order of writes (none, part of a row, whole rows, damaged
// writes, clears), every sweep, every read-back during a sweep, and every row count. Also, an
// answer comes four clocks after a sweep's last step and at no other time.
//
// The bank is the card's own, with two rows; the other bank always passes.
module deny_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input table_access_t access,
    input logic locked,
    input logic clear,
    input step_t step,
    input logic read,
    input logic [15:0] count,
    input descriptor_t desc,
    input logic [7:0] validation,
    input logic [7:0] lineage,
    input logic [7:0] depth,
    input logic [7:0] max_depth
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // Only zeros are written. The contract of the bank holds.
  always_comb if (access.valid && access.write) assume (access.data == '0);
  always_comb if (access.valid && !access.write) assume (!step.valid && !read);
  always_comb assume (!(step.valid && read));

  logic done;
  bank_answer_t answer, passes;
  assign passes = '{outcome: StageOutcomePass, row: 16'd0};
  bank #(
      .Rows(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .access_i(access),
      .locked_i(locked),
      .clear_i(clear),
      .window_o(),
      .check_i(1'b0),
      .count_i(count),
      .complete_o(),
      .read_i(read),
      .row_o(),
      .step_i(step),
      .desc_i(desc),
      .done_o(done),
      .answer_o(answer)
  );

  logic [3:0] last_q;  // The last steps of the clocks before.
  always_ff @(posedge clk) last_q <= rst ? '0 : {last_q[2:0], step.valid && step.last};

  logic [1:0] valid;
  verdict_t [1:0] verdict;
  for (genvar b = 0; b < 2; b++) begin : g_resolve  // As the policy bank, then as the entropy bank.
    resolve u_resolve (
        .clk_i(clk),
        .rst_i(rst),
        .valid_i(done),
        .judge_i(1'b1),
        .policy_i(b == 0 ? answer : passes),
        .entropy_i(b == 0 ? passes : answer),
        .validation_i(validation),
        .lineage_i(lineage),
        .depth_i(depth),
        .max_depth_i(max_depth),
        .valid_o(valid[b]),
        .verdict_o(verdict[b]),
        .policy_row_o(),
        .entropy_row_o()
    );
  end

  always_comb begin
    if (started) begin
      // The steps of the proof: a valid row is zero, and so is every row that is read.
      for (int unsigned r = 0; r < 2; r++) begin
        if (dut.u_table.valid_q[r]) assert (dut.u_table.mem[r] == '0);
        for (int unsigned w = 0; w < RowWords; w++)
          if (32'(dut.u_table.open_row_q) == r && w < 32'(dut.u_table.next_word_q))
            assert (dut.u_table.mem[r][w] == '0);
      end
      assert (32'(dut.u_table.next_word_q) < RowWords);
      if (dut.u_table.live1_q) assert (dut.u_table.ram_q == '0);
      if (dut.u_table.live2_q) assert (dut.u_table.row_q == '0);
      if (dut.u_match.live_q) assert (!dut.u_match.conditions_q.kind);
      assert (!dut.u_match.seen_q.permit);
      assert (done == last_q[3] && dut.u_match.last_q == last_q[2]);
      // The claim, for the bank and for the verdict.
      assert (answer.outcome != StageOutcomePass);
      for (int unsigned b = 0; b < 2; b++)
        if (valid[b]) assert (verdict[b].determination != DeterminationAdmit);
      // Not vacuous: sweeps end, both with and without a valid row.
      cover (valid[0]);
      cover (dut.u_match.live_q && dut.u_match.last_q);
    end
  end
endmodule
