// Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.
// Wire layouts: byte n of a struct is bits 8*n +: 8.
package layout_pkg;
  localparam int unsigned LayoutVersion = 1;  // Version byte of descriptors, answers and image headers.
  localparam int unsigned Classes = 128;  // Classes that a policy can declare.
  localparam int unsigned QuantitySlots = 4;  // Quantity slots that a policy can declare.
  localparam int unsigned BasisPointsMax = 10000;  // One, in basis points.
  localparam int unsigned BeatBytes = 64;  // Bytes in one beat of the card's bus.
  localparam int unsigned LogStride = 256;  // Bytes from one record to the next in the log ring.
  localparam int unsigned RowNone = 65535;  // Row number that stands for `no row`: nothing matched, or no bank decided.
  localparam int unsigned BankStride = 256;  // Bytes from one row to the next in a bank's register window.
  localparam int unsigned ImageMagic = 1229800272;  // `PCMI` in memory: a table image.
  localparam int unsigned CheckpointMagic = 1347109712;  // `PCKP` in memory: a checkpoint.
  localparam int unsigned CheckpointStride = 32768;  // Bytes from one checkpoint to the next in the checkpoint ring: checkpoint, signature, the head of each lane in a beat of its own, zeros.
  localparam int unsigned SignatureBytes = 17088;  // SLH-DSA-SHA2-128f signature (FIPS 205, table 2).
  // SHA-256 that names this layout and the register map; first byte lowest.
  localparam logic [255:0] MapDigest =
    256'hf0e6bc791b80b69ea0944e23b9e5161021cc6cb9a4430e65f72df76eb3581168;

  // What a submission asks for. Zero is no opcode, so a zeroed entry is refused.
  typedef enum logic [7:0] {
    OpcodeGate = 8'd1,  // Judge a mutation.
    OpcodeBegin = 8'd2,  // Open a stream on a free slot; the commitment is the digest of the stream's context document.
    OpcodeEnd = 8'd3,  // Close the stream; the commitment covers trailing inert bytes.
    OpcodeNote = 8'd4   // Record the digest of something beside the text.
  } opcode_e;

  // What the mutation does to what was said before.
  typedef enum logic [7:0] {
    CategoryAssertion = 8'd0,  // States something new.
    CategoryQualification = 8'd1,  // Restricts or hedges.
    CategoryElaboration = 8'd2,  // Adds detail to what is established.
    CategoryNegation = 8'd3,  // Denies.
    CategoryReference = 8'd4,  // Points at something outside the text.
    CategoryTransition = 8'd5   // Moves to another topic.
  } category_e;

  // The size of the candidate.
  typedef enum logic [7:0] {
    GranularityToken = 8'd0,  // One token.
    GranularitySpan = 8'd1,  // A clause or a sentence.
    GranularityStep = 8'd2   // A reasoning step or a tool call.
  } granularity_e;

  // How sure the context wants the text to be.
  typedef enum logic [7:0] {
    EpistemicStandard = 8'd0,  // Ordinary care.
    EpistemicHighPrecision = 8'd1,  // Tight bounds.
    EpistemicExploratory = 8'd2   // Wide bounds.
  } epistemic_e;

  // What became of the span's external references.
  typedef enum logic [7:0] {
    AnchorNone = 8'd0,  // No external reference.
    AnchorResolved = 8'd1,  // Every reference was found.
    AnchorUnresolvable = 8'd2,  // A reference was not found.
    AnchorAmbiguous = 8'd3   // A reference has several readings.
  } anchor_e;

  // The host's finding for stage 2 or 3. Zero is no outcome, so a zeroed GATE descriptor is refused.
  typedef enum logic [7:0] {
    StageOutcomePass = 8'd1,  // The stage passes.
    StageOutcomeReject = 8'd2,  // The stage rejects.
    StageOutcomeDecompose = 8'd3   // The stage asks for a split.
  } stage_outcome_e;

  // The gate's answer. Zero is no determination and never an admit.
  typedef enum logic [7:0] {
    DeterminationNone = 8'd0,  // Not a verdict: a fault, or an entry that is not judged.
    DeterminationReject = 8'd1,  // Rejected.
    DeterminationDecompose = 8'd2,  // To be split and resubmitted.
    DeterminationAdmit = 8'd3   // Admitted.
  } determination_e;

  // The stage that decided: the first that failed.
  typedef enum logic [7:0] {
    StageNone = 8'd0,  // No stage failed.
    StagePolicy = 8'd1,  // Policy bank, in the card.
    StageValidation = 8'd2,  // Descriptor validation, on the host.
    StageLineage = 8'd3,  // Lineage continuity, on the host.
    StageEntropy = 8'd4   // Entropy bank, in the card.
  } stage_e;

  // What a row does when it matches. Zero is an empty row, so a zeroed table denies everything.
  typedef enum logic [7:0] {
    RowKindEmpty = 8'd0,  // Never matches.
    RowKindPermit = 8'd1,  // Permits.
    RowKindForbidReject = 8'd2,  // Forbids with outcome reject.
    RowKindForbidDecompose = 8'd3   // Forbids with outcome decompose.
  } row_kind_e;

  // What a record stands for.
  typedef enum logic [7:0] {
    RecordTypeOpen = 8'd1,  // The session opened.
    RecordTypeBegin = 8'd2,  // A stream opened.
    RecordTypeVerdict = 8'd3,  // A determination.
    RecordTypeNote = 8'd4,  // A digest was noted.
    RecordTypeEnd = 8'd5,  // A stream closed.
    RecordTypeRefused = 8'd6,  // An entry was refused with a fault.
    RecordTypeHeartbeat = 8'd7,  // A heartbeat was accepted.
    RecordTypeClose = 8'd8,  // The session closed.
    RecordTypeAlarm = 8'd9   // A sticky fault.
  } record_type_e;

  // Life of the card.
  typedef enum logic [7:0] {
    LifeReset = 8'd0,  // After reset. Admits nothing, tables locked.
    LifeLoad = 8'd1,  // Tables can be written.
    LifeOpening = 8'd2,  // Tables locked, being checked.
    LifeRun = 8'd3,  // Verdicts.
    LifeClosing = 8'd4,  // Finishing what was fetched.
    LifeFault = 8'd5   // A sticky fault; left by RESET only, or by the hardware reset.
  } life_e;

  // Values of the command register.
  typedef enum logic [7:0] {
    CommandLoad = 8'd1,  // RESET or CLOSING's end to LOAD: clears every table's valid bits and unlocks them.
    CommandOpen = 8'd2,  // LOAD to OPENING: locks the tables in this clock.
    CommandClose = 8'd3,  // RUN or FAULT to CLOSING.
    CommandReset = 8'd4   // Any state to RESET, once the bus is quiet; never while the card needs the hardware reset.
  } command_e;

  // Fault codes; the high byte is the class. Checks run in the order of the codes, and the first that fails is reported.
  typedef enum logic [15:0] {
    FaultNone = 16'h0000,  // No fault.
    FaultCrc = 16'h0101,  // Entry: the CRC-32 of the descriptor is wrong.
    FaultVersion = 16'h0102,  // Entry: unknown layout version.
    FaultOpcode = 16'h0103,  // Entry: unknown opcode.
    FaultReserved = 16'h0104,  // Entry: a reserved bit, or a field that this opcode does not use, is not zero.
    FaultEnumeration = 16'h0105,  // Entry: an enumeration value that the policy does not declare.
    FaultClass = 16'h0106,  // Entry: a class bit that the policy does not declare.
    FaultBasisPoints = 16'h0107,  // Entry: a fraction over 10000 basis points.
    FaultQuantity = 16'h0108,  // Entry: a value in an absent slot, or presence of a slot that the policy does not declare.
    FaultStageCode = 16'h0109,  // Entry: a stage outcome that is none of pass, reject, decompose, or a reason beside a pass.
    FaultSlot = 16'h010a,  // Entry: slot out of range, BEGIN on an open slot, or anything else on a free one.
    FaultSequence = 16'h010b,  // Entry: the sequence is not the slot's next.
    FaultContext = 16'h010c,  // Entry: a GATE whose domain, audience, register or epistemic mode differs from the first GATE that its stream had judged.
    FaultTextWindow = 16'h010d,  // Entry: the text in its window cannot be read: it does not fit, or a read failed.
    FaultTextForm = 16'h010e,  // Entry: the window holds no text of this entry: another tag, a length that contradicts the descriptor, or bytes that are not UTF-8.
    FaultTextCommitment = 16'h010f,  // Entry: the bytes in the window do not hash to the commitment.
    FaultTextEnd = 16'h0110,  // Entry: the bytes of an END hold a class of the text lane.
    FaultCredit = 16'h0201,  // Credit: the heartbeat credit is spent.
    FaultDoorbell = 16'h0301,  // Transport: a doorbell out of range, or more entries than the ring holds.
    FaultRingConfig = 16'h0302,  // Transport: a ring's base or size is not allowed.
    FaultReadResponse = 16'h0303,  // Transport: RRESP was not OKAY, or a read burst had the wrong length or id.
    FaultWriteResponse = 16'h0304,  // Transport: BRESP was not OKAY, or a response without a write.
    FaultWatchdog = 16'h0305,  // Transport: a response did not come in time.
    FaultCommand = 16'h0306,  // Transport: a command that the life state does not allow.
    FaultNeedsReset = 16'h0307,  // Transport: the bus may still owe something of an earlier session; only the hardware reset clears this.
    FaultImageHeader = 16'h0401,  // Integrity: magic, version, map digest or row counts of the header do not fit this card.
    FaultImageIncomplete = 16'h0402,  // Integrity: a row that the header counts, or the header, was not written whole.
    FaultImageDigest = 16'h0403,  // Integrity: the digest of the tables is not the expected one.
    FaultUnsupported = 16'h0404,  // Integrity: OPEN asks for a part that this card does not have.
    FaultTableChanged = 16'h0405,  // Integrity: the tables hash to another digest than at OPEN, in RUN or at CLOSE; or a memory changed: a word was read without its parity.
    FaultLockStep = 16'h0406   // Integrity: reserved for two hash cores that disagree. No card raises it.
  } fault_e;

  // Descriptor flags.
  localparam int unsigned FlagsInertPrefixBit = 0;  // The commitment covers held inert bytes before the span.
  localparam int unsigned FlagsUncertaintyKnownBit = 1;  // The engine gave log-probabilities.
  localparam int unsigned FlagsCallBit = 2;  // The text is a tool call. Sessions with the text lane only.
  localparam logic [15:0] FlagsAll = 16'h7;  // Every defined bit.

  // Fields of the semantic state that the mutation touches.
  localparam int unsigned FieldsTouchedIntentBit = 0;  // Intent.
  localparam int unsigned FieldsTouchedContextBit = 1;  // Context.
  localparam int unsigned FieldsTouchedMemoryBit = 2;  // Memory.
  localparam int unsigned FieldsTouchedPolicyReferenceBit = 3;  // Policy reference.
  localparam int unsigned FieldsTouchedMutationBit = 4;  // Mutation descriptor.
  localparam int unsigned FieldsTouchedLineageBit = 5;  // Lineage.
  localparam int unsigned FieldsTouchedEntropyBit = 6;  // Entropy and uncertainty bounds.
  localparam logic [15:0] FieldsTouchedAll = 16'h7f;  // Every defined bit.

  // What kind of key signs this card's evidence.
  localparam int unsigned KeyFlagsSimBit = 0;  // A simulated card: the key is public.
  localparam int unsigned KeyFlagsClassKeyBit = 1;  // One key for a class of cards.
  localparam int unsigned KeyFlagsNoTrngBit = 2;  // The card has no source of randomness.
  localparam logic [15:0] KeyFlagsAll = 16'h7;  // Every defined bit.

  // Parts of a card that a session can use.
  localparam int unsigned FeaturesTextLaneBit = 0;  // Every GATE and END has its text in the window of its slot; the card hashes and scans it.
  localparam logic [15:0] FeaturesAll = 16'h1;  // Every defined bit.

  // Optional parts of a table image.
  localparam int unsigned ImagePartsTextBit = 0;  // The block `image_text` follows the header. Sessions of this image use the text lane.
  localparam logic [15:0] ImagePartsAll = 16'h1;  // Every defined bit.

  // Allowed-value masks of the four enumerations that the layout fixes, in 16 bits.
  localparam int unsigned SmallEnumsCategoryBit = 0;  // Categories.
  localparam int unsigned SmallEnumsCategoryWidth = 6;
  localparam int unsigned SmallEnumsGranularityBit = 6;  // Granularities.
  localparam int unsigned SmallEnumsGranularityWidth = 3;
  localparam int unsigned SmallEnumsEpistemicBit = 9;  // Epistemic modes.
  localparam int unsigned SmallEnumsEpistemicWidth = 3;
  localparam int unsigned SmallEnumsAnchorBit = 12;  // Anchor statuses.
  localparam int unsigned SmallEnumsAnchorWidth = 4;
  localparam logic [15:0] SmallEnumsAll = 16'hffff;  // Every defined bit.

  // Single bits that a row can require: descriptor flags, then quantity presence.
  localparam int unsigned RowBitsInertPrefixBit = 0;  // Flag `inert_prefix`.
  localparam int unsigned RowBitsUncertaintyKnownBit = 1;  // Flag `uncertainty_known`.
  localparam int unsigned RowBitsQuantityBit = 2;  // Presence of quantity slots 0 to 3.
  localparam int unsigned RowBitsQuantityWidth = 4;
  localparam logic [15:0] RowBitsAll = 16'h3f;  // Every defined bit.

  // The submission entry: one mutation, or BEGIN, END, NOTE.
  localparam int unsigned DescriptorBytes = 128;
  typedef struct packed {
    logic [31:0] crc;  // 124
    logic [255:0] commitment;  // 92
    logic [7:0] lineage_reason;  // 91
    logic [7:0] lineage_outcome;  // 90
    logic [7:0] validation_reason;  // 89
    logic [7:0] validation_outcome;  // 88
    logic signed [3:0][31:0] quantities;  // 72
    logic [127:0] established;  // 56
    logic [127:0] classes;  // 40
    logic [7:0] quantity_present;  // 39
    logic [7:0] correction;  // 38
    logic [7:0] alternatives;  // 37
    logic [7:0] depth;  // 36
    logic [15:0] length;  // 34
    logic [15:0] trust_slope;  // 32
    logic [15:0] register_divergence;  // 30
    logic [15:0] certainty_divergence;  // 28
    logic [15:0] content_deviation;  // 26
    logic [15:0] certainty;  // 24
    logic [15:0] uncertainty;  // 22
    logic [15:0] novelty;  // 20
    logic [7:0] fields_touched;  // 19
    logic [7:0] register;  // 18
    logic [7:0] audience;  // 17
    logic [7:0] domain;  // 16
    logic [7:0] anchor;  // 15
    logic [7:0] epistemic;  // 14
    logic [7:0] granularity;  // 13
    logic [7:0] category;  // 12
    logic [15:0] reserved_10;  // 10
    logic [7:0] temporal;  // 9
    logic [7:0] flags;  // 8
    logic [31:0] sequence_;  // 4
    logic [15:0] slot;  // 2
    logic [7:0] opcode;  // 1
    logic [7:0] version;  // 0
  } descriptor_t;

  // Whether every reserved byte is zero.
  function automatic logic descriptor_reserved_is_zero(descriptor_t s);
    return s.reserved_10 == '0;
  endfunction

  // The card's half of a record.
  localparam int unsigned AnswerBytes = 64;
  typedef struct packed {
    logic [127:0] text_established;  // 48
    logic [127:0] text_classes;  // 32
    logic [63:0] tick;  // 24
    logic [63:0] log_index;  // 16
    logic [31:0] epoch;  // 12
    logic [7:0] key_flags;  // 11
    logic [7:0] lane;  // 10
    logic [15:0] entropy_row;  // 8
    logic [15:0] policy_row;  // 6
    logic [15:0] fault;  // 4
    logic [7:0] stage;  // 3
    logic [7:0] determination;  // 2
    logic [7:0] record_type;  // 1
    logic [7:0] version;  // 0
  } answer_t;

  // One entry of the log: the descriptor exactly as the comparators consumed it, and the answer.
  localparam int unsigned RecordBytes = 192;
  typedef struct packed {
    answer_t answer;  // 128
    descriptor_t descriptor;  // 0
  } record_t;

  // What OPEN, CLOSE, HEARTBEAT and ALARM records hold in place of a descriptor. Every lane's log has its own.
  localparam int unsigned SessionBytes = 128;
  typedef struct packed {
    logic [47:0] reserved_122;  // 122
    logic [15:0] seat;  // 120
    logic [15:0] features;  // 118
    logic [15:0] cause;  // 116
    logic [31:0] open_streams;  // 112
    logic [31:0] heartbeat_ticks;  // 108
    logic [31:0] heartbeat_records;  // 104
    logic [63:0] heartbeat_nonce;  // 96
    logic [255:0] ticket_digest;  // 64
    logic [255:0] package_digest;  // 32
    logic [255:0] policy_digest;  // 0
  } session_t;

  // Whether every reserved byte is zero.
  function automatic logic session_reserved_is_zero(session_t s);
    return s.seat == '0
      && s.reserved_122 == '0;
  endfunction

  // What a checkpoint says of one lane's log. The heads of all lanes, in order, are the leaves of the checkpoint's root (RFC 9162, 2.1.1).
  localparam int unsigned LaneHeadBytes = 48;
  typedef struct packed {
    logic [255:0] root;  // 16
    logic [63:0] size;  // 8
    logic [55:0] reserved_1;  // 1
    logic [7:0] lane;  // 0
  } lane_head_t;

  // Whether every reserved byte is zero.
  function automatic logic lane_head_reserved_is_zero(lane_head_t s);
    return s.reserved_1 == '0;
  endfunction

  // What the card signs: where its log stood, and under what.
  localparam int unsigned CheckpointBytes = 192;
  typedef struct packed {
    logic [143:0] reserved_174;  // 174
    logic [15:0] fault;  // 172
    logic [31:0] epoch;  // 168
    logic [63:0] heartbeat_nonce;  // 160
    logic [127:0] boot_nonce;  // 144
    logic [127:0] design_id;  // 128
    logic [255:0] ticket_digest;  // 96
    logic [255:0] policy_digest;  // 64
    logic [255:0] root;  // 32
    logic [63:0] tick;  // 24
    logic [63:0] size;  // 16
    logic [63:0] serial;  // 8
    logic [7:0] lanes;  // 7
    logic [7:0] state;  // 6
    logic [7:0] key_flags;  // 5
    logic [7:0] version;  // 4
    logic [31:0] magic;  // 0
  } checkpoint_t;

  // Whether every reserved byte is zero.
  function automatic logic checkpoint_reserved_is_zero(checkpoint_t s);
    return s.reserved_174 == '0;
  endfunction

  // One entry of the completion ring. It is there once its phase is that of its lap and its CRC fits: no bus promises that 64 bytes come at once.
  localparam int unsigned CompletionBytes = 64;
  typedef struct packed {
    logic [31:0] crc;  // 60
    logic [95:0] reserved_48;  // 48
    logic [127:0] text_classes;  // 32
    logic [63:0] log_index;  // 24
    logic [31:0] epoch;  // 20
    logic [31:0] sequence_;  // 16
    logic [15:0] reserved_14;  // 14
    logic [15:0] slot;  // 12
    logic [15:0] entropy_row;  // 10
    logic [15:0] policy_row;  // 8
    logic [15:0] fault;  // 6
    logic [7:0] reserved_5;  // 5
    logic [7:0] stage;  // 4
    logic [7:0] determination;  // 3
    logic [7:0] phase;  // 2
    logic [15:0] ring_index;  // 0
  } completion_t;

  // Whether every reserved byte is zero.
  function automatic logic completion_reserved_is_zero(completion_t s);
    return s.reserved_5 == '0
      && s.reserved_14 == '0
      && s.reserved_48 == '0;
  endfunction

  // One table row: a conjunction. It matches when every condition holds and its kind is not empty.
  localparam int unsigned RowBytes = 192;
  typedef struct packed {
    logic [127:0] established_none;  // 176
    logic [127:0] established_any;  // 160
    logic [127:0] established_all;  // 144
    logic [127:0] classes_none;  // 128
    logic [127:0] classes_any;  // 112
    logic [127:0] classes_all;  // 96
    logic signed [7:0][31:0] quantities;  // 64
    logic [15:0][15:0] scalars;  // 32
    logic [31:0] register;  // 28
    logic [31:0] audience;  // 24
    logic [31:0] domain;  // 20
    logic [31:0] temporal;  // 16
    logic [1:0][7:0] correction;  // 14
    logic [1:0][7:0] alternatives;  // 12
    logic [1:0][7:0] depth;  // 10
    logic [7:0] touched_none;  // 9
    logic [7:0] touched_any;  // 8
    logic [7:0] bits_value;  // 7
    logic [7:0] bits_mask;  // 6
    logic [15:0] small_enums;  // 4
    logic [15:0] rule;  // 2
    logic [7:0] touched_all;  // 1
    logic [7:0] kind;  // 0
  } row_t;

  // Head of a table image. The text block follows it if `parts` says so, then policy rows, then entropy rows.
  localparam int unsigned ImageHeaderBytes = 128;
  typedef struct packed {
    logic [255:0] package_digest;  // 96
    logic [255:0] map_digest;  // 64
    logic [63:0] reserved_56;  // 56
    logic [31:0] labels;  // 52
    logic [31:0] principal;  // 48
    logic [127:0] classes;  // 32
    logic [31:0] register;  // 28
    logic [31:0] audience;  // 24
    logic [31:0] domain;  // 20
    logic [31:0] temporal;  // 16
    logic [7:0] reserved_15;  // 15
    logic [7:0] budgets;  // 14
    logic [7:0] tools;  // 13
    logic [7:0] present;  // 12
    logic [15:0] entropy_rows;  // 10
    logic [15:0] policy_rows;  // 8
    logic [7:0] parts;  // 7
    logic [7:0] quantities;  // 6
    logic [7:0] max_depth;  // 5
    logic [7:0] version;  // 4
    logic [31:0] magic;  // 0
  } image_header_t;

  // Whether every reserved byte is zero.
  function automatic logic image_header_reserved_is_zero(image_header_t s);
    return s.present == '0
      && s.tools == '0
      && s.budgets == '0
      && s.reserved_15 == '0
      && s.principal == '0
      && s.labels == '0
      && s.reserved_56 == '0;
  endfunction

  // The text lane in a table image.
  localparam int unsigned ImageTextBytes = 64;
  typedef struct packed {
    logic [95:0] reserved_52;  // 52
    logic [31:0] bytes;  // 48
    logic [127:0] opening;  // 32
    logic [255:0] digest;  // 0
  } image_text_t;

  // Whether every reserved byte is zero.
  function automatic logic image_text_reserved_is_zero(image_text_t s);
    return s.reserved_52 == '0;
  endfunction

  // The columns of a row: how many of each kind, and where each stands, in bits of the entry
  // (`EntryAt`) and of the row (the others). A list has one number per column, the first lowest.
  localparam int unsigned EntryAtWidth = 10;
  localparam int unsigned RowAtWidth = 11;
  // category, granularity, epistemic, anchor, temporal, domain
  // audience, register
  localparam int unsigned EnumerationColumns = 8;
  localparam logic [79:0] EnumerationEntryAt = {
    10'd144, 10'd136, 10'd128, 10'd72, 10'd120, 10'd112, 10'd104, 10'd96
  };
  localparam logic [87:0] EnumerationRowAt = {
    11'd224, 11'd192, 11'd160, 11'd128, 11'd44, 11'd41, 11'd38, 11'd32
  };
  localparam logic [255:0] EnumerationMasks = {
    32'hffffffff,
    32'hffffffff,
    32'hffffffff,
    32'hffffffff,
    32'hf,
    32'h7,
    32'h7,
    32'h3f
  };
  // inert_prefix, uncertainty_known
  localparam int unsigned FlagColumns = 2;
  // fields_touched, classes, established
  localparam int unsigned SetColumns = 3;
  localparam logic [29:0] SetEntryAt = {
    10'd448, 10'd320, 10'd152
  };
  localparam logic [32:0] SetAllAt = {
    11'd1152, 11'd768, 11'd8
  };
  localparam logic [32:0] SetAnyAt = {
    11'd1280, 11'd896, 11'd64
  };
  localparam logic [32:0] SetNoneAt = {
    11'd1408, 11'd1024, 11'd72
  };
  localparam logic [383:0] SetMasks = {
    128'hffffffffffffffffffffffffffffffff,
    128'hffffffffffffffffffffffffffffffff,
    128'hff
  };
  // depth, alternatives, correction
  localparam int unsigned CounterColumns = 3;
  localparam logic [29:0] CounterEntryAt = {
    10'd304, 10'd296, 10'd288
  };
  localparam logic [32:0] CounterRowAt = {
    11'd112, 11'd96, 11'd80
  };
  // novelty, uncertainty, certainty, content_deviation, certainty_divergence, register_divergence
  // trust_slope, length
  localparam int unsigned ScalarColumns = 8;
  localparam logic [79:0] ScalarEntryAt = {
    10'd272, 10'd256, 10'd240, 10'd224, 10'd208, 10'd192, 10'd176, 10'd160
  };
  // The scalars that are fractions, a bit for each.
  localparam logic [7:0] ScalarFractions = 8'b00111111;

endpackage
