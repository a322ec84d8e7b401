// The classes that were found since the start, as a set of 128, from what the engines and the
// units find.
//
// Each engine reports by bits of its own, and a table says the class of each. One bit is looked up
// a clock; what waits is kept, so `busy_o` falls at most Engines x 16 clocks after the last find.
// `changed_o` one clock after an entry of the table was read without its parity.
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
    output logic                                  busy_o,
    output logic                                  changed_o
);
  localparam int unsigned PlaceBits = $clog2(EngineClasses);
  localparam int unsigned EngineBits = Engines > 1 ? $clog2(Engines) : 1;
  typedef logic [EngineClasses-1:0] bits_t;

  typedef struct packed {
    logic parity;
    logic [6:0] number;
  } id_t;
  (* ram_style = "distributed", no_rw_check *) id_t ids[2**(EngineBits+PlaceBits)];
  always_ff @(posedge clk_i) begin
    if (write_i.valid && write_i.memory == MemIds)
      ids[{write_i.part[EngineBits-1:0], 4'(write_i.at - 8'd4)}]
          <= {write_i.parity, write_i.data[6:0]};
  end

  // ---- what is to be looked up
  bits_t [Engines-1:0] waits_q, waits_d;
  bits_t here;
  logic [EngineBits-1:0] engine;
  logic [PlaceBits-1:0] place;
  assign busy_o = waits_q != '0;
  always_comb begin
    engine = '0;
    for (int e = Engines - 1; e >= 0; e--) if (waits_q[e] != '0) engine = EngineBits'(e);
    here = '0;
    for (int unsigned e = 0; e < Engines; e++) if (engine == EngineBits'(e)) here |= waits_q[e];
    place = '0;
    for (int i = EngineClasses - 1; i >= 0; i--) if (here[i]) place = PlaceBits'(i);
    waits_d = waits_q;
    for (int unsigned e = 0; e < Engines; e++)
      for (int unsigned i = 0; i < EngineClasses; i++)
        if (engine == EngineBits'(e) && place == PlaceBits'(i)) waits_d[e][i] = 1'b0;
    waits_d |= found_i;
  end

  logic [127:0] engine_classes_q;
  logic cards_q, accounts_q;
  id_t id;
  assign id = ids[{engine, place}];
  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) begin
      {waits_q, engine_classes_q} <= '0;
      {cards_q, accounts_q} <= '0;
    end else begin
      waits_q <= waits_d;
      if (busy_o) engine_classes_q[id.number] <= 1'b1;
      if (cards_i) cards_q <= 1'b1;
      if (accounts_i) accounts_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) changed_o <= !rst_i && busy_o && ^id;
  assign classes_o = engine_classes_q | (cards_q ? card_classes_i : '0)
      | (accounts_q ? account_classes_i : '0);
endmodule
