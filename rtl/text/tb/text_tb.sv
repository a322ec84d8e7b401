// Bench top: the scan and the states of its stream slots, each driven by the bench.
//
// A start without `new_i` takes the state that the last read gave.
module text_tb
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,
    parameter int unsigned MaxStreams = 16,
    localparam int unsigned ScanBits = Engines * StateBits + $bits(cards_t) + $bits(accounts_t)
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic                locked_i,
    input  logic                clear_i,
    input  logic                load_valid_i,
    input  logic [7:0]          load_byte_i,
    output logic                complete_o,
    output logic                bad_o,
    input  logic [15:0]         slot_i,
    input  logic                read_i,
    input  logic                save_i,
    output logic [ScanBits-1:0] saved_o,
    input  logic                start_i,
    input  logic                new_i,
    input  logic                byte_i,
    input  logic                end_i,
    input  logic [7:0]          data_i,
    output logic                busy_o,
    output logic [ScanBits-1:0] state_o,
    output logic [127:0]        classes_o,
    output logic                utf8_o,
    output logic                changed_o
);
  item_t item;
  assign item = '{kind: byte_i ? ItemByte : end_i ? ItemEnd : ItemNone, data: data_i};

  text_scan #(
      .Engines(Engines)
  ) u_scan (
      .item_i(item),
      .state_i(saved_o),
      .*
  );
  logic unused_clearing, unused_changed;
  text_slots #(
      .MaxStreams(MaxStreams),
      .Bits(ScanBits)
  ) u_slots (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .clear_i(1'b0),  // A slot is saved before it is read.
      .clearing_o(unused_clearing),
      .slot_i(slot_i),
      .read_i(read_i),
      .state_o(saved_o),
      .changed_o(unused_changed),
      .save_i(save_i),
      .state_i(state_o)
  );
endmodule
