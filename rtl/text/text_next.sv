// The memory of an automaton's next states, in banks of four byte classes each.
//
// The class of a byte is known before the state, so it selects the bank; the others read 0, and an
// OR joins them. Between the output of the memory and its address stands only this OR, and with
// wide words the choice of one of four. Large memories have wide words, because a block of theirs
// does not become deeper than 4,096 words.
//
// Latency: `state_o` one clock after `read_i` or `start_i`; it holds. `changed_o` three clocks after
// a `read_i` whose word did not have its parity, for one clock.
// After reset: state 0; contents arbitrary.
// Duties of the caller: no start beside a read; no write beside a read; a state's classes written
// in their order.
module text_next #(
    parameter int unsigned States = 4096,     // Power of two, 2 to 4096.
    parameter int unsigned ByteClasses = 64,  // Power of two, 2 to 64.
    localparam int unsigned Bits = $clog2(States),
    localparam int unsigned ClassBits = $clog2(ByteClasses),
    localparam int unsigned BankClasses = ByteClasses < 4 ? ByteClasses : 4,
    localparam int unsigned Banks = ByteClasses / BankClasses,
    localparam int unsigned LowBits = $clog2(BankClasses)
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
    input  logic                 read_i,   // The next state, from `state_o` and a class:
    input  logic [Banks-1:0]     bank_i,   // its bank, one bit,
    input  logic [LowBits-1:0]   low_i,    // and its place there.
    output logic [Bits-1:0]      state_o,
    output logic                 changed_o
);
  localparam bit Wide = States > 512;

  // Classes in one word of the memory, and the words of a bank.
  localparam int unsigned Packed = Wide ? BankClasses : 1;
  localparam int unsigned Words = States * BankClasses / Packed;

  typedef logic [Packed-1:0][Bits-1:0] states_t;

  states_t [Banks-1:0] parts;
  states_t states;
  logic [Bits-1:0] start_q;
  logic [LowBits-1:0] low_q;
  logic read_q;
  always_comb begin
    states = '0;
    for (int unsigned b = 0; b < Banks; b++) states |= parts[b];
    state_o = start_q | (Wide ? states[low_q] : states[0]);
  end
  always_ff @(posedge clk_i) begin
    if (read_i) low_q <= low_i;
    read_q <= read_i && !rst_i;
    if (rst_i) start_q <= '0;
    else if (start_i) start_q <= state_i;
    else if (read_i) start_q <= '0;
  end

  logic [Banks-1:0] clear, write;
  for (genvar b = 0; b < Banks; b++) begin : g_select
    assign clear[b] = rst_i || start_i || (read_i && !bank_i[b]);
    assign write[b] = write_i && 32'(write_class_i) / BankClasses == b;
  end

  // ---- parity: of a wide word in the word, of a narrow one in a memory beside the banks
  logic states_odd_q, parity_q, due_q;
  always_ff @(posedge clk_i) begin
    states_odd_q <= ^states;
    due_q <= read_q && !rst_i;
    changed_o <= due_q && !rst_i && (parity_q ^ states_odd_q);
  end
  if (Wide) begin : g_wide
    logic unused;
    assign unused = parity_i;
    typedef struct packed {
      logic parity;
      states_t states;
    } word_t;
    logic [Banks-1:0] parities;
    for (genvar b = 0; b < Banks; b++) begin : g_bank
      (* ram_style = "ultra", no_rw_check *) word_t next[Words];
      word_t word_q;
      always_ff @(posedge clk_i) begin
        if (write[b]) next[write_state_i] <= {word_parity_i, word_i};
        if (clear[b]) word_q <= '0;
        else if (read_i) word_q <= next[state_o];
      end
      assign parts[b] = word_q.states;
      assign parities[b] = word_q.parity;
    end
    always_ff @(posedge clk_i) parity_q <= ^parities;
  end else begin : g_narrow
    logic unused;
    assign unused = word_parity_i;
    for (genvar b = 0; b < Banks; b++) begin : g_bank
      (* no_rw_check *) logic [Bits-1:0] next[Words];
      logic [Bits-1:0] next_q;
      always_ff @(posedge clk_i) begin
        if (write[b]) next[{write_state_i, write_class_i[LowBits-1:0]}] <= word_i[3];
        if (clear[b]) next_q <= '0;
        else if (read_i) next_q <= next[{state_o, low_i}];
      end
      assign parts[b] = next_q;
    end

    function automatic logic [ClassBits-1:0] class_of(logic [Banks-1:0] bank,
                                                      logic [LowBits-1:0] low);
      logic [ClassBits-1:0] number;
      number = ClassBits'(low);
      for (int unsigned b = 0; b < Banks; b++)
        if (bank[b]) number |= ClassBits'(b * BankClasses);
      return number;
    endfunction

    // Nothing waits for a parity, so its address has a register. It is not in the loop from the
    // state to the next.
    (* no_rw_check *) logic parities[States * ByteClasses];
    logic [ClassBits-1:0] class_q;
    logic [Bits-1:0] state_q;
    always_ff @(posedge clk_i) begin
      if (write_i) parities[{write_state_i, write_class_i}] <= parity_i;
      state_q <= state_o;
      class_q <= class_of(bank_i, low_i);
      parity_q <= parities[{state_q, class_q}];
    end
  end
endmodule
