// Reads the text of each entry, compares it with the commitment in the descriptor, and scans it
// from the state of its stream. Keeps the state of each stream slot.
//
// Entries are answered in order. An answer stays until `settle_i`, which comes with the verdict on
// the entry; `admit_i` is then high if the entry is admitted. Only if an entry is admitted and its
// text agrees, the slot takes the state of the scan after the entry, and its classes become
// established. A refused entry changes nothing. While an answer waits, the next entry is read and
// scanned, but an entry of the same slot waits for the verdict.
// A tool call is not a part of the text around it. Its scan starts from the state of a new stream.
// When the call is admitted, its classes become established; the state of the slot's scan stays.
// `renew_valid_i` sets a slot to the state of a new stream. `renew_ready_o` is high when no entry
// of the slot is under way or unsettled.
//
// The lane reads its tables itself, on the request `load_i`, while `locked_i` is low; `load_o` then
// answers once. Tables are read and hashed as a text is, so the bytes that are hashed are the bytes
// that are loaded. The memories are written only during such a request while `locked_i` is low.
//
// A read that makes no progress for 2^WatchdogLog2 clocks is given up. `broken_o` then stays until
// the reset, and no later entry is read: each is answered with CauseBus. `idle_o` is high when
// nothing is under way, in flight or unsettled.
//
// If a memory of the tables has changed since the load and a scan reads there, or the memory of the
// slots has changed since it was written and an entry reads there, `changed_o` rises and stays
// until other tables are requested. The entry of this scan and all later ones are answered with
// CauseBus.
//
// `clear_slots_i` sets all slots to the state of a new stream, one per clock, while
// `clearing_slots_o` is high.
//
// Rate: as `text_window`. After reset: no tables, nothing under way, slots arbitrary.
// Duties of the caller: as for `text_window`; `locked_i` low only while no entry is under way or
// unsettled, and no new entry then; `load_i` stays until it is answered or `locked_i` rises; the
// slots are cleared before the first entry, while no entry is under way and no slot is renewed;
// `renew_valid_i` stays until it is taken; a slot is renewed before its first entry; slots are
// below MaxStreams; a verdict for each answer in bounded time, and no other verdict.
`include "assert.svh"

module text_lane
  import text_pkg::*;
#(
    parameter int unsigned Engines = 3,         // 1 to 8.
    parameter int unsigned States = 4096,       // Of an engine; as in text_scan.
    parameter int unsigned ByteClasses = 64,    // Of an engine; as in text_scan.
    parameter int unsigned GapClasses = 64,     // As in text_scan.
    parameter int unsigned MaxStreams = 1024,   // 1 to 65536. Each costs ScanBits + 132 of RAM.
    parameter int unsigned BufferLog2 = 4,      // As in text_fetch.
    parameter int unsigned WatchdogLog2 = 22,   // As in ring_watchdog.
    localparam int unsigned ScanBits = Engines * StateBits + $bits(cards_t) + $bits(accounts_t)
) (
    input  logic              clk_i,
    input  logic              rst_i,
    // tables
    input  logic              locked_i,
    input  load_request_t     load_i,
    output load_answer_t      load_o,
    output logic              complete_o,
    // slots
    input  logic              clear_slots_i,
    output logic              clearing_slots_o,
    input  logic              renew_valid_i,
    output logic              renew_ready_o,
    input  logic [15:0]       renew_slot_i,
    // entries; none is taken before the tables are complete and locked
    input  logic              entry_valid_i,
    output logic              entry_ready_o,
    input  text_entry_t       entry_i,
    // answers
    output logic              answer_valid_o,
    output text_answer_t      answer_o,
    input  logic              settle_i,
    input  logic              admit_i,
    // read channels; responses are always taken
    output axi_pkg::request_t ar_o,
    output logic              ar_valid_o,
    input  logic              ar_ready_i,
    input  axi_pkg::read_t    r_i,
    input  logic              r_valid_i,
    output logic              broken_o,
    output logic              expired_o,  // A read is given up.
    output logic              changed_o,  // The memories no longer hold the tables.
    output logic              idle_o
);
  // The content of a slot, in two memories: a tool call changes only the established classes.
  typedef struct packed {
    logic renewed;  // Nothing that counts.
    logic [127:0] classes;
  } established_t;
  typedef struct packed {
    logic renewed;  // As above, for the scan.
    logic [ScanBits-1:0] state;
  } scan_t;

  // ---- the text
  logic unsettled_q, start_q, load_byte;
  logic ready, hold, begins, answer_valid, answer_ready, scan_busy, scan_utf8;
  logic scan_changed, established_changed, scans_changed, slots_changed, slots_changed_q;
  logic pending, progress, give_up;
  logic [1:0] under_way;
  logic [1:0][15:0] slots;
  logic [15:0] begins_slot;
  logic begins_call, begins_tables, is_tables, is_call, clear, load_taken_q, bad, too_long;
  logic takes_load, load_ends, offers;
  logic [TotalBits-1:0] text_length;
  item_t item, text_item;
  cause_e window_cause, cause;
  text_entry_t given;
  text_window #(
      .BufferLog2(BufferLog2)
  ) u_window (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .entry_valid_i(offers),
      .entry_ready_o(ready),
      .entry_i(given),
      .under_way_o(under_way),
      .slots_o(slots),
      .hold_i(hold),
      .begin_o(begins),
      .begin_slot_o(begins_slot),
      .begin_call_o(begins_call),
      .begin_tables_o(begins_tables),
      .tables_o(is_tables),
      .item_o(item),
      .scan_busy_i(scan_busy),
      .scan_utf8_i(scan_utf8),
      .answer_valid_o(answer_valid),
      .answer_ready_i(answer_ready),
      .cause_o(window_cause),
      .call_o(is_call),
      .length_o(text_length),
      .give_up_i(give_up),
      .ar_o(ar_o),
      .ar_valid_o(ar_valid_o),
      .ar_ready_i(ar_ready_i),
      .r_i(r_i),
      .r_valid_i(r_valid_i),
      .pending_o(pending),
      .progress_o(progress),
      .broken_o(broken_o)
  );
  assign cause = changed_o && !is_tables ? CauseBus : window_cause;
  assign expired_o = give_up;
  assign entry_ready_o = ready && complete_o && locked_i;
  assign idle_o = under_way == '0 && !unsettled_q && !pending && !start_q;

  // ---- the tables: read as an entry of the window, when no other entry is under way
  assign takes_load = load_i.valid && !locked_i && !load_taken_q && !load_o.done && idle_o;
  assign offers = takes_load || (entry_valid_i && complete_o && locked_i);
  assign clear = takes_load;
  assign load_ends = answer_valid && is_tables;
  assign too_long = load_i.bytes >> TotalBits != '0;
  always_comb begin
    given = entry_i;
    given.tables = 1'b0;
    given.bytes = '0;
    if (takes_load) begin
      given = '0;
      given.address = load_i.address;
      given.commitment = load_i.digest;
      given.tables = 1'b1;
      given.bytes = too_long ? '0 : load_i.bytes[TotalBits-1:0];
    end
  end
  assign load_byte = is_tables && item.kind == ItemByte;
  always_comb begin
    text_item = item;
    if (is_tables) text_item.kind = ItemNone;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      load_taken_q <= 1'b0;
      load_o <= '0;
    end else begin
      load_o.done <= load_ends && load_taken_q;
      if (takes_load) load_taken_q <= 1'b1;
      if (load_ends) begin
        load_taken_q <= 1'b0;
        load_o.result <= LoadBad;
        unique case (cause)
          CauseBus: load_o.result <= LoadBus;
          CauseCommitment: load_o.result <= LoadDigest;
          CauseNone: if (complete_o && !bad) load_o.result <= LoadGood;
          default: ;
        endcase
      end
    end
  end

  ring_watchdog #(
      .Log2(WatchdogLog2)
  ) u_watchdog (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .pending_i(pending),
      .progress_i(progress),
      .expired_o(give_up)
  );

  // ---- the scan starts one clock after its entry begins: its slot is read in between
  logic call_q, starts_new;
  established_t established;
  scan_t scan;
  logic [ScanBits-1:0] scan_state;
  logic [127:0] classes, established_q;
  assign starts_new = call_q || scan.renewed;
  text_scan #(
      .Engines(Engines),
      .States(States),
      .ByteClasses(ByteClasses),
      .GapClasses(GapClasses)
  ) u_scan (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .locked_i(locked_i),
      .clear_i(clear),
      .load_valid_i(load_byte),
      .load_byte_i(item.data),
      .complete_o(complete_o),
      .bad_o(bad),
      .start_i(start_q),
      .new_i(starts_new),
      .state_i(scan.state),
      .item_i(text_item),
      .busy_o(scan_busy),
      .state_o(scan_state),
      .classes_o(classes),
      .utf8_o(scan_utf8),
      .changed_o(scan_changed)
  );
  assign slots_changed = established_changed || scans_changed;
  assign changed_o = scan_changed || slots_changed || slots_changed_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || clear) slots_changed_q <= 1'b0;
    else if (slots_changed) slots_changed_q <= 1'b1;
  end

  // ---- the answer, until its verdict is there
  text_answer_t answer_q;
  logic [15:0] answer_slot_q;
  logic [ScanBits-1:0] answer_scan_q;
  assign answer_ready = is_tables || !unsettled_q || settle_i;
  assign answer_valid_o = unsettled_q;
  assign answer_o = answer_q;

  // ---- slots: an entry that begins reads, a verdict and a renewal write
  logic renew, save;
  assign save = unsettled_q && settle_i && admit_i && answer_q.agrees;
  assign hold = settle_i || (unsettled_q && answer_slot_q == begins_slot);
  assign renew_ready_o = !settle_i && !begins
      && !(unsettled_q && answer_slot_q == renew_slot_i)
      && !(under_way[1] && slots[1] == renew_slot_i)
      && !(under_way[0] && slots[0] == renew_slot_i);
  assign renew = renew_valid_i && renew_ready_o;
  logic [15:0] slot;
  logic read;
  established_t established_saved;
  scan_t scan_saved;
  logic [1:0] clearing;  // Both at the same time.
  assign clearing_slots_o = clearing != '0;
  assign slot = save ? answer_slot_q : renew ? renew_slot_i : begins_slot;
  assign read = begins && !begins_tables;
  assign established_saved = '{renewed: !save, classes: answer_q.established | answer_q.classes};
  assign scan_saved = '{renewed: !save, state: answer_scan_q};

  text_slots #(
      .MaxStreams(MaxStreams),
      .Bits($bits(established_t))
  ) u_established (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .clear_i(clear_slots_i),
      .clearing_o(clearing[0]),
      .slot_i(slot),
      .read_i(read),
      .state_o(established),
      .changed_o(established_changed),
      .save_i(save || renew),
      .state_i(established_saved)
  );

  text_slots #(
      .MaxStreams(MaxStreams),
      .Bits($bits(scan_t))
  ) u_scans (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .clear_i(clear_slots_i),
      .clearing_o(clearing[1]),
      .slot_i(slot),
      .read_i(read),
      .state_o(scan),
      .changed_o(scans_changed),
      .save_i((save && !answer_q.call) || renew),
      .state_i(scan_saved)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {start_q, call_q, unsettled_q} <= '0;
      established_q <= '0;
      answer_q <= '0;
      answer_slot_q <= '0;
      answer_scan_q <= '0;
    end else begin
      start_q <= begins && !begins_tables;
      if (begins) call_q <= begins_call;
      if (start_q) established_q <= established.renewed ? '0 : established.classes;
      if (settle_i) unsettled_q <= 1'b0;
      if (answer_valid && answer_ready && !is_tables) begin
        unsettled_q <= 1'b1;
        answer_q <= '{
            agrees: cause == CauseNone,
            cause: cause,
            call: is_call,
            length: text_length,
            classes: cause == CauseNone ? classes : '0,
            established: cause == CauseNone ? established_q : '0
        };
        answer_slot_q <= slots[1];
        answer_scan_q <= scan_state;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(settle_i && !unsettled_q), "text_lane: a verdict without an answer");
      `ASSERT(!(settle_i && admit_i && !answer_q.agrees),
              "text_lane: an entry is admitted whose text does not agree");
    end
  end
endmodule
