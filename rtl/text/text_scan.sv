// Scans the bytes of entries for the classes of the tables, one byte a clock: the engines and the
// units side by side, and whether the bytes are UTF-8.
//
// An entry is a start, which says where its stream stands, its bytes, and an end. When nothing is
// under way, `state_o`, `classes_o` and `utf8_o` are those of the items so far. They are the same
// as those of the host's walk (host/lane, `walk.rs`).
//
// `changed_o` rises when an entry of a memory is read that does not have its parity: the memory has
// changed since the load. It is high at the latest when nothing is under way, and stays until other
// tables are loaded. Any odd number of changed bits of a word is found when a scan reads the word.
//
// Latency: `busy_o` falls at most eight clocks after an item when nothing was found.
// After reset: the tables are not complete, and nothing is under way.
// The caller owes: a start only while not busy, and tables that are complete and locked from then
// to the end of the entry; no item in the clock of a start.
`include "assert.svh"

module text_scan
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,       // 1 to 8.
    parameter int unsigned States = 4096,     // Of an engine; power of two, 2 to 4096.
    parameter int unsigned ByteClasses = 64,  // Of an engine; power of two, 2 to 64.
    parameter int unsigned GapClasses = 64,   // Of an automaton of gaps; as ByteClasses.
    localparam int unsigned ScanBits = Engines * StateBits + $bits(cards_t) + $bits(accounts_t)
) (
    input  logic                clk_i,
    input  logic                rst_i,
    // Tables.
    input  logic                locked_i,
    input  logic                clear_i,
    input  logic                load_valid_i,
    input  logic [7:0]          load_byte_i,
    output logic                complete_o,
    output logic                bad_o,
    // Entries.
    input  logic                start_i,
    input  logic                new_i,       // The stream is new: `state_i` does not count.
    input  logic [ScanBits-1:0] state_i,
    input  item_t               item_i,
    output logic                busy_o,
    output logic [ScanBits-1:0] state_o,
    output logic [127:0]        classes_o,
    output logic                utf8_o,
    output logic                changed_o
);
  localparam int unsigned Depth = 8;

  table_write_t write;
  tables_t tables;
  text_load #(
      .Engines(Engines),
      .States(States),
      .ByteClasses(ByteClasses),
      .GapClasses(GapClasses)
  ) u_load (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .locked_i(locked_i),
      .clear_i(clear_i),
      .valid_i(load_valid_i),
      .byte_i(load_byte_i),
      .write_o(write),
      .tables_o(tables),
      .bad_o(bad_o)
  );
  assign complete_o = tables.complete;

  logic [Engines-1:0][StateBits-1:0] engines_start, engines_state;
  logic [GapStateBits-1:0] cards_gap, accounts_gap;
  cards_t cards_from, cards_state;
  accounts_t accounts_from, accounts_state;
  always_comb begin
    {engines_start, cards_from, accounts_from} = state_i;
    if (new_i) begin
      engines_start = '0;
      cards_from = cards_start();
      accounts_from = '0;
    end
  end
  cards_t cards_now;
  accounts_t accounts_now;
  always_comb begin
    cards_now = cards_state;
    cards_now.gap = cards_gap;
    accounts_now = accounts_state;
    accounts_now.gap = accounts_gap;
  end
  assign state_o = {engines_state, cards_now, accounts_now};

  // Nothing ends in an entry without bytes.
  item_t item;
  logic any_q;
  always_comb begin
    item = item_i;
    if (item_i.kind == ItemEnd && !any_q) item.kind = ItemNone;
  end

  // The items beside the ends of gaps, which stand four clocks after them: the states of their
  // automata three clocks, and one clock for the path from there to the units. The unit of account
  // numbers takes its items a clock earlier.
  item_t [3:0] items_q;
  logic [Depth-1:0] under_way_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      any_q <= 1'b0;
      items_q <= '0;
      under_way_q <= '0;
    end else begin
      if (start_i) any_q <= 1'b0;
      else if (item.kind == ItemByte) any_q <= 1'b1;
      items_q <= {items_q[2:0], item};
      under_way_q <= {under_way_q[Depth-2:0], start_i || item.kind != ItemNone};
    end
  end

  // ---- engines
  logic [Engines-1:0][EngineClasses-1:0] found;
  logic [Engines-1:0] engines_changed;
  for (genvar e = 0; e < Engines; e++) begin : g_engine
    table_write_t engine_write;
    item_t engine_item;
    logic engine_changed;
    always_comb begin
      engine_write = write;
      engine_write.valid = write.valid && 32'(write.part) == e;
      engine_item = item;
      if (32'(tables.engines) <= e) engine_item.kind = ItemNone;
    end
    text_engine #(
        .States(States),
        .ByteClasses(ByteClasses)
    ) u_engine (
        .clk_i(clk_i),
        .rst_i(rst_i),
        .write_i(engine_write),
        .start_i(start_i),
        .state_i(engines_start[e]),
        .item_i(engine_item),
        .state_o(engines_state[e]),
        .found_o(found[e]),
        .changed_o(engine_changed)
    );
    // An engine without tables starts too, and reads what was never written.
    assign engines_changed[e] = engine_changed && 32'(tables.engines) > e;
  end

  // ---- units
  table_write_t cards_write, accounts_write;
  item_t cards_item, accounts_item;
  logic cards_dead_q, accounts_dead_q, cards_found, accounts_found;
  logic cards_gap_changed, accounts_gap_changed, cards_changed, accounts_changed;
  always_ff @(posedge clk_i) begin
    cards_dead_q <= cards_gap == '0;
    accounts_dead_q <= accounts_gap == '0;
  end
  always_comb begin
    cards_write = write;
    cards_write.valid = write.valid && write.part == UnitCards;
    accounts_write = write;
    accounts_write.valid = write.valid && write.part == UnitAccounts;
    cards_item = items_q[3];
    if (!tables.cards) cards_item.kind = ItemNone;
    accounts_item = items_q[2];
    if (!tables.accounts) accounts_item.kind = ItemNone;
  end

  text_automaton #(
      .States(2 ** GapStateBits),
      .ByteClasses(GapClasses)
  ) u_cards_gap (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(cards_write),
      .start_i(start_i),
      .state_i(cards_from.gap),
      .valid_i(item.kind == ItemByte && tables.cards),
      .byte_i(item.data),
      .state_o(cards_gap),
      .changed_o(cards_gap_changed)
  );
  text_cards u_cards (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(cards_write),
      .start_i(start_i),
      .state_i(cards_from),
      .item_i(cards_item),
      .dead_i(cards_dead_q),
      .state_o(cards_state),
      .found_o(cards_found),
      .changed_o(cards_changed)
  );

  text_automaton #(
      .States(2 ** GapStateBits),
      .ByteClasses(GapClasses)
  ) u_accounts_gap (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(accounts_write),
      .start_i(start_i),
      .state_i(accounts_from.gap),
      .valid_i(item.kind == ItemByte && tables.accounts),
      .byte_i(item.data),
      .state_o(accounts_gap),
      .changed_o(accounts_gap_changed)
  );
  text_accounts u_accounts (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(accounts_write),
      .start_i(start_i),
      .state_i(accounts_from),
      .item_i(accounts_item),
      .dead_i(accounts_dead_q),
      .state_o(accounts_state),
      .found_o(accounts_found),
      .changed_o(accounts_changed)
  );

  text_utf8 u_utf8 (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .start_i(start_i),
      .item_i(item),
      .whole_o(utf8_o)
  );

  // ---- what was found
  logic classes_busy, classes_changed;
  text_classes #(
      .Engines(Engines)
  ) u_classes (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .write_i(write),
      .card_classes_i(tables.card_classes),
      .account_classes_i(tables.account_classes),
      .start_i(start_i),
      .found_i(found),
      .cards_i(cards_found),
      .accounts_i(accounts_found),
      .classes_o(classes_o),
      .busy_o(classes_busy),
      .changed_o(classes_changed)
  );
  assign busy_o = under_way_q != '0 || classes_busy;

  // ---- parity
  logic changed_q, changed;
  assign changed = engines_changed != '0 || cards_gap_changed || accounts_gap_changed
      || cards_changed || accounts_changed || classes_changed;
  assign changed_o = changed_q || changed;
  always_ff @(posedge clk_i) begin
    if (rst_i || (clear_i && !locked_i)) changed_q <= 1'b0;
    else if (changed) changed_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(start_i && busy_o), "text_scan: a start while an item is under way");
      `ASSERT(!(start_i && item_i.kind != ItemNone), "text_scan: an item beside a start");
      `ASSERT(
          !((start_i || item_i.kind != ItemNone || busy_o) && !(complete_o && locked_i)),
          "text_scan: a scan without tables that are complete and locked");
    end
  end
endmodule
