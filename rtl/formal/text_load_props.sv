// What is proved of the loader of tables, without bound: while locked nothing is written, and what
// is known of the tables, whether they are whole and whether they are refused stay as they are,
// whatever bytes and clears arrive. A write comes only with a byte that is taken. Every write is
// inside its memory and names a part that there is; a next state, a class, a row and a length that
// are written are in range, so that the scan never leaves the states that were declared. Refused
// tables write nothing and are not whole until a clear.
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
  assign is_engine = 32'(write.part) < Engines;
  assign most_states = is_engine ? 13'(States) : 13'd256;

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
        assert (valid && !bad && !tables.complete);
        assert (is_engine || write.part == UnitCards || write.part == UnitAccounts);
        if (write.part == UnitCards) assert (tables.cards);
        if (write.part == UnitAccounts) assert (tables.accounts);
        if (is_engine) assert (write.part < tables.engines);
        case (write.memory)
          MemMap: assert (write.address < 18'd256 && 32'(write.data) < ByteClasses);
          MemNext: begin
            assert (13'(write.address[17:6]) < most_states && write.address[5:0] < 6'(ByteClasses));
            assert (13'(write.data[11:0]) < dut.states_q && dut.states_q <= most_states);
            assert (write.address[17:6] < dut.states_q[11:0]);
          end
          MemRowOf: assert (is_engine && write.address < 18'(States) && write.data < 16'd256);
          MemRow: assert (is_engine && write.address < 18'd1024 && write.address[1:0] != 2'd3);
          MemIds: assert (is_engine && write.address < 18'(EngineClasses));
          MemPrefix: assert (write.part == UnitCards && write.address < 18'd8192
              && write.data < 16'd512);
          MemLengths: assert (write.part == UnitCards && write.address < 18'd4096
              && write.address[2:0] < 3'd6);
          MemCountry: assert (write.part == UnitAccounts && write.address[9:5] < 5'd26
              && write.address[4:0] < 5'd26 && write.address < 18'd1024
              && (write.data == '0 || (write.data > 16'd4 && write.data < 16'd35)));
          default: assert (1'b0);
        endcase
      end

      // ---- what the induction needs
      assert (state <= StBad);
      if (state == StHeader) begin
        assert (dut.at_q < 19'd48 && dut.total_q == 32'(dut.at_q) && dut.part_q == 4'd0);
        if (dut.at_q <= 19'd12) assert (tables.engines == '0);
        if (dut.at_q <= 19'd13) assert (!tables.cards && !tables.accounts);
      end
      if (state != StBad) assert (32'(tables.engines) <= Engines);
      if (state != StRows && state != StLengths && state != StBad) begin
        assert (dut.row_q == '0 && dut.set_q == '0 && dut.ago_q == '0);
      end
      if (!(state inside {StHeader, StDone, StBad})) begin
        assert (part_is_engine ? dut.part_q < tables.engines
            : dut.part_q == UnitCards ? tables.cards
            : dut.part_q == UnitAccounts && tables.accounts);
      end
      case (state)
        StSizes: begin
          assert (dut.at_q < 19'd8);
          if (dut.at_q > 19'd1) assert (states_fit);
          if (dut.at_q > 19'd3) assert (classes_fit);
          if (dut.at_q > 19'd5) assert (shift_fits);
        end
        StMap: assert (dut.at_q < 19'd256 && states_fit && classes_fit && shift_fits);
        StNext: assert (32'(dut.at_q) < (32'(dut.states_q) << dut.shift_q) * 2 && states_fit
            && classes_fit && shift_fits);
        StReports: begin
          assert (dut.at_q < 19'd20 && part_is_engine && states_fit);
          if (dut.at_q > 19'd1) assert (dut.ids_q <= 5'd16);
          if (dut.at_q > 19'd3) assert (rows_fit);
        end
        StRowOf: assert (dut.at_q < 19'(dut.states_q) && part_is_engine && states_fit && rows_fit);
        StRows: assert (dut.row_q < 9'd256 && 10'(dut.row_q) < 10'(dut.rows_q) && rows_fit
            && dut.set_q < 2'd3 && part_is_engine);
        StDigits: begin
          assert (dut.at_q < 19'd8 && dut.part_q == UnitCards);
          if (dut.at_q > 19'd1) assert (digits_fit);
        end
        StPrefix: assert (32'(dut.at_q) < 32'(dut.digits_q) * 32 && digits_fit
            && dut.part_q == UnitCards);
        StLengths: assert (10'(dut.row_q) < dut.digits_q && digits_fit && dut.ago_q < 3'd6
            && dut.part_q == UnitCards);
        StCountry: assert (dut.part_q == UnitAccounts && dut.letter_q < 5'd26
            && dut.letter2_q < 5'd26
            && 32'(dut.at_q) == 32'(dut.letter_q) * 26 + 32'(dut.letter2_q));
        StPad: begin
          assert (dut.at_q < 19'(dut.total_q[2:0]));
          assert (then_state inside {StSizes, StReports, StDigits, StCountry, StDone});
          if (then_state == StReports) assert (part_is_engine && states_fit);
          if (then_state == StDigits) assert (dut.part_q == UnitCards);
          if (then_state == StCountry) assert (dut.part_q == UnitAccounts);
        end
        default: ;
      endcase
      if (state != StCountry && state != StBad && !(dut.part_q == UnitAccounts))
        assert (dut.letter_q == '0 && dut.letter2_q == '0);
      if (state inside {StSizes, StMap, StNext}) assert (dut.letter_q == '0 && dut.letter2_q == '0);
      if (state == StPad && then_state != StDone)
        assert (dut.letter_q == '0 && dut.letter2_q == '0);

      // ---- not vacuous
      cover (tables.complete && tables.engines == '0);
      cover (tables.complete && locked && valid && clear);
      cover (bad && dut.total_q == 32'd13);
      cover (write.valid && write.memory == MemMap && write.part == UnitCards);
    end
  end
endmodule
