// What is proved of the loader of tables, without bound: while locked nothing is written, and what
// is known of the tables, whether they are whole and whether they are refused stay as they are,
// whatever bytes and clears arrive. A write comes only behind a byte that was taken. Every write is
// inside its memory and names a part that there is; a next state, a class, a row and a length that
// are written are in range, so that the scan never leaves the states that were declared. A word of
// next states has what was last written for its lower classes. The parities of a write are those
// of its entry and of its word. Refused tables write nothing and are not whole until a clear.
//
// Proved for two engines of 8 states and 4 classes.
module text_load_props
  import text_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic locked,
    input logic clear,
    input logic valid,
    input logic [7:0] data
);
  localparam int unsigned Engines = 2;
  localparam int unsigned States = 8;
  localparam int unsigned ByteClasses = 4;
  // The loader's states, whose names the proof flow does not read from here.
  typedef enum logic [3:0] {
    StHeader,
    StSizes,
    StMap,
    StNext,
    StReports,
    StRowOf,
    StRows,
    StDigits,
    StPrefix,
    StLengths,
    StCountry,
    StPad,
    StDone,
    StBad
  } state_e;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  table_write_t write;
  tables_t tables;
  logic bad;
  text_load #(
      .Engines(Engines),
      .States(States),
      .ByteClasses(ByteClasses),
      .GapClasses(ByteClasses)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .locked_i(locked),
      .clear_i(clear),
      .valid_i(valid),
      .byte_i(data),
      .write_o(write),
      .tables_o(tables),
      .bad_o(bad)
  );

  tables_t tables_q;
  logic bad_q, was_locked_q, was_clear_q, was_complete_q, is_engine;
  logic [12:0] most_states;
  always_ff @(posedge clk) begin
    tables_q <= tables;
    bad_q <= bad;
    was_locked_q <= !rst && locked;
    was_clear_q <= rst || (clear && !locked);
    was_complete_q <= !rst && tables.complete;
  end
  assign most_states = is_engine ? 13'(States) : 13'd256;

  // The last write that a byte made, and whether it waits.
  table_write_t made, written_q;
  logic taken_q;
  assign is_engine = 32'(made.part) < Engines;
  always_comb begin
    made = dut.write_d;
    made.valid = dut.accept && dut.write_d.valid;
  end
  always_ff @(posedge clk) begin
    if (rst || (clear && !locked)) taken_q <= 1'b0;
    else if (!locked) begin
      taken_q <= made.valid;
      written_q <= made;
    end
  end

  // The last next state that was written for each place in a word of four classes.
  logic [3:0][StateBits-1:0] word_q;
  always_ff @(posedge clk) begin
    if (rst || (clear && !locked)) word_q <= '0;
    else if (made.valid && made.memory == MemNext) word_q[made.at[1:0]] <= made.data[11:0];
  end

  // The parity of the first words, up to each.
  logic [2:0] parities;
  assign parities = {^word_q[2:0], ^word_q[1:0], ^word_q[0]};

  state_e state, then_state;
  logic part_is_engine, states_fit, classes_fit, shift_fits, rows_fit, digits_fit;
  assign state = state_e'(dut.state_q);
  assign then_state = state_e'(dut.then_q);
  assign part_is_engine = 32'(dut.part_q) < Engines;
  assign states_fit = dut.states_q != '0
      && 32'(dut.states_q) <= (part_is_engine ? States : 256);
  assign classes_fit = dut.classes_q != '0 && 32'(dut.classes_q) <= ByteClasses;
  assign shift_fits = dut.shift_q == (dut.classes_q == 7'd1 ? 3'd0
      : dut.classes_q == 7'd2 ? 3'd1 : 3'd2);
  assign rows_fit = dut.rows_q != '0 && dut.rows_q <= 9'd256 && dut.ids_q <= 5'd16;
  assign digits_fit = dut.digits_q != '0 && dut.digits_q <= 10'd512;

  always_comb begin
    if (started && !rst) begin
      if (locked) assert (!write.valid);
      if (was_locked_q) assert (tables == tables_q && bad == bad_q);
      assert (!(bad && tables.complete));
      if (bad_q && !was_clear_q) assert (bad);
      if (write.valid) begin
        assert (taken_q && state != StBad && !tables.complete && write == written_q);
      end
      if (dut.write_q.valid) assert (taken_q && dut.write_q == written_q && state != StBad);
      // The write that a byte makes.
      if (made.valid) begin
        assert (!bad && !tables.complete);
        assert (made.parity == ^made.data);
        if (made.memory == MemNext) assert (made.word_parity == ^made.word);
        assert (is_engine || made.part == UnitCards || made.part == UnitAccounts);
        if (made.part == UnitCards) assert (tables.cards);
        if (made.part == UnitAccounts) assert (tables.accounts);
        if (is_engine) assert (made.part < tables.engines);
        case (made.memory)
          MemMap: assert (made.row == '0 && 32'(made.data) < ByteClasses);
          MemNext: begin
            assert (13'(made.row) < most_states && 32'(made.at) < ByteClasses);
            assert (13'(made.data[11:0]) < dut.states_q && dut.states_q <= most_states);
            assert (13'(made.row) < dut.states_q);
            for (int unsigned i = 0; i < 4; i++)
              assert (made.word[i] == (32'(made.at[1:0]) > i ? word_q[i] : made.data[11:0]));
          end
          MemRowOf: assert (is_engine && 32'(made.row) < States && made.at == '0
              && made.data < 16'd256);
          MemRow: assert (is_engine && made.row < 12'd256 && made.at < 8'd3);
          MemIds: assert (is_engine && made.row == '0 && made.at >= 8'd4
              && 32'(made.at) < 4 + EngineClasses);
          MemPrefix: assert (made.part == UnitCards && made.row < 12'd512 && made.at < 8'd16
              && made.data < 16'd512);
          MemLengths: assert (made.part == UnitCards && made.row < 12'd512 && made.at < 8'd12);
          MemCountry: assert (made.part == UnitAccounts && made.row < 12'd26 && made.at < 8'd26
              && (made.data == '0 || (made.data > 16'd4 && made.data < 16'd35)));
          default: assert (1'b0);
        endcase
      end

      // ---- what the induction needs
      assert (state <= StBad);
      if (!(state inside {StPad, StDone, StBad})) begin
        assert (dut.at_q <= dut.last_at && 13'(dut.row_q) < dut.rows);
        assert (dut.pairs || !dut.second_q);
        assert (dut.earlier_q == word_q[2:0]);
      end
      if (state == StHeader) begin
        assert (dut.total_q == TotalBits'(dut.at_q) && dut.part_q == 4'd0);
        if (dut.at_q <= 8'd12) assert (tables.engines == '0);
        if (dut.at_q <= 8'd13) assert (!tables.cards && !tables.accounts);
      end
      if (state != StBad) assert (32'(tables.engines) <= Engines);
      if (!(state inside {StHeader, StDone, StBad})) begin
        assert (part_is_engine ? dut.part_q < tables.engines
            : dut.part_q == UnitCards ? tables.cards
            : dut.part_q == UnitAccounts && tables.accounts);
      end
      case (state)
        StSizes: begin
          if (dut.at_q > 8'd1) assert (states_fit);
          if (dut.at_q > 8'd3) assert (classes_fit);
          if (dut.at_q > 8'd5) assert (shift_fits);
        end
        StMap: assert (states_fit && classes_fit && shift_fits);
        StNext: begin
          assert (states_fit && classes_fit && shift_fits);
          for (int unsigned i = 1; i < 4; i++)
            if (32'(dut.at_q[1:0]) == i) assert (dut.earlier_parity_q == parities[i-1]);
        end
        StReports: begin
          assert (part_is_engine && states_fit);
          if (dut.at_q > 8'd1) assert (dut.ids_q <= 5'd16);
          if (dut.at_q > 8'd3) assert (rows_fit);
        end
        StRowOf: assert (part_is_engine && states_fit && rows_fit);
        StRows: assert (part_is_engine && rows_fit);
        StDigits: begin
          assert (dut.part_q == UnitCards);
          if (dut.at_q > 8'd1) assert (digits_fit);
        end
        StPrefix, StLengths: assert (dut.part_q == UnitCards && digits_fit);
        StCountry: assert (dut.part_q == UnitAccounts);
        StPad: begin
          assert (dut.at_q == '0 && !dut.second_q && dut.row_q < 12'(dut.total_q[2:0]));
          assert (dut.earlier_q == word_q[2:0]);
          assert (then_state inside {StSizes, StReports, StDigits, StCountry, StDone});
          if (then_state == StReports) assert (part_is_engine && states_fit);
          if (then_state == StDigits) assert (dut.part_q == UnitCards);
          if (then_state == StCountry) assert (dut.part_q == UnitAccounts);
        end
        default: ;
      endcase

      // ---- not vacuous
      cover (tables.complete && tables.engines == '0);
      cover (tables.complete && locked && valid && clear);
      cover (bad && dut.total_q == TotalBits'(13));
      cover (write.valid && write.memory == MemMap && write.part == UnitCards);
    end
  end
endmodule
