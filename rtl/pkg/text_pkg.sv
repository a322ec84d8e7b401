// Types of the text scan: the items of its stream, writes to its tables, and the state of a stream.
// The host's walk (host/lane) has the same state; docs/explanation/text-lane.md explains it.
package text_pkg;
  // Sizes that the byte form of the tables fixes.
  localparam int unsigned StateBits = 12;        // A state of an automaton.
  localparam int unsigned ByteClassBits = 6;     // A class of bytes.
  localparam int unsigned EngineClasses = 16;    // Classes that one engine reports.
  localparam int unsigned GapStateBits = 8;      // A state of an automaton of gaps.
  localparam int unsigned PrefixStateBits = 9;   // A state of the automaton of first digits.

  // ---- the stream
  typedef enum logic [1:0] {
    ItemNone,
    ItemByte,
    ItemEnd
  } item_e;

  typedef struct packed {
    item_e      kind;
    logic [7:0] data;
  } item_t;

  // ---- the tables
  // With every entry of a memory stands its parity, so that the whole has an even number of ones. A
  // scan checks each entry that it reads.
  typedef enum logic [3:0] {
    MemMap,      // The class of each byte, at the byte.
    MemNext,     // Next state, by state and class of the byte.
    MemRowOf,    // The row of reports, by state.
    MemRow,      // A row's sets of classes: now, before, at the end.
    MemIds,      // The class of each bit of a row; the first at 4.
    MemPrefix,   // Next state of the first-digits automaton, by state and digit.
    MemLengths,  // Lengths, by state of the first digits and digits ago; then of whole runs.
    MemCountry   // Length of a country's account numbers, by its letters; 0: it has none.
  } memory_e;

  localparam logic [3:0] UnitCards = 4'd14;
  localparam logic [3:0] UnitAccounts = 4'd15;

  typedef struct packed {
    logic        valid;
    logic [3:0]  part;     // An engine, UnitCards or UnitAccounts.
    memory_e     memory;
    logic [StateBits-1:0] row;
    logic [7:0] at;          // In the row.
    logic [15:0] data;
    logic parity;            // Of `data`.
    // Of MemNext: the entry, and those before it in the same four classes of its state.
    logic [3:0][StateBits-1:0] word;
    logic word_parity;
  } table_write_t;

  // Contents of the tables, from their header.
  typedef struct packed {
    logic         complete;  // Every byte was read and accepted.
    logic [3:0]   engines;
    logic         cards;     // Card numbers are searched for.
    logic         accounts;
    logic [127:0] card_classes;
    logic [127:0] account_classes;
  } tables_t;

  // ---- the state of the unit of card numbers
  localparam int unsigned ShortestCard = 12;
  localparam int unsigned LongestCard = 19;
  localparam int unsigned CardLengths = LongestCard - ShortestCard + 1;

  typedef struct packed {
    logic [GapStateBits-1:0] gap;      // 0: no number is in progress.
    logic [PrefixStateBits-1:0] prefix;
    // Two running sums, each after each of the last 20 digits, the newest lowest, 4 bits each. Each
    // doubles every other digit: the first not the last digit, the second not the one before it.
    logic [79:0] plain;
    logic [79:0] doubled;
    // For each length, the digits at which a number of that length may begin, according to its
    // first digits; bit 0 is the last digit.
    logic [CardLengths-1:0][LongestCard-1:0] begins;
    logic [CardLengths-1:0] network;   // Lengths, according to the first digits of the run.
    logic [LongestCard-1:0] groups;    // Starts of groups after which all groups are regular.
    logic [4:0] size;                  // Digits of the present group.
    logic [4:0] regular;               // Size of each of the equal groups before it.
    logic [1:0][4:0] earlier;          // Digits of the two groups before it, the later lowest.
    logic [3:0] last;
    logic [4:0] same;                  // Number of equal digits at the end.
    logic [4:0] run;                   // Digits with at most one space or dash between two.
    logic [1:0] since;                 // Joining bytes since the last digit; 2: the run has ended.
    logic whole;                       // If the run ends here, its check digit is valid.
    logic point;                       // The last byte is a point, and the one before it a digit.
    logic fraction;                    // The present group follows a digit and a point.
    logic part;                        // If the group ends here, several groups are a number.
    logic open;                        // The last byte is a digit, and no end of its group came.
  } cards_t;

  function automatic cards_t cards_start();
    cards_t state;
    state = '0;
    state.since = 2'd2;
    return state;
  endfunction

  // ---- the state of the unit of account numbers
  localparam int unsigned Candidates = 3;

  typedef struct packed {
    logic [5:0] first;  // Size of the first group so far.
    logic closed;       // The first group is complete;
    logic [5:0] room;   // and this many more characters fit into the present one.
  } groups_t;

  typedef struct packed {
    logic [5:0] left;   // Missing characters; 0: unused.
    logic [6:0] remainder;
    logic [6:0] target;
    groups_t groups;
  } candidate_t;

  typedef struct packed {
    logic [1:0] length;  // 0; 2: two letters; 3: two letters and a digit.
    logic [5:0] left;    // Characters after the check digits.
    logic [6:0] target;  // The remainder of these, if the missing check digits were 0.
    groups_t groups;
  } head_t;

  typedef struct packed {
    logic [GapStateBits-1:0] gap;
    head_t head;               // Start of a number at the letter before the last.
    logic [4:0] letter;        // The last character if it is a letter: 1 to 26; else 0.
    candidate_t [Candidates-1:0] candidates;
    logic adjacent;            // The last byte was a letter or digit.
  } accounts_t;

  // ---- the text window
  // The window has the bytes to which the commitment commits: tag, salt, length (u32,
  // little-endian), held bytes, text. The scan begins after the head, that is, after the length.
  localparam int unsigned TagBytes = 18;
  localparam int unsigned LengthAt = 34;
  localparam int unsigned HeadBytes = 38;
  // Tags of a text and of a tool call, the first byte in the highest bits.
  localparam logic [8*TagBytes-1:0] TextTag = {"portcullis/span/1", 8'h00};
  localparam logic [8*TagBytes-1:0] CallTag = {"portcullis/call/1", 8'h00};
  // Whether the first beat of a window begins with CallTag. Its first byte is in the lowest bits.
  function automatic logic has_call_tag(logic [511:0] beat);
    logic equal;
    equal = 1'b1;
    for (int unsigned i = 0; i < TagBytes; i++)
      if (beat[8*i+:8] != CallTag[8*(TagBytes-1-i)+:8]) equal = 1'b0;
    return equal;
  endfunction

  localparam int unsigned WindowBits = 12;  // Of a number of 64-byte beats of a window.
  localparam int unsigned RangeBits = 17;   // Of a number of beats that are read.
  localparam int unsigned TotalBits = RangeBits + 6;  // Of a number of their bytes.

  // log2 of the number of bytes: of a window (StrideMin to StrideMax), of a block of windows.
  localparam int unsigned StrideMin = 11;
  localparam int unsigned StrideMax = 17;
  localparam int unsigned BlockLog2 = 21;

  typedef struct packed {
    logic [63:0] address;            // Physical, of the window's first byte.
    logic outside;                   // There is no such window: nothing may be read.
    logic [WindowBits-1:0] beats;    // Of the window.
    logic [255:0] commitment;        // First byte at the top.
    logic [15:0] slot;
    // High: the bytes are not a text, but the lane's tables; `bytes` is their number, `commitment`
    // their digest, and `outside`, `beats` and `slot` are not used.
    logic tables;
    logic [TotalBits-1:0] bytes;
  } text_entry_t;

  // Where the window of a slot stands.
  typedef struct packed {
    logic outside;
    logic [63:0] address;
    logic [WindowBits-1:0] beats;
  } place_t;

  // Why the text of an entry does not agree with its commitment: the first cause that applies.
  typedef enum logic [2:0] {
    CauseNone,        // It agrees.
    CauseWindow,      // It does not fit its window, or the place of the window is not allowed.
    CauseBus,         // The bus answered with an error, in another form, or not at all; or the
                      // memories of the scan have changed since the load of the tables.
    CauseTag,
    CauseUtf8,
    CauseCommitment
  } cause_e;

  typedef struct packed {
    logic agrees;                // Without it, only these have a meaning: the cause; and if it is
    cause_e cause;               // neither CauseWindow nor CauseBus, `call` and `length`.
    logic call;                  // The tag is that of a tool call.
    logic [TotalBits-1:0] length;
    logic [127:0] classes;       // Found in the entry.
    logic [127:0] established;   // Found in the admitted entries of the stream before it.
  } text_answer_t;

  // ---- the load of the tables
  typedef struct packed {
    logic valid;                    // Held until `done`.
    logic [63:0] address;           // Of the first byte; a multiple of 64.
    logic [31:0] bytes;
    logic [255:0] digest;           // First byte at the top.
  } load_request_t;

  typedef enum logic [1:0] {
    LoadGood,    // The tables are complete, and their digest is right.
    LoadBus,     // They could not be read.
    LoadDigest,  // Their digest is another one.
    LoadBad      // They are not tables that this lane can use.
  } load_result_e;

  typedef struct packed {
    logic done;  // For one clock.
    load_result_e result;
  } load_answer_t;
endpackage
