// Proves: for any row and any entry, the card's comparison holds in every condition if and only if
// the row matches by the definition of the reference page (row_spec).
//
// Rows and entries are arbitrary, also those that no compiler makes.
module row_match_props
  import layout_pkg::*;
  import gate_pkg::*;
(
    input logic clk,
    input logic [191:0][7:0] row,
    input logic [127:0][7:0] entry
);
  conditions_t conditions;
  row_match dut (
      .row_i(row),
      .desc_i(entry),
      .conditions_o(conditions)
  );

  logic fits;
  row_spec spec (
      .row_i(row),
      .entry_i(entry),
      .matches_o(fits)
  );

  always_comb begin
    assert ((&conditions) == fits);
    // Not vacuous: each kind of row fits, and each condition alone can fail.
    cover (fits && row[0] == 8'd1);
    cover (fits && row[0] == 8'd2);
    cover (fits && row[0] == 8'd3);
    cover (fits && row[10] == entry[36] && row[11] == entry[36]);
    cover ($onehot(~conditions) && !conditions.kind);
    cover ($onehot(~conditions) && !conditions.sets[0]);
    cover ($onehot(~conditions) && !conditions.quantities[3]);
  end
endmodule
