// Reads the byte form of a lane's tables (host/lane, `tables.rs`), one byte per clock, and writes
// the memories of the scan.
//
// It refuses tables that the scan could not use: a state, class, row or length out of range, a part
// that is too large for the scan, and a reserved byte that is not 0. A refused byte and all bytes
// after it write nothing. Not checked: the flags of an engine's next states, which the scan does
// not read.
//
// A write happens in the clock after its byte and only while `locked_i` is low in that clock: there
// is no register between the lock and the memories. While locked, a write waits, and tables with a
// write that waits are not complete. `clear_i` begins another load; it is ignored while locked.
//
// Latency: `bad_o` one clock after a byte, `tables_o` two.
// After reset: the tables are not complete.
`include "assert.svh"

module text_load
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,       // 1 to 8.
    parameter int unsigned States = 4096,     // Of an engine; power of two, 2 to 4096.
    parameter int unsigned ByteClasses = 64,  // Of an engine; power of two, 2 to 64.
    parameter int unsigned GapClasses = 64    // Of an automaton of gaps; as ByteClasses.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         locked_i,
    input  logic         clear_i,
    input  logic         valid_i,
    input  logic [7:0]   byte_i,
    output table_write_t write_o,
    output tables_t      tables_o,
    output logic         bad_o      // The bytes so far are not the beginning of such tables.
);
  if (Engines < 1 || Engines > 8) begin : g_engines
    $fatal(1, "text_load: Engines must be 1 to 8");
  end

  localparam logic [7:0][7:0] Magic = "2ENALTCP";  // `PCTLANE2`, the first byte lowest.
  localparam int unsigned Letters = 26;

  typedef enum logic [3:0] {
    StHeader,   // Of the tables.
    StSizes,    // Of an automaton.
    StMap,
    StNext,
    StReports,  // Sizes and classes of an engine's reports.
    StRowOf,
    StRows,
    StDigits,   // States of the automaton of first digits.
    StPrefix,
    StLengths,
    StCountry,
    StPad,
    StDone,
    StBad
  } state_e;

  state_e state_q, next, then_q;
  logic [TotalBits-1:0] total_q;  // Bytes so far.
  logic [31:0] length_q;          // Below 2^TotalBits: no tables are longer.
  logic [7:0] low_q;              // The byte before.
  logic [3:0] part_q;
  logic [12:0] states_q;
  logic [6:0] classes_q;
  logic [2:0] shift_q;
  logic [4:0] ids_q;
  logic [8:0] rows_q;
  logic [PrefixStateBits:0] digits_q;
  tables_t tables_q;

  // A part is a table of rows; what is not a table is one row. An entry has one byte or two.
  logic [11:0] row_q;
  logic [7:0] at_q;  // In the row.
  logic second_q;    // The byte is the second of its entry.

  logic accept, ok, last, is_unit;
  logic [15:0] short;
  assign accept = valid_i && !locked_i && !clear_i;
  assign short = {byte_i, low_q};
  assign is_unit = part_q >= UnitCards;

  function automatic logic [2:0] shift_of(logic [6:0] classes);
    logic [2:0] shift;
    shift = 3'd0;
    for (int unsigned i = 0; i < 6; i++) if (classes > 7'(1 << i)) shift = 3'(i + 1);
    return shift;
  endfunction

  // ---- the part behind the one that is read, once that is whole
  logic [3:0] next_part;
  state_e next_state;
  always_comb begin
    next_state = StSizes;
    if (32'(part_q) + 1 < 32'(tables_q.engines)) next_part = part_q + 4'd1;
    else if (part_q < UnitCards && tables_q.cards) next_part = UnitCards;
    else if (part_q != UnitAccounts && tables_q.accounts) next_part = UnitAccounts;
    else begin
      next_part = part_q;
      next_state = StDone;
    end
  end

  // ---- the size of a part, and what follows
  logic pairs;          // Entries of two bytes.
  logic [7:0] last_at;
  logic [12:0] rows;
  logic padded;         // Padding follows;
  logic part_ends;      // and then another automaton.
  always_comb begin
    pairs = 1'b0;
    last_at = 8'd0;
    rows = 13'd1;
    next = StBad;
    {padded, part_ends} = '0;
    unique case (state_q)
      StHeader: begin
        last_at = 8'd47;
        // The first automaton follows.
        next = StDone;
        if (tables_q.engines != 4'd0 || tables_q.cards || tables_q.accounts) next = StSizes;
      end
      StSizes: {last_at, next} = {8'd7, StMap};
      StMap: {last_at, next} = {8'd255, StNext};
      StNext: begin
        {pairs, padded} = '1;
        last_at = (8'd1 << shift_q) - 8'd1;
        rows = states_q;
        next = part_q == UnitCards ? StDigits : part_q == UnitAccounts ? StCountry : StReports;
      end
      StReports: {last_at, next} = {8'd19, StRowOf};
      StRowOf: {rows, next} = {states_q, StRows};
      StRows: begin
        {pairs, padded, part_ends} = '1;
        last_at = 8'd2;
        rows = 13'(rows_q);
      end
      StDigits: {last_at, next} = {8'd7, StPrefix};
      StPrefix: begin
        pairs = 1'b1;
        last_at = 8'd15;
        rows = 13'(digits_q);
        next = StLengths;
      end
      StLengths: begin
        {padded, part_ends} = '1;
        last_at = 8'd11;
        rows = 13'(digits_q);
      end
      StCountry: begin
        {padded, part_ends} = '1;
        last_at = 8'(Letters - 1);
        rows = 13'(Letters);
      end
      StPad: next = then_q;
      default: ;
    endcase
    if (part_ends) next = next_state;
  end

  logic whole, row_ends;
  assign whole = !pairs || second_q;
  assign row_ends = at_q == last_at;
  assign last = state_q == StPad ? total_q[2:0] == 3'd7
      : whole && row_ends && 13'(row_q) + 13'd1 == rows;

  // ---- what a byte has to be
  always_comb begin
    ok = 1'b1;
    unique case (state_q)
      StHeader: begin
        if (at_q < 8'd8) ok = byte_i == Magic[at_q[2:0]];
        if (at_q == 8'd11) ok = 32'({byte_i, length_q[31:8]}) >> TotalBits == '0;
        if (at_q == 8'd12) ok = 32'(byte_i) <= Engines;
        if (at_q == 8'd13) ok = byte_i <= 8'd3;
        if (at_q == 8'd14 || at_q == 8'd15) ok = byte_i == 8'd0;
        // Without the unit for cards or accounts, its classes must be 0.
        if (at_q >= 8'd16 && at_q < 8'd32) ok = tables_q.cards || byte_i == 8'd0;
        if (at_q >= 8'd32) ok = tables_q.accounts || byte_i == 8'd0;
      end
      StSizes: begin
        if (at_q == 8'd1)
          ok = short != 16'd0 && 32'(short) <= (is_unit ? 2 ** GapStateBits : States);
        if (at_q == 8'd3)
          ok = short != 16'd0 && 32'(short) <= (is_unit ? GapClasses : ByteClasses);
        if (at_q == 8'd5) ok = short == 16'(shift_of(classes_q));
        if (at_q > 8'd5) ok = byte_i == 8'd0;
      end
      StMap: ok = byte_i < 8'(classes_q);
      StNext:
        if (second_q)
          ok = !short[14] && !short[13] && !short[12] && 13'(short[11:0]) < states_q
              && !(is_unit && short[15]) && !(at_q >= 8'(classes_q) && short != 16'd0);
      StReports: begin
        if (at_q == 8'd1) ok = short <= 16'(EngineClasses);
        if (at_q == 8'd3) ok = short != 16'd0 && short <= 16'd256;
        if (at_q > 8'd3) ok = at_q - 8'd4 < 8'(ids_q) ? byte_i < 8'd128 : byte_i == 8'hff;
      end
      StRowOf: ok = 9'(byte_i) < rows_q;
      StRows:
        if (second_q) ok = (short >> ids_q) == 16'd0 && (row_q != '0 || short == 16'd0);
      StDigits: begin
        if (at_q == 8'd1) ok = short != 16'd0 && 32'(short) <= 2 ** PrefixStateBits;
        if (at_q > 8'd1) ok = byte_i == 8'd0;
      end
      StPrefix: if (second_q) ok = short < 16'(digits_q);
      StLengths: ;
      StCountry: ok = byte_i == 8'd0 || byte_i inside {[8'd5 : 8'd34]};
      StPad: ok = byte_i == 8'd0;
      default: ok = 1'b0;
    endcase
  end

  // ---- writes
  table_write_t write_d, write_q;
  always_comb begin
    write_o = write_q;
    write_o.valid = write_q.valid && !locked_i;
  end
  logic [2:0][StateBits-1:0] earlier_q;  // Next states by the two lowest bits of their class.
  logic earlier_parity_q;                // Of those in the same word.
  always_comb begin
    write_d = '0;
    write_d.part = part_q;
    write_d.row = row_q;
    write_d.at = at_q;
    write_d.data = pairs ? short : 16'(byte_i);
    // The flags of a next state are not kept.
    if (state_q == StNext) write_d.data[15:12] = '0;
    write_d.parity = ^write_d.data;
    for (int unsigned i = 0; i < 4; i++)
      write_d.word[i] = i < 3 && at_q[1:0] > 2'(i) ? earlier_q[i%3] : short[StateBits-1:0];
    // The new state stands in the word an odd number of times if the place of its class is odd.
    write_d.word_parity = (at_q[1:0] != '0 && earlier_parity_q) ^ (at_q[0] && write_d.parity);
    write_d.valid = ok && whole;
    unique case (state_q)
      StMap: write_d.memory = MemMap;
      StNext: write_d.memory = MemNext;
      StReports: begin
        write_d.memory = MemIds;
        if (at_q < 8'd4) write_d.valid = 1'b0;
      end
      StRowOf: write_d.memory = MemRowOf;
      StRows: write_d.memory = MemRow;
      StPrefix: write_d.memory = MemPrefix;
      StLengths: write_d.memory = MemLengths;
      StCountry: write_d.memory = MemCountry;
      default: write_d.valid = 1'b0;
    endcase
  end

  // ---- counters
  always_ff @(posedge clk_i) begin
    if (rst_i || (clear_i && !locked_i)) begin
      {state_q, then_q} <= {StHeader, StBad};
      {row_q, at_q, second_q, total_q, length_q, low_q} <= '0;
      {part_q, states_q, classes_q, shift_q, ids_q, rows_q, digits_q} <= '0;
      {earlier_q, earlier_parity_q} <= '0;
      tables_q <= '0;
      write_q.valid <= 1'b0;
    end else if (accept) begin
      low_q <= byte_i;
      total_q <= total_q + 1'b1;
      second_q <= pairs && !second_q;
      if (whole) begin
        at_q <= row_ends ? '0 : at_q + 8'd1;
        if (row_ends) row_q <= row_q + 12'd1;
      end
      if (state_q == StHeader) begin
        if (at_q[7:2] == 6'd2) length_q <= {byte_i, length_q[31:8]};
        if (at_q == 8'd12) tables_q.engines <= byte_i[3:0];
        if (at_q == 8'd13) {tables_q.accounts, tables_q.cards} <= byte_i[1:0];
        if (at_q >= 8'd16 && at_q < 8'd32)
          tables_q.card_classes <= {byte_i, tables_q.card_classes[127:8]};
        if (at_q >= 8'd32) tables_q.account_classes <= {byte_i, tables_q.account_classes[127:8]};
      end
      if (state_q == StSizes) begin
        if (at_q == 8'd1) states_q <= short[12:0];
        if (at_q == 8'd3) classes_q <= short[6:0];
        if (at_q == 8'd5) shift_q <= short[2:0];
      end
      if (state_q == StNext && second_q) begin
        earlier_parity_q <= write_d.parity ^ (at_q[1:0] != '0 && earlier_parity_q);
        for (int unsigned i = 0; i < 3; i++)
          if (at_q[1:0] == 2'(i)) earlier_q[i] <= short[StateBits-1:0];
      end
      if (state_q == StReports) begin
        if (at_q == 8'd1) ids_q <= short[4:0];
        if (at_q == 8'd3) rows_q <= short[8:0];
      end
      if (state_q == StDigits && at_q == 8'd1) digits_q <= short[PrefixStateBits:0];
      if (last) begin
        {row_q, at_q} <= '0;
        state_q <= next;
        if (padded && total_q[2:0] != 3'd7) begin
          state_q <= StPad;
          then_q <= next;
        end
        if (state_q == StHeader) begin
          part_q <= tables_q.engines != 4'd0 ? 4'd0 : tables_q.cards ? UnitCards : UnitAccounts;
        end else if (part_ends) part_q <= next_part;
      end
      if (!ok) state_q <= StBad;
      write_q <= write_d;
    end else if (!locked_i) write_q.valid <= 1'b0;
  end

  always_comb begin
    tables_o = tables_q;
    tables_o.complete = state_q == StDone && total_q == length_q[TotalBits-1:0] && !write_q.valid;
  end
  assign bad_o = state_q == StBad || (state_q == StDone && total_q != length_q[TotalBits-1:0]);

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT(!(locked_i && write_o.valid), "text_load: a write while locked");
  end
endmodule
