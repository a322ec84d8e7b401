// The classes that were found since the start, as a set of 128, from what the engines and the
// units find.
//
// Each engine reports by bits of its own, and a table says the class of each. One new bit is
// looked up a clock; what waits is kept, so `busy_o` falls at most Engines x 16 clocks after the
// last find.
//
// After reset: none found. The caller owes: a start and a write only while nothing is under way.
module text_classes
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3  // 1 to 8.
) (
    input  logic                                  clk_i,
    input  logic                                  rst_i,
    input  table_write_t                          write_i,
    input  logic [127:0]                          card_classes_i,
    input  logic [127:0]                          account_classes_i,
    input  logic                                  start_i,
    input  logic [Engines-1:0][EngineClasses-1:0] found_i,
    input  logic                                  cards_i,
    input  logic                                  accounts_i,
    output logic [127:0]                          classes_o,
    output logic                                  busy_o
);
  localparam int unsigned Ids = Engines * EngineClasses;
  logic [Ids-1:0] known_q, pending_q, pending_d, pick;
  logic [6:0] ids_q[Ids];
  logic [6:0] class_d;
  assign busy_o = pending_q != '0;
  assign pick = pending_q & -pending_q;
  assign pending_d = (pending_q & ~pick) | (found_i & ~known_q);

  always_comb begin
    class_d = '0;
    for (int unsigned i = 0; i < Ids; i++) if (pick[i]) class_d |= ids_q[i];
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Ids; i++) begin
      if (write_i.valid && write_i.memory == MemIds && 32'(write_i.part) == i / EngineClasses
          && 32'(write_i.address) == i % EngineClasses)
        ids_q[i] <= write_i.data[6:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) begin
      known_q <= '0;
      pending_q <= '0;
      classes_o <= '0;
    end else begin
      known_q <= known_q | found_i;
      pending_q <= pending_d;
      classes_o <= classes_o | (busy_o ? 128'd1 << class_d : '0)
          | (cards_i ? card_classes_i : '0) | (accounts_i ? account_classes_i : '0);
    end
  end
endmodule
