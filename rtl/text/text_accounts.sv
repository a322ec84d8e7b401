// Account numbers (ISO 13616): remainders by 97 (ISO 7064) of up to eight numbers at once.
//
// The two letters of the country give the number of characters that follow. Together with the two
// check digits, they also give the remainder that these characters must leave. All groups of a
// number have the same size; only the last may be smaller. If a ninth number begins while eight are
// being read, it is reported as found.
//
// Latency: `state_o` and `found_o` one clock after an item.
// After reset: nothing is under way.
// Duties of the caller: no start and no write while an item is under way.
module text_accounts
  import text_pkg::*;
(
    input  logic                    clk_i,
    input  logic                    rst_i,
    input  table_write_t            write_i,  // Of this part.
    input  logic                    start_i,
    input  accounts_t               state_i,
    input  item_t                   item_i,
    input  logic [GapStateBits-1:0] gap_i,    // The automaton of gaps after a byte.
    output accounts_t               state_o,
    output logic                    found_o
);
  logic [5:0] lengths[1024];
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemCountry)
      lengths[write_i.address[9:0]] <= write_i.data[5:0];
  end

  typedef struct packed {
    logic    regular;
    groups_t groups;
  } grouped_t;

  // The groups with one more character.
  function automatic grouped_t with_one(groups_t groups, logic adjacent);
    grouped_t more;
    more.groups.first = adjacent || groups.first != 6'd0 ? groups.first : groups.size;
    more.groups.size = adjacent ? groups.size + 6'd1 : 6'd1;
    more.regular = (adjacent || groups.first == 6'd0 || groups.size == groups.first)
        && (more.groups.first == 6'd0 || more.groups.size <= more.groups.first);
    return more;
  endfunction

  // 64 i (mod 97): a division would be a long path.
  localparam logic [6:0] High97[32] = '{
    7'd0, 7'd64, 7'd31, 7'd95, 7'd62, 7'd29, 7'd93, 7'd60, 7'd27, 7'd91, 7'd58, 7'd25,
    7'd89, 7'd56, 7'd23, 7'd87, 7'd54, 7'd21, 7'd85, 7'd52, 7'd19, 7'd83, 7'd50, 7'd17,
    7'd81, 7'd48, 7'd15, 7'd79, 7'd46, 7'd13, 7'd77, 7'd44
  };
  function automatic logic [6:0] mod97(logic [10:0] value);
    logic [7:0] sum;
    sum = 8'(High97[value[10:6]]) + 8'(value[5:0]);
    return 7'(sum < 8'd97 ? sum : sum - 8'd97);
  endfunction

  // The remainder that the characters behind country and check digits must leave:
  // (1 - k) / 10^6 (mod 97); 10^4 is 9, 10^2 is 3, and the inverse of 10^6 is 18.
  // 18 (98 - k) (mod 97); no k is above 96.
  localparam logic [6:0] Target97[128] = '{
    7'd18, 7'd0, 7'd79, 7'd61, 7'd43, 7'd25, 7'd7, 7'd86, 7'd68, 7'd50, 7'd32, 7'd14,
    7'd93, 7'd75, 7'd57, 7'd39, 7'd21, 7'd3, 7'd82, 7'd64, 7'd46, 7'd28, 7'd10, 7'd89,
    7'd71, 7'd53, 7'd35, 7'd17, 7'd96, 7'd78, 7'd60, 7'd42, 7'd24, 7'd6, 7'd85, 7'd67,
    7'd49, 7'd31, 7'd13, 7'd92, 7'd74, 7'd56, 7'd38, 7'd20, 7'd2, 7'd81, 7'd63, 7'd45,
    7'd27, 7'd9, 7'd88, 7'd70, 7'd52, 7'd34, 7'd16, 7'd95, 7'd77, 7'd59, 7'd41, 7'd23,
    7'd5, 7'd84, 7'd66, 7'd48, 7'd30, 7'd12, 7'd91, 7'd73, 7'd55, 7'd37, 7'd19, 7'd1,
    7'd80, 7'd62, 7'd44, 7'd26, 7'd8, 7'd87, 7'd69, 7'd51, 7'd33, 7'd15, 7'd94, 7'd76,
    7'd58, 7'd40, 7'd22, 7'd4, 7'd83, 7'd65, 7'd47, 7'd29, 7'd11, 7'd90, 7'd72, 7'd54,
    7'd36, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0,
    7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0,
    7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0, 7'd0
  };
  function automatic logic [6:0] target(logic [2:0][5:0] head, logic [5:0] digit);
    logic [6:0] k;
    k = mod97(11'd9 * 11'(head[2]) + 11'd3 * 11'(head[1]) + 11'd10 * 11'(head[0]) + 11'(digit));
    return Target97[k];
  endfunction

  accounts_t state_q, base, state_d;
  logic is_digit, is_letter, dead, found_d, placed;
  logic [5:0] value, length;
  grouped_t more, head_more;
  logic [6:0] remainder;
  assign is_digit = item_i.data inside {[8'h30 : 8'h39]};
  assign is_letter = item_i.data inside {[8'h41 : 8'h5a], [8'h61 : 8'h7a]};
  assign value = is_digit ? 6'(item_i.data[3:0]) : 6'(item_i.data[4:0]) + 6'd9;
  assign dead = gap_i == '0;

  always_comb begin
    base = state_q.gap == '0 ? '0 : state_q;
    base.gap = gap_i;
    state_d = base;
    found_d = 1'b0;
    placed = 1'b0;
    more = '0;
    remainder = '0;
    length = lengths[{5'(base.head.values[2] - 6'd10), 5'(base.head.values[1] - 6'd10)}];
    head_more = with_one(base.head.groups, base.adjacent);
    state_d.adjacent = 1'b1;

    // ---- the numbers that are being read
    for (int unsigned i = 0; i < Candidates; i++) begin
      if (base.candidates[i].left != 6'd0) begin
        // 10^2 is 3.
        remainder = mod97(11'(base.candidates[i].remainder) * (is_digit ? 11'd10 : 11'd3)
            + 11'(value));
        more = with_one(base.candidates[i].groups, base.adjacent);
        state_d.candidates[i].left = base.candidates[i].left - 6'd1;
        state_d.candidates[i].remainder = remainder;
        state_d.candidates[i].groups = more.groups;
        if (!more.regular || base.candidates[i].left == 6'd1) state_d.candidates[i] = '0;
        if (more.regular && base.candidates[i].left == 6'd1)
          found_d |= remainder == base.candidates[i].target;
      end
    end

    // ---- what may begin one
    state_d.head = '0;
    state_d.letter = is_letter ? value : 6'd0;
    if (base.letter != 6'd0 && is_letter) begin
      more = with_one('{first: 6'd0, size: 6'd1}, base.adjacent);
      if (more.regular)
        state_d.head = '{length: 2'd2, values: {base.letter, value, 6'd0}, groups: more.groups};
    end
    if (base.head.length == 2'd2 && is_digit && head_more.regular && length > 6'd4)
      state_d.head = '{
          length: 2'd3,
          values: {base.head.values[2:1], value},
          groups: head_more.groups
      };
    if (base.head.length == 2'd3 && is_digit && head_more.regular) begin
      for (int unsigned i = 0; i < Candidates; i++) begin
        if (!placed && state_d.candidates[i].left == 6'd0) begin
          placed = 1'b1;
          state_d.candidates[i] = '{
              left: length - 6'd4,
              remainder: 7'd0,
              target: target(base.head.values, value),
              groups: head_more.groups
          };
        end
      end
      found_d |= !placed;
    end

    if (!is_digit && !is_letter) begin
      found_d = 1'b0;
      state_d = dead ? '0 : state_q;
      state_d.gap = gap_i;
      state_d.adjacent = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= '0;
      found_o <= 1'b0;
    end else begin
      found_o <= item_i.kind == ItemByte && found_d;
      if (start_i) state_q <= state_i;
      else if (item_i.kind == ItemByte) state_q <= state_d;
    end
  end
  assign state_o = state_q;
endmodule
