// The attestation of the card: the card's key, the digest of its tables, and signed checkpoints.
// They share one hash core.
//
// After reset, the key is derived from the device secret and the design id, and its public half is
// computed. Until then nothing else is hashed or signed, and `public_key_o` is zero. After that,
// the core does one task at a time: it hashes every lane's tables for the lifecycle, or makes a
// checkpoint, from snapshots to signature. Verdicts never wait: lanes have their own cores.
//
// In RUN, the tables are hashed again when `patrol_i` is high. The hash begins in the next clock
// without a checkpoint in progress, so a host that requests one checkpoint after another cannot
// delay it. A checkpoint that becomes due during the hash takes its snapshots and waits for the
// core. A signature is never interrupted. The end of RUN aborts the hash.
//
// Key: seed i is the first 16 bytes of HMAC-SHA-256(secret, "portcullis/slh-dsa/1" 00 | i | design
// id), with i = 0 SK.seed, 1 SK.prf, 2 PK.seed (FIPS 205, 9.1 uses the three). The secret is a
// parameter: it is in the bitstream, and the host cannot read it.
//
// After reset: derives the key.
// Duties of the caller: the duties of table_digest and checkpoint.
`include "assert.svh"

module attest
  import layout_pkg::*;
  import gate_pkg::*;
  import sha256_pkg::*;
  import log_pkg::*;
#(
    parameter int unsigned  Rounds = 1,            // SHA-256 rounds per clock: 1, 2, 4, 16.
    parameter logic [7:0]   KeyFlags = 8'h01,
    parameter int unsigned  Lanes = 1,             // 1, 2, 4 or 8.
    parameter bit           Text = 1'b0,           // As in table_digest.
    parameter logic [255:0] DeviceSecret = '0,     // First byte at the top.
    parameter logic [127:0] DesignId = '0          // First byte lowest, as in the layout.
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    // High if nothing is in progress or requested; a few clocks later all registers are constant.
    output logic                   quiet_o,
    // PK.seed, PK.root; layout order. Zero until the key is made.
    output logic [255:0]           public_key_o,
    // Tables.
    input  logic                   digest_i,        // Hash the tables.
    output logic                   digest_done_o,   // Done; high for one clock.
    output logic [255:0]           digest_o,        // Digest of the last lane; layout order.
    output logic                   digest_alike_o,  // All lanes have the same digest.
    input  logic                   patrol_i,        // In RUN: hash the tables again.
    output logic                   patrol_done_o,   // Done; high for one clock.
    // The digest differs from `facts_i.policy_digest`; for one clock, one after `patrol_done_o`.
    output logic                   changed_o,
    input  image_header_t          header_i,
    input  logic                   has_text_i,
    input  image_text_t            text_i,
    output logic [2:0]             read_lane_o,
    output readback_t              read_o,
    input  logic                   read_ready_i,
    input  row_t                   policy_read_i,
    input  row_t                   entropy_read_i,
    // Checkpoints.
    input  logic                   open_i,
    input  logic                   abort_i,
    input  logic                   life_valid_i,
    input  life_e                  life_i,
    output logic                   life_done_o,
    input  logic [31:0]            interval_i,
    input  logic                   flush_i,
    input  logic                   run_i,
    input  logic [63:0]            records_i,
    input  card_facts_t            facts_i,
    output logic                   snapshot_o,
    output logic [2:0]             snapshot_lane_o,
    input  logic [63:0]            size_i,  // Number of the tree's records.
    input  snapshot_t              snapshot_i,
    input  logic [7:0]             ring_log2_i,
    input  logic [31:0]            head_i,
    output ring_pkg::beat_t        beat_o,
    input  ring_pkg::beat_answer_t beat_i,
    output logic [31:0]            tail_o
);
  typedef enum logic [5:0] {
    StDerive     = 6'h01,  // The seeds are being derived.
    StKeygen     = 6'h02,  // The public key is being computed.
    StReady      = 6'h04,
    StDigest     = 6'h08,  // Hashes the tables for the lifecycle.
    StCheckpoint = 6'h10,
    StPatrol     = 6'h20   // Hashes the tables again in RUN.
  } state_e;

  // Start of the signed bytes: the COSE Sig_structure of a COSE_Sign1 (RFC 9052, 4.4) with the
  // protected header {1: -70001}, empty external data and a payload of 192 bytes.
  localparam int unsigned PrefixBytes = 23;
  localparam logic [8*PrefixBytes-1:0] Prefix = {
    8'h84,                                         // an array of four
    8'h6a, "Signature1",                           // its context
    // the protected header {1: -70001}, which is a private-use algorithm
    8'h47, 56'ha1_01_3a_00_01_11_70,
    8'h40,                                         // no external data
    8'h58, 8'(CheckpointBytes)                     // the payload's head
  };
  localparam int unsigned MessageBytes = PrefixBytes + CheckpointBytes;

  state_e state_q;
  logic checkpoint_quiet;
  logic patrol;
  assign patrol = patrol_i && run_i;
  logic row_awaited;  // The digest only waits for a row of the tables.
  assign row_awaited = state_q == StPatrol && patrol && read_o.valid && !read_ready_i;
  assign quiet_o = checkpoint_quiet
      && (row_awaited || (state_q == StReady && !digest_i && !patrol));

  // ---- the core and its users
  hash_request_t request, request_q, derive_request, digest_request, checkpoint_request,
      signer_request;
  hash_answer_t answer, derive_answer, digest_answer, checkpoint_answer, signer_answer;
  logic core_reset, core_ready, core_busy, signer_ready, hashing, digest_abort;
  assign hashing = state_q == StDigest || state_q == StPatrol;
  assign digest_abort = (state_q == StDigest && !digest_i) || (state_q == StPatrol && !patrol);
  assign core_reset = rst_i || (abort_i && state_q == StCheckpoint) || digest_abort;
  // A register before the core, so that selecting one user's block is not on the core's path.
  always_ff @(posedge clk_i) begin
    request_q.start <= request.start && !core_reset;
    {request_q.state, request_q.block} <= {request.state, request.block};
  end
  sha256 #(
      .Rounds(Rounds)
  ) u_sha256 (
      .clk_i,
      .rst_i(core_reset),
      .start_i(request_q.start),
      .ready_o(core_ready),
      .chain_i(1'b0),
      .state_i(request_q.state),
      .block_i(request_q.block),
      .busy_o(core_busy),
      .done_o(answer.done),
      .digest_o(answer.digest)
  );
  always_comb begin
    request = '0;
    {derive_answer, digest_answer, checkpoint_answer, signer_answer} = {4{answer}};
    {derive_answer.done, digest_answer.done, checkpoint_answer.done, signer_answer.done} = '0;
    case (state_q)
      StDerive: begin
        request = derive_request;
        derive_answer.done = answer.done;
      end
      StDigest, StPatrol: begin
        request = digest_request;
        digest_answer.done = answer.done;
      end
      StCheckpoint: begin
        request = signer_ready ? checkpoint_request : signer_request;
        checkpoint_answer.done = answer.done && signer_ready;
        signer_answer.done = answer.done && !signer_ready;
      end
      StKeygen: begin
        request = signer_request;
        signer_answer.done = answer.done;
      end
      default: ;
    endcase
  end

  // ---- key
  logic [127:0] design_id;
  for (genvar i = 0; i < 16; i++) begin : g_design
    assign design_id[127-8*i-:8] = DesignId[8*i+:8];
  end
  logic derived, derive, deriving;
  assign derive = state_q == StDerive && !derived && !deriving;
  logic [127:0] sk_seed, sk_prf, pk_seed, pk_root;
  logic root_valid, keygen;
  device_key u_key (
      .clk_i,
      .rst_i,
      .start_i(derive),
      .busy_o(deriving),
      .secret_i(DeviceSecret),
      .design_id_i(design_id),
      .valid_o(derived),
      .sk_seed_o(sk_seed),
      .sk_prf_o(sk_prf),
      .pk_seed_o(pk_seed),
      .hash_o(derive_request),
      .hash_i(derive_answer)
  );

  // ---- tables: one lane after another
  logic digest_start, digest_done, digest_busy, digest_more, alike_q;
  digest_t digest, before_q;
  logic [2:0] lane_q;
  assign digest_more = hashing && digest_done && 32'(lane_q) != Lanes - 1;
  assign digest_start = (state_q == StReady && (digest_i || patrol))
      || (digest_more && !digest_abort);
  assign read_lane_o = lane_q;
  always_ff @(posedge clk_i) begin
    if (digest_done) before_q <= digest;
    if (rst_i || !hashing) begin
      lane_q <= '0;
      alike_q <= 1'b1;
    end else if (digest_more) begin
      lane_q <= lane_q + 3'd1;
      alike_q <= digest_alike_o;
    end
  end
  assign digest_alike_o = alike_q && (lane_q == '0 || digest == before_q);
  table_digest #(
      .Text(Text)
  ) u_digest (
      .clk_i,
      .rst_i,
      .start_i(digest_start),
      .abort_i(digest_abort),
      .busy_o(digest_busy),
      .done_o(digest_done),
      .digest_o(digest),
      .header_i,
      .has_text_i,
      .text_i,
      .read_o,
      .read_ready_i,
      .policy_read_i,
      .entropy_read_i,
      .hash_o(digest_request),
      .hash_i(digest_answer)
  );
  assign digest_done_o = state_q == StDigest && digest_done && digest_i && !digest_more;
  assign patrol_done_o = state_q == StPatrol && digest_done && patrol && !digest_more;
  // A register, because the comparison is wide, and a fault stops the lanes in the same clock.
  always_ff @(posedge clk_i) begin
    changed_o <= !rst_i && patrol_done_o && !(digest_alike_o && digest_o == facts_i.policy_digest);
  end
  assign digest_o = digest_bytes(digest);

  // ---- checkpoints
  logic wanted, sign, word_valid, word_ready;
  logic [127:0] word;
  logic [CheckpointBytes*8-1:0] payload;
  checkpoint #(
      .KeyFlags(KeyFlags),
      .Lanes(Lanes),
      .DesignId(DesignId)
  ) u_checkpoint (
      .clk_i,
      .rst_i,
      .open_i,
      .abort_i,
      .life_valid_i,
      .life_i,
      .life_done_o,
      .interval_i,
      .flush_i,
      .run_i,
      .records_i,
      .facts_i,
      .snapshot_o,
      .snapshot_lane_o,
      .size_i,
      .snapshot_i,
      .quiet_o(checkpoint_quiet),
      .request_o(wanted),
      .grant_i(state_q == StCheckpoint),
      .hash_o(checkpoint_request),
      .hash_i(checkpoint_answer),
      .sign_o(sign),
      .message_o(payload),
      .word_valid_i(word_valid),
      .word_ready_o(word_ready),
      .word_i(word),
      .ring_log2_i,
      .head_i,
      .beat_o,
      .beat_i,
      .tail_o
  );

  slh_dsa #(
      .MessageBytes(MessageBytes)
  ) u_signer (
      .clk_i,
      .rst_i(rst_i || (abort_i && state_q == StCheckpoint)),
      .keygen_i(keygen),
      .sign_i(sign),
      .ready_o(signer_ready),
      .sk_seed_i(sk_seed),
      .sk_prf_i(sk_prf),
      .pk_seed_i(pk_seed),
      .message_i({Prefix, payload}),
      .root_o(pk_root),
      .root_valid_o(root_valid),
      .word_valid_o(word_valid),
      .word_ready_i(word_ready),
      .word_o(word),
      .hash_o(signer_request),
      .hash_i(signer_answer)
  );
  // When a signature is aborted, the root is lost, but the public key stays visible to the host.
  assign keygen = state_q == StKeygen && signer_ready && !root_valid;

  logic [255:0] public_key_q;
  assign public_key_o = public_key_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StDerive;
      public_key_q <= '0;
    end else begin
      case (state_q)
        StDerive: if (derived) state_q <= StKeygen;
        StKeygen: if (root_valid) begin
          state_q <= StReady;
          public_key_q <= digest_bytes({pk_seed, pk_root});
        end
        StReady: begin
          if (digest_i) state_q <= StDigest;
          else if (patrol) state_q <= StPatrol;
          else if (wanted && !abort_i) state_q <= StCheckpoint;
        end
        StDigest, StPatrol: if ((digest_done && !digest_more) || digest_abort) state_q <= StReady;
        StCheckpoint: begin
          if (abort_i) state_q <= StKeygen;
          else if (!wanted) state_q <= StReady;
        end
        default: state_q <= StDerive;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT($onehot(state_q), "attest: state not one-hot");
      `ASSERT(!(digest_busy && !hashing && !digest_done), "attest: hashing without the core");
      `ASSERT(!(digest_i && run_i), "attest: life asks for the tables' digest in RUN");
      `ASSERT(
          !((core_busy || request_q.start) && state_q == StReady),
          "attest: a hash that nobody waits for");
      `ASSERT(!request_q.start || core_ready, "attest: a hash over another");
      `ASSERT(!(sign && !signer_ready), "attest: a signature over another");
    end
  end
endmodule
