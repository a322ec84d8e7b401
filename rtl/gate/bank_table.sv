// The rows of one bank: a RAM with an output register. Words are written, rows are read, one per
// clock.
//
// A row becomes valid when its last word is written, if all its words were written directly before:
// once each, in order, with all strobes. Any other write to the row makes the row invalid. An
// invalid row reads as all zeros, which is an empty row. A write happens in the clock of
// `access_i`, and only if `locked_i` is low in that clock: there is no register between the lock
// and the RAM. Writes out of range are ignored.
//
// A row has a parity bit over its words and its number. If a step reads a row that has changed in
// an odd number of bits since it was written, or whose validity was lost, or another row than it
// asked for, whose number differs in an odd number of bits, `changed_o` is high for one clock.
//
// Latency: `row_o` and `live_o` are valid two clocks after `step_i`; `changed_o` four clocks after
// it; `answer_o` three clocks after a read.
// After reset: every row invalid; RAM contents arbitrary but never visible.
// Duties of the caller: no `step_i` in the clock of a read access (`access_i.valid` without
// `write`); `check_i` only while locked, in this clock and in the clock before.
`include "assert.svh"

module bank_table
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned Rows = 256  // 1 to 1024. Each costs 1537 bits of RAM and one flip-flop.
) (
    input  logic          clk_i,
    input  logic          rst_i,
    // Table window.
    input  table_access_t access_i,
    input  logic          locked_i,
    input  logic          clear_i,  // Every row becomes invalid.
    output table_answer_t answer_o,
    // Sweep.
    input  logic          step_i,
    input  logic [15:0]   step_row_i,
    output logic          live_o,  // The row is valid; otherwise `row_o` must not be used.
    output row_t          row_o,
    output logic          changed_o,  // The row of a step is not the one that was written.
    // Whether rows 0 to count-1 are valid: set one clock after `check_i`, and held.
    input  logic          check_i,
    input  logic [15:0]   count_i,
    output logic          complete_o
);
  if (Rows < 1 || Rows > 1024) begin : g_rows
    $fatal(1, "bank_table: Rows must be 1 to 1024, the size of the register window");
  end

  localparam int unsigned RowBits = (Rows > 1) ? $clog2(Rows) : 1;

  (* ram_style = "block" *) logic [RowWords-1:0][31:0] mem[Rows];
  (* ram_style = "distributed" *) logic parities[Rows];
  logic [Rows-1:0] valid_q;

  // ---- writes
  logic in_table, write, write_word, read;
  logic [RowBits-1:0] access_row;
  assign in_table = 32'(access_i.row) < Rows && 32'(access_i.word) < RowWords;
  assign write = access_i.valid && access_i.write && !locked_i && in_table;
  assign write_word = write && access_i.whole;
  assign read = access_i.valid && !access_i.write;
  assign access_row = access_i.row[RowBits-1:0];

  // The row being written, and its word that must come next; 0: the row must start from word 0.
  logic [RowBits-1:0] open_row_q;
  logic [5:0] next_word_q;
  logic continues;
  assign continues = access_i.whole
      && (access_i.word == 6'd0 || (access_i.word == next_word_q && access_row == open_row_q));

  // One write enable per word, as in the vendor's template for a RAM with column writes (UG901). A
  // variable index into the row would keep the tool from inferring a RAM.
  always_ff @(posedge clk_i) begin
    if (write_word) begin
      for (int unsigned w = 0; w < RowWords; w++) begin
        if (access_i.word == 6'(w)) mem[access_row][w] <= access_i.data;
      end
    end
  end

  // The parity of the words so far. Only if they come in order, it is that of the row; else the row
  // does not become valid.
  logic parity, parity_q;
  assign parity = (^access_i.data) ^ (access_i.word == 6'd0 ? ^access_row : parity_q);
  always_ff @(posedge clk_i) begin
    if (write_word) parity_q <= parity;
    if (write_word && access_i.word == 6'(RowWords - 1)) parities[access_row] <= parity;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      valid_q <= '0;
      next_word_q <= '0;
      open_row_q <= '0;
    end else if (write) begin
      valid_q[access_row] <= continues && access_i.word == 6'(RowWords - 1);
      open_row_q <= access_row;
      next_word_q <= (continues && access_i.word != 6'(RowWords - 1)) ? access_i.word + 6'd1 : 6'd0;
    end
  end

  // ---- reads: the sweep and the window share the port
  logic [RowBits-1:0] row;
  logic row_in_table;
  assign row = read ? access_row : step_row_i[RowBits-1:0];
  assign row_in_table = read ? in_table : 32'(step_row_i) < Rows;

  row_t ram_q, row_q;
  logic live1_q, live2_q, read1_q, read2_q;
  logic [5:0] word1_q, word2_q;

  always_ff @(posedge clk_i) begin
    if (step_i || read) ram_q <= mem[row];
    if (live1_q) row_q <= ram_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {live1_q, live2_q, read1_q, read2_q} <= '0;
      {word1_q, word2_q} <= '0;
      answer_o <= '0;
    end else begin
      live1_q <= (step_i || read) && row_in_table && valid_q[row];
      live2_q <= live1_q;
      read1_q <= read;
      read2_q <= read1_q;
      word1_q <= access_i.word;
      word2_q <= word1_q;
      answer_o.ack <= read2_q;
      if (read2_q) answer_o.data <= live2_q ? row_q[32*word2_q+:32] : '0;
    end
  end

  // ---- parity, in two clocks: the words of a row into one, then its bits
  logic [RowBits-1:0] row1_q, row2_q;
  logic parity1_q, parity2_q, judged_q, lost1_q, lost2_q, lost3_q, rest_q;
  logic [31:0] folded_q;
  always_ff @(posedge clk_i) begin
    automatic logic [31:0] folded = '0;
    row1_q <= row;
    row2_q <= row1_q;
    if (step_i) parity1_q <= parities[row];
    parity2_q <= parity1_q;
    if (live_o) begin
      for (int unsigned w = 0; w < RowWords; w++) folded ^= row_q[32*w+:32];
      folded_q <= folded;
    end
    rest_q <= ^{row2_q, parity2_q};
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) {judged_q, lost1_q, lost2_q, lost3_q, changed_o} <= '0;
    else begin
      lost1_q <= step_i && row_in_table && !valid_q[row];
      lost2_q <= lost1_q;
      lost3_q <= lost2_q;
      judged_q <= live_o;
      changed_o <= lost3_q || (judged_q && ^{folded_q, rest_q});
    end
  end
  assign live_o = live2_q && !read2_q;
  assign row_o  = row_q;

  // ---- completeness: in one clock for each group of sixteen rows, in the next for all groups
  localparam int unsigned Groups = (Rows + 15) / 16;
  logic [Groups-1:0][15:0] missing;  // Rows of the table that are not valid.
  logic [15:0] counts;               // Rows of a group that the image uses.
  logic [Groups-1:0] whole_d, whole_q;
  assign missing = (16 * Groups)'(~valid_q);
  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) begin
      if (count_i[15:4] > 12'(g)) counts = '1;
      else if (count_i[15:4] == 12'(g)) counts = ~(16'hffff << count_i[3:0]);
      else counts = '0;
      whole_d[g] = (missing[g] & counts) == '0;
    end
  end

  always_ff @(posedge clk_i) begin
    whole_q <= whole_d;
    if (rst_i) complete_o <= 1'b0;
    else if (check_i) complete_o <= 32'(count_i) <= Rows && whole_q == '1;
  end

  // ---- checks
  logic locked_q;
  always_ff @(posedge clk_i) begin
    locked_q <= locked_i;
    if (!rst_i) begin
      `ASSERT(
          !check_i || (locked_i && locked_q),
          "bank_table: a check of tables that may have changed");
      `ASSERT(!(step_i && read), "bank_table: a sweep and a window read in one clock");
      `ASSERT(!(locked_i && write_word), "bank_table: a write while locked");
    end
  end
endmodule
