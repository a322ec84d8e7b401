// What is proved of the text window, without bound:
//
// - The range that is read for an entry is in its window, which is aligned and in memory, and holds
//   the head and the text that the descriptor declares, to their last beat. An entry of which that
//   cannot be has no range.
// - Byte hashed = byte scanned = byte read: what goes into the hash are the bytes of the beats in
//   their order, then 0x80, zeros and the number of bits, in as many blocks as FIPS 180-4 has, the
//   first on the initial state and each other chained to the one before. The scan is given the
//   bytes behind the head, each once and in order, and then the end. Watched for one byte, any one.
// - The cause of an answer is exactly what it has to be: it is CauseNone only if all beats came,
//   the bytes that were hashed begin with the tag, hold the declared length, end in the digest that
//   the descriptor commits to, were scanned to the end, and are UTF-8.
// - Items are given only between the clock of an entry's start and its answer, and entries are
//   begun and answered in order, one at a time, each with its slot.
//
// The hash core is a stand-in with any latency and digest; the fetch is free, so any beats may come
// at any time; the scan is free, too.
module text_window_props
  import text_pkg::*;
  import sha256_pkg::*;
(
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

  logic entry_ready, begins, begin_fresh, answer_valid, pending, progress, broken, ar_valid;
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
      .begin_fresh_o(begin_fresh),
      .item_o(item),
      .scan_busy_i(scan_busy),
      .scan_utf8_i(scan_utf8),
      .answer_valid_o(answer_valid),
      .answer_ready_i(answer_ready),
      .cause_o(cause),
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

  // ---- the entries, as they were given
  text_entry_t waiting_q, entry_q;
  logic waits_q, runs_q;
  always_ff @(posedge clk) begin
    if (rst) {waits_q, runs_q} <= '0;
    else begin
      if (begins) {waits_q, runs_q} <= 2'b01;
      if (entry_valid && entry_ready) waits_q <= 1'b1;
      if (answer_valid && answer_ready) runs_q <= 1'b0;
    end
    if (entry_valid && entry_ready) waiting_q <= entry;
    if (begins) entry_q <= waiting_q;
  end
  // Beats of the head and the text, without a bound; and whether the window holds them.
  function automatic logic [63:0] bytes_of(text_entry_t given);
    return 64'(given.length) + 64'd38;
  endfunction
  function automatic logic fits(text_entry_t given);
    return bytes_of(given) <= 64'(given.beats) * 64'd64 && given.address[5:0] == '0
        && 65'(given.address) + 65'(given.beats) * 65'd64 <= 65'd1 << 64;
  endfunction
  logic [63:0] range_bytes;
  assign range_bytes = 64'(dut.next_beats[WindowBits-1:0]) * 64'd64;

  // ---- the bytes of the entry
  logic [18:0] total, watched;
  logic [12:0] blocks, loaded_q, hashed_q;  // Blocks of it; loaded; hashed.
  logic [17:0] scanned_q;
  logic [12:0] block_of;
  logic [5:0] place_of;
  assign total = 19'(entry_q.length[17:0]) + 19'd38;
  assign blocks = 13'((total + 19'd9 + 19'd63) >> 6);
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
      {loaded_q, hashed_q, scanned_q, bad_q, ended_q, tag_q, length_q} <= '0;
    end else begin
      if (dut.load) loaded_q <= loaded_q + 13'd1;
      if (dut.take && loaded_q == block_of) read_q <= beat_byte;
      if (dut.take && dut.beat_bad) bad_q <= 1'b1;
      if (hash_start) begin
        hashed_q <= hashed_q + 13'd1;
        if (hashed_q == block_of) bytes_q <= hash_byte;
        if (hashed_q == '0) begin
          tag_q <= block[511-:144] == 144'h706f727463756c6c69732f7370616e2f3100;
          length_q <= {block[215-:8], block[223-:8], block[231-:8], block[239-:8]}
              == entry_q.length;
        end
      end
      if (item.kind == ItemByte) scanned_q <= scanned_q + 18'd1;
      if (item.kind == ItemEnd) ended_q <= 1'b1;
    end
    if (dut.hash_done) digest_q <= dut.digest;
  end

  cause_e right;
  always_comb begin
    right = CauseNone;
    if (!fits(entry_q)) right = CauseWindow;
    else if (bad_q) right = CauseBus;
    else if (!tag_q) right = CauseTag;
    else if (!length_q) right = CauseLength;
    else if (digest_q != entry_q.commitment) right = CauseCommitment;
    else if (!scan_utf8) right = CauseUtf8;
  end

  // Where the scan stands: bytes of the loaded blocks that were passed.
  logic [18:0] passed;
  logic idle, run, drain, answer;
  assign passed = (dut.loaded_q ? {loaded_q - 13'd1, 6'd0} : {loaded_q, 6'd0}) + 19'(dut.at_q);
  assign idle = dut.state_q == 2'd0;
  assign run = dut.state_q == 2'd1;
  assign drain = dut.state_q == 2'd2;
  assign answer = dut.state_q == 2'd3;

  logic was_full_q, was_begun_q;
  always_ff @(posedge clk) was_begun_q <= !rst && begins;
  always_ff @(posedge clk) was_full_q <= !rst && (was_full_q || (begins && entry_valid));

  always_comb begin
    if (started) begin
      // ---- the claims
      if (dut.wait_q == 2'd2) begin
        assert (waits_q && fits(waiting_q));
        assert (dut.next_q.address[63:6] == waiting_q.address[63:6]);
        assert (range_bytes >= bytes_of(waiting_q) && range_bytes < bytes_of(waiting_q) + 64'd64);
        assert (range_bytes <= 64'(waiting_q.beats) * 64'd64);
      end
      if (hash_start) begin
        assert (run && hashed_q < blocks && dut.first_q == (hashed_q == '0));
        if (hashed_q == block_of) assert (hash_byte == expected);
      end
      if (item.kind == ItemByte) begin
        assert (run && !ended_q && scanned_q < entry_q.length[17:0]);
        if (19'(scanned_q) + 19'd38 == watched) begin
          assert (item.data == read_q);
          assert (hash_start ? hashed_q == block_of && item.data == hash_byte
              : hashed_q > block_of && item.data == bytes_q);
        end
      end
      if (item.kind == ItemEnd) assert (run && !ended_q && 32'(scanned_q) == entry_q.length);
      assert (item.kind != item_e'(2'd3));
      if (answer_valid) begin
        assert (runs_q && cause == right);
        if (cause == CauseNone)
          assert (ended_q && 32'(scanned_q) == entry_q.length && hashed_q == blocks);
      end
      if (begins) assert (waits_q && !runs_q && !hold);
      if (begins) assert (!scan_busy && item.kind == ItemNone && !answer_valid);
      if (was_begun_q) assert (item.kind == ItemNone && !answer_valid);
      if (waits_q) assert (begin_slot == waiting_q.slot && begin_fresh == waiting_q.fresh);
      assert (under_way == {runs_q, waits_q} && entry_ready == !waits_q);
      if (runs_q) assert (slots[1] == entry_q.slot);
      if (waits_q) assert (slots[0] == waiting_q.slot);

      // ---- what the induction needs
      if (waits_q) assert (dut.next_q == waiting_q);
      if (dut.wait_q == 2'd2) assert (!dut.next_refused_q);
      if (dut.wait_q == 2'd3) assert (dut.next_refused_q == !fits(waiting_q));
      if (runs_q) begin
        assert (dut.declared_q == entry_q.length && dut.commitment_q == entry_q.commitment);
        assert (dut.refused_q == !fits(entry_q) && dut.failed_q == bad_q);
        assert (dut.ended_q == ended_q && dut.tag_q == (tag_q && hashed_q != '0));
        assert (dut.length_q == (length_q && hashed_q != '0));
      end
      assert (dut.loaded_q == (dut.loaded_q && run));
      if (!dut.loaded_q) assert (dut.at_q == '0);
      if (idle || answer) assert (!dut.hash_busy && !dut.hash_done);
      if (run) assert (!bad_q && !dut.refused_q);
      if (dut.refused_q && runs_q) assert (hashed_q == '0 && loaded_q == '0 && !dut.hash_busy
          && !dut.hash_done);
      if (runs_q && !dut.refused_q) begin
        assert (loaded_q == hashed_q + 13'(dut.loaded_q && dut.at_q == '0));
        assert (loaded_q <= blocks && dut.begun_q == (loaded_q != '0));
        assert (dut.to_load_q == (total > {loaded_q, 6'd0} ? 18'(total - {loaded_q, 6'd0}) : '0));
        assert (dut.padded_q == ({loaded_q, 6'd0} > total));
        assert (18'(dut.to_scan_q) + scanned_q == entry_q.length[17:0]);
        assert (scanned_q <= entry_q.length[17:0]);
        if (dut.loaded_q) assert (loaded_q != '0 && dut.first_q == (loaded_q == 13'd1)
            && dut.final_q == (loaded_q == blocks));
        if (run && !dut.loaded_q) assert (loaded_q < blocks);
        if (ended_q) assert (19'(scanned_q) + 19'd38 == total);
        else if (!bad_q) begin
          assert (passed <= total);
          assert (passed < 19'd38 ? scanned_q == '0 : 19'(scanned_q) + 19'd38 == passed);
        end
        if (dut.loaded_q && block_of == loaded_q - 13'd1 && place_of >= dut.at_q)
          assert (8'(block >> {~(place_of - dut.at_q), 3'd0}) == expected);
        if (hashed_q > block_of) assert (bytes_q == expected);
        if ((drain || answer) && !bad_q) assert (ended_q && hashed_q == blocks);
        if (!dut.hash_busy && !dut.hash_done && hashed_q != '0) assert (dut.digest == digest_q);
        if (answer) assert (dut.same_q == (digest_q == entry_q.commitment) || bad_q);
      end

      // ---- not vacuous: a text that agrees, of no byte and of one block more; one entered while
      // the last one was begun; every cause
      cover (answer_valid && cause == CauseNone && entry_q.length == '0);
      cover (answer_valid && cause == CauseNone && entry_q.length == 32'd18 && was_full_q);
      cover (answer_valid && cause == CauseWindow);
      cover (answer_valid && cause == CauseBus && hashed_q != '0);
      cover (answer_valid && cause == CauseTag);
      cover (answer_valid && cause == CauseLength);
      cover (answer_valid && cause == CauseCommitment);
      cover (answer_valid && cause == CauseUtf8);
    end
  end
endmodule
