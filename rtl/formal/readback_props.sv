// Proves: the tables that are read back are the tables in use. Take a row that is read back for its
// hash (`read_i`) while the tables are locked. It equals, bit by bit and in its validity, the row
// that the comparators get in every later sweep, as long as the lock holds and the tables are not
// cleared.
//
// Other proofs complete this claim: counted rows are valid when read, because OPEN needs
// `complete_o`; the lock holds (lock); every row is read and hashed (digest). The bank is the
// card's own, with two rows, one of which is watched. Writes are attempted in any clock.
module readback_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input table_access_t access,
    input logic locked,
    input logic clear,
    input logic read,
    input step_t step,
    input logic [15:0] count,
    input descriptor_t desc
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // The bank's contract: a window read, a step and a read-back never come in the same clock.
  always_comb if (access.valid && !access.write) assume (!step.valid && !read);
  always_comb assume (!(step.valid && read));

  logic done;
  row_t row;
  bank_answer_t answer;
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
      .row_o(row),
      .step_i(step),
      .desc_i(desc),
      .done_o(done),
      .answer_o(answer)
  );

  logic watch;
  always_ff @(posedge clk) watch <= watch;

  // The watched row was read back one or two clocks ago, or (`seen`) earlier with this content. The
  // tables have been locked since.
  logic kept, read1_q, read2_q, seen_q, seen_live_q;
  row_t seen_row_q;
  assign kept = locked && !clear && !rst;
  // The sweep had its step on the watched row one or two clocks ago.
  logic step1_q, step2_q;
  // A write to the row was attempted after the read-back.
  logic tried_q;
  always_ff @(posedge clk) begin
    read1_q <= kept && read && step.row == 16'(watch) && step.row < count;
    read2_q <= kept && read1_q;
    seen_q <= kept && (seen_q || read2_q);
    if (read2_q) begin
      seen_row_q <= row;
      seen_live_q <= dut.live;
    end
    step1_q <= !rst && step.valid && step.judge && step.row == 16'(watch) && step.row < count;
    step2_q <= !rst && step1_q;
    if (rst || !seen_q) tried_q <= 1'b0;
    else if (access.valid && access.write && access.whole && access.row == 10'(watch))
      tried_q <= 1'b1;
  end

`ifdef DIRECTED
  // The covers are found sooner if only one row is written and read.
  always_comb assume (!watch && access.row == '0 && step.row == '0);
`endif

  logic valid;
  row_t stored;
  assign valid = dut.u_table.valid_q[watch];
  assign stored = dut.u_table.mem[watch];

  always_comb begin
    if (started) begin
      // The claim, at the input of the comparators.
      if (seen_q && step2_q) begin
        assert (dut.u_match.step_i && dut.u_match.index_i == 16'(watch));
        assert (dut.u_match.live_i == seen_live_q);
        if (seen_live_q) assert (dut.u_match.row_i == seen_row_q);
      end
      // The steps of the proof: in each clock of a read-back, the row equals the stored row.
      if (read1_q) assert (dut.u_table.live1_q == valid && (!valid || dut.u_table.ram_q == stored));
      if (read2_q) assert (dut.live == valid && (!valid || row == stored));
      if (seen_q) assert (seen_live_q == valid && (!valid || seen_row_q == stored));
      if (step1_q && (read1_q || read2_q || seen_q))
        assert (dut.u_table.live1_q == valid && (!valid || dut.u_table.ram_q == stored));
      if (step2_q && (read2_q || seen_q)) assert (dut.live == valid && (!valid || row == stored));
      if (step1_q) assert (dut.step_q[0] && dut.row_q[0] == 16'(watch));
      if (step2_q) assert (dut.step_q[1] && dut.row_q[1] == 16'(watch) && !dut.u_table.read2_q);
      if (read1_q || step1_q) assert (!dut.u_table.read1_q);
      if (read2_q || step2_q) assert (!dut.u_table.read2_q);
      // Not vacuous: valid and invalid rows are read back, and swept after an attempted write.
      cover (seen_q && step2_q && seen_live_q && tried_q && seen_row_q != '0);
      cover (seen_q && step2_q && !seen_live_q && tried_q);
    end
  end
endmodule
