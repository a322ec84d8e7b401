// What is proved of the text window, without bound:
//
// - For a text, one burst is read first, inside its window, which must be aligned and in memory.
//   Then exactly the rest of head and text is read, with the length from the window, if they fit in
//   the window. For tables, exactly their bytes are read. Otherwise nothing more is read.
// - Each entry takes all beats that were requested for it, up to the last one or to a bad one.
// - The bytes that are hashed and the bytes that are scanned are the bytes that were read. The hash
//   gets the bytes of the beats in order, then 0x80, zeros and the number of bits, in as many
//   blocks as FIPS 180-4 requires, each chained to the block before. The scan gets the bytes after
//   the head, each once and in order, and then the end. The proof follows one arbitrary byte.
// - The cause of an answer is correct. It is CauseNone only if all beats came; the hashed bytes
//   begin with the tag of a text, or of a call if the entry was begun and answered as a call; their
//   length field is the length that was scanned; their digest is the commitment; they were scanned
//   to the end; and they are UTF-8. Tables need no tag and no UTF-8.
// - The scan gets items only between the start of an entry and its answer. Entries are begun and
//   answered in order, one at a time, each with its slot.
//
// The hash core is a stand-in with any latency and digest. The scan may do anything, and so may the
// fetch, except that a first burst ends with a bad beat exactly if the fetch reports it as failed
// (the proof text_fetch shows this).
module text_window_props
  import text_pkg::*;
  import sha256_pkg::*;
#(
    parameter bit Brisk = 1'b0  // Nothing waits: for the covers, which are long runs.
) (
    input logic clk,
    input logic entry_valid,
    input text_entry_t entry,
    input logic hold,
    input logic scan_busy,
    input logic scan_utf8,
    input logic answer_ready,
    input logic give_up,
    input axi_pkg::rsp_t rsp
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  logic [TotalBits-1:0] length;
  logic begin_tables, tables;
  logic entry_ready, begins, begin_call, is_call, answer_valid, pending, progress, broken, ar_valid;
  logic [1:0] under_way;
  logic [1:0][15:0] slots;
  logic [15:0] begin_slot;
  item_t item;
  cause_e cause;
  axi_pkg::request_t ar;
  text_window dut (
      .clk_i(clk),
      .rst_i(rst),
      .entry_valid_i(entry_valid),
      .entry_ready_o(entry_ready),
      .entry_i(entry),
      .under_way_o(under_way),
      .slots_o(slots),
      .hold_i(hold),
      .begin_o(begins),
      .begin_slot_o(begin_slot),
      .begin_call_o(begin_call),
      .begin_tables_o(begin_tables),
      .tables_o(tables),
      .item_o(item),
      .scan_busy_i(scan_busy),
      .scan_utf8_i(scan_utf8),
      .answer_valid_o(answer_valid),
      .answer_ready_i(answer_ready),
      .cause_o(cause),
      .call_o(is_call),
      .length_o(length),
      .give_up_i(give_up),
      .ar_o(ar),
      .ar_valid_o(ar_valid),
      .ar_ready_i(rsp.ar_ready),
      .r_i(rsp.r),
      .r_valid_i(rsp.r_valid),
      .pending_o(pending),
      .progress_o(progress),
      .broken_o(broken)
  );

  // ---- the entries that were accepted, with length, kind and failure from their first bursts
  typedef struct packed {
    text_entry_t given;
    logic [31:0] length;  // As the window has it.
    logic call;           // The window begins with the tag of a call.
    logic failed;         // The first burst is not whole.
    logic [17:0] asked;   // Beats that were asked for.
  } known_t;
  known_t waiting_q, entry_q;
  logic waits_q, runs_q, head, offers;
  assign head = dut.wait_q == 3'd3;
  assign offers = dut.range_valid && dut.range_ready;
  always_ff @(posedge clk) begin
    if (rst) {waits_q, runs_q} <= '0;
    else begin
      if (begins) {waits_q, runs_q} <= 2'b01;
      if (entry_valid && entry_ready) waits_q <= 1'b1;
      if (answer_valid && answer_ready) runs_q <= 1'b0;
    end
    if (offers) waiting_q.asked <= waiting_q.asked + 18'(dut.range_beats);
    if (head && dut.range_ready) begin
      waiting_q.length <= dut.head_length;
      waiting_q.call <= dut.head_call;
      waiting_q.failed <= dut.range_failed;
    end
    if (entry_valid && entry_ready)
      waiting_q <= '{given: entry, length: '0, call: 1'b0, failed: 1'b0, asked: '0};
    if (begins) entry_q <= waiting_q;
  end
  // Bytes under the commitment, or of the tables; beats that contain them; bytes of the window.
  function automatic logic [63:0] bytes_of(known_t known);
    return known.given.tables ? 64'(known.given.bytes) : 64'(known.length) + 64'd38;
  endfunction
  function automatic logic [63:0] beats_of(known_t known);
    return (bytes_of(known) + 64'd63) / 64'd64;
  endfunction
  function automatic logic [64:0] window_of(text_entry_t given);
    return given.tables ? 65'((24'(given.bytes) + 24'd63) >> 6) * 65'd64
        : 65'(given.beats) * 65'd64;
  endfunction
  function automatic logic placed(text_entry_t given);
    return given.address[5:0] == '0 && (given.tables || !given.outside)
        && window_of(given) != '0 && window_of(given) < 65'd1 << 23
        && 65'(given.address) + window_of(given) <= 65'd1 << 64;
  endfunction
  function automatic logic fits(known_t known);
    return placed(known.given) && (known.given.tables || known.failed
        || bytes_of(known) <= 64'(window_of(known.given)));
  endfunction
  function automatic logic fails(known_t known);
    return placed(known.given) && known.failed;
  endfunction
  // Beats of the first range.
  function automatic logic [16:0] first_of(text_entry_t given);
    logic [16:0] all, burst;
    all = 17'(window_of(given) >> 6);
    burst = 17'd8 - 17'(given.address[8:6]);
    return given.tables || all < burst ? all : burst;
  endfunction
  // Beats that are dropped.
  function automatic logic [3:0] extra_of(known_t known);
    if (!placed(known.given) || known.given.tables) return 4'd0;
    if (known.failed) return 4'd9;
    if (!fits(known)) return 4'(first_of(known.given));
    return beats_of(known) < 64'(first_of(known.given))
        ? 4'(first_of(known.given)) - 4'(beats_of(known)) : 4'd0;
  endfunction

  // ---- the bytes of the entry
  logic [23:0] total, watched;
  logic [22:0] entry_length, skipped;  // Bytes that are scanned; bytes before them.
  logic [17:0] blocks, loaded_q, hashed_q;  // Blocks of it; loaded; hashed.
  logic [22:0] scanned_q;
  logic [17:0] taken_q, needed;  // Beats that were taken; that hold the bytes.
  logic [17:0] block_of;
  logic [5:0] place_of;
  logic good;  // It is read.
  assign good = fits(entry_q) && !fails(entry_q);
  assign total = 24'(bytes_of(entry_q));
  assign entry_length = entry_q.given.tables ? entry_q.given.bytes : 23'(entry_q.length);
  assign skipped = entry_q.given.tables ? 23'd0 : 23'd38;
  assign blocks = 18'((25'(total) + 25'd9 + 25'd63) >> 6);
  assign needed = 18'((25'(total) + 25'd63) >> 6);
  always_ff @(posedge clk) watched <= watched;
  assign {block_of, place_of} = watched;
  logic hash_start, bad_q, ended_q, tag_q, length_q;
  logic [7:0] read_q, bytes_q, expected;
  state_t digest_q;
  block_t block;
  assign hash_start = dut.hash_start && dut.hash_ready;
  assign block = dut.block_q;
  // The watched byte of the beat, and of the block that is hashed.
  logic [7:0] beat_byte, hash_byte;
  assign beat_byte = 8'(dut.beat >> {place_of, 3'd0});
  assign hash_byte = 8'(block >> {~place_of, 3'd0});
  // The number of bits, in the last eight bytes.
  logic [63:0] bits;
  assign bits = 64'(total) * 64'd8;
  always_comb begin
    expected = 8'd0;
    if (watched < total) expected = read_q;
    else if (watched == total) expected = 8'h80;
    else if (block_of == blocks - 13'd1 && place_of >= 6'd56)
      expected = 8'(bits >> {~place_of[2:0], 3'd0});
  end

  always_ff @(posedge clk) begin
    if (begins) begin
      {loaded_q, hashed_q, scanned_q, bad_q, ended_q, tag_q, length_q, taken_q} <= '0;
    end else begin
      if (dut.take) taken_q <= taken_q + 18'd1;
      if (dut.load) loaded_q <= loaded_q + 18'd1;
      if (dut.take && taken_q == block_of) read_q <= beat_byte;
      if (dut.take && dut.beat_bad) bad_q <= 1'b1;
      if (hash_start) begin
        hashed_q <= hashed_q + 18'd1;
        if (hashed_q == block_of) bytes_q <= hash_byte;
        if (hashed_q == '0) begin
          tag_q <= block[511-:144] == (entry_q.call ? 144'h706f727463756c6c69732f63616c6c2f3100
              : 144'h706f727463756c6c69732f7370616e2f3100);
          length_q <= {block[215-:8], block[223-:8], block[231-:8], block[239-:8]}
              == 32'(entry_length);
        end
      end
      if (item.kind == ItemByte) scanned_q <= scanned_q + 23'd1;
      if (item.kind == ItemEnd) ended_q <= 1'b1;
    end
    if (dut.hash_done) digest_q <= dut.digest;
  end

  cause_e right;
  always_comb begin
    right = CauseNone;
    if (!fits(entry_q)) right = CauseWindow;
    else if (bad_q) right = CauseBus;
    else if (!entry_q.given.tables && !(tag_q && length_q)) right = CauseTag;
    else if (!entry_q.given.tables && !scan_utf8) right = CauseUtf8;
    else if (digest_q != entry_q.given.commitment) right = CauseCommitment;
  end

  // Where the scan stands: bytes of the loaded blocks that were passed.
  logic [23:0] passed;
  logic idle, run, drain, answer;
  assign passed = (dut.loaded_q ? {loaded_q - 18'd1, 6'd0} : {loaded_q, 6'd0}) + 24'(dut.at_q);
  assign idle = dut.state_q == 2'd0;
  assign run = dut.state_q == 2'd1;
  assign drain = dut.state_q == 2'd2;
  assign answer = dut.state_q == 2'd3;

  logic was_full_q, was_begun_q;
  always_ff @(posedge clk) was_begun_q <= !rst && begins;
  always_ff @(posedge clk) was_full_q <= !rst && (was_full_q || (begins && entry_valid));

  // Number of beats that were requested for an entry after its last request.
  function automatic logic [17:0] asked_of(known_t known);
    if (!placed(known.given)) return '0;
    if (known.given.tables) return 18'(beats_of(known));
    if (known.failed || !fits(known) || beats_of(known) < 64'(first_of(known.given)))
      return 18'(first_of(known.given));
    return 18'(beats_of(known));
  endfunction
  always_comb begin
    if (Brisk) assume (!hold && !scan_busy && dut.beat_valid && dut.range_ready && answer_ready
        && dut.u_hash.ended == dut.u_hash.working_q);
  end

  // As text_fetch proves: a first burst has a bad beat only if it failed, and then ends with one.
  always_comb begin
    if (dut.take && runs_q && !entry_q.given.tables && taken_q < 18'(first_of(entry_q.given))
        && !entry_q.failed) assume (!dut.beat_bad);
    if (dut.take && runs_q && entry_q.failed && taken_q == 18'(first_of(entry_q.given)))
      assume (dut.beat_bad);
  end

  always_comb begin
    if (started) begin
      // ---- the claims
      if (offers) begin
        assert (waits_q && placed(waiting_q.given) && dut.range_beats != '0);
        assert (64'(dut.range_beat) * 64'd64
            == waiting_q.given.address + 64'(waiting_q.asked) * 64'd64);
        if (waiting_q.given.tables) assert (waiting_q.asked == '0
            && 64'(dut.range_beats) == beats_of(waiting_q));
        else if (waiting_q.asked == '0) begin
          assert (18'(dut.range_beats) + 18'(dut.range_beat[2:0]) <= 18'd8);
          assert (18'(dut.range_beats) <= 18'(waiting_q.given.beats));
        end else begin
          assert (!waiting_q.failed && 64'(waiting_q.asked)
              + 64'(dut.range_beats) == beats_of(waiting_q));
          assert (beats_of(waiting_q) <= 64'(waiting_q.given.beats));
        end
      end
      if (dut.take && runs_q) assert (18'(taken_q) < entry_q.asked || (bad_q == '0
          && dut.beat_bad));
      if (answer_valid) assert (bad_q || taken_q == entry_q.asked);
      if (hash_start) begin
        assert (run && hashed_q < blocks && dut.leads_q == (hashed_q == '0));
        if (hashed_q == block_of) assert (hash_byte == expected);
      end
      if (item.kind == ItemByte) begin
        assert (run && !ended_q && scanned_q < entry_length);
        if (24'(scanned_q) + 24'(skipped) == watched) begin
          assert (item.data == read_q);
          assert (hash_start ? hashed_q == block_of && item.data == hash_byte
              : hashed_q > block_of && item.data == bytes_q);
        end
      end
      if (item.kind == ItemEnd) assert (run && !ended_q && scanned_q == entry_length);
      assert (item.kind != item_e'(2'd3));
      if (answer_valid) begin
        assert (runs_q && cause == right);
        if (cause == CauseNone)
          assert (ended_q && scanned_q == entry_length && hashed_q == blocks);
      end
      if (answer_valid && !tables && cause != CauseWindow && cause != CauseBus)
        assert (32'(length) == entry_q.length && is_call == entry_q.call);
      if (begins) assert (waits_q && !runs_q && !hold);
      if (begins) assert (!scan_busy && item.kind == ItemNone && !answer_valid);
      if (was_begun_q) assert (item.kind == ItemNone && !answer_valid);
      if (waits_q) assert (begin_slot == waiting_q.given.slot
          && begin_tables == waiting_q.given.tables);
      if (begins) assert (begin_call == waiting_q.call);
      if (begins && waiting_q.given.tables) assert (!begin_call);
      assert (under_way == {runs_q, waits_q} && entry_ready == !waits_q);
      if (runs_q) assert (slots[1] == entry_q.given.slot && tables == entry_q.given.tables);
      if (waits_q) assert (slots[0] == waiting_q.given.slot);

      // ---- what the induction needs
      if (waits_q) assert (dut.next_q == waiting_q.given);
      assert (dut.wait_q <= 3'd6 && waits_q == (dut.wait_q != 3'd0));
      if (dut.wait_q == 3'd1) assert (waiting_q.asked == '0 && !waiting_q.failed);
      if (dut.wait_q >= 3'd2 && dut.wait_q <= 3'd5) begin
        assert (placed(waiting_q.given) && !dut.next_refused_q && dut.next_extra_q == '0);
        assert (dut.first_q == first_of(waiting_q.given));
      end
      if (dut.wait_q == 3'd2) assert (waiting_q.asked == '0 && !waiting_q.failed);
      if (dut.wait_q == 3'd3) assert (!waiting_q.failed);
      if (dut.wait_q >= 3'd3 && dut.wait_q <= 3'd5)
        assert (!waiting_q.given.tables && waiting_q.asked == 18'(dut.first_q));
      if (dut.wait_q == 3'd2) assert (!dut.next_failed_q);
      if (dut.wait_q >= 3'd4 && placed(waiting_q.given) && !waiting_q.given.tables)
        assert (dut.next_length_q == waiting_q.length);
      if (dut.wait_q >= 3'd4) assert (dut.next_failed_q == waiting_q.failed);
      if (dut.wait_q == 3'd1) assert (!waiting_q.call);
      if (dut.wait_q == 3'd2) assert (!dut.next_call_q && !waiting_q.call);
      if (dut.wait_q >= 3'd4) assert (dut.next_call_q == waiting_q.call);
      if (waits_q && waiting_q.given.tables) assert (!waiting_q.call);
      if (dut.wait_q >= 3'd4 && waiting_q.failed)
        assert (placed(waiting_q.given) && !waiting_q.given.tables);
      if (dut.wait_q == 3'd5) begin
        assert (fits(waiting_q) && !waiting_q.failed);
        assert (64'(dut.first_q) + 64'(dut.rest_q) == beats_of(waiting_q) && dut.rest_q != '0);
      end
      if (dut.wait_q == 3'd6) begin
        assert (dut.next_refused_q == !fits(waiting_q));
        assert (dut.next_extra_q == extra_of(waiting_q));
        assert (waiting_q.asked == asked_of(waiting_q));
      end
      if (runs_q) begin
        assert (entry_q.asked == asked_of(entry_q));
        if (entry_q.failed) assert (placed(entry_q.given) && !entry_q.given.tables);
        assert (dut.commitment_q == entry_q.given.commitment && dut.call_q == entry_q.call);
        if (tables) assert (!entry_q.call);
        if (good) assert (24'(dut.total_q) == total);
        assert (dut.refused_q == !fits(entry_q) && dut.failed_q == (entry_q.failed || bad_q));
        assert (dut.ended_q == ended_q);
        assert (dut.tag_q == (hashed_q != '0 && (tables || (tag_q && length_q))));
        // How many beats were taken, and how many are still to be dropped.
        if (dut.to_load_q != '0) assert (dut.extra_q == extra_of(entry_q) && good);
        if (!bad_q) begin
          if (!good) assert (18'(dut.extra_q) + taken_q == 18'(extra_of(entry_q)));
          else if (dut.to_load_q != '0) assert (taken_q == loaded_q);
          else assert (taken_q >= needed
              && 18'(dut.extra_q) + taken_q == needed + 18'(extra_of(entry_q)));
        end else if (!good) assert (dut.extra_q == '0);
        else assert (extra_of(entry_q) == '0 && dut.extra_q == '0);
        if (!entry_q.failed && !bad_q) assert (taken_q <= entry_q.asked);
        if (entry_q.failed && !bad_q) assert (taken_q <= 18'(first_of(entry_q.given)));
        if (!good) assert (dut.to_load_q == '0);
      end
      assert (dut.loaded_q == (dut.loaded_q && run));
      if (!dut.loaded_q) assert (dut.at_q == '0);
      if (idle || answer) assert (!dut.hash_busy && !dut.hash_done);
      if (run) assert (!bad_q && good);
      if (answer && runs_q) assert (dut.extra_q == '0);
      if (!good && runs_q) assert (hashed_q == '0 && loaded_q == '0 && !dut.hash_busy
          && !dut.hash_done);
      if (runs_q && good) begin
        assert (loaded_q == hashed_q + 18'(dut.loaded_q && dut.at_q == '0));
        assert (loaded_q <= blocks && dut.begun_q == (loaded_q != '0));
        assert (dut.to_load_q == (total > {loaded_q, 6'd0} ? 23'(total - {loaded_q, 6'd0}) : '0));
        assert (dut.padded_q == ({loaded_q, 6'd0} > total));
        assert (dut.to_scan_q + scanned_q == entry_length);
        assert (scanned_q <= entry_length);
        if (dut.loaded_q) assert (loaded_q != '0 && dut.leads_q == (loaded_q == 18'd1)
            && dut.final_q == (loaded_q == blocks));
        if (run && !dut.loaded_q) assert (loaded_q < blocks);
        if (ended_q) assert (24'(scanned_q) + 24'(skipped) == total && hashed_q != '0);
        else if (!bad_q) begin
          assert (passed <= total);
          assert (passed < 24'(skipped) ? scanned_q == '0
              : 24'(scanned_q) + 24'(skipped) == passed);
        end
        if (dut.loaded_q && block_of == loaded_q - 18'd1 && place_of >= dut.at_q)
          assert (8'(block >> {~(place_of - dut.at_q), 3'd0}) == expected);
        if (hashed_q > block_of) assert (bytes_q == expected);
        if ((drain || answer) && !bad_q) assert (ended_q && hashed_q == blocks);
        if (!dut.hash_busy && !dut.hash_done && hashed_q != '0) assert (dut.digest == digest_q);
        if (answer) assert (dut.same_q == (digest_q == entry_q.given.commitment) || bad_q);
      end

      // ---- not vacuous: a text that agrees, of no byte and of one block more; one entered while
      // the last one was begun; every cause
      cover (answer_valid && cause == CauseNone && !tables && entry_length == '0);
      cover (answer_valid && cause == CauseNone && !tables && entry_length == 23'd18
          && was_full_q);
      cover (answer_valid && cause == CauseNone && tables && entry_length == 23'd2);
      cover (answer_valid && cause == CauseNone && taken_q == 18'd8);
      cover (answer_valid && cause == CauseNone && is_call);
      cover (answer_valid && cause == CauseWindow && taken_q == 18'd8);
      cover (answer_valid && cause == CauseBus && entry_q.failed);
      cover (offers && waiting_q.asked == 18'd8);
      cover (answer_valid && cause == CauseWindow);
      cover (answer_valid && cause == CauseBus && hashed_q != '0);
      cover (answer_valid && cause == CauseTag);
      cover (answer_valid && cause == CauseCommitment);
      cover (answer_valid && cause == CauseUtf8);
    end
  end
endmodule
