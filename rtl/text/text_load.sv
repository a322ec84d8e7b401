// Reads the byte form of a lane's tables (host/lane, `tables.rs`), one byte per clock, and writes
// the memories of the scan.
//
// It refuses tables that the scan could not use: a state, class, row or length out of range, a part
// that is too large for the scan, and a reserved byte that is not 0. A refused byte and all bytes
// after it write nothing. Not checked: the flags of an engine's next states, which the scan does
// not read.
//
// A write happens in the clock of its byte and only while `locked_i` is low in that clock: there is
// no register between the lock and the memories. `clear_i` begins another load; it is ignored while
// locked.
//
// Latency: `tables_o` and `bad_o` one clock after a byte.
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

  localparam logic [7:0][7:0] Magic = "1ENALTCP";  // `PCTLANE1`, the first byte lowest.
  localparam logic [18:0] HeaderBytes = 19'd48;
  localparam logic [18:0] Letters = 19'd26;

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
  logic [18:0] at_q;      // Bytes of the part so far.
  logic [31:0] total_q;   // Bytes so far.
  logic [31:0] length_q;
  logic [7:0] low_q;      // The byte before.
  logic [3:0] part_q;
  logic [12:0] states_q;
  logic [6:0] classes_q;
  logic [2:0] shift_q;
  logic [4:0] ids_q;
  logic [8:0] rows_q;
  logic [PrefixStateBits:0] digits_q;
  logic [4:0] letter_q, letter2_q;
  logic [1:0] set_q;
  logic [PrefixStateBits-1:0] row_q;
  logic [2:0] ago_q;
  tables_t tables_q;

  logic accept, ok, last, is_unit, odd;
  logic [15:0] short;
  logic [17:0] entry;  // The entry of a row-major table that a pair of bytes is.
  logic [11:0] entry_state;
  logic [5:0] entry_class;
  assign accept = valid_i && !locked_i && !clear_i;
  assign short = {byte_i, low_q};
  assign odd = at_q[0];
  assign is_unit = part_q >= UnitCards;
  assign entry = at_q[18:1];
  assign entry_state = 12'(entry >> shift_q);
  assign entry_class = 6'(entry) & ~(6'h3f << shift_q);

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

  // ---- what a byte has to be, and whether it ends its part
  logic padded, part_ends;  // Padding follows; and then another automaton.
  logic [18:0] here;
  always_comb begin
    ok = 1'b1;
    last = 1'b0;
    next = StBad;
    padded = 1'b0;
    part_ends = 1'b0;
    here = at_q;
    unique case (state_q)
      StHeader: begin
        if (here < 19'd8) ok = byte_i == Magic[here[2:0]];
        if (here == 19'd12) ok = 32'(byte_i) <= Engines;
        if (here == 19'd13) ok = byte_i <= 8'd3;
        if (here == 19'd14 || here == 19'd15) ok = byte_i == 8'd0;
        // Without the unit for cards or accounts, its classes must be 0.
        if (here >= 19'd16 && here < 19'd32) ok = tables_q.cards || byte_i == 8'd0;
        if (here >= 19'd32) ok = tables_q.accounts || byte_i == 8'd0;
        last = here == HeaderBytes - 19'd1;
        part_ends = last;
      end
      StSizes: begin
        if (here == 19'd1)
          ok = short != 16'd0 && 32'(short) <= (is_unit ? 2 ** GapStateBits : States);
        if (here == 19'd3)
          ok = short != 16'd0 && 32'(short) <= (is_unit ? GapClasses : ByteClasses);
        if (here == 19'd5) ok = short == 16'(shift_of(classes_q));
        if (here > 19'd5) ok = byte_i == 8'd0;
        last = here == 19'd7;
        next = StMap;
      end
      StMap: begin
        ok = byte_i < 8'(classes_q);
        last = here == 19'd255;
        next = StNext;
      end
      StNext: begin
        if (odd) begin
          ok = !short[14] && !short[13] && !short[12] && 13'(short[11:0]) < states_q
              && !(is_unit && short[15]) && !(7'(entry_class) >= classes_q && short != 16'd0);
        end
        last = odd && 32'(entry) + 1 == 32'(states_q) << shift_q;
        padded = 1'b1;
        next = part_q == UnitCards ? StDigits : part_q == UnitAccounts ? StCountry : StReports;
      end
      StReports: begin
        if (here == 19'd1) ok = short <= 16'(EngineClasses);
        if (here == 19'd3) ok = short != 16'd0 && short <= 16'd256;
        if (here > 19'd3) ok = 5'(here - 19'd4) < ids_q ? byte_i < 8'd128 : byte_i == 8'hff;
        last = here == 19'd19;
        next = StRowOf;
      end
      StRowOf: begin
        ok = 9'(byte_i) < rows_q;
        last = here + 19'd1 == 19'(states_q);
        next = StRows;
      end
      StRows: begin
        if (odd) ok = (short >> ids_q) == 16'd0 && (row_q != '0 || short == 16'd0);
        last = odd && set_q == 2'd2 && 10'(row_q) + 10'd1 == 10'(rows_q);
        padded = 1'b1;
        part_ends = last;
      end
      StDigits: begin
        if (here == 19'd1) ok = short != 16'd0 && 32'(short) <= 2 ** PrefixStateBits;
        if (here > 19'd1) ok = byte_i == 8'd0;
        last = here == 19'd7;
        next = StPrefix;
      end
      StPrefix: begin
        if (odd) ok = short < 16'(digits_q);
        last = odd && entry[3:0] == 4'd15 && 14'(entry[17:4]) + 14'd1 == 14'(digits_q);
        next = StLengths;
      end
      StLengths: begin
        last = ago_q == 3'd5 && (PrefixStateBits+1)'(row_q) + 1'b1 == digits_q;
        padded = 1'b1;
        part_ends = last;
      end
      StCountry: begin
        ok = byte_i == 8'd0 || byte_i inside {[8'd5 : 8'd34]};
        last = here == Letters * Letters - 19'd1;
        padded = 1'b1;
        part_ends = last;
      end
      StPad: begin
        ok = byte_i == 8'd0;
        last = total_q[2:0] == 3'd7;
        next = then_q;
      end
      default: ok = 1'b0;
    endcase
    if (part_ends) next = next_state;
    // The first automaton follows the header.
    if (state_q == StHeader) begin
      next = StDone;
      if (tables_q.engines != 4'd0 || tables_q.cards || tables_q.accounts) next = StSizes;
    end
  end

  // ---- writes
  always_comb begin
    write_o = '0;
    write_o.valid = accept && ok;
    write_o.part = part_q;
    write_o.data = short;
    unique case (state_q)
      StMap: begin
        write_o.memory = MemMap;
        write_o.address = 18'(at_q);
        write_o.data = 16'(byte_i);
      end
      StNext: begin
        write_o.memory = MemNext;
        write_o.address = {entry_state, entry_class};
        if (!odd) write_o.valid = 1'b0;
      end
      StReports: begin
        write_o.memory = MemIds;
        write_o.address = 18'(at_q) - 18'd4;
        write_o.data = 16'(byte_i);
        if (at_q < 19'd4) write_o.valid = 1'b0;
      end
      StRowOf: begin
        write_o.memory = MemRowOf;
        write_o.address = 18'(at_q);
        write_o.data = 16'(byte_i);
      end
      StRows: begin
        write_o.memory = MemRow;
        write_o.address = 18'({row_q[7:0], set_q});
        if (!odd) write_o.valid = 1'b0;
      end
      StPrefix: begin
        write_o.memory = MemPrefix;
        write_o.address = entry;
        if (!odd) write_o.valid = 1'b0;
      end
      StLengths: begin
        write_o.memory = MemLengths;
        write_o.address = 18'({row_q, ago_q});
        write_o.data = 16'(byte_i);
      end
      StCountry: begin
        write_o.memory = MemCountry;
        write_o.address = 18'({letter_q, letter2_q});
        write_o.data = 16'(byte_i);
      end
      default: write_o.valid = 1'b0;
    endcase
  end

  // ---- counters
  always_ff @(posedge clk_i) begin
    if (rst_i || (clear_i && !locked_i)) begin
      {state_q, then_q} <= {StHeader, StBad};
      {at_q, total_q, length_q, low_q} <= '0;
      {part_q, states_q, classes_q, shift_q, ids_q, rows_q, digits_q} <= '0;
      {letter_q, letter2_q, set_q, row_q, ago_q} <= '0;
      tables_q <= '0;
    end else if (accept) begin
      low_q <= byte_i;
      total_q <= total_q + 32'd1;
      at_q <= at_q + 19'd1;
      if (state_q == StHeader) begin
        if (at_q[18:2] == 17'd2) length_q <= {byte_i, length_q[31:8]};
        if (at_q == 19'd12) tables_q.engines <= byte_i[3:0];
        if (at_q == 19'd13) {tables_q.accounts, tables_q.cards} <= byte_i[1:0];
        if (at_q >= 19'd16 && at_q < 19'd32)
          tables_q.card_classes <= {byte_i, tables_q.card_classes[127:8]};
        if (at_q >= 19'd32) tables_q.account_classes <= {byte_i, tables_q.account_classes[127:8]};
      end
      if (state_q == StSizes) begin
        if (at_q == 19'd1) states_q <= short[12:0];
        if (at_q == 19'd3) classes_q <= short[6:0];
        if (at_q == 19'd5) shift_q <= short[2:0];
      end
      if (state_q == StReports) begin
        if (at_q == 19'd1) ids_q <= short[4:0];
        if (at_q == 19'd3) rows_q <= short[8:0];
      end
      if (state_q == StDigits && at_q == 19'd1) digits_q <= short[PrefixStateBits:0];
      if (state_q == StRows && odd) begin
        set_q <= set_q == 2'd2 ? 2'd0 : set_q + 2'd1;
        if (set_q == 2'd2) row_q <= row_q + 1'b1;
      end
      if (state_q == StLengths) begin
        ago_q <= ago_q == 3'd5 ? 3'd0 : ago_q + 3'd1;
        if (ago_q == 3'd5) row_q <= row_q + 1'b1;
      end
      if (state_q == StCountry) begin
        letter2_q <= letter2_q == 5'd25 ? 5'd0 : letter2_q + 5'd1;
        if (letter2_q == 5'd25) letter_q <= letter_q + 5'd1;
      end
      if (last) begin
        at_q <= '0;
        {row_q, set_q, ago_q} <= '0;
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
    end
  end

  always_comb begin
    tables_o = tables_q;
    tables_o.complete = state_q == StDone && total_q == length_q;
  end
  assign bad_o = state_q == StBad || (state_q == StDone && total_q != length_q);

  always_ff @(posedge clk_i) begin
    if (!rst_i) `ASSERT(!(locked_i && write_o.valid), "text_load: a write while locked");
  end
endmodule
