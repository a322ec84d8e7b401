// Account numbers (ISO 13616): remainders by 97 (ISO 7064) of up to three numbers at once.
//
// The two letters of the country give the number of characters that follow. Together with the two
// check digits, they also give the remainder that these characters must leave. All groups of a
// number have the same size; only the last may be smaller. If a fourth number begins while three
// are being read, it is reported as found.
//
// Latency: the state four clocks after an item, `found_o` three. `changed_o` three clocks after an
// item for which an entry was read without its parity.
// After reset: nothing is under way.
// Duties of the caller: no start and no write while an item is under way.
module text_accounts
  import text_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  table_write_t write_i,  // Of this part.
    input  logic         start_i,
    input  accounts_t    state_i,
    input  item_t        item_i,
    input  logic         dead_i,   // A clock behind its byte: the automaton of gaps is dead.
    output accounts_t    state_o,  // Without `gap`.
    output logic         found_o,
    output logic         changed_o
);
  // ---- arithmetic by 97
  typedef logic [6:0] residue_t;

  // A number `b` up to 97, and beside it what makes the highest bit of `a + more` say whether
  // `a + b` reaches 97: two sums side by side are a shorter path than one after the other.
  typedef struct packed {
    logic [7:0] more;  // b + 31
    residue_t value;
  } addend_t;

  function automatic addend_t addend(residue_t value);
    return '{more: 8'(value) + 8'd31, value: value};
  endfunction

  // `a + b` for an `a` below 97.
  function automatic residue_t sum97(residue_t a, addend_t b);
    logic [7:0] less;
    less = 8'(a) + b.more;
    return less[7] ? less[6:0] : a + b.value;
  endfunction

  // Tables of `start + i * step`: a multiplication or a division would be a long path.
  typedef residue_t [127:0] multiples_t;
  function automatic multiples_t multiples(int unsigned start, int unsigned factor);
    multiples_t values;
    for (int unsigned i = 0; i < 128; i++) values[i] = residue_t'((start + i * factor) % 97);
    return values;
  endfunction
  typedef addend_t [31:0] addends_t;
  function automatic addends_t addends(int unsigned start, int unsigned factor);
    addends_t values;
    for (int unsigned i = 0; i < 32; i++)
      values[i] = addend(residue_t'((start + i * factor) % 97));
    return values;
  endfunction

  // A digit moves the characters before it by 10, a letter by 100.
  localparam multiples_t ByTen = multiples(0, 10);
  localparam multiples_t ByHundred = multiples(0, 100);
  // The remainder that the characters behind letters `a`, `b` and check digits `c`, `d` must leave:
  // 18 (1 - k) (mod 97), where k is 9 a + 3 b + 10 c + d. 10^4 is 9, 10^2 is 3, and the inverse of
  // 10^6 is 18. Letters count from 1 here; their values begin with 10.
  localparam multiples_t OfFirst = multiples(18 + 32 * 9, 32);
  localparam addends_t OfSecond = addends(43 * 9, 43);
  localparam addends_t OfThird = addends(0, 14);
  localparam addends_t OfFourth = addends(0, 79);

  // ---- groups
  localparam groups_t OneCharacter = '{first: 6'd1, closed: 1'b0, room: 6'd0};

  function automatic logic is_regular(logic closed, logic [5:0] room, logic adjacent);
    return !closed || adjacent == (room != 6'd0);
  endfunction
  // The groups with one more character.
  function automatic groups_t with_one(groups_t groups, logic adjacent);
    groups_t more;
    more = groups;
    if (!adjacent) begin
      more.closed = 1'b1;
      more.room = groups.first - 6'd1;
    end else if (groups.closed) more.room = groups.room - 6'd1;
    else more.first = groups.first + 6'd1;
    return more;
  endfunction

  accounts_t state_q, state_d;

  // ---- the item, and what its character is
  item_e kind_q;
  logic is_digit, is_letter, is_digit_q, is_letter_q;
  logic [4:0] letter_q;
  addend_t value_q;  // Of a digit 0 to 9, of a letter 10 to 35.
  assign is_digit = item_i.data inside {[8'h30 : 8'h39]};
  assign is_letter = item_i.data inside {[8'h41 : 8'h5a], [8'h61 : 8'h7a]};
  always_ff @(posedge clk_i) begin
    is_digit_q <= is_digit;
    is_letter_q <= is_letter;
    letter_q <= item_i.data[4:0];
    value_q <= addend(is_digit ? 7'(item_i.data[3:0]) : 7'(item_i.data[4:0]) + 7'd9);
    kind_q <= rst_i ? ItemNone : item_i.kind;
  end

  // ---- characters after the check digits, by country: 0 if there are no such numbers
  typedef struct packed {
    logic parity;
    logic [5:0] number;
  } left_t;
  (* no_rw_check *) left_t left[1024];
  left_t left_q;
  logic asked_q;  // The country was read in the clock before.
  logic [5:0] left_d;
  assign left_d = write_i.data == '0 ? '0 : 6'(write_i.data - 16'd4);
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemCountry)
      left[{write_i.row[4:0] + 5'd1, write_i.at[4:0] + 5'd1}]
          <= '{parity: ^left_d, number: left_d};
    left_q <= left[{state_q.letter, letter_q}];
  end

  // The target of a new candidate is written a clock behind its other fields.
  residue_t target, target_q;
  logic [Candidates-1:0] new_d, new_q;

  accounts_t kept;
  head_t head;
  logic goes_on, placed, over, adjacent;
  logic [Candidates-1:0] ends;
  residue_t [Candidates-1:0] last;
  logic [4:0] digit;
  assign digit = 5'(value_q.value[3:0]);
  assign adjacent = state_q.adjacent;

  always_comb begin
    // The length of a country's numbers comes a clock behind its letters; nothing asks for it
    // before the second check digit.
    head = state_q.head;
    if (!asked_q && head.left == 6'd0) head = '0;
    kept = state_q;
    kept.head = head;
    if (asked_q && head.length != 2'd0) kept.head.left = left_q.number;
    for (int unsigned i = 0; i < Candidates; i++)
      if (new_q[i]) kept.candidates[i].target = target_q;
    state_d = kept;
    {over, placed, new_d} = '0;

    // ---- the numbers that are being read
    for (int unsigned i = 0; i < Candidates; i++) begin
      last[i] = sum97(
          is_digit_q ? ByTen[state_q.candidates[i].remainder]
              : ByHundred[state_q.candidates[i].remainder], value_q);
      goes_on = is_regular(state_q.candidates[i].groups.closed,
                           state_q.candidates[i].groups.room, adjacent);
      ends[i] = goes_on && state_q.candidates[i].left == 6'd1;
      if (goes_on && state_q.candidates[i].left > 6'd1)
        state_d.candidates[i] = '{
            left: state_q.candidates[i].left - 6'd1,
            remainder: last[i],
            target: kept.candidates[i].target,
            groups: with_one(state_q.candidates[i].groups, adjacent)
        };
      else state_d.candidates[i] = '0;
    end

    // ---- what may begin one
    target = is_letter_q ? sum97(OfFirst[7'(state_q.letter)], OfSecond[letter_q])
        : sum97(head.target, head.length[0] ? OfFourth[digit]
            : OfThird[digit]);
    state_d.head = '0;
    state_d.letter = is_letter_q ? letter_q : '0;
    if (state_q.letter != '0 && is_letter_q)
      state_d.head = '{
          length: 2'd2,
          left: '0,
          target: target,
          groups: with_one(OneCharacter, adjacent)
      };
    goes_on = is_digit_q && is_regular(head.groups.closed, head.groups.room, adjacent);
    if (head.length == 2'd2 && goes_on)
      state_d.head = '{
          length: 2'd3,
          left: head.left,
          target: target,
          groups: with_one(head.groups, adjacent)
      };
    if (head.length == 2'd3 && goes_on) begin
      for (int unsigned i = 0; i < Candidates; i++) begin
        if (!placed && state_d.candidates[i].left == 6'd0) begin
          placed = 1'b1;
          state_d.candidates[i] = '{
              left: head.left,
              remainder: 7'd0,
              target: state_d.candidates[i].target,
              groups: with_one(head.groups, adjacent)
          };
          new_d[i] = 1'b1;
        end
      end
      over = !placed;
    end
    if (asked_q && state_d.head.length != 2'd0 && !(state_q.letter != '0 && is_letter_q))
      state_d.head.left = left_q.number;
    state_d.adjacent = 1'b1;

    if (!is_digit_q && !is_letter_q) begin
      {ends, over, new_d} = '0;
      state_d = kept;
      state_d.adjacent = 1'b0;
    end
  end

  // ---- what is found: whether a number ends well is compared a clock later
  logic over_q, found_d;
  logic [Candidates-1:0] ends_q;
  residue_t [Candidates-1:0] last_q, targets_q;
  always_comb begin
    found_d = over_q;
    for (int unsigned i = 0; i < Candidates; i++)
      found_d |= ends_q[i] && last_q[i] == targets_q[i];
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Candidates; i++) begin
      last_q[i] <= last[i];
      targets_q[i] <= kept.candidates[i].target;
    end
    if (rst_i) {ends_q, over_q, found_o} <= '0;
    else begin
      ends_q <= kind_q == ItemByte ? ends : '0;
      over_q <= kind_q == ItemByte && over;
      found_o <= found_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= '0;
      {asked_q, new_q, changed_o} <= '0;
    end else begin
      target_q <= target;
      new_q <= kind_q == ItemByte && !dead_i ? new_d : '0;
      changed_o <= asked_q && ^left_q;
      asked_q <= kind_q == ItemByte && !dead_i && is_letter_q && state_q.letter != '0;
      if (start_i) state_q <= state_i;
      else if (kind_q == ItemByte) state_q <= dead_i ? '0 : state_d;
      else state_q <= kept;
    end
  end
  always_comb begin
    state_o = state_q;
    state_o.gap = '0;
  end
endmodule
