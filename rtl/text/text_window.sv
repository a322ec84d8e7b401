// Reads the text of an entry from its window, once, and checks it against the commitment in the
// descriptor.
//
// The window contains the bytes under the commitment: tag, salt, length, held bytes, text. Each
// beat goes into one register, with the padding of SHA-256. The hash core takes the whole register,
// and then the scan takes the same register byte by byte, starting after the head. So the bytes
// that are hashed are the bytes that are scanned; there is no second read that could differ.
//
// The length comes from the window's first beat. The first read has one burst, which ends at a
// multiple of 512 bytes or at the end of the window. The rest is read after these beats came. Beats
// of the first burst after the text are dropped.
//
// The answer is valid from `answer_valid_o` to `answer_ready_i`. It agrees only if every beat came,
// the tag is that of a text or of a tool call (`call_o` tells them apart), the bytes are whole
// characters in UTF-8, and the digest is the commitment. An entry is refused if its text does not
// fit its window, or if the window is misaligned or wraps. An answer always comes: the module waits
// only for the bus, whose watchdog belongs to the caller (`give_up_i`), and for the scan.
//
// An entry with `tables` is the lane's tables: its length is given, it has no head, and its bytes
// are read in the same way, with `tables_o` high. They need not be UTF-8.
//
// `begin_o` announces that the entry of `begin_slot_o` is scanned next; `hold_i` delays it. It
// comes in a clock in which nothing is hashed or scanned. The caller starts the scan of a text in
// the clock after it. `begin_call_o` is then high if the entry is a tool call, by the tag in its
// first beat. The next entry is read while an earlier one is hashed. `under_way_o` and `slots_o`
// show the entries that were taken and not answered: bit 1 the one that is scanned, bit 0 the one
// that waits.
//
// Rate: 64 clocks per block, and five more per entry, if the beats are in the buffer.
// After reset: nothing under way. Duties of the caller: as for `text_fetch`; a start of the scan
// one clock after `begin_o`; a scan whose `scan_busy_i` rises in the clock after an item and falls
// in bounded time; the address of the window of the entry's slot, which the host cannot change.
`include "assert.svh"

module text_window
  import text_pkg::*;
  import sha256_pkg::*;
#(
    parameter int unsigned BufferLog2 = 4  // 4 to 8: log2 of the beats in the buffer.
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    // entries
    input  logic                 entry_valid_i,
    output logic                 entry_ready_o,
    input  text_entry_t          entry_i,
    output logic [1:0]           under_way_o,  // Scanned; waiting.
    output logic [1:0][15:0]     slots_o,
    // the scan
    input  logic                 hold_i,
    output logic                 begin_o,
    output logic [15:0]          begin_slot_o,
    output logic                 begin_call_o,
    output logic                 begin_tables_o,
    output logic                 tables_o,  // The items are bytes of tables.
    output item_t                item_o,
    input  logic                 scan_busy_i,
    input  logic                 scan_utf8_i,
    // answers
    output logic                 answer_valid_o,
    input  logic                 answer_ready_i,
    output cause_e               cause_o,
    output logic                 call_o,    // It is a tool call.
    output logic [TotalBits-1:0] length_o,  // Of the text.
    // read channels
    input  logic                 give_up_i,
    output axi_pkg::request_t    ar_o,
    output logic                 ar_valid_o,
    input  logic                 ar_ready_i,
    input  axi_pkg::read_t       r_i,
    input  logic                 r_valid_i,
    output logic                 pending_o,
    output logic                 progress_o,
    output logic                 broken_o
);
  // ---- the entry that waits, and what is to be read for it
  typedef enum logic [2:0] {
    WaitEmpty,
    WaitCheck,    // It was taken in the clock before.
    WaitFirst,    // Its first burst is being offered, or all of the tables.
    WaitHead,     // The burst is being read.
    WaitMeasure,  // The length is there.
    WaitRest,     // The rest is being offered.
    WaitReady     // It was refused, or everything was asked for.
  } wait_e;

  localparam int unsigned BurstBeats = 8;
  typedef logic [RangeBits-1:0] range_t;
  typedef logic [TotalBits-1:0] total_t;

  wait_e wait_q;
  text_entry_t next_q;
  logic next_refused_q;  // It would leave its window, or has none.
  logic next_failed_q;   // Its first burst failed.
  range_t first_q;       // Beats of the first range;
  range_t rest_q;        // and of the second one.
  logic [3:0] next_extra_q;  // Beats of the first range that are not part of the text.
  logic [31:0] next_length_q;
  logic next_call_q;
  total_t next_total;

  // The first range ends at a multiple of 512 bytes, or at the end of the window. `placed`: the
  // window is aligned and does not wrap.
  range_t window_beats, to_boundary, first_beats, table_beats;
  logic placed;
  assign table_beats = range_t'((24'(next_q.bytes) + 24'd63) >> 6);
  assign window_beats = next_q.tables ? table_beats : range_t'(next_q.beats);
  assign to_boundary = range_t'(BurstBeats) - range_t'(next_q.address[8:6]);
  assign first_beats = next_q.tables || window_beats < to_boundary ? window_beats : to_boundary;
  assign placed = (next_q.tables || !next_q.outside) && window_beats != '0
      && next_q.address[5:0] == '0
      && 59'(next_q.address[63:6]) + 59'(window_beats) <= 59'd1 << 58;

  // Number of beats that contain the head and the text; `fits`: the window contains all of them.
  logic [32:0] next_beats;
  logic fits;
  assign next_beats = (33'(next_length_q) + 33'(HeadBytes + BlockBytes - 1)) >> 6;
  assign fits = next_beats <= 33'(next_q.beats);
  assign next_total = next_q.tables ? next_q.bytes : total_t'(next_length_q) + total_t'(HeadBytes);

  logic range_valid, range_ready, range_failed;
  logic [57:0] range_beat;
  range_t range_beats;
  logic [31:0] head_length;
  logic head_call;
  assign range_valid = wait_q == WaitFirst || wait_q == WaitRest;
  assign range_beat = next_q.address[63:6] + (wait_q == WaitRest ? 58'(first_q) : 58'd0);
  assign range_beats = wait_q == WaitRest ? rest_q : first_q;
  assign entry_ready_o = wait_q == WaitEmpty;

  // ---- the entry that is scanned
  typedef enum logic [1:0] {
    StIdle,
    StRun,    // Blocks are hashed and scanned.
    StDrain,  // The last block is hashed, and what was found is looked up.
    StAnswer
  } state_e;

  state_e state_q;
  logic [15:0] slot_q;
  total_t total_q;      // Bytes that are committed to.
  state_t commitment_q;
  logic tables_q, call_q, refused_q, failed_q, tag_q, same_q;
  logic [3:0] extra_q;  // Beats that are to be dropped.
  total_t to_load_q;    // Bytes that no loaded block has.
  total_t to_scan_q;    // Bytes of the text that were not scanned.
  logic ended_q;        // The scan has seen the end.
  logic begun_q;        // A block was loaded.
  logic leads_q;        // The block is the first one,
  logic final_q;        // the last one,
  logic loaded_q;       // or not there.
  logic padded_q;       // 0x80 is in a loaded block.
  logic [5:0] at_q;     // Bytes of the block that were passed; at 0 it has not been hashed.
  block_t block_q;      // From that byte on, first byte at the top.

  assign begin_o = state_q == StIdle && wait_q == WaitReady && !scan_busy_i && !hold_i;
  assign begin_slot_o = next_q.slot;
  assign begin_call_o = next_call_q;
  assign begin_tables_o = next_q.tables;
  assign tables_o = tables_q;
  assign under_way_o = {state_q != StIdle, wait_q != WaitEmpty};
  assign slots_o = {slot_q, next_q.slot};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wait_q <= WaitEmpty;
      {next_refused_q, next_failed_q, next_call_q} <= '0;
      {first_q, rest_q, next_extra_q} <= '0;
      next_length_q <= '0;
    end else begin
      unique case (wait_q)
        WaitEmpty: if (entry_valid_i) wait_q <= WaitCheck;
        WaitCheck: begin
          next_refused_q <= !placed;
          {next_failed_q, next_call_q} <= '0;
          next_extra_q <= '0;
          first_q <= first_beats;
          wait_q <= placed ? WaitFirst : WaitReady;
        end
        WaitFirst: if (range_ready) wait_q <= next_q.tables ? WaitReady : WaitHead;
        WaitHead: begin
          next_failed_q <= range_failed;
          next_length_q <= head_length;
          next_call_q <= head_call;
          if (range_ready) wait_q <= WaitMeasure;
        end
        WaitMeasure: begin
          wait_q <= WaitReady;
          rest_q <= next_beats[RangeBits-1:0] - first_q;
          // Drop every beat up to the bad one, which is the last.
          if (next_failed_q) next_extra_q <= 4'(BurstBeats + 1);
          else if (!fits) begin
            next_refused_q <= 1'b1;
            next_extra_q <= first_q[3:0];
          end else if (next_beats[RangeBits-1:0] <= first_q)
            next_extra_q <= first_q[3:0] - next_beats[3:0];
          else wait_q <= WaitRest;
        end
        WaitRest: if (range_ready) wait_q <= WaitReady;
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
      .range_valid_i(range_valid),
      .range_ready_o(range_ready),
      .range_beat_i(range_beat),
      .range_beats_i(range_beats),
      .range_failed_o(range_failed),
      .head_length_o(head_length),
      .head_call_o(head_call),
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
  logic needs_beat, ends_here, may_load, load, drop, leaves, step, last_step;
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
      if (ends_here) padded[63:0] = 64'({total_q, 3'd0});
    end
  end

  // A block leaves with its last byte, or with its hash where nothing of it is to be scanned.
  logic hash_start, hash_ready, hash_busy, hash_done;
  state_t digest;
  assign step = loaded_q && (at_q != '0 || hash_ready);
  assign hash_start = loaded_q && at_q == '0;
  assign last_step = at_q == 6'(BlockBytes - 1);
  assign leaves = step && (last_step || ended_q);
  assign may_load = state_q == StRun && !failed_q && (!loaded_q || (leaves && !final_q));
  assign load = may_load && (!needs_beat || (beat_valid && !beat_bad));
  // The beats after those of the text are dropped.
  assign drop = (state_q == StRun || state_q == StDrain) && !needs_beat && extra_q != '0
      && beat_valid;
  assign take = (may_load && needs_beat && beat_valid) || drop;

  // ---- the scan
  logic is_text;
  assign is_text = step && (tables_q || !leads_q || at_q >= 6'(HeadBytes));
  always_comb begin
    item_o = '0;
    item_o.data = block_q[511-:8];
    if (is_text && to_scan_q != '0) item_o.kind = ItemByte;
    else if (is_text && !ended_q) item_o.kind = ItemEnd;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
      {tables_q, call_q, refused_q, failed_q, tag_q, same_q} <= '0;
      {extra_q, to_load_q, to_scan_q, at_q} <= '0;
      {ended_q, begun_q, leads_q, final_q, loaded_q, padded_q} <= '0;
      block_q <= '0;
      {slot_q, total_q, commitment_q} <= '0;
    end else begin
      unique case (state_q)
        StIdle: begin
          if (begin_o) begin
            state_q <= next_refused_q || next_failed_q ? StDrain : StRun;
            slot_q <= next_q.slot;
            commitment_q <= next_q.commitment;
            tables_q <= next_q.tables;
            call_q <= next_call_q;
            refused_q <= next_refused_q;
            failed_q <= next_failed_q;
            {tag_q, same_q} <= '0;
            extra_q <= next_extra_q;
            total_q <= next_total;
            to_load_q <= next_refused_q || next_failed_q ? '0 : next_total;
            to_scan_q <= next_q.tables ? next_total : total_t'(next_length_q);
            {ended_q, begun_q, leads_q, final_q, loaded_q, padded_q} <= '0;
            at_q <= '0;
          end
        end
        StRun: begin
          if (item_o.kind == ItemByte) to_scan_q <= to_scan_q - 1'b1;
          if (item_o.kind == ItemEnd) ended_q <= 1'b1;
          // The register must have the kind and the length that were read from its first beat. They
          // come from the same beat; this compares them again.
          if (hash_start && hash_ready && leads_q)
            tag_q <= tables_q || (block_q[511-:8*TagBytes] == (call_q ? CallTag : TextTag)
                && word_turned(block_q[511-8*LengthAt-:32]) == 32'(to_scan_q));
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
            leads_q <= !begun_q;
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
          if (!hash_busy && !scan_busy_i && extra_q == '0) state_q <= StAnswer;
        end
        StAnswer: if (answer_ready_i) state_q <= StIdle;
        default: state_q <= StAnswer;
      endcase
      if (drop) extra_q <= beat_bad ? '0 : extra_q - 4'd1;
    end
  end

  sha256 u_hash (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .start_i(hash_start && hash_ready),
      .ready_o(hash_ready),
      .chain_i(!leads_q),
      .state_i(InitialHash),
      .block_i(block_q),
      .busy_o(hash_busy),
      .done_o(hash_done),
      .digest_o(digest)
  );

  // ---- the answer
  assign answer_valid_o = state_q == StAnswer;
  assign call_o = call_q;
  assign length_o = total_q - total_t'(HeadBytes);
  always_comb begin
    cause_o = CauseNone;
    if (refused_q) cause_o = CauseWindow;
    else if (failed_q) cause_o = CauseBus;
    else if (!tag_q) cause_o = CauseTag;
    else if (!scan_utf8_i && !tables_q) cause_o = CauseUtf8;
    else if (!same_q) cause_o = CauseCommitment;
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
