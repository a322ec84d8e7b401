// Hashing as the log does it: which bytes stand in which block (RFC 9162, 2.1.1; FIPS 180-4, 5.1.1).
//
// A digest and a block hold their first byte at the top, as FIPS 180-4 numbers them; layout structures hold it at the bottom.
package log_pkg;
  import layout_pkg::*;
  import sha256_pkg::*;

  typedef logic [255:0] digest_t;
  typedef logic [511:0] block_t;

  localparam logic [7:0] LeafPrefix = 8'h00;
  localparam logic [7:0] NodePrefix = 8'h01;
  localparam logic [7:0] PadStart = 8'h80;

  // Levels of a lane's tree: 2^48 records.
  localparam int unsigned TreeLevels = 48;

  // What a user asks of a hash core, and what it answers. The answer stands until the next start.
  typedef struct packed {
    logic start;
    digest_t state;
    block_t block;
  } hash_request_t;
  typedef struct packed {
    logic done;
    digest_t digest;
  } hash_answer_t;

  function automatic digest_t digest_bytes(logic [255:0] value);  // Layout order to digest order, and back.
    for (int unsigned i = 0; i < 32; i++) digest_bytes[255-8*i-:8] = value[8*i+:8];
  endfunction

  function automatic block_t block_bytes(logic [511:0] value);
    for (int unsigned i = 0; i < 64; i++) block_bytes[511-8*i-:8] = value[8*i+:8];
  endfunction

  // Leaf of a record: 193 bytes, four blocks.
  localparam int unsigned LeafBlocks = 4;
  localparam logic [63:0] LeafBits = 64'(8 * (RecordBytes + 1));

  // Block `at` of a leaf. Blocks 0 and 1 hold nothing but descriptor.
  function automatic block_t leaf_block(record_t record, logic [1:0] at);
    logic [RecordBytes*8-1:0] bytes = record;
    case (at)
      2'd0: leaf_block = {LeafPrefix, block_bytes(bytes[0*512+:512])[511:8]};
      2'd1: leaf_block = {block_bytes(bytes[0*512+:512])[7:0], block_bytes(bytes[1*512+:512])[511:8]};
      2'd2: leaf_block = {block_bytes(bytes[1*512+:512])[7:0], block_bytes(bytes[2*512+:512])[511:8]};
      default: leaf_block = {block_bytes(bytes[2*512+:512])[7:0], PadStart, 432'b0, LeafBits};
    endcase
  endfunction

  // Node over two children: 65 bytes, two blocks.
  localparam logic [63:0] NodeBits = 64'd520;
  function automatic block_t node_block(digest_t left, digest_t right, logic second);
    node_block = second ? {right[7:0], PadStart, 432'b0, NodeBits} : {NodePrefix, left, right[255:8]};
  endfunction

  // Leaf of a lane head: 49 bytes, one block.
  localparam logic [63:0] HeadBits = 64'(8 * (LaneHeadBytes + 1));
  function automatic block_t head_block(lane_head_t head);
    logic [511:0] padded = 512'(head);
    logic [511:0] bytes = block_bytes(padded);
    head_block = {LeafPrefix, bytes[511-:LaneHeadBytes*8], PadStart, 48'b0, HeadBits};
  endfunction
endpackage
