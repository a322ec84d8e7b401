// CRC-32 as in IEEE 802.3 (reflected, polynomial 0xedb88320), several bytes per step.
//
// A message is fed from its first byte: byte n of `data` is bits 8*n +: 8. Start from `Crc32Init`,
// step over the message, and invert the state: `~state` is the CRC-32 of crc32fast, zlib and
// Ethernet. In a step, each output bit is the parity of a constant selection of at most 128 input
// bits, which is one layer of XOR trees. Synthesis balances the trees; a simulator needs a few word
// operations.
package crc32_pkg;
  localparam logic [31:0] Crc32Init = 32'hffff_ffff;
  localparam logic [31:0] Crc32Poly = 32'hedb8_8320;

  // Bit i of row o is set if, in a step over `width` bits, input bit i affects output bit o. The
  // input is the data with the state XORed into its first 32 bits. After input bit i there are
  // width-1-i shifts.
  function automatic logic [31:0][127:0] crc32_rows(int unsigned width);
    logic [31:0][127:0] rows;
    logic [31:0] column;
    rows = '0;
    column = Crc32Poly;
    for (int unsigned k = 0; k < width; k++) begin
      for (int unsigned o = 0; o < 32; o++) rows[o][width-1-k] = column[o];
      column = column[0] ? (column >> 1) ^ Crc32Poly : column >> 1;
    end
    return rows;
  endfunction

  localparam logic [31:0][127:0] Crc32Rows128 = crc32_rows(128);
  localparam logic [31:0][127:0] Crc32Rows96 = crc32_rows(96);

  // The state after 16 more bytes.
  function automatic logic [31:0] crc32_step(logic [31:0] state, logic [127:0] data);
    logic [127:0] x;
    logic [31:0] next;
    x = data ^ {96'd0, state};
    for (int unsigned o = 0; o < 32; o++) next[o] = ^(x & Crc32Rows128[o]);
    return next;
  endfunction

  // The state after 12 more bytes.
  function automatic logic [31:0] crc32_step96(logic [31:0] state, logic [95:0] data);
    logic [127:0] x;
    logic [31:0] next;
    x = {32'd0, data} ^ {96'd0, state};
    for (int unsigned o = 0; o < 32; o++) next[o] = ^(x & Crc32Rows96[o]);
    return next;
  endfunction
endpackage
