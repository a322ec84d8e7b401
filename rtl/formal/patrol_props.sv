// Proves, without bound, about the hash of the tables in RUN: it does not change or delay a verdict
// or a read of a window. Two banks have the same table and the same sweep, and one of them is read
// back at any time. Both give the same answers in the same clocks, and the same words to the host.
// A read-back waits at most one clock for each row of a sweep, and one for each clock in which a
// window is read or the lane is stopped. While the tables are locked, the stored row is valid two
// clocks after the read-back was accepted.
//
// Also: the tables become due exactly 2^PauseLog2 clocks after RUN began or the last hash ended,
// and stay due until they are hashed or RUN ends.
//
// Sweep, table_port, bank and table_patrol are the card's own. The bank has two rows, the other
// bank any number. Entries, tables, window accesses (never two reads in adjacent clocks) and the
// lock are arbitrary in every clock, within the contracts of sweep and bank_table. A read-back is
// for either bank. The pause is 16 clocks.
module patrol_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic flush,
    input logic valid,
    input logic judge,
    input logic last_ready,
    input table_access_t access,
    input logic locked,
    input logic clear,
    input descriptor_t desc,
    input logic read,
    input logic mine,
    input logic [15:0] read_row,
    input logic run,
    input logic hashed
);
  localparam int unsigned Rows = 2;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic [15:0] count, others, rows;
  always_ff @(posedge clk) {count, others} <= {count, others};
  always_comb assume (count != '0 && count <= 16'(Rows) && others != '0);
  assign rows = count > others ? count : others;

  logic window;
  assign window = access.valid && !access.write;

  logic ready;
  step_t step;
  sweep u_sweep (
      .clk_i(clk),
      .rst_i(rst),
      .flush_i(flush),
      .valid_i(valid),
      .ready_o(ready),
      .judge_i(judge),
      .policy_rows_i(count),
      .entropy_rows_i(others),
      .hold_i(window),
      .last_ready_i(last_ready),
      .step_o(step),
      .busy_o()
  );
  logic stands_q, stood_judge_q, taken_q;
  always_ff @(posedge clk) begin
    stands_q <= !rst && !flush && valid && !ready;
    taken_q <= ready;
    stood_judge_q <= judge;
  end
  always_comb begin
    if (stands_q) assume (valid && judge == stood_judge_q);
    if (taken_q) assume (!valid);
  end

  // A read-back of a counted row; it holds until it is accepted or cancelled.
  logic accepted, waits_q, mine_q;
  logic [15:0] read_row_q;
  always_ff @(posedge clk) begin
    waits_q <= !rst && read && !accepted;
    mine_q <= mine;
    read_row_q <= read_row;
  end
  always_comb begin
    assume (read_row < (mine ? count : others));
    if (waits_q && read) assume (mine == mine_q && read_row == read_row_q);
  end

  // Signals of the bank with read-back (0) and of the bank without (1).
  logic [1:0] port_read, port_ready, done;
  step_t [1:0] port_step;
  table_answer_t [1:0] word;
  row_t [1:0] back;
  bank_answer_t [1:0] answer;
  for (genvar b = 0; b < 2; b++) begin : g_bank
    table_port u_port (
        .step_i(step),
        .window_i(window),
        .read_i(read && b == 0),
        .read_row_i(read_row),
        .ready_o(port_ready[b]),
        .read_o(port_read[b]),
        .step_o(port_step[b])
    );
    bank #(
        .Rows(Rows)
    ) u_bank (
        .clk_i(clk),
        .rst_i(rst),
        .access_i(access),
        .locked_i(locked),
        .clear_i(clear),
        .window_o(word[b]),
        .check_i(1'b0),
        .count_i(count),
        .complete_o(),
        .read_i(port_read[b] && mine),
        .row_o(back[b]),
        .step_i(port_step[b]),
        .desc_i(desc),
        .done_o(done[b]),
        .answer_o(answer[b])
    );
  end
  assign accepted = read && port_ready[0];

  // The RAMs have arbitrary but equal contents at power-up.
  logic same;
  always_comb begin
    same = 1'b1;
    for (int unsigned r = 0; r < Rows; r++)
      same &= g_bank[0].u_bank.u_table.mem[r] == g_bank[1].u_bank.u_table.mem[r];
  end
  always_comb if (!started) assume (same);

  // A row of this bank was read back one or two clocks ago, and the tables have been locked since.
  logic took1_q, took2_q, row1_q, row2_q, kept;
  assign kept = locked && !clear && !rst;
  always_ff @(posedge clk) begin
    took1_q <= kept && accepted && mine;
    took2_q <= kept && took1_q;
    row1_q <= read_row[0];
    row2_q <= row1_q;
  end
  // Clocks that the read-back has waited, without window reads, and the bound on their number.
  logic [16:0] waited_q, bound;
  logic [15:0] next_row;
  assign next_row = u_sweep.active_q && u_sweep.judge_q ? u_sweep.row_q : '0;
  assign bound = next_row > read_row_q ? 17'(next_row) - 17'(read_row_q) - 17'd1
      : 17'(next_row) + 17'(rows) - 17'(read_row_q) - 17'd1;
  always_ff @(posedge clk) begin
    if (rst || flush || !read || accepted) waited_q <= '0;
    else if (!window) waited_q <= waited_q + 17'd1;
  end
  // The last clock of waiting had the single step of an entry that is not judged.
  logic single_q, window_q;
  always_ff @(posedge clk) begin
    window_q <= !rst && window;
    if (rst || flush || !read || accepted) single_q <= 1'b0;
    else if (!window) single_q <= !step.judge;
  end
  // The register port handles one read at a time.
  always_comb if (window_q) assume (!window);

  logic due;
  table_patrol #(
      .PauseLog2(4)
  ) u_patrol (
      .clk_i(clk),
      .rst_i(rst),
      .run_i(run),
      .done_i(hashed),
      .due_o(due)
  );
  logic [4:0] quiet_q;  // Clocks of RUN since the last hash ended.
  always_ff @(posedge clk) begin
    if (rst || !run || hashed) quiet_q <= '0;
    else if (!quiet_q[4]) quiet_q <= quiet_q + 5'd1;
  end

  // Registers of the two banks.
  logic step1, step2, read1, read2, live1, live2, took_step_q;
  assign step1 = g_bank[0].u_bank.step_q[0];
  assign step2 = g_bank[0].u_bank.step_q[1];
  assign read1 = g_bank[0].u_bank.u_table.read1_q;
  assign read2 = g_bank[0].u_bank.u_table.read2_q;
  assign live1 = g_bank[0].u_bank.u_table.live1_q;
  assign live2 = g_bank[0].u_bank.u_table.live2_q;
  always_ff @(posedge clk) took_step_q <= !rst && accepted && step.valid;

  always_comb begin
    if (started) begin
      // ---- the claims
      assert (done[0] == done[1]);
      if (done[0]) assert (answer[0] == answer[1]);
      assert (word[0].ack == word[1].ack);
      if (word[0].ack) assert (word[0].data == word[1].data);
      if (took2_q && g_bank[0].u_bank.u_table.valid_q[row2_q])
        assert (back[0] == g_bank[0].u_bank.u_table.mem[row2_q]);
      if (!rst) assert (waited_q <= 17'(rows));
      assert (due == quiet_q[4]);

      // ---- invariants for the induction
      assert (same);
      assert (g_bank[0].u_bank.u_table.valid_q == g_bank[1].u_bank.u_table.valid_q);
      assert (g_bank[0].u_bank.u_table.open_row_q == g_bank[1].u_bank.u_table.open_row_q);
      assert (g_bank[0].u_bank.u_table.next_word_q == g_bank[1].u_bank.u_table.next_word_q);
      assert (g_bank[0].u_bank.step_q == g_bank[1].u_bank.step_q);
      assert (read1 == g_bank[1].u_bank.u_table.read1_q
          && read2 == g_bank[1].u_bank.u_table.read2_q);
      assert (!(read1 && step1) && !(read2 && step2));
      if (step1) begin
        assert (g_bank[0].u_bank.row_q[0] == g_bank[1].u_bank.row_q[0]);
        assert (g_bank[0].u_bank.first_q[0] == g_bank[1].u_bank.first_q[0]);
        assert (g_bank[0].u_bank.last_q[0] == g_bank[1].u_bank.last_q[0]);
      end
      if (step1 || read1) begin
        assert (live1 == g_bank[1].u_bank.u_table.live1_q);
        if (live1) assert (g_bank[0].u_bank.u_table.ram_q == g_bank[1].u_bank.u_table.ram_q);
      end
      if (read1) assert (g_bank[0].u_bank.u_table.word1_q == g_bank[1].u_bank.u_table.word1_q);
      if (step2) begin
        assert (g_bank[0].u_bank.row_q[1] == g_bank[1].u_bank.row_q[1]);
        assert (g_bank[0].u_bank.first_q[1] == g_bank[1].u_bank.first_q[1]);
        assert (g_bank[0].u_bank.last_q[1] == g_bank[1].u_bank.last_q[1]);
      end
      if (step2 || read2) begin
        assert (live2 == g_bank[1].u_bank.u_table.live2_q);
        if (live2) assert (back[0] == back[1]);
      end
      if (read2) assert (g_bank[0].u_bank.u_table.word2_q == g_bank[1].u_bank.u_table.word2_q);
      assert (g_bank[0].u_bank.u_match.step_q == g_bank[1].u_bank.u_match.step_q);
      assert (g_bank[0].u_bank.u_match.first_q == g_bank[1].u_bank.u_match.first_q);
      assert (g_bank[0].u_bank.u_match.last_q == g_bank[1].u_bank.u_match.last_q);
      assert (g_bank[0].u_bank.u_match.live_q == g_bank[1].u_bank.u_match.live_q);
      if (g_bank[0].u_bank.u_match.live_q) begin
        assert (g_bank[0].u_bank.u_match.conditions_q == g_bank[1].u_bank.u_match.conditions_q);
        assert (g_bank[0].u_bank.u_match.kind_q == g_bank[1].u_bank.u_match.kind_q);
        assert (g_bank[0].u_bank.u_match.index_q == g_bank[1].u_bank.u_match.index_q);
      end
      assert (g_bank[0].u_bank.u_match.seen_q == g_bank[1].u_bank.u_match.seen_q);
      if (took1_q && g_bank[0].u_bank.u_table.valid_q[row1_q]) begin
        assert (live1 && g_bank[0].u_bank.u_table.ram_q == g_bank[0].u_bank.u_table.mem[row1_q]);
      end
      assert (u_patrol.count_q == quiet_q[3:0] || due);
      assert (!due || quiet_q == 5'd16);
      // Position of the sweep: for a judged entry, a row of the longer bank; otherwise row 0, in a
      // single step.
      if (u_sweep.active_q) begin
        assert (u_sweep.last_row_q == (u_sweep.judge_q ? rows - 16'd1 : 16'd0)
            && u_sweep.row_q <= u_sweep.last_row_q);
        assert (u_sweep.started_q || u_sweep.row_q != '0);
      end
      if (u_sweep.handover_q) assert (u_sweep.started_q);
      if (waits_q) assert (read_row_q < (mine_q ? count : others));
      if (waited_q != '0) assert (waits_q);
      if (single_q)
        assert (!u_sweep.active_q && (u_sweep.handover_q ? !window_q : window_q
            && !u_sweep.started_q));
      if (waited_q != '0) assert (waited_q <= (single_q ? 17'(rows) : bound));

      // ---- not vacuous: a row is read back between two steps, one in a step, and one after it has
      // waited for a window
      cover (took2_q && step1 && step2);
      cover (took_step_q && took1_q);
      cover (accepted && waited_q == 17'd2);
    end
  end
endmodule
