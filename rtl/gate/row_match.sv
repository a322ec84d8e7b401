// Compares a row with an entry: one bit for each condition of the row. The row matches if all bits
// are set. An empty row, or a row of an unknown kind, never matches. Combinational.
//
// The columns and their places come from the layout (`layout_pkg`), in the layout's order.
//
// It is a module and not a function, because a simulator copies a function's arguments in every
// clock.
module row_match
  import layout_pkg::*;
  import gate_pkg::*;
(
    input  row_t        row_i,
    input  descriptor_t desc_i,
    output conditions_t conditions_o
);
  logic [FlagColumns+QuantitySlots-1:0] bits;
  always_comb begin
    conditions_o.kind = row_i.kind == RowKindPermit || row_i.kind == RowKindForbidReject
        || row_i.kind == RowKindForbidDecompose;
    for (int unsigned i = 0; i < EnumerationColumns; i++)
      conditions_o.enumerations[i] = allowed(
          row_i[EnumerationRowAt[RowAtWidth*i+:RowAtWidth]+:32] & EnumerationMasks[32*i+:32],
          desc_i[EnumerationEntryAt[EntryAtWidth*i+:EntryAtWidth]+:8]);
    for (int unsigned i = 0; i < SetColumns; i++)
      conditions_o.sets[i] = set_holds(
          desc_i[SetEntryAt[EntryAtWidth*i+:EntryAtWidth]+:128] & SetMasks[128*i+:128],
          row_i[SetAllAt[RowAtWidth*i+:RowAtWidth]+:128] & SetMasks[128*i+:128],
          row_i[SetAnyAt[RowAtWidth*i+:RowAtWidth]+:128] & SetMasks[128*i+:128],
          row_i[SetNoneAt[RowAtWidth*i+:RowAtWidth]+:128] & SetMasks[128*i+:128]);
    for (int unsigned i = 0; i < CounterColumns; i++)
      conditions_o.counters[i] = in_range8(row_i[CounterRowAt[RowAtWidth*i+:RowAtWidth]+:16],
          desc_i[CounterEntryAt[EntryAtWidth*i+:EntryAtWidth]+:8]);
    for (int unsigned i = 0; i < ScalarColumns; i++)
      conditions_o.scalars[i] = in_range16({row_i.scalars[2*i+1], row_i.scalars[2*i]},
          desc_i[ScalarEntryAt[EntryAtWidth*i+:EntryAtWidth]+:16]);
    for (int unsigned i = 0; i < QuantitySlots; i++)
      conditions_o.quantities[i] = in_range_signed(row_i.quantities[2*i], row_i.quantities[2*i+1],
          desc_i.quantities[i]);
    bits = {desc_i.quantity_present[QuantitySlots-1:0], desc_i.flags[FlagColumns-1:0]};
    conditions_o.bits = ((8'(bits) ^ row_i.bits_value) & row_i.bits_mask) == '0;
  end
endmodule
