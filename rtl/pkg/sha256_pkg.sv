// SHA-256 as in FIPS 180-4: constants, the functions of a round, padding, and HMAC's key block
// (FIPS 198-1).
//
// Byte order: FIPS 180-4 is big-endian. A byte string has its first byte at the top, so
// `digest[255:248]` is its first byte, and a concatenation reads like `||` in the standard. The
// wire layouts are little-endian, with their first byte at the bottom; `first_byte_at_top` converts
// between the two orders.
package sha256_pkg;
  typedef logic [31:0] word_t;
  typedef logic [255:0] state_t;  // H0 at the top; the last state is the digest
  typedef logic [511:0] block_t;

  localparam int unsigned BlockBytes = 64;
  localparam int unsigned DigestBytes = 32;
  localparam int unsigned RoundCount = 64;
  // Least number of padding bytes: the byte 0x80 and the length.
  localparam int unsigned PaddingBytes = 9;

  // The initial hash value (5.3.3).
  localparam state_t InitialHash = {
    32'h6a09_e667, 32'hbb67_ae85, 32'h3c6e_f372, 32'ha54f_f53a,
    32'h510e_527f, 32'h9b05_688c, 32'h1f83_d9ab, 32'h5be0_cd19
  };

  // The constants K (4.2.2).
  localparam word_t RoundConstants[RoundCount] = '{
    32'h428a_2f98, 32'h7137_4491, 32'hb5c0_fbcf, 32'he9b5_dba5, 32'h3956_c25b, 32'h59f1_11f1,
    32'h923f_82a4, 32'hab1c_5ed5, 32'hd807_aa98, 32'h1283_5b01, 32'h2431_85be, 32'h550c_7dc3,
    32'h72be_5d74, 32'h80de_b1fe, 32'h9bdc_06a7, 32'hc19b_f174, 32'he49b_69c1, 32'hefbe_4786,
    32'h0fc1_9dc6, 32'h240c_a1cc, 32'h2de9_2c6f, 32'h4a74_84aa, 32'h5cb0_a9dc, 32'h76f9_88da,
    32'h983e_5152, 32'ha831_c66d, 32'hb003_27c8, 32'hbf59_7fc7, 32'hc6e0_0bf3, 32'hd5a7_9147,
    32'h06ca_6351, 32'h1429_2967, 32'h27b7_0a85, 32'h2e1b_2138, 32'h4d2c_6dfc, 32'h5338_0d13,
    32'h650a_7354, 32'h766a_0abb, 32'h81c2_c92e, 32'h9272_2c85, 32'ha2bf_e8a1, 32'ha81a_664b,
    32'hc24b_8b70, 32'hc76c_51a3, 32'hd192_e819, 32'hd699_0624, 32'hf40e_3585, 32'h106a_a070,
    32'h19a4_c116, 32'h1e37_6c08, 32'h2748_774c, 32'h34b0_bcb5, 32'h391c_0cb3, 32'h4ed8_aa4a,
    32'h5b9c_ca4f, 32'h682e_6ff3, 32'h748f_82ee, 32'h78a5_636f, 32'h84c8_7814, 32'h8cc7_0208,
    32'h90be_fffa, 32'ha450_6ceb, 32'hbef9_a3f7, 32'hc671_78f2
  };

  // Request to a hash core, and its answer. The answer stays valid until the next start.
  typedef struct packed {
    logic start;
    state_t state;
    block_t block;
  } hash_request_t;
  typedef struct packed {
    logic done;
    state_t digest;
  } hash_answer_t;

  // ---- functions of a round (4.1.2)
  function automatic word_t rotr(word_t x, int unsigned n);
    return (x >> n) | (x << (32 - n));
  endfunction

  function automatic word_t ch(word_t x, word_t y, word_t z);
    return (x & y) ^ (~x & z);
  endfunction

  function automatic word_t maj(word_t x, word_t y, word_t z);
    return (x & y) ^ (x & z) ^ (y & z);
  endfunction

  function automatic word_t upper_sigma0(word_t x);
    return rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22);
  endfunction

  function automatic word_t upper_sigma1(word_t x);
    return rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25);
  endfunction

  function automatic word_t lower_sigma0(word_t x);
    return rotr(x, 7) ^ rotr(x, 18) ^ (x >> 3);
  endfunction

  function automatic word_t lower_sigma1(word_t x);
    return rotr(x, 17) ^ rotr(x, 19) ^ (x >> 10);
  endfunction

  // ---- messages
  // Blocks of a message of `bytes` bytes, padding included (5.1.1).
  function automatic int unsigned blocks_of(int unsigned bytes);
    return (bytes + PaddingBytes + BlockBytes - 1) / BlockBytes;
  endfunction

  // The padding of a message of `total` bytes (5.1.1), to be ORed into the last block. The last
  // `used` bytes of the message, at most 55, are at the top of that block.
  function automatic block_t padding(int unsigned used, int unsigned total);
    return (block_t'(8'h80) << (8 * (BlockBytes - 1 - used))) | block_t'(64'(total) * 64'd8);
  endfunction

  // A word with its bytes reversed. Wide values are reversed word by word, because simulators are
  // slow with single bytes.
  function automatic word_t word_turned(word_t word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  // A block with its bytes reversed: from first byte at the bottom to first byte at the top.
  function automatic block_t first_byte_at_top(block_t first_byte_at_bottom);
    block_t turned;
    turned = '0;
    for (int unsigned i = 0; i < 16; i++)
      turned[32*(15-i)+:32] = word_turned(first_byte_at_bottom[32*i+:32]);
    return turned;
  endfunction

  // ---- HMAC (FIPS 198-1, 4): the first block of the inner and of the outer hash, for a key of at
  // most 64 bytes at the top.
  function automatic block_t hmac_inner_key(block_t key);
    return key ^ {BlockBytes{8'h36}};
  endfunction

  function automatic block_t hmac_outer_key(block_t key);
    return key ^ {BlockBytes{8'h5c}};
  endfunction

  // The second and last block of the outer hash.
  function automatic block_t hmac_outer_block(state_t inner);
    return {inner, 256'd0} | padding(DigestBytes, BlockBytes + DigestBytes);
  endfunction
endpackage
