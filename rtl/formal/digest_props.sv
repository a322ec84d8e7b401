// What is proved: the policy digest covers the whole table image, each byte once and in order. From
// a start to `done_o` the core hashes the two blocks of the header, one of its text part if there
// is one, three of each policy row, three
// of each entropy row, and one with the padding and the length (FIPS 180-4, 5.1.1), the first on
// the initial state, the others on the digest before; every row of the image is read once, policy
// rows first, in order. The result is the last digest. An abort ends the hash without `done_o`.
//
// The hash core is a stand-in with any latency and digest. Each bank has one or two rows. Header
// and rows are constant and arbitrary.
module digest_props
  import layout_pkg::*;
  import gate_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
(
    input logic clk,
    input logic start,
    input logic abort,
    input logic read_ready,
    input row_t [1:0] any_row
);
  localparam int unsigned MaxRows = 2;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // Arbitrary constant tables.
  image_header_t header;
  image_text_t text;
  logic has_text;
  row_t [1:0][MaxRows-1:0] tables;
  always_ff @(posedge clk) begin
    header <= header;
    text <= text;
    has_text <= has_text;
    tables <= tables;
  end
  always_comb begin
    assume (header.policy_rows >= 16'd1 && header.policy_rows <= 16'(MaxRows));
    assume (header.entropy_rows >= 16'd1 && header.entropy_rows <= 16'(MaxRows));
  end

  // A row is valid in the second clock after its read. In other clocks its value is arbitrary,
  // because table windows are read through the same register.
  logic read2_q, stands_q, read_entropy_q;
  logic [15:0] read_row_q;
  readback_t read;
  row_t [1:0] shown;
  always_ff @(posedge clk) begin
    if (rst || (read.valid && read_ready)) begin
      read2_q <= !rst;
      stands_q <= 1'b0;
      read_row_q <= read.row;
      read_entropy_q <= read.entropy;
    end else begin
      read2_q <= 1'b0;
      stands_q <= read2_q;
    end
  end
  always_comb begin
    shown = any_row;
    if (stands_q) shown[read_entropy_q] = tables[read_entropy_q][read_row_q[0]];
  end

  logic busy, done, core_busy;
  digest_t digest;
  hash_request_t request;
  hash_answer_t answer;
  table_digest #(
      .Text(1'b1)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .start_i(start),
      .abort_i(abort),
      .busy_o(busy),
      .done_o(done),
      .digest_o(digest),
      .header_i(header),
      .has_text_i(has_text),
      .text_i(text),
      .read_o(read),
      .read_ready_i(read_ready),
      .policy_read_i(shown[0]),
      .entropy_read_i(shown[1]),
      .hash_o(request),
      .hash_i(answer)
  );
  sha256 u_sha256 (
      .clk_i(clk),
      .rst_i(rst || abort),
      .start_i(request.start),
      .ready_o(),
      .chain_i(1'b0),
      .state_i(request.state),
      .block_i(request.block),
      .busy_o(core_busy),
      .done_o(answer.done),
      .digest_o(answer.digest)
  );

  // Requests and reads since the start.
  logic [4:0] hashed_q;   // Hashed blocks.
  logic [2:0] reads_q;    // Read rows.
  logic working_q, finished_q, last;
  digest_t chain_q;
  logic [4:0] blocks, policy_rows, rows, head;
  assign head = has_text ? 5'd3 : 5'd2;
  assign policy_rows = 5'(header.policy_rows);
  assign rows = policy_rows + 5'(header.entropy_rows);
  assign blocks = head + 5'd3 * rows + 5'd1;
  assign last = working_q && answer.done && hashed_q == blocks - 5'd1;
  always_ff @(posedge clk) begin
    finished_q <= !rst && !abort && last;
    if (rst || abort) working_q <= 1'b0;
    else if (!busy) begin
      working_q <= start;
      {hashed_q, reads_q} <= '0;
      if (start) chain_q <= InitialHash;
    end else begin
      if (answer.done) begin
        hashed_q <= hashed_q + 5'd1;
        chain_q <= answer.digest;
      end
      if (last) working_q <= 1'b0;
      if (read.valid && read_ready) reads_q <= reads_q + 3'd1;
    end
  end

  // The image's block with this number: header, text part, policy rows, entropy rows, each with the
  // first byte lowest; then the end.
  function automatic block_t expected(logic [4:0] number);
    logic [4:0] at, index;
    logic [RowBytes*8-1:0] bytes;
    logic [511:0] slice;
    block_t result;
    at = number - head;
    index = at / 5'd3;
    bytes = index < policy_rows ? tables[0][index[0]] : tables[1][1'(index - policy_rows)];
    slice = number < 5'd2 ? 512'(header >> (512 * number[0])) : 512'(bytes >> (512 * (at % 5'd3)));
    if (number == 5'd2 && has_text) slice = text;
    for (int unsigned i = 0; i < 64; i++) result[511-8*i-:8] = slice[8*i+:8];
    if (number >= head && at == 5'd3 * rows)
      result = {8'h80, 440'b0, 64'd8 * (64'(head) * 64'd64 + 64'd192 * 64'(rows))};
    return result;
  endfunction

  // States of the module, one bit each.
  logic idle, in_header, reading, fetching, in_row, at_end;
  assign {at_end, in_row, fetching, reading, in_header, idle} = dut.state_q;
  logic [4:0] row_number;
  assign row_number = (dut.entropy_q ? policy_rows : 5'd0) + 5'(dut.row_q);

  logic aborted_q;
  always_ff @(posedge clk) begin
    if (rst) aborted_q <= 1'b0;
    else if (abort && in_row && dut.entropy_q) aborted_q <= 1'b1;
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      assert (busy == working_q);
      if (request.start) begin
        assert (working_q && !core_busy && hashed_q < blocks);
        assert (request.state == chain_q && (hashed_q != '0 || chain_q == InitialHash));
        assert (request.block == expected(hashed_q));
      end
      if (read.valid) begin
        assert (working_q && 5'(reads_q) < rows);
        assert (read.entropy == (5'(reads_q) >= policy_rows));
        assert (read.row == (read.entropy ? 16'(5'(reads_q) - policy_rows) : 16'(reads_q)));
      end
      assert (done == finished_q);
      if (done) assert (digest == chain_q && hashed_q == blocks && 5'(reads_q) == rows);
      // ---- invariants for the induction: the position in the image
      assert ($onehot(dut.state_q));
      assert (dut.waits_q == (core_busy || answer.done) && !(core_busy && answer.done));
      if (dut.waits_q) assert (in_header || in_row || at_end);
      if (busy) assert (dut.digest_q == chain_q && (hashed_q != '0 || chain_q == InitialHash));
      if (in_header) assert (hashed_q == 5'(dut.block_q) && hashed_q < head && reads_q == '0);
      if (in_header) assert (dut.row_q == '0 && !dut.entropy_q);
      if (reading || fetching || in_row) begin
        assert (dut.row_q < (dut.entropy_q ? header.entropy_rows : header.policy_rows));
        assert (5'(reads_q) == row_number + 5'(!reading));
        assert (hashed_q == head + 5'd3 * row_number + (in_row ? 5'(dut.block_q) : 5'd0));
        assert (!in_row || dut.block_q <= 2'd2);
      end
      if (fetching || in_row) assert (read_row_q == dut.row_q && read_entropy_q == dut.entropy_q);
      if (fetching) assert (dut.fetched_q ? stands_q : read2_q);
      if (in_row) assert (dut.copy_q == tables[dut.entropy_q][dut.row_q[0]]);
      if (at_end) assert (hashed_q == blocks - 5'd1 && 5'(reads_q) == rows);
      // ---- not vacuous: the smallest and the largest image, one after an abort
      cover (done && rows == 5'd2);
      cover (done && rows == 5'd3 && policy_rows == 5'd1);
      cover (done && rows == 5'd2 && aborted_q);
      cover (done && rows == 5'd2 && has_text);
    end
  end
endmodule
