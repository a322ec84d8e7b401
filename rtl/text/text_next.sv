// The memory of an automaton's next states.
//
// Between the output of the memory and its address stands only an OR, and with wide words the
// choice of one of four. What the OR joins reads 0 if it is not selected; the class of a byte is
// known before the state, so it selects.
//
// A large memory has banks of four byte classes with wide words, because a block of UltraRAM does
// not become deeper than 4,096 words. A small one has a memory for each bit of a state, as deep as
// block RAM becomes on an ECP5, so that few are joined.
//
// Latency: `state_o` one clock after `read_i` or `start_i`; it holds. `changed_o` three clocks
// after a `read_i` whose word did not have its parity, for one clock.
// After reset: state 0; contents arbitrary.
// A start beside a read is a start alone.
// Duties of the caller: no write beside a read; a state's classes written in their order.
module text_next #(
    parameter int unsigned States = 4096,     // Power of two, 2 to 4096.
    parameter int unsigned ByteClasses = 64,  // Power of two, 2 to 64.
    localparam int unsigned Bits = $clog2(States),
    localparam int unsigned ClassBits = $clog2(ByteClasses)
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    input  logic                 write_i,
    input  logic [Bits-1:0]      write_state_i,
    input  logic [ClassBits-1:0] write_class_i,
    // The highest is the next state. The others are the wide word around it: at the place of its
    // class and above, the same state; below, the states that were written for the lower classes.
    // A wide word is written again with each class, so a later write corrects what is above.
    input  logic [3:0][Bits-1:0] word_i,
    input  logic                 parity_i,       // Of the next state.
    input  logic                 word_parity_i,  // Of the wide word.
    input  logic                 start_i,
    input  logic [Bits-1:0]      state_i,  // With `start_i`.
    input  logic                 read_i,   // The next state, from `state_o` and a class.
    input  logic [ClassBits-1:0] class_i,
    output logic [Bits-1:0]      state_o,
    output logic                 changed_o
);
  localparam bit Wide = States > 512;

  logic [Bits-1:0] next, start_q;
  logic read_q, odd, odd_q, parity_q, due_q;
  assign state_o = start_q | next;
  always_ff @(posedge clk_i) begin
    if (rst_i) start_q <= '0;
    else if (start_i) start_q <= state_i;
    else if (read_i) start_q <= '0;
    read_q <= read_i && !start_i && !rst_i;
    due_q <= read_q && !rst_i;
    odd_q <= odd;
    changed_o <= due_q && !rst_i && (odd_q ^ parity_q);
  end

  if (Wide) begin : g_wide
    localparam int unsigned Packed = ByteClasses < 4 ? ByteClasses : 4;
    localparam int unsigned Banks = ByteClasses / Packed;
    typedef struct packed {
      logic parity;
      logic [Packed-1:0][Bits-1:0] states;
    } word_t;
    word_t [Banks-1:0] words;
    word_t word;
    logic [$clog2(Packed)-1:0] place_q;
    for (genvar b = 0; b < Banks; b++) begin : g_bank
      (* ram_style = "ultra", no_rw_check *) word_t states[States];
      word_t word_q;
      assign words[b] = word_q;
      always_ff @(posedge clk_i) begin
        if (write_i && 32'(write_class_i) / Packed == b)
          states[write_state_i] <= {word_parity_i, word_i};
        if (rst_i || start_i || (read_i && 32'(class_i) / Packed != b)) word_q <= '0;
        else if (read_i) word_q <= states[state_o];
      end
    end
    always_comb begin
      word = '0;
      for (int unsigned b = 0; b < Banks; b++) word |= words[b];
      next = word.states[place_q];
      odd = ^word.states;
    end
    always_ff @(posedge clk_i) begin
      if (read_i) place_q <= class_i[$clog2(Packed)-1:0];
      parity_q <= word.parity;
    end
    logic unused;
    assign unused = parity_i;
  end else begin : g_narrow
    localparam int unsigned Words = States * ByteClasses;
    localparam int unsigned Deepest = 16384;
    localparam int unsigned Parts = Words <= Deepest ? 1 : Words / Deepest;
    localparam int unsigned Classes = ByteClasses / Parts;  // In a part.
    localparam int unsigned PlaceBits = $clog2(Classes);
    logic [Parts-1:0][Bits-1:0] states;
    for (genvar p = 0; p < Parts; p++) begin : g_part
      logic write, read;
      assign write = write_i && 32'(write_class_i) / Classes == p;
      assign read = read_i && 32'(class_i) / Classes == p;
      for (genvar b = 0; b < Bits; b++) begin : g_bit
        (* no_rw_check *) logic bits[Words/Parts];
        logic bit_q;
        assign states[p][b] = bit_q;
        always_ff @(posedge clk_i) begin
          if (write) bits[{write_state_i, write_class_i[PlaceBits-1:0]}] <= word_i[3][b];
          if (rst_i || start_i || (read_i && !read)) bit_q <= 1'b0;
          else if (read_i) bit_q <= bits[{state_o, class_i[PlaceBits-1:0]}];
        end
      end
    end
    always_comb begin
      next = '0;
      for (int unsigned p = 0; p < Parts; p++) next |= states[p];
      odd = ^next;
    end

    // Nothing waits for a parity, so its address has a register, and its memory is not in the loop
    // from the state to the next.
    (* no_rw_check *) logic parities[Words];
    logic [ClassBits-1:0] class_q;
    logic [Bits-1:0] state_q;
    always_ff @(posedge clk_i) begin
      if (write_i) parities[{write_state_i, write_class_i}] <= parity_i;
      state_q <= state_o;
      class_q <= class_i;
      parity_q <= parities[{state_q, class_q}];
    end
    logic unused;
    assign unused = word_parity_i;
  end
endmodule
