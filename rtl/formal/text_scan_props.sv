// What is proved of the scan, without bound. While locked, no word of any of its memories, no class
// of an engine's reports and nothing that is known of the tables changes, whatever is loaded,
// cleared or scanned. When nothing is under way and nothing starts, the state that is saved, the
// answer about UTF-8 and, while locked, the classes stay as they are. A start with a stream's
// state gives that state back, and a start of a new stream the state of its beginning.
//
// A write stores its entry, with the parity, at its place in its memory and part.
// A word that is written has an even number of ones, with its parity. If a scan reads a word that
// has an odd number of them, the change is reported in a fixed number of clocks, and stays reported
// while locked. A clear while nothing is under way ends the report.
//
// One engine of 4 states and 2 classes. A word is any one of each memory, watched for good.
// Assumed, as the module asks: a start only while not busy, no item beside it, and items only over
// tables that are complete and locked, until they are done. An entry that is written is in the
// range of its memory, and has its parity; the proof text_load shows both. The covers leave the
// loader free: text_load shows that tables become complete.
module text_scan_props
  import text_pkg::*;
#(
    localparam int unsigned ScanBits = StateBits + $bits(cards_t) + $bits(accounts_t)
) (
    input logic clk,
    input logic locked,
    input logic clear,
    input logic load_valid,
    input logic [7:0] load_byte,
    input logic start,
    input logic is_new,
    input logic [ScanBits-1:0] from,
    input item_t item
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic complete, bad, busy, utf8, changed;
  logic [ScanBits-1:0] state;
  logic [127:0] classes;
  text_scan #(
      .Engines(1),
      .States(4),
      .ByteClasses(2),
      .GapClasses(2)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .locked_i(locked),
      .clear_i(clear),
      .load_valid_i(load_valid),
      .load_byte_i(load_byte),
      .complete_o(complete),
      .bad_o(bad),
      .start_i(start),
      .new_i(is_new),
      .state_i(from),
      .item_i(item),
      .busy_o(busy),
      .state_o(state),
      .classes_o(classes),
      .utf8_o(utf8),
      .changed_o(changed)
  );

  logic scans;
  assign scans = start || item.kind != ItemNone || busy;
  always_comb begin
    if (start) assume (!busy && item.kind == ItemNone);
    if (scans && started) assume (complete && locked);
    assume (item.kind != item_e'(2'd3));
    if (dut.write.valid) begin
      assume (dut.write.parity == ^dut.write.data);
      case (dut.write.memory)
        MemMap: assume (dut.write.data < 16'd2);
        MemNext: assume (dut.write.data < (dut.write.part < UnitCards ? 16'd4 : 16'd256)
            && dut.write.word[3] == dut.write.data[11:0]);
        MemRowOf: assume (dut.write.data < 16'd256);
        MemRow: assume (dut.write.at < 8'd3);
        MemLengths: assume (dut.write.at < 8'd12 && dut.write.data < 16'd256);
        MemIds: assume (dut.write.data < 16'd128);
        MemPrefix: assume (dut.write.data < 16'd512);
        default: ;
      endcase
    end
  end

  // ---- a word of each memory
  logic [12:0] at;
  always_ff @(posedge clk) at <= at;
  logic [PrefixStateBits-1:0] prefix;
  logic [GapStateBits-1:0] cards_gap, accounts_gap;
  logic [1:0] next;
  for (genvar b = 0; b < PrefixStateBits; b++) begin : g_prefix
    assign prefix[b] = dut.u_cards.u_prefixes.g_narrow.g_part[0].g_bit[b].bits[at];
  end
  for (genvar b = 0; b < GapStateBits; b++) begin : g_gap
    assign cards_gap[b] = dut.u_cards_gap.u_next.g_narrow.g_part[0].g_bit[b].bits[at[8:0]];
    assign accounts_gap[b] = dut.u_accounts_gap.u_next.g_narrow.g_part[0].g_bit[b].bits[at[8:0]];
  end
  for (genvar b = 0; b < 2; b++) begin : g_next
    assign next[b]
        = dut.g_engine[0].u_engine.u_automaton.u_next.g_narrow.g_part[0].g_bit[b].bits[at[2:0]];
  end
  typedef logic [107:0] word_t;
  word_t [7:0] words, words_q;
  assign words = {
    word_t'(dut.g_engine[0].u_engine.u_automaton.map[at[7:0]]),
    word_t'({dut.g_engine[0].u_engine.u_automaton.u_next.g_narrow.parities[at[2:0]], next}),
    word_t'(dut.g_engine[0].u_engine.row_of[at[1:0]]),
    word_t'(dut.g_engine[0].u_engine.rows[at[7:0]]),
    word_t'({dut.u_cards.u_prefixes.g_narrow.parities[at], prefix}),
    word_t'(dut.u_cards.lengths[at[8:0]]),
    word_t'(dut.u_accounts.left[at[9:0]]),
    word_t'(dut.u_classes.ids[at[3:0]])
  };
  logic [3:0][8:0] gaps, gaps_q;
  assign gaps = {
    9'(dut.u_cards_gap.map[at[7:0]]),
    dut.u_cards_gap.u_next.g_narrow.parities[at[8:0]],
    cards_gap,
    9'(dut.u_accounts_gap.map[at[7:0]]),
    dut.u_accounts_gap.u_next.g_narrow.parities[at[8:0]],
    accounts_gap
  };

  // ---- parity: of the word of each memory; a part of it is written at a time in `rows` (a third)
  // and in `lengths` (a twelfth)
  logic [11:0] odd, odd_q;
  logic [2:0] third;
  logic [11:0] twelfth;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) odd[i] = ^words[i];
    for (int unsigned i = 0; i < 4; i++) odd[i+8] = ^gaps[i];
    for (int unsigned i = 0; i < 3; i++) third[i] = ^words[4][17*i+:17];
    for (int unsigned i = 0; i < 12; i++) twelfth[i] = ^words[2][9*i+:9];
  end
  logic [2:0] third_q;
  logic [11:0] twelfth_q;
  always_ff @(posedge clk) {odd_q, third_q, twelfth_q} <= {odd, third, twelfth};

  // Reads of the watched words, by the clocks until the report.
  logic one, two, two_q, three, four;
  logic [1:0] three_q;
  logic [2:0] four_q;
  logic takes, unused_engine;
  assign takes = dut.item.kind == ItemByte;
  assign unused_engine = dut.tables.engines == '0;
  always_comb begin
    one = odd[0] && dut.u_classes.busy_o
        && {dut.u_classes.engine, dut.u_classes.place} == 5'(at[3:0]);
    two = (odd[11] && takes && dut.tables.cards && dut.item.data == at[7:0])
        || (odd[9] && takes && dut.tables.accounts && dut.item.data == at[7:0])
        || (odd[1] && dut.u_accounts.kind_q == ItemByte && !dut.u_accounts.dead_i
            && dut.u_accounts.is_letter_q && dut.u_accounts.state_q.letter != '0
            && {dut.u_accounts.state_q.letter, dut.u_accounts.letter_q} == at[9:0]);
    three = (odd[2] && dut.u_cards.shift_q[0] && dut.u_cards.prefix == at[8:0])
        || (odd[10] && dut.u_cards_gap.u_next.read_i && !start
            && {dut.u_cards_gap.u_next.state_o, dut.u_cards_gap.u_next.class_i} == at[8:0])
        || (odd[8] && dut.u_accounts_gap.u_next.read_i && !start
            && {dut.u_accounts_gap.u_next.state_o, dut.u_accounts_gap.u_next.class_i} == at[8:0]);
    four = odd[3] && dut.u_cards.u_prefixes.read_i && !dut.u_cards.u_prefixes.start_i
        && {dut.u_cards.u_prefixes.state_o, dut.u_cards.u_prefixes.class_i} == at;
    if (!unused_engine) begin
      two |= odd[5] && dut.g_engine[0].u_engine.state_q == at[1:0]
          && (dut.g_engine[0].u_engine.kind_q[3] != ItemNone
              || dut.g_engine[0].u_engine.start_q[1]);
      three |= odd[4] && dut.g_engine[0].u_engine.row_q[8:1] == at[7:0]
          && (dut.g_engine[0].u_engine.kind_q[4] != ItemNone
              || dut.g_engine[0].u_engine.start_q[2]);
      three |= odd[7] && takes && dut.item.data == at[7:0];
      four |= odd[6] && dut.g_engine[0].u_engine.u_automaton.u_next.read_i && !start
          && {dut.g_engine[0].u_engine.u_automaton.u_next.state_o,
              dut.g_engine[0].u_engine.u_automaton.u_next.class_i} == at[2:0];
    end
  end
  logic due_q, was_changed_q, was_cleared_q, was_started_q;
  always_ff @(posedge clk) begin
    two_q <= !rst && two;
    three_q <= rst ? '0 : {three_q[0], three};
    four_q <= rst ? '0 : {four_q[1:0], four};
    due_q <= !rst && (one || two_q || three_q[1] || four_q[2]);
    was_changed_q <= !rst && changed && locked;
    was_cleared_q <= !rst && clear && !locked && !scans;
    was_started_q <= started;
  end

  tables_t tables_q;
  logic was_locked_q, was_idle_q, was_start_q, was_new_q, utf8_q;
  logic [ScanBits-1:0] state_q, from_q;
  logic [127:0] classes_q;
  always_ff @(posedge clk) begin
    words_q <= words;
    gaps_q <= gaps;
    tables_q <= dut.tables;
    was_locked_q <= !rst && locked;
    was_idle_q <= !rst && !scans;
    was_start_q <= !rst && start;
    was_new_q <= is_new;
    from_q <= from;
    state_q <= state;
    classes_q <= classes;
    utf8_q <= utf8;
  end

  // ---- a write: whether it is to the watched word of a memory, and what stands there then
  table_write_t write_q;
  logic engine_written, cards_written, accounts_written;
  logic [5:0] left;
  always_ff @(posedge clk) begin
    write_q <= dut.write;
    write_q.valid <= !rst && dut.write.valid;
  end
  assign engine_written = write_q.valid && write_q.part == 4'd0;
  assign cards_written = write_q.valid && write_q.part == UnitCards;
  assign accounts_written = write_q.valid && write_q.part == UnitAccounts;
  assign left = write_q.data == '0 ? 6'd0 : 6'(write_q.data - 16'd4);

  // The state of a stream's beginning: every field 0, but two bytes since the last digit.
  logic [ScanBits-1:0] beginning;
  always_comb begin
    beginning = '0;
    beginning[$bits(accounts_t)+1+:2] = 2'd2;
  end

  always_comb begin
    if (started) begin
      if (was_locked_q) assert (words == words_q && gaps == gaps_q && dut.tables == tables_q);
      if (was_idle_q) assert (state == state_q && utf8 == utf8_q);
      if (was_idle_q && was_locked_q) assert (classes == classes_q);
      if (was_start_q) begin
        // An engine and an automaton keep the states that they have; the tables hold no others.
        if (was_new_q) assert (state == beginning);
        else begin
          assert (state[ScanBits-StateBits-1:0] == from_q[ScanBits-StateBits-1:0]);
          assert (state[ScanBits-1-:StateBits] == (from_q[ScanBits-1-:StateBits] & 12'd3));
        end
        assert (classes == '0 && utf8);
      end

      if (due_q || was_changed_q) assert (changed);
      // No report is under way when nothing else is.
      if (!scans)
        assert (!(one || two || two_q || three || three_q != '0 || four || four_q != '0));
      if (was_cleared_q) assert (!changed);
      // A write stores its entry.
      case (write_q.memory)
        MemMap: if (write_q.at == at[7:0]) begin
          if (engine_written) assert (words[7] == word_t'({write_q.parity, write_q.data[0]}));
          if (cards_written) assert (gaps[3] == 9'({write_q.parity, write_q.data[0]}));
          if (accounts_written) assert (gaps[1] == 9'({write_q.parity, write_q.data[0]}));
        end
        MemNext: begin
          if (engine_written && {write_q.row[1:0], write_q.at[0]} == at[2:0])
            assert (words[6] == word_t'({write_q.parity, write_q.data[1:0]}));
          if (cards_written && {write_q.row[7:0], write_q.at[0]} == at[8:0])
            assert (gaps[2] == {write_q.parity, write_q.data[7:0]});
          if (accounts_written && {write_q.row[7:0], write_q.at[0]} == at[8:0])
            assert (gaps[0] == {write_q.parity, write_q.data[7:0]});
        end
        MemRowOf: if (engine_written && write_q.row[1:0] == at[1:0])
          assert (words[5] == word_t'({write_q.data[7:0], write_q.parity}));
        MemRow: if (engine_written && write_q.row[7:0] == at[7:0])
          assert (words[4][17*write_q.at[1:0]+:17] == {write_q.data, write_q.parity});
        MemIds: if (engine_written && 4'(write_q.at - 8'd4) == at[3:0])
          assert (words[0] == word_t'({write_q.parity, write_q.data[6:0]}));
        MemPrefix: if (cards_written && {write_q.row[8:0], write_q.at[3:0]} == at)
          assert (words[3] == word_t'({write_q.parity, write_q.data[8:0]}));
        MemLengths: if (cards_written && write_q.row[8:0] == at[8:0])
          assert (words[2][9*write_q.at[3:0]+:9] == {write_q.data[7:0], write_q.parity});
        MemCountry: if (accounts_written
            && {5'(write_q.row[4:0] + 5'd1), 5'(write_q.at[4:0] + 5'd1)} == at[9:0])
          assert (words[1] == word_t'({^left, left}));
        default: ;
      endcase
      // A write leaves no odd word, whatever stood there.
      for (int unsigned i = 0; i < 12; i++)
        if (!(i inside {2, 4}) && was_started_q) assert (!odd[i] || odd_q[i]);
      if (was_started_q) begin
        for (int unsigned i = 0; i < 3; i++) assert (!third[i] || third_q[i]);
        for (int unsigned i = 0; i < 12; i++) assert (!twelfth[i] || twelfth_q[i]);
      end

      // ---- not vacuous: words change before the lock; loads and clears are tried behind it, and
      // the scan goes on
      cover (!was_locked_q && words[7] != words_q[7]);
      cover (was_locked_q && complete && load_valid && clear && item.kind == ItemByte);
      cover (was_idle_q && complete && !utf8);
      cover (was_start_q && !was_new_q && state != '0);
      cover (two_q && changed);
      cover (four_q[2] && changed);
    end
  end
endmodule
