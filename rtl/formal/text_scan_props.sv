// What is proved of the scan, without bound. While locked, no word of any of its memories, no class
// of an engine's reports and nothing that is known of the tables changes, whatever is loaded,
// cleared or scanned. When nothing is under way and nothing starts, the state that is saved, the
// answer about UTF-8 and, while locked, the classes stay as they are. A start with a stream's
// state gives that state back, and a start of a new stream the state of its beginning.
//
// One engine of 4 states and 2 classes. A word is any one of each memory, watched for good.
// Assumed, as the module asks: a start only while not busy, no item beside it, and items only over
// tables that are complete and locked, until they are done. The covers leave the loader free:
// text_load shows that tables become complete.
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

  logic complete, bad, busy, utf8;
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
      .utf8_o(utf8)
  );

  logic scans;
  assign scans = start || item.kind != ItemNone || busy;
  always_comb begin
    if (start) assume (!busy && item.kind == ItemNone);
    if (scans && started) assume (complete && locked);
    assume (item.kind != item_e'(2'd3));
  end

  // ---- a word of each memory
  logic [12:0] at;
  always_ff @(posedge clk) at <= at;
  logic [3:0][PrefixStateBits-1:0] prefixes;
  assign prefixes = {
    dut.u_cards.u_prefixes.g_bank[3].g_narrow.next[at[10:0]],
    dut.u_cards.u_prefixes.g_bank[2].g_narrow.next[at[10:0]],
    dut.u_cards.u_prefixes.g_bank[1].g_narrow.next[at[10:0]],
    dut.u_cards.u_prefixes.g_bank[0].g_narrow.next[at[10:0]]
  };
  logic [7:0][47:0] words, words_q;
  assign words = {
    48'(dut.g_engine[0].u_engine.u_automaton.map[at[7:0]]),
    48'(dut.g_engine[0].u_engine.u_automaton.u_next.g_bank[0].g_narrow.next[at[2:0]]),
    48'(dut.g_engine[0].u_engine.row_of[at[1:0]]),
    48'(dut.g_engine[0].u_engine.rows[at[7:0]]),
    48'(prefixes[at[12:11]]),
    48'(dut.u_cards.lengths[at[8:0]]),
    48'(dut.u_accounts.left[at[9:0]]),
    48'(dut.u_classes.ids[at[3:0]])
  };
  logic [3:0][7:0] gaps, gaps_q;
  assign gaps = {
    8'(dut.u_cards_gap.map[at[7:0]]),
    dut.u_cards_gap.u_next.g_bank[0].g_narrow.next[at[8:0]],
    8'(dut.u_accounts_gap.map[at[7:0]]),
    dut.u_accounts_gap.u_next.g_bank[0].g_narrow.next[at[8:0]]
  };

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

      // ---- not vacuous: words change before the lock; loads and clears are tried behind it, and
      // the scan goes on
      cover (!was_locked_q && words[7] != words_q[7]);
      cover (was_locked_q && complete && load_valid && clear && item.kind == ItemByte);
      cover (was_idle_q && complete && !utf8);
      cover (was_start_q && !was_new_q && state != '0);
    end
  end
endmodule
