// Proves the sharing of the hash core, without bound. The core has one user at a time, the user
// whose turn it is. Only requests of this user reach it, and only this user gets the answer. No
// such request is lost, and the core never computes a hash without a waiting user. Before the key
// is made, nothing is hashed for tables or checkpoints, and the public key is zero. Later it
// changes only by a reset, or when the root is computed again after an aborted signature. With two
// lanes, the tables of each are hashed once; they are reported alike if and only if the digests are
// equal.
//
// When the tables must be hashed again in RUN, they are hashed as soon as no checkpoint has the
// core, and before the next checkpoint gets it. A checkpoint keeps the core until it is written or
// aborted. The tables are reported as changed if and only if such a hash ended in RUN with
// different digests of the lanes, or with another digest than OPEN's.
//
// The core is a stand-in. Its users (device_key, table_digest, checkpoint, slh_dsa) are arbitrary
// here, except for facts that their own proofs show. A user makes one request at a time, and only
// while busy. The checkpoint makes requests only while granted, and not during an abort. A
// checkpoint is signed once, and is wanted until its last word is written.
module attest_props
  import layout_pkg::*;
  import gate_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter int unsigned Lanes = 1
) (
    input logic clk,
    input logic reset,
    input logic digest_wanted,
    input logic patrol,
    input image_header_t header,
    input logic has_text,
    input image_text_t text,
    input logic read_ready,
    input row_t policy_read,
    input row_t entropy_read,
    input logic open,
    input logic abort,
    input logic life_valid,
    input life_e life,
    input logic [31:0] interval,
    input logic flush,
    input logic run,
    input logic [63:0] records,
    input logic [63:0] size,
    input card_facts_t facts,
    input snapshot_t shown,
    input logic [7:0] ring_log2,
    input logic [31:0] head,
    input ring_pkg::beat_answer_t beat_answer
);
  logic [255:0] public_key;
  logic digest_done;
  logic [255:0] digest;
  readback_t read;
  logic life_done;
  logic snapshot;
  ring_pkg::beat_t beat;
  logic [31:0] tail;

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  logic digest_alike, patrol_done, changed;
  logic [2:0] read_lane;
  attest #(
      .Lanes(Lanes)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .quiet_o(),
      .public_key_o(public_key),
      .digest_i(digest_wanted),
      .digest_done_o(digest_done),
      .digest_o(digest),
      .digest_alike_o(digest_alike),
      .patrol_i(patrol),
      .patrol_done_o(patrol_done),
      .changed_o(changed),
      .read_lane_o(read_lane),
      .header_i(header),
      .has_text_i(has_text),
      .text_i(text),
      .read_o(read),
      .read_ready_i(read_ready),
      .policy_read_i(policy_read),
      .entropy_read_i(entropy_read),
      .open_i(open),
      .abort_i(abort),
      .life_valid_i(life_valid),
      .life_i(life),
      .life_done_o(life_done),
      .interval_i(interval),
      .flush_i(flush),
      .run_i(run),
      .records_i(records),
      .facts_i(facts),
      .snapshot_o(snapshot),
      .snapshot_lane_o(),
      .size_i(size),
      .snapshot_i(shown),
      .ring_log2_i(ring_log2),
      .head_i(head),
      .beat_o(beat),
      .beat_i(beat_answer),
      .tail_o(tail)
  );

  typedef enum logic [5:0] {
    Derive = 6'h01, Keygen = 6'h02, Ready = 6'h04, Digest = 6'h08, Checkpoint = 6'h10,
        Patrol = 6'h20
  } state_e;
  logic [5:0] at;
  logic hashing, due;
  assign at = dut.state_q;
  assign hashing = at == Digest || at == Patrol;
  assign due = patrol && run;

  // The lifecycle requests a digest only in OPENING and CLOSING.
  always_comb assume (!(digest_wanted && run));

  // ---- properties that the proofs of the users show
  typedef struct packed {
    logic derive, digest, checkpoint, signer;
  } users_t;
  users_t asks, told, waits_q, lost;
  assign asks = '{
          derive: dut.derive_request.start,
          digest: dut.digest_request.start,
          checkpoint: dut.checkpoint_request.start,
          signer: dut.signer_request.start
      };
  assign told = '{
          derive: dut.derive_answer.done,
          digest: dut.digest_answer.done,
          checkpoint: dut.checkpoint_answer.done,
          signer: dut.signer_answer.done
      };
  logic signer_reset, digest_abort, derived_q, wanted_q, aborted_q, signer_busy_q;
  assign signer_reset = rst || (abort && at == Checkpoint);
  assign digest_abort = (!digest_wanted && at == Digest) || (!due && at == Patrol);
  // The user whose turn it is, by the state. In a checkpoint, it is the signer's turn while the
  // signer is busy.
  users_t turn;
  always_comb begin
    turn = '0;
    case (at)
      Derive: turn.derive = 1'b1;
      Digest, Patrol: turn.digest = 1'b1;
      Checkpoint: begin
        turn.checkpoint = dut.signer_ready;
        turn.signer = !dut.signer_ready;
      end
      Keygen: turn.signer = 1'b1;
      default: ;
    endcase
  end
  always_ff @(posedge clk) begin
    waits_q.derive <= !rst && (asks.derive || waits_q.derive) && !told.derive;
    waits_q.digest <= !rst && !digest_abort && (asks.digest || waits_q.digest) && !told.digest;
    waits_q.checkpoint <= !rst && !(abort && at == Checkpoint)
        && (asks.checkpoint || waits_q.checkpoint) && !told.checkpoint;
    waits_q.signer <= !signer_reset && (asks.signer || waits_q.signer) && !told.signer;
    derived_q <= !rst && dut.derived;
    wanted_q <= !rst && dut.wanted;
    aborted_q <= !rst && abort;
    signer_busy_q <= !signer_reset && (!dut.signer_ready || dut.keygen || dut.sign) ;
  end
  logic digest_busy_q, signed_q;  // This checkpoint went to the signer.
  always_ff @(posedge clk) signed_q <= !rst && at == Checkpoint && dut.wanted && !abort
      && (signed_q || dut.sign);
  always_ff @(posedge clk) digest_busy_q <= !rst && !digest_abort
      && (dut.digest_start || (dut.digest_busy && !dut.digest_done));
  always_comb if (!rst) begin
    // A user makes one request at a time, and only while at work.
    assume ((asks & waits_q) == '0);
    if (!dut.deriving) assume (!asks.derive && !waits_q.derive);
    if (dut.derived) assume (!dut.deriving);
    if (derived_q) assume (dut.derived);
    if (!dut.digest_busy) assume (!asks.digest && !waits_q.digest);
    if (!digest_busy_q) assume (!dut.digest_busy);
    if (dut.digest_done) assume (!dut.digest_busy && digest_busy_q);
    if (digest_abort) assume (!asks.digest);
    if (dut.signer_ready) assume (!asks.signer && !waits_q.signer);
    if (!signer_busy_q) assume (dut.signer_ready);
    if (at == Keygen && dut.root_valid) assume (dut.signer_ready);
    if (!dut.wanted || abort) assume (!asks.checkpoint);
    if (!dut.wanted) assume (!waits_q.checkpoint && dut.signer_ready);
    if (at != Checkpoint) assume (!asks.checkpoint && !dut.sign);
    if (abort || !dut.wanted || signed_q) assume (!dut.sign);
    if (asks.checkpoint || waits_q.checkpoint) assume (dut.signer_ready && !dut.sign);
    if (wanted_q && !aborted_q) assume (dut.wanted || !(dut.core_busy || dut.request_q.start));
    if (aborted_q) assume (!dut.wanted);
  end
  assign lost = asks & ~turn;

  // Number of lanes whose tables were hashed since the state Digest was entered, and the first
  // digest.
  logic [2:0] hashed_q;
  digest_t first_q;
  always_ff @(posedge clk) begin
    if (rst || !hashing) hashed_q <= '0;
    else if (dut.digest_done) hashed_q <= hashed_q + 3'd1;
    if (dut.digest_done && hashed_q == '0) first_q <= dut.digest;
  end

  sha256_pkg::hash_request_t request_q;
  logic asked_q;
  always_ff @(posedge clk) begin
    asked_q <= !dut.core_reset && asks != '0;
    request_q <= dut.request;
  end

  logic known_q, was_rst_q, was_keygen_q, kept_q, due_q, changed_q;
  logic [255:0] key_q;
  always_ff @(posedge clk) begin
    known_q <= started;
    was_rst_q <= rst;
    was_keygen_q <= at == Keygen;
    kept_q <= !rst && at == Checkpoint && dut.wanted && !abort;
    due_q <= !rst && at == Ready && due;
    changed_q <= !rst && patrol_done
        && (digest_bytes(dut.digest) != facts.policy_digest || (Lanes == 2
            && dut.digest != first_q));
    key_q <= public_key;
  end

  always_comb begin
    if (started && !rst) begin
      assert ($onehot(at));
      assert ($onehot0(asks) && $onehot0(told));
      assert (lost == '0);
      assert (dut.request.start == (asks != '0));
      if (asks.derive) assert (dut.request == dut.derive_request);
      if (asks.digest) assert (dut.request == dut.digest_request);
      if (asks.checkpoint) assert (dut.request == dut.checkpoint_request);
      if (asks.signer) assert (dut.request == dut.signer_request);
      // An answer reaches only a user that waits for it.
      assert ((told & ~waits_q) == '0);
      if (dut.answer.done) assert (told == waits_q && waits_q != '0);
      assert ($onehot0(waits_q));
      if (dut.core_busy || dut.request_q.start) assert (waits_q != '0);
      if (dut.request.start) assert (!dut.core_busy && !dut.request_q.start);
      if (at == Ready) assert (!dut.core_busy && !dut.request.start && !dut.request_q.start);
      // The core gets a request one clock later, unchanged, unless the request's user was reset.
      assert (dut.request_q.start == asked_q);
      if (asked_q) assert (dut.request_q == request_q);
      if (known_q && public_key != key_q) assert (was_rst_q || was_keygen_q);
      if (at == Derive) assert (public_key == '0);
      assert (digest_done == (at == Digest && dut.digest_done && digest_wanted
          && 32'(read_lane) == Lanes - 1));
      assert (patrol_done == (at == Patrol && dut.digest_done && due
          && 32'(read_lane) == Lanes - 1));
      assert (changed == changed_q);
      if (kept_q) assert (at == Checkpoint);
      if (due_q) assert (at == Patrol);
      // The tables of all lanes are hashed one after another. They are reported alike only if all
      // digests are equal.
      if (dut.digest_start && hashing) assert (32'(hashed_q) + 32'd1 < Lanes);
      if (hashing) assert (read_lane == hashed_q);
      if (digest_done) assert (digest_alike == (Lanes == 1 || dut.digest == first_q));
      if (at == Derive || at == Keygen) assert (!dut.digest_start && !dut.sign);
      if (dut.keygen) assert (at == Keygen && dut.signer_ready);

      // ---- invariants for the induction
      assert (waits_q.derive == 1'b0 || at == Derive);
      assert (waits_q.digest == 1'b0 || hashing);
      assert (waits_q.checkpoint == 1'b0 || at == Checkpoint);
      assert (waits_q.signer == 1'b0 || at == Keygen || at == Checkpoint);
      assert ((waits_q != '0) == (dut.request_q.start || dut.core_busy || dut.answer.done));
      assert ($onehot0({dut.request_q.start, dut.core_busy, dut.answer.done}));
      if (at == Ready || hashing || at == Derive) assert (!signer_busy_q);
      if (!hashing) assert (!digest_busy_q);
      if (at != Derive) assert (derived_q);
      if (at == Checkpoint && !signed_q) assert (!signer_busy_q);
      if (at != Checkpoint) assert (!signed_q);
      if (hashing && hashed_q != '0)
        assert (Lanes == 2 && hashed_q == 3'd1 && dut.alike_q && dut.before_q == first_q);
      if (hashing && hashed_q == '0) assert (dut.alike_q);

      // ---- covers: the claims are not vacuous
      cover (at == Ready && public_key != '0);
      cover (at == Digest && told.digest);
      cover (digest_done && digest_alike);
      cover (at == Patrol && told.digest && dut.wanted);
      cover (changed);
      cover (patrol_done && digest_alike);
      cover (at == Checkpoint && told.checkpoint);
      cover (at == Checkpoint && told.signer);
      cover (was_keygen_q && at == Ready && key_q != '0 && public_key != key_q);
    end
  end
endmodule
