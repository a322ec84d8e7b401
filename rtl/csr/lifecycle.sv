// The card's lifecycle (RESET, LOAD, OPENING, RUN, CLOSING, FAULT), the table lock, session records
// and sticky faults.
//
// Commands (writes of the command register; each acts one clock after the write):
//   LOAD   RESET, LOAD -> LOAD
//   OPEN   LOAD -> OPENING -> RUN; a refused OPEN goes back to LOAD with `load_fault_o`
//   CLOSE  RUN -> CLOSING -> LOAD; in FAULT: writes one CLOSE record with the cause, stays in FAULT
// RESET  any state -> RESET when the ring is quiet; until then CLOSING, and commands are ignored
// Any other command gives FaultCommand. Every entry to LOAD clears the tables; so do a refused OPEN
// and LOAD in LOAD. `needs_reset_i` means that transfers of an earlier session may be outstanding
// on the bus. While it is high, OPEN is refused with FaultNeedsReset, a running session gets that
// fault or the ring's own, and RESET does not end, except by `rst_i`.
//
// Lock: `locked_o` is low in LOAD only; it rises in the clock of a command write. `cfg_locked_o` is
// the same for the configuration registers, but it is low in RESET too.
// OPENING: the checks run in the order of the fault codes, the digest of the tables last. Then, if
// the image has a text part, the tables of the text lane are read: a place that is not allowed, a
// wrong digest or bad tables refuse OPEN; a read that fails is a sticky fault. Then the ring
// configuration is checked, the stream table is cleared and the OPEN record is written. RUN begins
// when this write was answered and the checkpoint over the record was written.
// RUN: tables whose digest differs from OPEN's are a fault. A presented heartbeat waits until the
// lane is empty (`hold_o` stops new entries), which fixes its place in the log.
// CLOSE drains the lane, hashes the tables again, writes the CLOSE record and the last checkpoint.
// FAULT: `run_o` falls in the clock of the cause. If the session's log is open and the bus works,
// an ALARM record and a checkpoint follow. The first cause stays until RESET.
// Doorbells: the submission tail acts in RUN and CLOSING. The completion, log and checkpoint heads
// also act in FAULT (the ALARM may need the space) and from the OPEN record on (the host may have
// consumed it). Other doorbell writes are ignored: OPEN zeroes every pointer.
//
// After reset: RESET, tables locked. Duties of the caller: a lane that obeys `drop_o` and `run_o`
// in the same clock.
`include "assert.svh"

module lifecycle
  import layout_pkg::*;
#(
    parameter bit Text = 1'b0  // The card has a text lane; else no image asks for it.
) (
    input  logic         clk_i,
    input  logic         rst_i,
    // Commands.
    input  logic         command_write_i,  // The command register is written in this clock.
    input  logic [7:0]   command_i,        // The register's value, one clock later.
    // Tables.
    output logic         locked_o,
    output logic         cfg_locked_o,
    output logic         tables_clear_o,
    // `header_fits_i` and `complete_i` are registered in this clock, and read one clock later.
    output logic         check_o,
    input  logic         header_fits_i,
    input  logic         complete_i,  // Header and every counted row are valid.
    output logic         digest_o,    // Hash the tables, until `digest_done_i`.
    // The digest is valid. The two inputs below are read in this clock.
    input  logic         digest_done_i,
    input  logic         digest_expected_i,  // The digest is the one that the host expects.
    input  logic         digest_same_i,      // The digest is the same as at OPEN.
    input  logic         changed_i,          // A memory of the tables changed in RUN.
    // Text lane.
    input  logic         text_i,          // The image asks for it.
    input  logic         text_placed_i,   // Its windows and tables are where they may be.
    output logic         text_load_o,     // Read its tables, until `text_loaded_i`.
    input  logic         text_loaded_i,
    input  fault_e       text_fault_i,    // With `text_loaded_i`: why they are not loaded.
    // Ring.
    output logic         ring_open_o,
    output logic         ring_fetch_o,
    output logic         ring_halt_o,
    output logic         ring_clear_o,
    output logic         tail_doorbell_o,   // The submission tail's doorbell acts.
    output logic         head_doorbells_o,  // The completion and log heads' doorbells act.
    input  fault_e       ring_fault_i,
    input  logic         ring_bus_dead_i,
    input  logic         needs_reset_i,
    input  logic         ring_idle_i,
    // Lane.
    output logic         run_o,
    output logic         hold_o,  // Accept no entries for now.
    output logic         drop_o,
    output logic         streams_clear_o,
    input  logic         streams_clearing_i,
    output logic         record_valid_o,
    input  logic         record_ready_i,
    output record_type_e record_type_o,
    output fault_e       record_cause_o,
    // In some lane, OPEN is in the log and CLOSE is not.
    input  logic         log_open_i,
    input  logic         written_i,
    input  logic         lane_idle_i,
    // Heartbeats and checkpoints.
    input  logic         heartbeat_i,  // A heartbeat is presented.
    output logic         sign_o,       // Request a checkpoint over all records.
    // The checkpoint's state: closing after every CLOSE record, including that of a fault.
    output life_e        sign_life_o,
    // The checkpoint was written. Without a checkpoint ring, this comes at once.
    input  logic         sign_done_i,
    // Status.
    output life_e        life_o,
    output logic         busy_o,
    output fault_e       fault_o,
    output fault_e       load_fault_o
);
  typedef enum logic [17:0] {
    StReset       = 18'h00001,
    StLoad        = 18'h00002,
    StCheck       = 18'h00004,  // Tables and header answer `check_o`.
    StJudge       = 18'h00008,  // Their answers are evaluated.
    StDigest      = 18'h00010,  // The tables are being hashed.
    StStreams     = 18'h00020,  // Ring opened; the stream table is being cleared.
    StOpenRecord  = 18'h00040,
    StOpenWait    = 18'h00080,
    StOpenSign    = 18'h00100,
    StRun         = 18'h00200,
    StDrain       = 18'h00400,
    StRehash      = 18'h00800,
    StCloseRecord = 18'h01000,
    StCloseWait   = 18'h02000,
    StCloseSign   = 18'h04000,
    StFault       = 18'h08000,
    StQuiet       = 18'h10000,  // On the way to RESET.
    StText        = 18'h20000   // The tables of the text lane are read.
  } state_e;

  state_e state_q;
  logic command_q;          // `command_i` holds a new command.
  logic alarm_q, close_q;   // Records that must still be written in FAULT.
  logic last_record_q;      // The record under way in FAULT is CLOSE.
  logic sign_q;             // A checkpoint that is still needed in FAULT.
  logic heartbeat_q;             // A heartbeat waits for its record.
  logic [2:0] wait_q;       // Clocks for which a condition has held.
  fault_e fault_q, load_fault_q;

  // ---- tables of the text lane
  logic text, text_ends, text_refuses;
  assign text = Text && text_i;
  assign text_load_o = state_q == StText && text_placed_i;
  assign text_ends = text_load_o && text_loaded_i;
  // Every other fault is a fault of the bus and does not refuse OPEN, but leads to FAULT.
  assign text_refuses = text_fault_i == FaultImageDigest || text_fault_i == FaultImageHeader;

  // ---- causes of FAULT
  logic is_load, is_open, is_close, is_reset, allowed, ring_used, faulting;
  fault_e cause;
  assign is_load = command_q && command_i == CommandLoad;
  assign is_open = command_q && command_i == CommandOpen;
  assign is_close = command_q && command_i == CommandClose;
  assign is_reset = command_q && command_i == CommandReset;

  always_comb begin
    case (state_q)
      StReset: allowed = is_load || is_reset;
      StLoad: allowed = is_load || is_open || is_reset;
      StRun, StFault: allowed = is_close || is_reset;
      StQuiet: allowed = 1'b1;
      default: allowed = is_reset;
    endcase
    ring_used = state_q == StOpenRecord || state_q == StOpenWait || state_q == StOpenSign
        || state_q == StRun
        || state_q == StDrain || state_q == StRehash || state_q == StCloseRecord
            || state_q == StCloseWait
        || state_q == StCloseSign;
    cause = FaultNone;
    if (command_q && !allowed) cause = FaultCommand;
    if (state_q == StRehash && digest_done_i && !digest_same_i) cause = FaultTableChanged;
    if (text_ends && text_fault_i == FaultNone && needs_reset_i) cause = FaultNeedsReset;
    if (text_ends && text_fault_i != FaultNone && !text_refuses) cause = text_fault_i;
    if (ring_used && changed_i) cause = FaultTableChanged;
    if (ring_used && needs_reset_i) cause = FaultNeedsReset;
    if (ring_used && ring_fault_i != FaultNone) cause = ring_fault_i;
    // In StStreams, the ring's fault is only evaluated after the ring has settled; see below.
    faulting = cause != FaultNone && state_q != StFault && !is_reset;
  end

  // ---- outputs
  assign locked_o = state_q != StLoad || command_q || command_write_i;
  assign cfg_locked_o = (state_q != StLoad && state_q != StReset) || command_q || command_write_i;
  assign check_o = state_q == StCheck;
  assign digest_o = state_q == StDigest || state_q == StRehash;
  assign ring_open_o = !needs_reset_i && !command_q
      && ((state_q == StDigest && digest_done_i && digest_expected_i && !text)
      || (text_ends && text_fault_i == FaultNone));
  assign streams_clear_o = ring_open_o;
  assign ring_fetch_o = state_q == StRun && !faulting;
  assign ring_halt_o = state_q != StRun || faulting;
  assign ring_clear_o = state_q == StQuiet;
  assign tail_doorbell_o = state_q == StRun || state_q == StDrain || state_q == StRehash
      || state_q == StCloseRecord
      || state_q == StCloseWait || state_q == StCloseSign;
  assign head_doorbells_o = ring_used || state_q == StFault;
  assign run_o = (state_q == StRun || state_q == StDrain) && !faulting && !is_reset;
  assign drop_o = faulting || is_reset || state_q == StReset || state_q == StLoad
      || state_q == StQuiet
      || ring_bus_dead_i;
  assign hold_o = heartbeat_q;
  assign record_valid_o = !faulting && (state_q == StOpenRecord || state_q == StCloseRecord
      || (state_q == StRun && heartbeat_q && !is_close)
      || (state_q == StFault && (alarm_q || close_q) && !sign_q));
  assign sign_o = !faulting && (state_q == StOpenSign || state_q == StCloseSign
      || (state_q == StFault && sign_q && lane_idle_i && written_i));
  assign sign_life_o = (state_q == StFault && last_record_q) ? LifeClosing : life_o;
  assign record_cause_o = fault_q;
  assign busy_o = !(state_q == StReset || state_q == StLoad || state_q == StFault) || !lane_idle_i
      || (state_q == StFault && (alarm_q || close_q || sign_q
          || (log_open_i && !written_i && !ring_bus_dead_i)))
      || (state_q == StRun && !ring_idle_i);
  assign fault_o = fault_q;
  assign load_fault_o = load_fault_q;

  always_comb begin
    case (state_q)
      StOpenRecord: record_type_o = RecordTypeOpen;
      StCloseRecord: record_type_o = RecordTypeClose;
      StRun: record_type_o = RecordTypeHeartbeat;
      default: record_type_o = alarm_q ? RecordTypeAlarm : RecordTypeClose;
    endcase
    case (state_q)
      StReset: life_o = LifeReset;
      StLoad: life_o = LifeLoad;
      StCheck, StJudge, StDigest, StText, StStreams, StOpenRecord, StOpenWait,
          StOpenSign: life_o = LifeOpening;
      StRun: life_o = LifeRun;
      StDrain, StRehash, StCloseRecord, StCloseWait, StCloseSign, StQuiet: life_o = LifeClosing;
      default: life_o = LifeFault;
    endcase
  end

  // ---- state
  state_e state_d;
  fault_e refusal;  // Why OPEN goes back to LOAD.
  logic settled;    // This state's end condition is true.

  always_comb begin
    settled = 1'b0;
    refusal = FaultNone;
    state_d = state_q;
    case (state_q)
      StReset: if (is_load) state_d = StLoad;
      StLoad: if (is_open) state_d = StCheck;
      StCheck: state_d = StJudge;
      StJudge: begin
        if (!header_fits_i) refusal = FaultImageHeader;
        else if (!complete_i) refusal = FaultImageIncomplete;
        state_d = StDigest;
      end
      StDigest: if (digest_done_i) begin
        if (!digest_expected_i) refusal = FaultImageDigest;
        state_d = text ? StText : StStreams;
      end
      StText: begin
        if (!text_placed_i) refusal = FaultRingConfig;
        else if (text_loaded_i) begin
          if (text_refuses) refusal = text_fault_i;
          state_d = StStreams;
        end
      end
      StStreams: begin
        settled = !streams_clearing_i;
        if (settled && wait_q == '1) begin
          if (ring_fault_i == FaultRingConfig) refusal = FaultRingConfig;
          state_d = ring_fault_i == FaultNone ? StOpenRecord : StFault;
        end
      end
      StOpenRecord: if (record_ready_i) state_d = StOpenWait;
      StOpenWait: begin
        settled = lane_idle_i && written_i;
        if (settled && wait_q == '1) state_d = StOpenSign;
      end
      StOpenSign: if (sign_done_i) state_d = StRun;
      StRun: if (is_close) state_d = StDrain;
      StDrain: begin
        settled = lane_idle_i && ring_idle_i;
        if (settled && wait_q == '1) state_d = StRehash;
      end
      StRehash: if (digest_done_i) state_d = StCloseRecord;
      StCloseRecord: if (record_ready_i) state_d = StCloseWait;
      StCloseWait: begin
        settled = lane_idle_i && written_i && ring_idle_i;
        if (settled && wait_q == '1) state_d = StCloseSign;
      end
      StCloseSign: if (sign_done_i) state_d = StLoad;
      StFault: ;
      StQuiet: begin
        settled = ring_idle_i && !needs_reset_i;
        if (settled && wait_q == '1) state_d = StReset;
      end
      default: state_d = StFault;
    endcase
    if ((state_q == StJudge || state_q == StDigest) && needs_reset_i) refusal = FaultNeedsReset;
    if (refusal != FaultNone) state_d = StLoad;
    if (faulting) state_d = StFault;
    if (is_reset) state_d = StQuiet;
  end

  // Any entry to LOAD: from another state, or by the LOAD command in LOAD itself.
  assign tables_clear_o = (state_d == StLoad && state_q != StLoad)
      || (state_q == StLoad && is_load);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StReset;
      {command_q, alarm_q, close_q, last_record_q, sign_q, heartbeat_q} <= '0;
      wait_q <= '0;
      fault_q <= FaultNone;
      load_fault_q <= FaultNone;
    end else begin
      state_q <= state_d;
      command_q <= command_write_i;
      wait_q <= (settled && state_d == state_q) ? (wait_q == '1 ? wait_q : wait_q + 3'd1) : 3'd0;

      if (state_q == StLoad && is_open) load_fault_q <= FaultNone;
      if (refusal != FaultNone) load_fault_q <= refusal;

      if (heartbeat_i && state_q == StRun) heartbeat_q <= 1'b1;
      else if (state_q != StRun || (record_valid_o && record_ready_i)) heartbeat_q <= 1'b0;

      if (faulting) begin
        fault_q <= cause;
        alarm_q <= log_open_i;
        {close_q, sign_q} <= '0;
      end else if (state_q == StStreams && state_d == StFault) begin
        fault_q <= ring_fault_i;
      end else if (state_q == StFault) begin
        if (record_valid_o && record_ready_i) begin
          last_record_q <= !alarm_q;
          if (alarm_q) alarm_q <= 1'b0;
          else close_q <= 1'b0;
          sign_q <= 1'b1;
        end
        if (sign_o && sign_done_i) sign_q <= 1'b0;
        if (is_close && log_open_i && !last_record_q) close_q <= 1'b1;
        if (ring_bus_dead_i) {alarm_q, close_q, sign_q} <= '0;
        if (!log_open_i) {alarm_q, close_q} <= '0;
      end
      if (state_q == StQuiet || state_q == StLoad || state_q == StReset) begin
        {alarm_q, close_q, last_record_q, sign_q} <= '0;
      end
      // If the wait for quiet cannot end, the fault register shows the reason.
      if (state_q == StQuiet && needs_reset_i && fault_q == FaultNone) fault_q <= FaultNeedsReset;
      if (state_q == StQuiet && state_d == StReset) begin
        fault_q <= FaultNone;
        load_fault_q <= FaultNone;
      end
    end
  end

  // ---- checks
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "lifecycle: state not one-hot");
      `ASSERT(!(run_o && !locked_o), "lifecycle: running over unlocked tables");
      `ASSERT(!(state_q == StFault && run_o), "lifecycle: running in FAULT");
      `ASSERT(
          fault_q == FaultNone || state_q == StFault || state_q == StQuiet,
          "lifecycle: past a sticky fault without a reset");
      `ASSERT(!(is_open && !locked_o), "lifecycle: OPEN with open tables");
      `ASSERT(
          !(ring_open_o && needs_reset_i),
          "lifecycle: a session over a bus that may owe answers");
    end
  end
endmodule
