// The rules of the gate, each written only once: when a row matches, how a bank answers, how the
// four stages are resolved, and which entries are refused. RTL and proofs both use these functions.
//
// Every function is pure and total: a code that its enumeration does not define is refused.
package gate_pkg;
  import layout_pkg::*;

  // ---- rows
  // ----

  // Declarations of the policy, from the image header.
  typedef struct packed {
    logic [127:0] classes;
    logic [31:0] register, audience, domain, temporal;
    logic [7:0] quantities;
    logic text;  // Sessions use the text lane.
  } declared_t;

  function automatic declared_t declared_of(image_header_t header, logic text);
    return '{
        text: text,
        classes: header.classes,
        register: header.register,
        audience: header.audience,
        domain: header.domain,
        temporal: header.temporal,
        quantities: header.quantities
    };
  endfunction

  // Whether `value` is one of the allowed values. Values from 32 on are never allowed.
  function automatic logic allowed(logic [31:0] mask, logic [7:0] value);
    return value[7:5] == 3'd0 && mask[value[4:0]];
  endfunction

  // Whether `set` has all bits of `all`, one of `any` (if `any` is not 0), and none of `none`.
  function automatic logic set_holds(logic [127:0] set, logic [127:0] all, logic [127:0] any,
      logic [127:0] none);
    return (all & ~set) == '0 && (any == '0 || (any & set) != '0) && (none & set) == '0;
  endfunction

  // Inclusive ranges, {high, low}.
  function automatic logic in_range8(logic [1:0][7:0] range, logic [7:0] value);
    return range[0] <= value && value <= range[1];
  endfunction
  function automatic logic in_range16(logic [1:0][15:0] range, logic [15:0] value);
    return range[0] <= value && value <= range[1];
  endfunction
  function automatic logic in_range_signed(logic [31:0] low, logic [31:0] high, logic [31:0] value);
    return signed'(low) <= signed'(value) && signed'(value) <= signed'(high);
  endfunction

  // Every condition of a row, one bit each (`row_match`); the row matches when all hold.
  typedef struct packed {
    logic kind;                // The kind is known and is not empty.
    // Each kind of columns in the layout's order; the first is bit 0.
    logic [EnumerationColumns-1:0] enumerations;
    logic [SetColumns-1:0] sets;
    logic [CounterColumns-1:0] counters;
    logic [ScalarColumns-1:0] scalars;
    logic [QuantitySlots-1:0] quantities;
    logic bits;
  } conditions_t;

  // ---- banks
  // ----

  // State of a bank during a sweep: for each kind, whether a row matched, and the first such row.
  typedef struct packed {
    logic reject, decompose, permit;
    logic [15:0] reject_row, decompose_row, permit_row;
  } bank_seen_t;

  // Rows are folded in ascending order, so the first of a kind has the lowest index.
  function automatic bank_seen_t bank_fold(bank_seen_t seen, logic match, logic [7:0] kind,
      logic [15:0] row);
    bank_seen_t next;
    next = seen;
    if (match) begin
      case (kind)
        RowKindPermit: if (!seen.permit) begin
          next.permit = 1'b1;
          next.permit_row = row;
        end
        RowKindForbidDecompose: if (!seen.decompose) begin
          next.decompose = 1'b1;
          next.decompose_row = row;
        end
        default: if (!seen.reject) begin  // Forbid-reject, or an unknown kind.
          next.reject = 1'b1;
          next.reject_row = row;
        end
      endcase
    end
    return next;
  endfunction

  // A bank's answer, and the row that decided it.
  typedef struct packed {
    stage_outcome_e outcome;
    logic [15:0] row;
  } bank_answer_t;

  // Forbid-reject wins over forbid-decompose, and forbid-decompose over permit. Without a match,
  // the answer is a reject without a row.
  function automatic bank_answer_t bank_answer(bank_seen_t seen);
    if (seen.reject) return '{outcome: StageOutcomeReject, row: seen.reject_row};
    if (seen.decompose) return '{outcome: StageOutcomeDecompose, row: seen.decompose_row};
    if (seen.permit) return '{outcome: StageOutcomePass, row: seen.permit_row};
    return '{outcome: StageOutcomeReject, row: 16'(RowNone)};
  endfunction

  // ---- stages
  // ----

  typedef struct packed {
    determination_e determination;
    stage_e stage;
  } verdict_t;

  // The first stage that does not pass decides, in the order policy, validation, lineage, entropy.
  // An outcome that is neither pass nor decompose is a reject. A decompose at depth `max_depth` or
  // deeper becomes a reject.
  function automatic verdict_t resolve_stages(logic [7:0] policy, logic [7:0] validation,
      logic [7:0] lineage,
                                              logic [7:0] entropy, logic [7:0] depth,
                                                  logic [7:0] max_depth);
    logic [7:0] outcome;
    verdict_t v;
    if (policy != StageOutcomePass) begin
      outcome = policy;
      v.stage = StagePolicy;
    end else if (validation != StageOutcomePass) begin
      outcome = validation;
      v.stage = StageValidation;
    end else if (lineage != StageOutcomePass) begin
      outcome = lineage;
      v.stage = StageLineage;
    end else if (entropy != StageOutcomePass) begin
      outcome = entropy;
      v.stage = StageEntropy;
    end else begin
      outcome = StageOutcomePass;
      v.stage = StageNone;
    end
    case (outcome)
      StageOutcomePass: v.determination = DeterminationAdmit;
      StageOutcomeDecompose:
        v.determination = depth >= max_depth ? DeterminationReject : DeterminationDecompose;
      default: v.determination = DeterminationReject;
    endcase
    return v;
  endfunction

  // ---- entries
  // ----

  // The faults of an entry, in the order in which they are reported (first member first).
  typedef struct packed {
    logic crc;
    logic version;
    logic opcode;
    logic reserved;
    logic enumeration;
    logic classes;
    logic basis_points;
    logic quantity;
    logic stage_code;
    logic slot;
    logic sequence_;
    logic context_;
    logic text_window;
    logic text_form;
    logic text_commitment;
    logic text_end;
    logic credit;
  } entry_faults_t;

  function automatic logic bad_fraction(logic [15:0] value);
    return value > 16'(BasisPointsMax);
  endfunction

  function automatic logic bad_stage(logic [7:0] outcome, logic [7:0] reason);
    return !(outcome == StageOutcomePass || outcome == StageOutcomeReject
        || outcome == StageOutcomeDecompose)
        || (outcome == StageOutcomePass && reason != '0);
  endfunction

  // The faults that follow from the entry's own bytes and the declarations. `crc`, `slot`,
  // `sequence_`, `context_`, the faults of the text, and `credit` stay clear here: they need the
  // CRC unit, the stream table, the text lane and the heartbeat.
  function automatic entry_faults_t entry_faults(descriptor_t d, declared_t declared);
    entry_faults_t f;
    f = '0;
    f.version = d.version != 8'(LayoutVersion);
    case (d.opcode)
      OpcodeGate: begin
        f.reserved = !descriptor_reserved_is_zero(d) || (d.flags & ~8'(FlagsAll)) != '0
            || (d.fields_touched & ~8'(FieldsTouchedAll)) != '0
            || (d.flags[FlagsCallBit] && (!declared.text || d.flags[FlagsInertPrefixBit]));
        f.enumeration = d.category > CategoryTransition || d.granularity > GranularityStep
            || d.epistemic > EpistemicExploratory || d.anchor > AnchorAmbiguous
            || !allowed(declared.temporal, d.temporal) || !allowed(declared.domain, d.domain)
            || !allowed(declared.audience, d.audience) || !allowed(declared.register, d.register);
        f.classes = ((d.classes | d.established) & ~declared.classes) != '0;
        f.basis_points = !d.flags[FlagsUncertaintyKnownBit] && d.uncertainty != 16'(BasisPointsMax);
        for (int unsigned i = 0; i < ScalarColumns; i++)
          if (ScalarFractions[i]
              && bad_fraction(d[ScalarEntryAt[EntryAtWidth*i+:EntryAtWidth]+:16]))
            f.basis_points = 1'b1;
        f.quantity = d.quantity_present[7:4] != '0
            || (d.quantity_present & ~declared.quantities) != '0;
        for (int unsigned i = 0; i < QuantitySlots; i++)
          if (!d.quantity_present[i] && d.quantities[i] != '0) f.quantity = 1'b1;
        f.stage_code = bad_stage(d.validation_outcome, d.validation_reason)
            || bad_stage(d.lineage_outcome, d.lineage_reason);
      end
      // Only GATE uses bytes 8 to 91.
      OpcodeBegin, OpcodeEnd, OpcodeNote: f.reserved = d[8*92-1:8*8] != '0;
      default: f.opcode = 1'b1;
    endcase
    return f;
  endfunction

  // The first fault, in the order of the codes.
  function automatic fault_e first_fault(entry_faults_t f);
    if (f.crc) return FaultCrc;
    if (f.version) return FaultVersion;
    if (f.opcode) return FaultOpcode;
    if (f.reserved) return FaultReserved;
    if (f.enumeration) return FaultEnumeration;
    if (f.classes) return FaultClass;
    if (f.basis_points) return FaultBasisPoints;
    if (f.quantity) return FaultQuantity;
    if (f.stage_code) return FaultStageCode;
    if (f.slot) return FaultSlot;
    if (f.sequence_) return FaultSequence;
    if (f.context_) return FaultContext;
    if (f.text_window) return FaultTextWindow;
    if (f.text_form) return FaultTextForm;
    if (f.text_commitment) return FaultTextCommitment;
    if (f.text_end) return FaultTextEnd;
    if (f.credit) return FaultCredit;
    return FaultNone;
  endfunction

  // ---- texts
  // ----

  // Classes that the text lane found: in the entry, and in its stream's admitted entries before it.
  typedef struct packed {
    logic [127:0] classes, established;
  } found_t;

  // Whether a slot belongs to this lane.
  function automatic logic in_lane(logic [15:0] slot, logic [7:0] lane, int unsigned max_streams,
      int unsigned lanes);
    return 32'(slot) < max_streams && 32'(slot) % lanes == 32'(lane);
  endfunction

  // Whether an entry has a text, in a session with the text lane.
  function automatic logic entry_has_text(logic [7:0] opcode, logic [15:0] slot, logic [7:0] lane,
      int unsigned max_streams, int unsigned lanes);
    return (opcode == OpcodeGate || opcode == OpcodeEnd)
        && in_lane(slot, lane, max_streams, lanes);
  endfunction

  // Whether the length in the descriptor is wrong. A GATE needs the length of its text, or 65535 if
  // the text is longer; with held bytes before the span (`prefixed`), at most this length. If the
  // host refused the span (`refused`), 65535 is allowed for any text, because a host writes this
  // length for a span that is too long. The length of an END is not checked.
  function automatic logic bad_length(logic [7:0] opcode, logic prefixed, logic refused,
      logic [15:0] described, logic [31:0] length);
    logic [15:0] counted;
    counted = length > 32'h0000_ffff ? 16'hffff : length[15:0];
    if (opcode != OpcodeGate || (refused && described == 16'hffff)) return 1'b0;
    return prefixed ? described > counted : described != counted;
  endfunction

  // The classes that a bank compares: a class that opens a gate counts only if host and card found
  // it; any other class counts if host or card found it.
  function automatic logic [127:0] joined(logic [127:0] host, logic [127:0] card,
      logic [127:0] opening);
    return ((host | card) & ~opening) | (host & card & opening);
  endfunction

  // ---- streams
  // ----

  // Fields that must not change during a stream.
  typedef struct packed {
    logic [7:0] domain, audience, register, epistemic;
  } context_t;

  // A slot of the stream table.
  typedef struct packed {
    logic open;
    logic [31:0] next;   // Sequence of the next accepted entry; valid while open.
    logic judged;        // A GATE of the stream was accepted.
    context_t context_;  // Context of its first GATE; zero before that.
  } stream_t;

  // BEGIN needs a free slot, every other entry needs an open slot.
  function automatic logic bad_slot(logic [7:0] opcode, logic in_table, stream_t stream);
    return !in_table || (opcode == OpcodeBegin ? stream.open : !stream.open);
  endfunction

  // The sequence must be the slot's next (0 for BEGIN). Only END may have the highest sequence
  // number, so the counter never wraps.
  function automatic logic bad_sequence(logic [7:0] opcode, logic [31:0] seq, stream_t stream);
    if (opcode == OpcodeBegin) return seq != '0;
    return seq != stream.next || (seq == '1 && opcode != OpcodeEnd);
  endfunction

  // Every GATE of a stream must have the context of the stream's first GATE.
  function automatic logic bad_context(logic [7:0] opcode, context_t context_, stream_t stream);
    return opcode == OpcodeGate && stream.judged && context_ != stream.context_;
  endfunction

  // The slot after an accepted entry. BEGIN and END clear all values of an earlier stream.
  function automatic stream_t stream_after(logic [7:0] opcode, logic [31:0] sequence_,
      context_t context_, stream_t stream);
    stream_t next;
    next = '0;
    next.open = opcode != OpcodeEnd;
    next.next = sequence_ + 32'd1;
    case (opcode)
      OpcodeGate: begin
        next.judged = 1'b1;
        next.context_ = context_;
      end
      OpcodeNote: begin
        next.judged = stream.judged;
        next.context_ = stream.context_;
      end
      default: ;
    endcase
    return next;
  endfunction

  // ---- table windows
  // ----

  // One access to a table window, for one clock, at the address `row` and `word`. A write without
  // all strobes is damaged: it changes no word, and makes the row invalid.
  typedef struct packed {
    logic valid;
    logic write;
    logic [9:0] row;
    logic [5:0] word;
    logic whole;
    logic [31:0] data;
  } table_access_t;

  // A window's answer to a read: `ack` for one clock, with the word.
  typedef struct packed {
    logic ack;
    logic [31:0] data;
  } table_answer_t;

  // The row of a lane's tables that is read back to be hashed.
  typedef struct packed {
    logic valid;
    logic entropy;  // Of the entropy bank.
    logic [15:0] row;
  } readback_t;

  // ---- the path of an entry
  // ----

  // An entry after its check.
  typedef struct packed {
    logic judge;         // A GATE without a fault: the banks decide on it.
    fault_e fault;
    logic [63:0] tick;   // Tick at which its check ended.
    logic [15:0] index;  // Its place in the submission ring.
    found_t found;       // 0 for an entry without a text, and with a fault.
    descriptor_t descriptor;  // Lowest, so that a simulator copies whole words.
  } checked_t;

  // Values that every record contains, whatever its entry is.
  typedef struct packed {
    logic [7:0] lane;
    logic [31:0] epoch;
    logic [63:0] tick;
  } stamp_t;

  // A step of the sweep: one row, in the clock of `valid`.
  typedef struct packed {
    logic valid;
    logic first;
    logic last;
    logic judge;  // The entry is judged; otherwise the step matches nothing.
    logic [15:0] row;
  } step_t;

  // ---- counters since OPEN
  // ----

  typedef struct packed {
    logic [31:0] verdicts, admits, rejects, decomposes, refused, open_streams;
    logic [63:0] busy_clocks;
  } counters_t;

  localparam int unsigned RowWords = RowBytes / 4;
  localparam int unsigned HeaderWords = ImageHeaderBytes / 4;
  localparam int unsigned TextWords = ImageTextBytes / 4;
endpackage
