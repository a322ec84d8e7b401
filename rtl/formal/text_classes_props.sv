// What is proved of the classes that were found, without bound. When nothing waits to be looked up,
// the classes are exactly those of the bits that the engines have found since the start, by the
// table, and those of each unit that has found something. One bit is looked up per clock, so
// `busy_o` falls. A start leaves no class. An entry of the table changes only by a write to it. A
// report of a changed entry comes one clock after such an entry was looked up, and at no other
// time.
//
// Two engines. One arbitrary bit of an engine and one arbitrary class are watched. Assumed, as the
// module asks: a start and a write only while nothing is under way. The classes are compared until
// the next write of the table.
module text_classes_props
  import text_pkg::*;
(
    input logic clk,
    input table_write_t write,
    input logic [127:0] card_classes,
    input logic [127:0] account_classes,
    input logic start,
    input logic [1:0][EngineClasses-1:0] found,
    input logic cards,
    input logic accounts
);
  localparam int unsigned Engines = 2;
  typedef logic [Engines-1:0][EngineClasses-1:0] bits_t;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic [127:0] classes;
  logic busy, changed, writes;
  text_classes #(
      .Engines(Engines)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .write_i(write),
      .card_classes_i(card_classes),
      .account_classes_i(account_classes),
      .start_i(start),
      .found_i(found),
      .cards_i(cards),
      .accounts_i(accounts),
      .classes_o(classes),
      .busy_o(busy),
      .changed_o(changed)
  );
  assign writes = write.valid && write.memory == MemIds;
  always_comb begin
    if (start || write.valid) assume (!busy && found == '0 && !cards && !accounts);
    if (writes) assume (32'(write.part) < Engines && write.at >= 8'd4 && write.at < 8'd20);
  end

  // ---- what was found since the start, and whether the table is still that of the start
  bits_t found_q;
  logic cards_q, accounts_q, same_table_q;
  always_ff @(posedge clk) begin
    if (rst || start) {found_q, cards_q, accounts_q} <= '0;
    else begin
      found_q <= found_q | found;
      cards_q <= cards_q || cards;
      accounts_q <= accounts_q || accounts;
    end
    same_table_q <= rst || start || (same_table_q && !writes);
  end

  // ---- a bit of an engine, its entry, and a class
  logic [4:0] bit_at;
  logic [6:0] class_at;
  always_ff @(posedge clk) {bit_at, class_at} <= {bit_at, class_at};
  logic [7:0] entry, entry_q, data_q;
  logic is_found, is_waiting, class_is_found, writes_it, written_q;
  logic engine_finds;  // A bit of this class.
  assign entry = dut.ids[bit_at];
  assign is_found = found_q[bit_at[4]][bit_at[3:0]];
  assign is_waiting = dut.waits_q[bit_at[4]][bit_at[3:0]];
  assign writes_it = writes && {write.part[0], 4'(write.at - 8'd4)} == bit_at;
  always_comb begin
    engine_finds = 1'b0;
    for (int unsigned i = 0; i < 32; i++)
      if (found_q[i/16][i%16] && dut.ids[i].number == class_at) engine_finds = 1'b1;
    class_is_found = engine_finds || (cards_q && card_classes[class_at])
        || (accounts_q && account_classes[class_at]);
  end

  // The lowest bit of the lowest engine is looked up.
  logic looks_up, odd_q, was_started_q, was_cleared_q, was_quiet_q;
  logic [4:0] lowest;
  bits_t waits_q;
  always_comb begin
    lowest = '0;
    for (int i = 31; i >= 0; i--) if (dut.waits_q[i/16][i%16]) lowest = 5'(i);
    looks_up = busy && lowest == bit_at;
  end
  logic looked_up_q, other_odd_q;
  always_ff @(posedge clk) begin
    was_started_q <= started;
    was_cleared_q <= rst || start;
    was_quiet_q <= !rst && found == '0;
    waits_q <= dut.waits_q;
    entry_q <= entry;
    data_q <= {write.parity, write.data[6:0]};
    written_q <= writes_it;
    looked_up_q <= !rst && looks_up;
    odd_q <= ^entry;
    other_odd_q <= !rst && busy && ^dut.ids[lowest];
  end

  always_comb begin
    if (started && was_started_q) begin
      // ---- the claims
      if (was_cleared_q) assert (classes == '0 && !busy);
      if (same_table_q && !busy && is_found) assert (classes[entry[6:0]]);
      if (same_table_q && classes[class_at]) assert (class_is_found);
      if (cards_q) assert ((classes & card_classes) == card_classes);
      if (accounts_q) assert ((classes & account_classes) == account_classes);
      if (was_quiet_q && !was_cleared_q && waits_q != '0)
        assert (dut.waits_q == (waits_q & (waits_q - 32'd1)));
      assert (entry == (written_q ? data_q : entry_q));
      if (looked_up_q) assert (changed == odd_q);
      assert (changed == other_odd_q);

      // ---- what the induction needs
      if (same_table_q && dut.engine_classes_q[class_at]) assert (engine_finds);
      if (same_table_q && is_found && !is_waiting)
        assert (dut.engine_classes_q[entry[6:0]]);
      assert ((dut.waits_q & ~found_q) == '0);
      assert (dut.cards_q == cards_q && dut.accounts_q == accounts_q);

      // ---- not vacuous
      cover (same_table_q && !busy && is_found && entry[6:0] == 7'd77 && !cards_q);
      cover (changed && waits_q[1] == 16'h8000 && waits_q[0] == '0);
      cover (cards_q && accounts_q && classes[class_at] && !card_classes[class_at]
          && !account_classes[class_at]);
    end
  end
endmodule
