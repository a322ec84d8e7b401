// The card's life: RESET, LOAD, OPENING, RUN, CLOSING, FAULT; the table lock; session records; sticky faults.
//
// Commands (a write of the command register; it acts one clock after the write, when the register holds its value):
//   LOAD   RESET, LOAD -> LOAD
//   OPEN   LOAD -> OPENING -> RUN; a refused OPEN goes back to LOAD with `load_fault_o`
//   CLOSE  RUN -> CLOSING -> LOAD; in FAULT it writes a CLOSE record with the cause, once, and stays in FAULT
//   RESET  any state -> RESET, once the ring is quiet (CLOSING is shown meanwhile, and other commands are ignored)
// Anything else is FaultCommand. Every entry to LOAD, a refused OPEN and LOAD in LOAD included, clears the tables.
//
// Lock: `locked_o` rises in the clock of a command write and stays up through OPENING, RUN, CLOSING and FAULT; it is low
// in LOAD only. `cfg_locked_o` does the same for the configuration registers, which RESET leaves open too.
// OPENING: checks in the order of the fault codes, ring configuration last; then the stream table is cleared, the OPEN
// record written, and RUN entered once that write was answered.
// FAULT: `run_o` falls in the clock of the cause. An ALARM record follows where the session's log is open and
// the bus lives. The first cause stays until RESET.
// Doorbells: the submission tail acts in RUN and CLOSING; the completion and log heads also in FAULT (the ALARM may need
// the space) and from the OPEN record on (the host may have consumed it already). Elsewhere a doorbell write is ignored: the
// ring is not open then, and OPEN zeroes every pointer, so that none can be left over.
//
// After reset: RESET, tables locked. The caller owes: a lane that answers `drop_o` and `run_o` in their clock.
module life
  import layout_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    // Commands.
    input  logic         command_write_i,    // The command register is written in this clock ...
    input  logic [7:0]   command_i,          // ... and holds this one clock later.
    // Tables.
    output logic         locked_o,
    output logic         cfg_locked_o,
    output logic         tables_clear_o,
    output logic         check_o,            // Register the checks below; they are read one clock later.
    input  logic         header_fits_i,
    input  logic         complete_i,         // Header and every counted row are valid.
    input  logic         unsupported_i,      // The configuration asks for a part that is not present.
    // Ring.
    output logic         ring_open_o,
    output logic         ring_fetch_o,
    output logic         ring_halt_o,
    output logic         ring_clear_o,
    output logic         tail_doorbell_o,    // The submission tail's doorbell acts.
    output logic         head_doorbells_o,   // The completion and log heads' doorbells act.
    input  fault_e       ring_fault_i,
    input  logic         ring_bus_dead_i,
    input  logic         ring_idle_i,
    // Lane.
    output logic         run_o,
    output logic         drop_o,
    output logic         streams_clear_o,
    input  logic         streams_clearing_i,
    output logic         record_valid_o,
    input  logic         record_ready_i,
    output record_type_e record_type_o,
    output fault_e       record_cause_o,
    input  logic         record_sent_i,
    input  logic         written_i,
    input  logic         lane_idle_i,
    // Status.
    output life_e        life_o,
    output logic         busy_o,
    output fault_e       fault_o,
    output fault_e       load_fault_o
);
  typedef enum logic [12:0] {
    StReset       = 13'h0001,
    StLoad        = 13'h0002,
    StCheck       = 13'h0004,  // Tables and header answer `check_o`.
    StJudge       = 13'h0008,  // Their answers decide.
    StStreams     = 13'h0010,  // Ring opened; the stream table is being cleared.
    StOpenRecord  = 13'h0020,
    StOpenWait    = 13'h0040,
    StRun         = 13'h0080,
    StDrain       = 13'h0100,
    StCloseRecord = 13'h0200,
    StCloseWait   = 13'h0400,
    StFault       = 13'h0800,
    StQuiet       = 13'h1000   // On the way to RESET.
  } state_e;

  state_e state_q;
  logic command_q;          // `command_i` is to be acted on.
  logic log_open_q;         // The OPEN record was handed to the ring, and no CLOSE record was.
  logic alarm_q, close_q;   // Records that FAULT still has to write.
  logic last_record_q;      // The record under way in FAULT is CLOSE.
  logic [2:0] wait_q;       // Clocks that a condition has held.
  fault_e fault_q, load_fault_q;

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
    ring_used = state_q == StOpenRecord || state_q == StOpenWait || state_q == StRun || state_q == StDrain
        || state_q == StCloseRecord || state_q == StCloseWait;
    cause = FaultNone;
    if (command_q && !allowed) cause = FaultCommand;
    if (ring_used && ring_fault_i != FaultNone) cause = ring_fault_i;
    // In StStreams the ring's fault is looked at once the ring has settled; see below.
    faulting = cause != FaultNone && state_q != StFault && !is_reset;
  end

  // ---- outputs
  assign locked_o = state_q != StLoad || command_q || command_write_i;
  assign cfg_locked_o = (state_q != StLoad && state_q != StReset) || command_q || command_write_i;
  assign check_o = state_q == StCheck;
  assign ring_open_o = state_q == StJudge && header_fits_i && complete_i && !unsupported_i && !command_q;
  assign streams_clear_o = ring_open_o;
  assign ring_fetch_o = state_q == StRun && !faulting;
  assign ring_halt_o = state_q != StRun || faulting;
  assign ring_clear_o = state_q == StQuiet;
  assign tail_doorbell_o = state_q == StRun || state_q == StDrain || state_q == StCloseRecord || state_q == StCloseWait;
  assign head_doorbells_o = ring_used || state_q == StFault;
  assign run_o = (state_q == StRun || state_q == StDrain) && !faulting && !is_reset;
  assign drop_o = faulting || is_reset || state_q == StReset || state_q == StLoad || state_q == StQuiet
      || ring_bus_dead_i;
  assign record_valid_o = !faulting && (state_q == StOpenRecord || state_q == StCloseRecord
      || (state_q == StFault && (alarm_q || close_q)));
  assign record_cause_o = fault_q;
  assign busy_o = !(state_q == StReset || state_q == StLoad || state_q == StFault) || !lane_idle_i
      || (state_q == StFault && (alarm_q || close_q || (log_open_q && !written_i && !ring_bus_dead_i)))
      || (state_q == StRun && !ring_idle_i);
  assign fault_o = fault_q;
  assign load_fault_o = load_fault_q;

  always_comb begin
    case (state_q)
      StOpenRecord: record_type_o = RecordTypeOpen;
      StCloseRecord: record_type_o = RecordTypeClose;
      default: record_type_o = alarm_q ? RecordTypeAlarm : RecordTypeClose;
    endcase
    case (state_q)
      StReset: life_o = LifeReset;
      StLoad: life_o = LifeLoad;
      StCheck, StJudge, StStreams, StOpenRecord, StOpenWait: life_o = LifeOpening;
      StRun: life_o = LifeRun;
      StDrain, StCloseRecord, StCloseWait, StQuiet: life_o = LifeClosing;
      default: life_o = LifeFault;
    endcase
  end

  // ---- state
  state_e state_d;
  fault_e refusal;  // Why OPEN goes back to LOAD.
  logic settled;    // What this state waits for has held for 8 clocks.

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
        else if (unsupported_i) refusal = FaultUnsupported;
        state_d = StStreams;
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
        if (settled && wait_q == '1) state_d = StRun;
      end
      StRun: if (is_close) state_d = StDrain;
      StDrain: begin
        settled = lane_idle_i && ring_idle_i;
        if (settled && wait_q == '1) state_d = StCloseRecord;
      end
      StCloseRecord: if (record_ready_i) state_d = StCloseWait;
      StCloseWait: begin
        settled = lane_idle_i && written_i && ring_idle_i;
        if (settled && wait_q == '1) state_d = StLoad;
      end
      StFault: ;
      StQuiet: begin
        settled = ring_idle_i;
        if (settled && wait_q == '1) state_d = StReset;
      end
      default: state_d = StFault;
    endcase
    if (refusal != FaultNone) state_d = StLoad;
    if (faulting) state_d = StFault;
    if (is_reset) state_d = StQuiet;
  end

  // Every entry to LOAD: from another state, or by the LOAD command in LOAD.
  assign tables_clear_o = (state_d == StLoad && state_q != StLoad) || (state_q == StLoad && is_load);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StReset;
      {command_q, log_open_q, alarm_q, close_q, last_record_q} <= '0;
      wait_q <= '0;
      fault_q <= FaultNone;
      load_fault_q <= FaultNone;
    end else begin
      state_q <= state_d;
      command_q <= command_write_i;
      wait_q <= (settled && state_d == state_q) ? (wait_q == '1 ? wait_q : wait_q + 3'd1) : 3'd0;

      // The log is open from the OPEN record's handover to the CLOSE record's.
      if (record_sent_i && state_q == StOpenWait) log_open_q <= 1'b1;
      if (record_sent_i && (state_q == StCloseWait || (state_q == StFault && last_record_q))) log_open_q <= 1'b0;

      if (state_q == StLoad && is_open) load_fault_q <= FaultNone;
      if (refusal != FaultNone) load_fault_q <= refusal;

      if (faulting) begin
        fault_q <= cause;
        alarm_q <= log_open_q || (record_sent_i && state_q == StOpenWait);
        close_q <= 1'b0;
      end else if (state_q == StStreams && state_d == StFault) begin
        fault_q <= ring_fault_i;
      end else if (state_q == StFault) begin
        if (record_valid_o && record_ready_i) begin
          last_record_q <= !alarm_q;
          if (alarm_q) alarm_q <= 1'b0;
          else close_q <= 1'b0;
        end
        if (is_close && log_open_q && !last_record_q) close_q <= 1'b1;
        if (ring_bus_dead_i || !log_open_q) {alarm_q, close_q} <= '0;
      end
      if (state_q == StQuiet || state_q == StLoad || state_q == StReset) begin
        {alarm_q, close_q, log_open_q, last_record_q} <= '0;
      end
      if (state_q == StQuiet && state_d == StReset) begin
        fault_q <= FaultNone;
        load_fault_q <= FaultNone;
      end
    end
  end

  // ---- checks
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ($onehot(state_q)) else $error("life: state not one-hot");
      assert (!(run_o && !locked_o)) else $error("life: running over unlocked tables");
      assert (!(state_q == StFault && run_o)) else $error("life: running in FAULT");
      assert (fault_q == FaultNone || state_q == StFault || state_q == StQuiet)
      else $error("life: past a sticky fault without a reset");
      assert (!(is_open && !locked_o)) else $error("life: OPEN with open tables");
    end
  end
endmodule
