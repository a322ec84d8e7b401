// Whether a row matches an entry, for proofs: a second definition, beside that of the card.
//
// It is written from docs/reference/wire-formats.md (`row`, `descriptor`, and the bits and
// enumerations that they name) by the offsets of that page. It uses no type, constant or function
// of the RTL, so that a slip there is not repeated here.
module row_spec (
    input  logic [191:0][7:0] row_i,
    input  logic [127:0][7:0] entry_i,
    output logic              matches_o
);
  // A value is allowed if its bit is set in the mask; a mask has no bit for larger values.
  function automatic logic is_allowed(logic [31:0] mask, int unsigned width, logic [7:0] value);
    logic found;
    found = 1'b0;
    for (int unsigned v = 0; v < width; v++) if (value == 8'(v) && mask[v]) found = 1'b1;
    return found;
  endfunction

  // Every one of `all`; at least one of `any`, if that names one; none of `none`.
  function automatic logic is_set(logic [127:0] has, logic [127:0] all, logic [127:0] any,
      logic [127:0] none);
    logic good, some, wanted;
    {good, some, wanted} = 3'b100;
    for (int unsigned b = 0; b < 128; b++) begin
      if (all[b] && !has[b]) good = 1'b0;
      if (none[b] && has[b]) good = 1'b0;
      if (any[b]) wanted = 1'b1;
      if (any[b] && has[b]) some = 1'b1;
    end
    return good && (some || !wanted);
  endfunction

  logic [15:0] small_enums;
  logic [7:0] required, bits;
  always_comb begin
    matches_o = 1'b1;
    // Kind: permit, forbid_reject or forbid_decompose.
    if (row_i[0] == 8'd0 || row_i[0] > 8'd3) matches_o = 1'b0;
    // Enumerations: four masks of the row's own, then the four parts of `small_enums`.
    if (!is_allowed(row_i[19:16], 32, entry_i[9])) matches_o = 1'b0;
    if (!is_allowed(row_i[23:20], 32, entry_i[16])) matches_o = 1'b0;
    if (!is_allowed(row_i[27:24], 32, entry_i[17])) matches_o = 1'b0;
    if (!is_allowed(row_i[31:28], 32, entry_i[18])) matches_o = 1'b0;
    small_enums = row_i[5:4];
    if (!is_allowed(32'(small_enums[5:0]), 6, entry_i[12])) matches_o = 1'b0;
    if (!is_allowed(32'(small_enums[8:6]), 3, entry_i[13])) matches_o = 1'b0;
    if (!is_allowed(32'(small_enums[11:9]), 3, entry_i[14])) matches_o = 1'b0;
    if (!is_allowed(32'(small_enums[15:12]), 4, entry_i[15])) matches_o = 1'b0;
    // Sets: fields touched, classes, established.
    if (!is_set(128'(entry_i[19]), 128'(row_i[1]), 128'(row_i[8]), 128'(row_i[9])))
      matches_o = 1'b0;
    if (!is_set(entry_i[55:40], row_i[111:96], row_i[127:112], row_i[143:128])) matches_o = 1'b0;
    if (!is_set(entry_i[71:56], row_i[159:144], row_i[175:160], row_i[191:176])) matches_o = 1'b0;
    // Inclusive ranges: depth, alternatives and correction; the eight scalars in the order of the
    // descriptor; the four quantities, which have a sign.
    for (int unsigned i = 0; i < 3; i++)
      if (entry_i[36+i] < row_i[10+2*i] || entry_i[36+i] > row_i[11+2*i]) matches_o = 1'b0;
    for (int unsigned i = 0; i < 8; i++) begin
      if (entry_i[20+2*i+:2] < row_i[32+4*i+:2]) matches_o = 1'b0;
      if (entry_i[20+2*i+:2] > row_i[34+4*i+:2]) matches_o = 1'b0;
    end
    for (int unsigned i = 0; i < 4; i++) begin
      if ($signed(entry_i[72+4*i+:4]) < $signed(row_i[64+8*i+:4])) matches_o = 1'b0;
      if ($signed(entry_i[72+4*i+:4]) > $signed(row_i[68+8*i+:4])) matches_o = 1'b0;
    end
    // Single bits: two flags, then the presence of four quantities.
    required = row_i[6];
    bits = {2'b0, entry_i[39][3:0], entry_i[8][1:0]};
    for (int unsigned b = 0; b < 8; b++)
      if (required[b] && bits[b] != row_i[7][b]) matches_o = 1'b0;
  end
endmodule
