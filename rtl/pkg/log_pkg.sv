// Hashes of the log: the bytes of each block (RFC 9162, 2.1.1; FIPS 180-4, 5.1.1).
//
// Digests and blocks have their first byte at the top, as in FIPS 180-4; structures of the layout
// have it at the bottom.
package log_pkg;
  import layout_pkg::*;
  import sha256_pkg::*;

  typedef state_t digest_t;

  localparam logic [7:0] LeafPrefix = 8'h00;
  localparam logic [7:0] NodePrefix = 8'h01;

  // Number of levels of a lane's tree, so that it can have 2^48 records.
  localparam int unsigned TreeLevels = 48;

  // A level of a snapshot of a lane's tree.
  typedef struct packed {
    logic valid;
    logic last;
    digest_t node;
  } snapshot_t;

  // Contents of a checkpoint without the lanes' heads; digests and nonces are in layout order.
  typedef struct packed {
    fault_e fault;
    logic [31:0] epoch;
    logic [63:0] tick;
    logic [63:0] heartbeat_nonce;  // Of lane 0.
    logic [127:0] boot_nonce;
    logic [255:0] policy_digest;
    logic [255:0] ticket_digest;
  } card_facts_t;

  // Reverses the order of the bytes: from layout order to digest order, or back.
  function automatic digest_t digest_bytes(logic [255:0] value);
    for (int unsigned i = 0; i < 8; i++) digest_bytes[32*(7-i)+:32] = word_turned(value[32*i+:32]);
  endfunction

  // Leaf of a record: the prefix and 192 bytes, four blocks.
  localparam int unsigned LeafBlocks = 4;

  // Node over two children: 65 bytes, two blocks.
  function automatic block_t node_block(digest_t left, digest_t right, logic second);
    node_block = second ? {right[7:0], 504'b0} | padding(1, 2 * DigestBytes + 1)
        : {NodePrefix, left, right[255:8]};
  endfunction

  // Leaf of a lane head: 49 bytes, one block.
  function automatic block_t head_block(lane_head_t head);
    head_block = {LeafPrefix, 504'b0} | (first_byte_at_top(512'(head)) >> 8)
        | padding(LaneHeadBytes + 1, LaneHeadBytes + 1);
  endfunction
endpackage
