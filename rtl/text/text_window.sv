// Reads the text of an entry from its window, once, and states whether it is the text that the
// descriptor commits to.
//
// In the window stands what is committed to: tag, salt, length, held bytes, text. Each beat goes
// into one register, padded as SHA-256 asks. The hash core takes the whole register, and then the
// scan takes the same register byte by byte, from the first byte behind the head on. So the bytes
// that are hashed are the bytes that are scanned, and no second read can differ.
//
// The answer stands in `answer_valid_o` until `answer_ready_i`. It matches only if every beat came,
// the tag is a text's, the length is the descriptor's, the digest is the commitment, and the bytes
// are whole characters in UTF-8. An entry whose length would leave its window, or whose window is
// misaligned or wraps, is refused before a read. In all cases the answer comes: nothing is awaited
// but the bus, whose watchdog is the caller's (`give_up_i`), and the scan.
//
// `begin_o` says that the entry of `begin_slot_o` is the next one to be scanned. It comes in a
// clock in which nothing is under way, and `hold_i` keeps it back. The scan is to be started in the
// clock after it. The next entry is read while an earlier one is hashed. `under_way_o` and
// `slots_o` show which entries were taken and not answered: bit 1 the scanned one, bit 0 the one
// that waits.
//
// Rate: 64 clocks per block, and five more per entry where the beats are there.
// After reset: nothing under way. The caller owes: as `text_fetch`; a start of the scan one clock
// after `begin_o`; a scan whose `scan_busy_i` rises in the clock after an item and falls in bounded
// time; an address of the window that belongs to the entry's slot, latched where the host cannot
// change it.
`include "assert.svh"

module text_window
  import text_pkg::*;
  import sha256_pkg::*;
#(
    parameter int unsigned BufferLog2 = 4  // 4 to 8: log2 of the beats in the buffer.
) (
    input  logic              clk_i,
    input  logic              rst_i,
    // entries
    input  logic              entry_valid_i,
    output logic              entry_ready_o,
    input  text_entry_t       entry_i,
    output logic [1:0]        under_way_o,  // Scanned; waiting.
    output logic [1:0][15:0]  slots_o,
    // the scan
    input  logic              hold_i,
    output logic              begin_o,
    output logic [15:0]       begin_slot_o,
    output logic              begin_fresh_o,
    output item_t             item_o,
    input  logic              scan_busy_i,
    input  logic              scan_utf8_i,
    // answers
    output logic              answer_valid_o,
    input  logic              answer_ready_i,
    output cause_e            cause_o,
    // read channels
    input  logic              give_up_i,
    output axi_pkg::request_t ar_o,
    output logic              ar_valid_o,
    input  logic              ar_ready_i,
    input  axi_pkg::read_t    r_i,
    input  logic              r_valid_i,
    output logic              pending_o,
    output logic              progress_o,
    output logic              broken_o
);
  // ---- the entry that waits, and what is to be read for it
  typedef enum logic [1:0] {
    WaitEmpty,
    WaitCheck,  // It was taken in the clock before.
    WaitRange,  // Its range is being offered.
    WaitReady   // It was refused, or its range was taken.
  } wait_e;

  wait_e wait_q;
  text_entry_t next_q;
  logic next_refused_q;
  logic [32:0] next_beats;
  logic fits, range_ready;
  // Beats that hold the head and the text; and whether they are in the window, which is in memory.
  assign next_beats = (33'(next_q.length) + 33'(HeadBytes + BlockBytes - 1)) >> 6;
  assign fits = next_beats <= 33'(next_q.beats) && next_q.address[5:0] == '0
      && 59'(next_q.address[63:6]) + 59'(next_q.beats) <= 59'd1 << 58;

  assign entry_ready_o = wait_q == WaitEmpty;

  // ---- the entry that is scanned
  typedef enum logic [1:0] {
    StIdle,
    StRun,    // Blocks are hashed and scanned.
    StDrain,  // The last block is hashed, and what was found is looked up.
    StAnswer
  } state_e;

  // Bytes of a window, so of what is committed to.
  localparam int unsigned TotalBits = WindowBits + 6;
  typedef logic [TotalBits-1:0] total_t;

  state_e state_q;
  logic [15:0] slot_q;
  logic [31:0] declared_q;
  state_t commitment_q;
  logic refused_q, failed_q, tag_q, length_q, same_q;
  total_t to_load_q;    // Bytes that no loaded block has.
  total_t to_scan_q;    // Bytes of the text that were not scanned.
  logic ended_q;        // The scan has seen the end.
  logic begun_q;        // A block was loaded.
  logic first_q;        // The block is the first one,
  logic final_q;        // the last one,
  logic loaded_q;       // or not there.
  logic padded_q;       // 0x80 is in a loaded block.
  logic [5:0] at_q;     // Bytes of the block that were passed; at 0 it has not been hashed.
  block_t block_q;      // From that byte on, first byte at the top.

  assign begin_o = state_q == StIdle && wait_q == WaitReady && !scan_busy_i && !hold_i;
  assign begin_slot_o = next_q.slot;
  assign begin_fresh_o = next_q.fresh;
  assign under_way_o = {state_q != StIdle, wait_q != WaitEmpty};
  assign slots_o = {slot_q, next_q.slot};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wait_q <= WaitEmpty;
      next_refused_q <= 1'b0;
    end else begin
      unique case (wait_q)
        WaitEmpty: if (entry_valid_i) wait_q <= WaitCheck;
        WaitCheck: begin
          next_refused_q <= !fits;
          wait_q <= fits ? WaitRange : WaitReady;
        end
        WaitRange: if (range_ready) wait_q <= WaitReady;
        WaitReady: if (begin_o) wait_q <= WaitEmpty;
        default: wait_q <= WaitEmpty;
      endcase
    end
    if (entry_valid_i && entry_ready_o) next_q <= entry_i;
  end

  // ---- beats
  logic beat_valid, beat_bad, take;
  logic [511:0] beat;
  text_fetch #(
      .BufferLog2(BufferLog2)
  ) u_fetch (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .give_up_i(give_up_i),
      .range_valid_i(wait_q == WaitRange),
      .range_ready_o(range_ready),
      .range_beat_i(next_q.address[63:6]),
      .range_beats_i(next_beats[WindowBits-1:0]),
      .beat_valid_o(beat_valid),
      .beat_bad_o(beat_bad),
      .beat_o(beat),
      .take_i(take),
      .ar_o(ar_o),
      .ar_valid_o(ar_valid_o),
      .ar_ready_i(ar_ready_i),
      .r_i(r_i),
      .r_valid_i(r_valid_i),
      .pending_o(pending_o),
      .progress_o(progress_o),
      .broken_o(broken_o)
  );

  // ---- the next block: what is left of the bytes, the byte behind them, the number of bits
  logic whole;         // The block is full of bytes.
  logic needs_beat, ends_here, load, leaves, step, last_step;
  logic [5:0] used;    // Bytes of a block that is not.
  block_t padded;
  assign whole = to_load_q >= total_t'(BlockBytes);
  assign used = to_load_q[5:0];
  assign needs_beat = to_load_q != '0;
  assign ends_here = !whole && used <= 6'(BlockBytes - PaddingBytes);
  always_comb begin
    padded = first_byte_at_top(beat);
    if (!whole) begin
      for (int unsigned i = 0; i < BlockBytes; i++)
        if (6'(i) >= used) padded[8*(BlockBytes-1-i)+:8] = '0;
      if (!padded_q) padded[8*(BlockBytes-1-32'(used))+:8] = 8'h80;
      if (ends_here) padded[63:0] = {43'd0, declared_q[17:0] + 18'(HeadBytes), 3'd0};
    end
  end

  // A block leaves with its last byte, or with its hash where nothing of it is to be scanned.
  logic hash_start, hash_ready, hash_busy, hash_done;
  state_t digest;
  assign step = loaded_q && (at_q != '0 || hash_ready);
  assign hash_start = loaded_q && at_q == '0;
  assign last_step = at_q == 6'(BlockBytes - 1);
  assign leaves = step && (last_step || ended_q);
  assign load = state_q == StRun && !failed_q && (!loaded_q || (leaves && !final_q))
      && (!needs_beat || (beat_valid && !beat_bad));
  assign take = state_q == StRun && !failed_q && needs_beat && beat_valid
      && (!loaded_q || (leaves && !final_q));

  // ---- the scan
  logic is_text;
  assign is_text = step && (!first_q || at_q >= 6'(HeadBytes));
  always_comb begin
    item_o = '0;
    item_o.data = block_q[511-:8];
    if (is_text && to_scan_q != '0) item_o.kind = ItemByte;
    else if (is_text && !ended_q) item_o.kind = ItemEnd;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
      {refused_q, failed_q, tag_q, length_q, same_q} <= '0;
      {to_load_q, to_scan_q, at_q} <= '0;
      {ended_q, begun_q, first_q, final_q, loaded_q, padded_q} <= '0;
      block_q <= '0;
      {slot_q, declared_q, commitment_q} <= '0;
    end else begin
      unique case (state_q)
        StIdle: begin
          if (begin_o) begin
            state_q <= next_refused_q ? StDrain : StRun;
            slot_q <= next_q.slot;
            declared_q <= next_q.length;
            commitment_q <= next_q.commitment;
            refused_q <= next_refused_q;
            {failed_q, tag_q, length_q, same_q} <= '0;
            to_load_q <= total_t'(next_q.length) + total_t'(HeadBytes);
            to_scan_q <= total_t'(next_q.length);
            {ended_q, begun_q, first_q, final_q, loaded_q, padded_q} <= '0;
            at_q <= '0;
          end
        end
        StRun: begin
          if (item_o.kind == ItemByte) to_scan_q <= to_scan_q - 1'b1;
          if (item_o.kind == ItemEnd) ended_q <= 1'b1;
          if (hash_start && hash_ready && first_q) begin
            tag_q <= block_q[511-:8*TagBytes] == TextTag;
            length_q <= word_turned(block_q[511-8*LengthAt-:32]) == declared_q;
          end
          if (step) begin
            at_q <= at_q + 1'b1;
            block_q <= block_q << 8;
          end
          if (leaves) begin
            loaded_q <= 1'b0;
            at_q <= '0;
            if (final_q) state_q <= StDrain;
          end
          if (load) begin
            loaded_q <= 1'b1;
            block_q <= padded;
            begun_q <= 1'b1;
            first_q <= !begun_q;
            final_q <= ends_here;
            padded_q <= padded_q || !whole;
            to_load_q <= whole ? to_load_q - total_t'(BlockBytes) : '0;
          end
          if (take && beat_bad) begin
            failed_q <= 1'b1;
            state_q <= StDrain;
          end
        end
        StDrain: begin
          same_q <= digest == commitment_q;
          if (!hash_busy && !scan_busy_i) state_q <= StAnswer;
        end
        StAnswer: if (answer_ready_i) state_q <= StIdle;
        default: state_q <= StAnswer;
      endcase
    end
  end

  sha256 u_hash (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .start_i(hash_start && hash_ready),
      .ready_o(hash_ready),
      .chain_i(!first_q),
      .state_i(InitialHash),
      .block_i(block_q),
      .busy_o(hash_busy),
      .done_o(hash_done),
      .digest_o(digest)
  );

  // ---- the answer
  assign answer_valid_o = state_q == StAnswer;
  always_comb begin
    cause_o = CauseNone;
    if (refused_q) cause_o = CauseWindow;
    else if (failed_q) cause_o = CauseBus;
    else if (!tag_q) cause_o = CauseTag;
    else if (!length_q) cause_o = CauseLength;
    else if (!same_q) cause_o = CauseCommitment;
    else if (!scan_utf8_i) cause_o = CauseUtf8;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!(begin_o && (hash_busy || scan_busy_i)), "text_window: an entry over another");
      `ASSERT(state_q != StAnswer || failed_q || refused_q || ended_q,
              "text_window: an answer before the end of the text");
      `ASSERT(!(hash_done && state_q == StIdle), "text_window: a digest without an entry");
      `ASSERT(!loaded_q || state_q == StRun, "text_window: a block without an entry");
    end
  end
endmodule
