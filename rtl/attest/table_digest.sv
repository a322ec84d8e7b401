// Hashes the table image in the card with SHA-256 (FIPS 180-4): the header, its text part if there
// is one, then every row of both banks, read back through the port of the sweep. The digest is the
// policy digest.
//
// Latency: three blocks per row, two for the header, one for its text part, one for the end.
// `digest_o` is valid from `done_o` (one clock) until the next start.
// After reset: idle, digest zero.
// Duties of the caller: tables locked, header and text part constant from `start_i` to `done_o`;
// the hash core during that time; the row in the second clock after `read_o.valid && read_ready_i`.
`include "assert.svh"

module table_digest
  import layout_pkg::*;
  import gate_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter bit Text = 1'b0  // The card has a text lane; else no image has a text part.
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             start_i,
    input  logic             abort_i,
    output logic             busy_o,
    output logic             done_o,
    output digest_t          digest_o,
    // Tables.
    input  image_header_t    header_i,
    input  logic             has_text_i,
    input  image_text_t      text_i,
    output readback_t        read_o,
    input  logic             read_ready_i,
    input  row_t             policy_read_i,
    input  row_t             entropy_read_i,
    // Hash core.
    output hash_request_t    hash_o,
    input  hash_answer_t     hash_i
);
  typedef enum logic [5:0] {
    StIdle   = 6'h01,
    StHeader = 6'h02,
    StRead   = 6'h04,
    StFetch  = 6'h08,  // The row is being read.
    StRow    = 6'h10,
    StEnd    = 6'h20
  } state_e;

  localparam logic [1:0] HeaderBlocks = 2'(ImageHeaderBytes / 64);
  localparam logic [1:0] TextBlocks = 2'(ImageTextBytes / 64);
  localparam logic [1:0] RowBlocks = 2'(RowBytes / 64);

  state_e state_q;
  logic [1:0] block_q;      // Block of the header or of the row.
  logic entropy_q, fetched_q, waits_q;
  logic [15:0] row_q;
  digest_t digest_q;

  logic [15:0] rows;
  logic last_row;
  assign rows = entropy_q ? header_i.entropy_rows : header_i.policy_rows;
  assign last_row = row_q + 16'd1 >= rows;

  logic [31:0] all_rows;
  logic [63:0] bits;
  assign all_rows = 32'(header_i.policy_rows) + 32'(header_i.entropy_rows);
  logic has_text;
  logic [1:0] head_blocks;
  assign has_text = Text && has_text_i;
  assign head_blocks = HeaderBlocks + (has_text ? TextBlocks : 2'd0);
  assign bits = 64'(8 * ImageHeaderBytes) + (has_text ? 64'(8 * ImageTextBytes) : 64'd0)
      + 64'(all_rows) * 64'(8 * RowBytes);

  logic [ImageHeaderBytes*8-1:0] header;
  // A copy of the row, because the output register is shared with the table window, which the host
  // may read at any time.
  logic [RowBytes*8-1:0] copy_q;
  assign header = header_i;
  always_comb begin
    hash_o = '0;
    if (!waits_q && (state_q == StHeader || state_q == StRow || state_q == StEnd)) begin
      hash_o.start = !abort_i;
      hash_o.state = digest_q;
      case (state_q)
        StHeader: hash_o.block = first_byte_at_top(Text && block_q == HeaderBlocks ? text_i
            : header[512*block_q[0]+:512]);
        StRow: hash_o.block = first_byte_at_top(copy_q[512*block_q+:512]);
        default: hash_o.block = {8'h80, 440'b0, bits};
      endcase
    end
  end

  assign read_o = '{valid: state_q == StRead, entropy: entropy_q, row: row_q};
  assign busy_o = state_q != StIdle;
  assign digest_o = digest_q;

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (rst_i) begin
      state_q <= StIdle;
      digest_q <= '0;
      {block_q, entropy_q, fetched_q, waits_q} <= '0;
      row_q <= '0;
    end else if (abort_i) begin
      state_q <= StIdle;
      waits_q <= 1'b0;
    end else begin
      if (hash_o.start) waits_q <= 1'b1;
      if (waits_q && hash_i.done) begin
        waits_q <= 1'b0;
        digest_q <= hash_i.digest;
        block_q <= block_q + 2'd1;
      end
      case (state_q)
        StIdle: if (start_i) begin
          state_q <= StHeader;
          digest_q <= InitialHash;
          {block_q, entropy_q} <= '0;
          row_q <= '0;
        end
        StHeader: if (waits_q && hash_i.done && block_q == head_blocks - 2'd1) state_q <= StRead;
        StRead: begin
          fetched_q <= 1'b0;
          if (read_ready_i) state_q <= StFetch;
        end
        StFetch: begin
          fetched_q <= 1'b1;
          block_q <= '0;
          if (fetched_q) begin
            copy_q <= entropy_q ? entropy_read_i : policy_read_i;
            state_q <= StRow;
          end
        end
        StRow: if (waits_q && hash_i.done && block_q == RowBlocks - 2'd1) begin
          row_q <= last_row ? 16'd0 : row_q + 16'd1;
          if (last_row) entropy_q <= 1'b1;
          state_q <= (last_row && entropy_q) ? StEnd : StRead;
        end
        StEnd: if (waits_q && hash_i.done) begin
          state_q <= StIdle;
          done_o <= 1'b1;
        end
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT($onehot(state_q), "table_digest: state not one-hot");
  end
endmodule
