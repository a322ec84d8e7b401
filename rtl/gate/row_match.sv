// Compares a row with an entry: one bit for each condition of the row. The row matches if all bits
// are set. An empty row, or a row of an unknown kind, never matches. Combinational.
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
  logic [5:0] bits;
  always_comb begin
    conditions_o.kind = row_i.kind == RowKindPermit || row_i.kind == RowKindForbidReject
        || row_i.kind == RowKindForbidDecompose;
    conditions_o.enumerations = {
      allowed(row_i.register, desc_i.register),
      allowed(row_i.audience, desc_i.audience),
      allowed(row_i.domain, desc_i.domain),
      allowed(row_i.temporal, desc_i.temporal),
      allowed(32'(row_i.small_enums[SmallEnumsAnchorBit+:SmallEnumsAnchorWidth]), desc_i.anchor),
      allowed(32'(row_i.small_enums[SmallEnumsEpistemicBit+:SmallEnumsEpistemicWidth]),
          desc_i.epistemic),
      allowed(32'(row_i.small_enums[SmallEnumsGranularityBit+:SmallEnumsGranularityWidth]),
          desc_i.granularity),
      allowed(32'(row_i.small_enums[SmallEnumsCategoryBit+:SmallEnumsCategoryWidth]),
          desc_i.category)
    };
    conditions_o.sets = {
      (row_i.touched_all & ~desc_i.fields_touched) == '0
        && (row_i.touched_any == '0 || (row_i.touched_any & desc_i.fields_touched) != '0)
        && (row_i.touched_none & desc_i.fields_touched) == '0,
      set_holds(desc_i.established, row_i.established_all, row_i.established_any,
          row_i.established_none),
      set_holds(desc_i.classes, row_i.classes_all, row_i.classes_any, row_i.classes_none)
    };
    conditions_o.counters = {
      in_range8(row_i.correction, desc_i.correction),
      in_range8(row_i.alternatives, desc_i.alternatives),
      in_range8(row_i.depth, desc_i.depth)
    };
    conditions_o.scalars = {
      in_range16(row_i.scalars[15:14], desc_i.length),
      in_range16(row_i.scalars[13:12], desc_i.trust_slope),
      in_range16(row_i.scalars[11:10], desc_i.register_divergence),
      in_range16(row_i.scalars[9:8], desc_i.certainty_divergence),
      in_range16(row_i.scalars[7:6], desc_i.content_deviation),
      in_range16(row_i.scalars[5:4], desc_i.certainty),
      in_range16(row_i.scalars[3:2], desc_i.uncertainty),
      in_range16(row_i.scalars[1:0], desc_i.novelty)
    };
    for (int unsigned i = 0; i < QuantitySlots; i++)
      conditions_o.quantities[i] = in_range_signed(row_i.quantities[2*i], row_i.quantities[2*i+1],
          desc_i.quantities[i]);
    bits = {desc_i.quantity_present[3:0], desc_i.flags[FlagsUncertaintyKnownBit],
        desc_i.flags[FlagsInertPrefixBit]};
    conditions_o.bits = (({2'd0, bits} ^ row_i.bits_value) & row_i.bits_mask) == '0;
  end
endmodule
