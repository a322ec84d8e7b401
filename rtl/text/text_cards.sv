// Card numbers: sums for the check digit (ISO/IEC 7812-1, annex B) over the digits of a run.
//
// Found is a window of 12 to 19 digits with a valid check digit, and with the first digits and the
// length of a card network, in two cases. It is a whole run; or it begins where a group begins, its
// groups are regular, and it has one group, or ends where a group ends. Each case has its own
// networks. Groups are regular if all have the same size or only the last is smaller, or if they
// have four, six and the remaining digits. A window of one repeated digit does not count, nor does
// one that begins with the fraction of a decimal, that is, with seven digits or more that directly
// follow a digit and a point.
//
// Latency: the state three clocks after an item, `found_o` three. `changed_o` at most four clocks
// after an item for which an entry was read without its parity.
// After reset: nothing is under way.
// Duties of the caller: no start and no write while an item is under way; an end only behind a
// byte.
module text_cards
  import text_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  table_write_t write_i,  // Of this part.
    input  logic         start_i,
    input  cards_t       state_i,
    input  item_t        item_i,
    input  logic         dead_i,   // The automaton of gaps is dead after the byte.
    output cards_t       state_o,  // Without `gap`.
    output logic         found_o,
    output logic         changed_o
);
  localparam int unsigned Ago = 6;     // First digits that a network is known by.
  localparam logic [4:0] Fraction = 5'd7;
  localparam logic [4:0] Many = 5'd20; // More digits than a number has.

  function automatic logic [3:0] sum10(logic [3:0] sum, logic [3:0] value);
    logic [4:0] both;
    both = 5'(sum) + 5'(value);
    return both > 5'd9 ? 4'(both - 5'd10) : both[3:0];
  endfunction

  function automatic logic [4:0] one_more(logic [4:0] count);
    return count == Many ? Many : count + 5'd1;
  endfunction

  logic is_byte, is_digit, clear;
  logic [3:0] digit, twice;
  assign is_byte = item_i.kind == ItemByte;
  assign is_digit = item_i.data inside {[8'h30 : 8'h39]};
  assign digit = item_i.data[3:0];
  assign twice = digit > 4'd4 ? 4'({1'b0, digit, 1'b0} - 6'd9) : 4'({digit, 1'b0});
  assign clear = is_byte && dead_i;

  // ---- one more digit; its check and its first digits follow
  cards_t state_q, digit_d, state_d;
  always_comb begin
    digit_d = state_q;
    if (digit_d.since != 2'd0 && digit_d.size != 5'd0) begin
      // A group is complete. Where its size is another, only what begins with it stays regular.
      if (digit_d.regular != 5'd0 && digit_d.size != digit_d.regular)
        digit_d.groups &= LongestCard'(1) << (digit_d.size - 5'd1);
      digit_d.regular = digit_d.size;
      digit_d.earlier = {digit_d.earlier[0], digit_d.size};
      digit_d.size = 5'd0;
    end
    if (digit_d.since != 2'd0) digit_d.fraction = digit_d.point;
    digit_d.point = 1'b0;
    digit_d.size = one_more(digit_d.size);
    digit_d.groups = {digit_d.groups[LongestCard-2:0], digit_d.size == 5'd1};
    if (digit_d.regular != 5'd0 && digit_d.size > digit_d.regular)
      digit_d.groups &= LongestCard'(1) << (digit_d.size - 5'd1);
    digit_d.same = digit_d.same != 5'd0 && digit_d.last == digit ? one_more(digit_d.same) : 5'd1;
    digit_d.last = digit;
    digit_d.plain = {state_q.doubled[75:0], sum10(state_q.doubled[3:0], digit)};
    digit_d.doubled = {state_q.plain[75:0], sum10(state_q.plain[3:0], twice)};
    digit_d.run = digit_d.since[1] ? 5'd1 : one_more(digit_d.run);
    if (digit_d.fraction && digit_d.size >= Fraction) begin
      // No number begins with this group, and the run is not a number.
      digit_d.groups &= ~(LongestCard'(1) << (digit_d.size - 5'd1));
      digit_d.run = Many;
    end
    digit_d.open = 1'b1;
    digit_d.since = 2'd0;
  end

  // ---- whether the last digits are right, a clock behind: one bit for each length
  logic check_q, whole;
  logic [CardLengths-1:0] right, in_groups, glued;  // The last: in the present group.
  always_comb begin
    whole = state_q.whole && !check_q;
    for (int unsigned i = 0; i < CardLengths; i++) begin
      right[i] = state_q.plain[3:0] == state_q.plain[4*(i+ShortestCard)+:4]
          && 32'(state_q.same) < i + ShortestCard;
      glued[i] = 32'(state_q.size) >= i + ShortestCard;
      if (check_q && 32'(state_q.run) == i + ShortestCard) whole = right[i];
    end
    in_groups = state_q.groups[LongestCard-1:ShortestCard-1];
    if (state_q.earlier == {5'd4, 5'd6}) begin
      if (state_q.size == 5'd4) in_groups[14-ShortestCard] = 1'b1;
      if (state_q.size == 5'd5) in_groups[15-ShortestCard] = 1'b1;
    end
  end

  // ---- any item
  logic joins, ended, closed;  // The run; the present group.
  assign joins = state_q.since == 2'd0 && (item_i.data == 8'h20 || item_i.data == 8'h2d);
  always_comb begin
    state_d = state_q;
    state_d.whole = whole;
    ended = 1'b0;
    closed = 1'b0;
    unique case (item_i.kind)
      ItemByte: begin
        if (is_digit) state_d = digit_d;
        else begin
          ended = whole && (!joins || dead_i);
          closed = state_q.open;
          state_d.open = 1'b0;
          state_d.point = state_q.since == 2'd0 && item_i.data == 8'h2e;
          state_d.since = joins ? 2'd1 : 2'd2;
          state_d.whole = whole && joins;
        end
      end
      ItemEnd: begin
        ended = whole;
        closed = state_q.open;
        state_d.whole = 1'b0;
        state_d.open = 1'b0;
      end
      default: ;
    endcase
    if (clear) state_d = cards_start();
  end

  // ---- where numbers may begin, two clocks behind
  logic [PrefixStateBits-1:0] prefix;
  logic prefix_changed;
  text_next #(
      .States(2 ** PrefixStateBits),
      .ByteClasses(16)
  ) u_prefixes (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(write_i.valid && write_i.memory == MemPrefix),
      .write_state_i(write_i.row[PrefixStateBits-1:0]),
      .write_class_i(write_i.at[3:0]),
      .word_i({4{write_i.data[PrefixStateBits-1:0]}}),
      .parity_i(write_i.parity),
      .word_parity_i(1'b0),
      .start_i(start_i || clear),
      .state_i(start_i ? state_i.prefix : '0),
      .read_i(is_byte && is_digit),
      .class_i(digit),
      .state_o(prefix),
      .changed_o(prefix_changed)
  );

  // The lowest bit of an entry is its parity.
  (* no_rw_check *) logic [2*Ago-1:0][CardLengths:0] lengths[2**PrefixStateBits];
  logic [2*Ago-1:0][CardLengths:0] lengths_q;
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemLengths)
      lengths[write_i.row[PrefixStateBits-1:0]][write_i.at[3:0]]
          <= {write_i.data[CardLengths-1:0], write_i.parity};
    lengths_q <= lengths[prefix];
  end

  logic lengths_odd_q;  // Beside `shift_q[2]`.
  logic [2:0] shift_q;
  logic [1:0] clear_q;
  logic [CardLengths-1:0] may_q, glued_q;
  logic [CardLengths-1:0][LongestCard-1:0] begins_q, begins_d;
  logic begun, part_q, part_d;
  logic [1:0][4:0] run_q;  // One and two clocks behind.
  logic [CardLengths-1:0] network_q, network_d;
  always_comb begin
    network_d = network_q;
    if (shift_q[1]) begin
      if (run_q[0] == 5'd1) network_d = '0;
      for (int unsigned ago = 0; ago < Ago; ago++)
        if (32'(run_q[0]) == ago + 1) network_d |= lengths_q[Ago+ago][CardLengths:1];
    end
    if (clear_q[1]) network_d = '0;
    begins_d = begins_q;
    begun = 1'b0;
    part_d = part_q && !shift_q[1];
    for (int unsigned i = 0; i < CardLengths; i++) begin
      if (shift_q[1]) begin
        begins_d[i] = {begins_q[i][LongestCard-2:0], 1'b0};
        for (int unsigned ago = 0; ago < Ago; ago++) begins_d[i][ago] |= lengths_q[ago][i+1];
        // The memory tells only of the last digits; this one is longer ago.
        begun |= may_q[i] && glued_q[i] && begins_q[i][i+ShortestCard-2];
        part_d |= may_q[i] && !glued_q[i] && begins_q[i][i+ShortestCard-2];
      end
      if (clear_q[1]) begins_d[i] = '0;
    end
    if (clear_q[1]) part_d = 1'b0;
  end

  // ---- whether a network has numbers of the run that ended, two clocks behind
  logic known;
  always_comb begin
    known = 1'b0;
    for (int unsigned i = 0; i < CardLengths; i++)
      known |= network_q[i] && 32'(run_q[1]) == i + ShortestCard;
  end

  logic [1:0] ended_q, closed_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {check_q, shift_q, clear_q, ended_q, closed_q, found_o, changed_o} <= '0;
      {may_q, glued_q, part_q} <= '0;
      begins_q <= '0;
      network_q <= '0;
      run_q <= '0;
      state_q <= cards_start();
    end else begin
      check_q <= is_byte && is_digit && !dead_i;
      shift_q <= {shift_q[1:0], is_byte && is_digit};
      lengths_odd_q <= ^lengths_q;
      clear_q <= {clear_q[0], clear};
      ended_q <= {ended_q[0], ended};
      closed_q <= {closed_q[0], closed};
      may_q <= right & in_groups;
      glued_q <= glued;
      part_q <= part_d;
      state_q <= state_d;
      begins_q <= begins_d;
      network_q <= network_d;
      run_q <= {run_q[0], state_q.run};
      found_o <= (ended_q[1] && known) || (closed_q[1] && part_q) || begun;
      changed_o <= prefix_changed || (shift_q[2] && lengths_odd_q);
      if (start_i) begin
        state_q <= state_i;
        begins_q <= state_i.begins;
        network_q <= state_i.network;
        part_q <= state_i.part;
      end
    end
  end

  always_comb begin
    state_o = state_q;
    state_o.gap = '0;
    state_o.prefix = prefix;
    state_o.begins = begins_q;
    state_o.network = network_q;
    state_o.part = part_q;
  end
endmodule
