// Card numbers: sums for the check digit (ISO/IEC 7812-1, annex B) over the digits of a run.
//
// Found is a window of 12 to 19 digits with a valid check digit, in two cases. It is a whole run;
// or it begins where a group begins, has the first digits and the length of a card network, and
// its groups are regular. Groups are regular if all have the same size or only the last is
// smaller, or if they have four, six and the remaining digits. A window of one repeated digit does
// not count.
//
// Latency: `state_o` two clocks after an item, `found_o` three.
// After reset: nothing is under way.
// Duties of the caller: no start and no write while an item is under way; an end only behind a
// byte.
module text_cards
  import text_pkg::*;
(
    input  logic                    clk_i,
    input  logic                    rst_i,
    input  table_write_t            write_i,  // Of this part.
    input  logic                    start_i,
    input  cards_t                  state_i,
    input  item_t                   item_i,
    input  logic [GapStateBits-1:0] gap_i,    // The automaton of gaps after a byte.
    output cards_t                  state_o,
    output logic                    found_o
);
  localparam int unsigned Ago = 6;     // First digits that a network is known by.
  localparam logic [4:0] Many = 5'd20; // More digits than a number has.

  logic [PrefixStateBits-1:0] prefixes[2**PrefixStateBits * 16];
  logic [Ago-1:0][CardLengths-1:0] lengths[2**PrefixStateBits];
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemPrefix)
      prefixes[write_i.address[PrefixStateBits+3:0]] <= write_i.data[PrefixStateBits-1:0];
    for (int unsigned ago = 0; ago < Ago; ago++)
      if (write_i.valid && write_i.memory == MemLengths && write_i.address[2:0] == 3'(ago))
        lengths[write_i.address[3+:PrefixStateBits]][ago] <= write_i.data[CardLengths-1:0];
  end

  function automatic logic [3:0] sum10(logic [3:0] sum, logic [3:0] value);
    logic [4:0] both;
    both = 5'(sum) + 5'(value);
    return both > 5'd9 ? 4'(both - 5'd10) : both[3:0];
  endfunction

  // Whether the last digits, one bit for each length, have a right check digit.
  function automatic logic [CardLengths-1:0] right_sums(logic [1:0][79:0] sums, logic plain,
                                                     logic [4:0] same);
    logic [CardLengths-1:0] right;
    logic [79:0] sum;
    sum = plain ? sums[0] : sums[1];
    for (int unsigned i = 0; i < CardLengths; i++)
      right[i] = sum[3:0] == sum[4*(i+ShortestCard)+:4] && 32'(same) < i + ShortestCard;
    return right;
  endfunction

  function automatic logic [4:0] one_more(logic [4:0] count);
    return count == Many ? Many : count + 5'd1;
  endfunction

  cards_t state_q, digit_d, state_d;
  logic is_digit, dead, joins, ended;
  logic [3:0] digit, doubled;
  logic [CardLengths-1:0] right, in_groups, may_q, may_d;
  logic found_q;
  assign is_digit = item_i.data inside {[8'h30 : 8'h39]};
  assign digit = item_i.data[3:0];
  assign doubled = digit > 4'd4 ? 4'({1'b0, digit, 1'b0} - 6'd9) : 4'({digit, 1'b0});
  assign dead = gap_i == '0;
  assign joins = state_q.since == 2'd0 && (item_i.data == 8'h20 || item_i.data == 8'h2d);

  // ---- one more digit; `begins` follows a clock later
  always_comb begin
    digit_d = state_q.gap == '0 ? cards_start() : state_q;
    if (digit_d.since != 2'd0 && digit_d.size != 5'd0) begin
      // A group is complete. Where its size is another, only what begins with it stays regular.
      if (digit_d.regular != 5'd0 && digit_d.size != digit_d.regular)
        digit_d.groups &= LongestCard'(1) << (digit_d.size - 5'd1);
      digit_d.regular = digit_d.size;
      digit_d.earlier = {digit_d.earlier[0], digit_d.size};
      digit_d.size = 5'd0;
    end
    digit_d.size = one_more(digit_d.size);
    digit_d.groups = {digit_d.groups[LongestCard-2:0], digit_d.size == 5'd1};
    if (digit_d.regular != 5'd0 && digit_d.size > digit_d.regular)
      digit_d.groups &= LongestCard'(1) << (digit_d.size - 5'd1);
    digit_d.same = digit_d.same != 5'd0 && digit_d.last == digit ? one_more(digit_d.same) : 5'd1;
    digit_d.last = digit;
    digit_d.plain = !digit_d.plain;
    digit_d.sums[0] = {digit_d.sums[0][75:0],
        sum10(digit_d.sums[0][3:0], digit_d.plain ? digit : doubled)};
    digit_d.sums[1] = {digit_d.sums[1][75:0],
        sum10(digit_d.sums[1][3:0], digit_d.plain ? doubled : digit)};
    digit_d.prefix = prefixes[{digit_d.prefix, digit}];
    digit_d.run = digit_d.since[1] ? 5'd1 : one_more(digit_d.run);
    digit_d.since = 2'd0;
    digit_d.gap = gap_i;
    right = right_sums(digit_d.sums, digit_d.plain, digit_d.same);
    digit_d.whole = 1'b0;
    for (int unsigned i = 0; i < CardLengths; i++)
      if (32'(digit_d.run) == i + ShortestCard) digit_d.whole = right[i];

    in_groups = digit_d.groups[LongestCard-1:ShortestCard-1];
    if (digit_d.earlier == {5'd4, 5'd6}) begin
      if (digit_d.size == 5'd4) in_groups[14-ShortestCard] = 1'b1;
      if (digit_d.size == 5'd5) in_groups[15-ShortestCard] = 1'b1;
    end
  end

  // ---- any item
  always_comb begin
    state_d = state_q;
    ended = 1'b0;
    may_d = '0;
    unique case (item_i.kind)
      ItemByte: begin
        if (is_digit) begin
          state_d = digit_d;
          may_d = right & in_groups;
        end else begin
          ended = state_q.whole && (!joins || dead);
          state_d.since = joins ? 2'd1 : 2'd2;
          state_d.whole = state_q.whole && joins;
          state_d.gap = gap_i;
          if (dead) state_d = cards_start();
        end
      end
      ItemEnd: begin
        ended = state_q.whole;
        state_d.whole = 1'b0;
      end
      default: ;
    endcase
  end

  // ---- where numbers may begin, a clock behind the rest
  logic shift_q, clear_q;
  logic [CardLengths-1:0][LongestCard-1:0] begins_q, begins_d;
  logic [Ago-1:0][CardLengths-1:0] lengths_here;
  assign lengths_here = lengths[state_q.prefix];
  always_comb begin
    begins_d = clear_q ? '0 : begins_q;
    if (shift_q) begin
      for (int unsigned i = 0; i < CardLengths; i++) begin
        begins_d[i] = {begins_d[i][LongestCard-2:0], 1'b0};
        for (int unsigned ago = 0; ago < Ago; ago++) begins_d[i][ago] |= lengths_here[ago][i];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {shift_q, clear_q, found_q, found_o} <= '0;
      may_q <= '0;
      begins_q <= '0;
      state_q <= cards_start();
    end else begin
      shift_q <= item_i.kind == ItemByte && is_digit;
      clear_q <= item_i.kind == ItemByte && (is_digit ? state_q.gap == '0 : dead);
      found_q <= ended;
      may_q <= may_d;
      state_q <= state_d;
      begins_q <= begins_d;
      found_o <= found_q;
      for (int unsigned i = 0; i < CardLengths; i++)
        if (may_q[i] && begins_d[i][i+ShortestCard-1]) found_o <= 1'b1;
      if (start_i) begin
        state_q <= state_i;
        begins_q <= state_i.begins;
      end
    end
  end

  always_comb begin
    state_o = state_q;
    state_o.begins = begins_q;
  end
endmodule
