// Proves: while the tables are sealed, no word of a bank, no row's validity and no word of the
// image header changes, whatever is written, commanded or answered. They are sealed from the clock
// in which OPEN is written in LOAD until the card enters LOAD again. This includes the hash in
// OPENING, all heartbeats, CLOSE with its second hash, and all signatures. The lane runs only after
// the hash gave the expected digest and the first checkpoint was reported as written. A table is
// reported complete if and only if every row that the header counts was completely written.
//
// The configuration registers are locked in every life state but RESET and LOAD, and in LOAD from
// the clock in which OPEN is written. CLOSE, ALARM and checkpoints read these registers directly,
// so a write in FAULT or CLOSING would put another ticket or epoch into the signed log.
//
// While the card needs its hardware reset, no session is opened or runs, and RESET is not reached.
//
// Lifecycle, table and header are the card's own, wired as in portcullis_top. The bank has two rows
// (one for the covers). Commands and table writes may come from the register block in any clock.
// The answers of checks, hash, signer, ring and lane are arbitrary.
module lock_props
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned Rows = 2
) (
    input logic clk,
    input logic command_write,
    input logic [7:0] command_data,
    input table_access_t bank_access,
    input table_access_t header_access,
    input logic header_fits,
    input logic complete,
    input logic digest_done,
    input logic digest_expected,
    input logic digest_same,
    input logic changed,
    input logic heartbeat,
    input logic sign_done,
    input fault_e ring_fault,
    input logic ring_bus_dead,
    input logic ring_idle,
    input logic needs_reset,
    input logic streams_clearing,
    input logic record_ready,
    input logic log_open,
    input logic written,
    input logic lane_idle,
    input logic text,
    input logic text_placed,
    input logic text_loaded,
    input fault_e text_fault,
    input logic step,
    input logic [15:0] step_row
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started;

  // The command register of the register block.
  logic [7:0] command = '0;
  always_ff @(posedge clk) if (command_write) command <= command_data;

  life_e shown;
  logic locked, cfg_locked, tables_clear, check, digest, run, sign, ring_open, text_load;
  always_comb if (bank_access.valid && !bank_access.write) assume (!step);

  lifecycle #(
      .Text(1'b1)
  ) u_lifecycle (
      .clk_i(clk),
      .rst_i(rst),
      .command_write_i(command_write),
      .command_i(command),
      .locked_o(locked),
      .cfg_locked_o(cfg_locked),
      .tables_clear_o(tables_clear),
      .check_o(check),
      .header_fits_i(header_fits),
      .complete_i(complete),
      .digest_o(digest),
      .digest_done_i(digest_done),
      .digest_expected_i(digest_expected),
      .digest_same_i(digest_same),
      .changed_i(changed),
      .text_i(text),
      .text_placed_i(text_placed),
      .text_load_o(text_load),
      .text_loaded_i(text_loaded),
      .text_fault_i(text_fault),
      .ring_open_o(ring_open),
      .ring_fetch_o(),
      .ring_halt_o(),
      .ring_clear_o(),
      .tail_doorbell_o(),
      .head_doorbells_o(),
      .ring_fault_i(ring_fault),
      .ring_bus_dead_i(ring_bus_dead),
      .ring_idle_i(ring_idle),
      .needs_reset_i(needs_reset),
      .run_o(run),
      .hold_o(),
      .drop_o(),
      .streams_clear_o(),
      .streams_clearing_i(streams_clearing),
      .record_valid_o(),
      .record_ready_i(record_ready),
      .record_type_o(),
      .record_cause_o(),
      .log_open_i(log_open),
      .written_i(written),
      .lane_idle_i(lane_idle),
      .heartbeat_i(heartbeat),
      .sign_o(sign),
      .sign_life_o(),
      .sign_done_i(sign_done),
      .life_o(shown),
      .busy_o(),
      .fault_o(),
      .load_fault_o()
  );

  image_header_t header;
  image_text_t text_part, text_part_q;
  image_header #(
      .PolicyRows(Rows),
      .EntropyRows(Rows),
      .Text(1'b1)
  ) u_header (
      .clk_i(clk),
      .rst_i(rst),
      .access_i(header_access),
      .locked_i(locked),
      .clear_i(tables_clear),
      .answer_o(),
      .check_i(check),
      .fits_o(),
      .complete_o(),
      .header_o(header),
      .has_text_o(),
      .text_o(text_part)
  );

  logic table_complete;
  bank_table #(
      .Rows(Rows)
  ) u_table (
      .clk_i(clk),
      .rst_i(rst),
      .access_i(bank_access),
      .locked_i(locked),
      .clear_i(tables_clear),
      .answer_o(),
      .step_i(step),
      .step_row_i(step_row),
      .live_o(),
      .row_o(),
      .check_i(check),
      .count_i(header.policy_rows),
      .complete_o(table_complete)
  );

  // Sealed: from the clock of the OPEN command's write until the clock that enters LOAD. If OPEN
  // was written in the clock before LOAD, sealed begins when OPEN acts: one clock later, with the
  // tables just cleared.
  logic in_load, open_write, open_acts, sealed_q, sealed;
  assign in_load = shown == LifeLoad;
  assign open_write = started && command_write && command_data == CommandOpen && in_load;
  assign open_acts = in_load && u_lifecycle.command_q && command == CommandOpen;
  assign sealed = sealed_q || open_write || open_acts;
  always_ff @(posedge clk) begin
    if (rst) sealed_q <= 1'b0;
    else sealed_q <= open_write || open_acts || (sealed_q && !tables_clear);
  end

  // The hash in OPENING gave the expected digest; a checkpoint was made after the hash.
  logic hashed_q, signed_q;
  always_ff @(posedge clk) begin
    if (rst || !sealed || open_acts) {hashed_q, signed_q} <= '0;
    else begin
      if (digest && digest_done && !hashed_q) hashed_q <= digest_expected;
      if (hashed_q && sign && sign_done) signed_q <= 1'b1;
    end
  end

  // Groups of lifecycle states: StCheck to StDigest, StText and StStreams to StOpenSign, StRun and
  // StDrain.
  logic before_hash, after_hash, running;
  assign before_hash = |u_lifecycle.state_q[4:2];
  assign after_hash = |u_lifecycle.state_q[8:5] || u_lifecycle.state_q[17];
  assign running = |u_lifecycle.state_q[10:9];

  // Contents of bank and header, now and one clock ago.
  logic [Rows-1:0][RowBytes*8-1:0] words, words_q;
  logic [Rows-1:0] valid_q;
  image_header_t header_q;
  logic [HeaderWords+TextWords-1:0] header_valid_q;
  logic was_sealed_q, was_cleared_q, was_closing_q, was_check_q, was_lost_q;
  life_e was_shown_q;
  for (genvar r = 0; r < Rows; r++) begin : g_words
    assign words[r] = u_table.mem[r];
  end
  always_ff @(posedge clk) begin
    words_q <= words;
    valid_q <= u_table.valid_q;
    header_q <= header;
    text_part_q <= text_part;
    header_valid_q <= u_header.valid_q;
    was_sealed_q <= !rst && sealed;
    was_cleared_q <= rst || tables_clear;
    was_closing_q <= shown == LifeClosing && sign;
    was_check_q <= !rst && check;
    was_lost_q <= !rst && needs_reset;
    was_shown_q <= shown;
  end

  // Whether every counted row is valid, defined a second time.
  logic counted_valid;
  always_comb begin
    counted_valid = 32'(header.policy_rows) <= Rows;
    for (int unsigned r = 0; r < Rows; r++)
      if (r < 32'(header.policy_rows)) counted_valid &= u_table.valid_q[r];
  end

  always_comb begin
    if (started) begin
      // The claim about the answer to a check.
      if (was_check_q && !was_cleared_q) assert (table_complete == counted_valid);
      // The claim about the configuration.
      if (shown != LifeReset && shown != LifeLoad) assert (cfg_locked);
      if (open_write || open_acts) assert (cfg_locked);
      // The step of the proof: states of the lifecycle while sealed.
      if (sealed_q) assert (!in_load || open_acts);
      if (before_hash) assert (sealed_q && !hashed_q && !signed_q);
      if (after_hash) assert (sealed_q && hashed_q);
      if (running) assert (sealed_q && hashed_q && signed_q);
      // The claim for a bus with outstanding transfers.
      if (needs_reset) assert (!ring_open && !run);
      if (was_lost_q && shown == LifeReset) assert (was_shown_q == LifeReset);
      // The tables of a text lane are read only in OPENING, after the hash of the image. A session
      // whose image has a text part opens only after these tables are loaded.
      if (text_load) assert (sealed_q && hashed_q && shown == LifeOpening && !run && text_placed);
      if (ring_open) assert (!text || (text_load && text_loaded && text_fault == FaultNone));
      // The claim about the lane.
      if (run) assert (sealed_q && hashed_q && signed_q);
      if (was_sealed_q) begin
        // The main claim. The clock that enters LOAD does not change words either, only validity.
        assert (words == words_q);
        if (!was_cleared_q) begin
          assert (u_table.valid_q == valid_q);
          assert (header == header_q && text_part == text_part_q);
          assert (u_header.valid_q == header_valid_q);
        end
      end
      // The configuration can be written in RESET and LOAD, and each locked state is reached.
      cover (shown == LifeReset && !cfg_locked);
      cover (shown == LifeLoad && !cfg_locked);
      cover (shown == LifeFault && cfg_locked);
      // Not vacuous: words change in LOAD; writes are attempted in the clock of OPEN and while
      // sealed; LOAD is reached again.
      cover (words != words_q && in_load);
      cover (open_write && bank_access.valid && bank_access.write && bank_access.whole);
      cover (sealed_q && bank_access.valid && bank_access.write && bank_access.whole);
      cover (was_sealed_q && was_cleared_q && !sealed_q);
      cover (was_check_q && table_complete);
      cover (text_load && ring_open);
      cover (was_check_q && !table_complete && header.policy_rows == 16'd1);
      // Covers a whole session: writes are attempted while the tables are hashed, in RUN, during
      // the second hash and while the last checkpoint is signed; at its end, LOAD follows.
      if (bank_access.valid && bank_access.write && header_access.valid
          && header_access.write) begin
        cover (shown == LifeOpening && digest);
        cover (shown == LifeOpening && sign);
        cover (run);
        cover (shown == LifeClosing && digest);
        cover (shown == LifeClosing && sign);
      end
      cover (was_sealed_q && was_closing_q && !sealed_q && in_load);
      cover (was_lost_q && needs_reset && shown == LifeClosing
          && u_lifecycle.fault_q == FaultNeedsReset);
      cover (was_lost_q && in_load && u_lifecycle.load_fault_q == FaultNeedsReset);
    end
  end
endmodule
