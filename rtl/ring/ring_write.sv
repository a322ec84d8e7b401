// Writes records, completions and checkpoints to host memory, and counts their answers.
//
// One burst at a time is on the request and data channels, both valid from the same clock on. A
// record has three beats in its entry of the log ring, a completion has one beat in its entry of
// the completion ring. A checkpoint is written one beat at a time, each to its place in the entry.
// Completions go first, checkpoints last. Up to 2^MaxWritesLog2 bursts wait for their answer; all
// have id 0, so answers come in order. `record_answered_o` is high for one clock for each record
// answered OKAY, and `beat_o.answered` for each beat of a checkpoint.
//
// `dead_i`: nothing new is issued; the burst on the bus is finished; outstanding answers are
// counted. `give_up_i` abandons everything and removes the burst from the bus. An error response,
// another id or a response without a write gives `fault_o` for one clock, in the clock of the
// response. In the same clock, `stray_o` is high if the response belongs to no write. Without any
// `give_up_i` and `stray_o`, a correct bus has no outstanding answer and misses no data while
// nothing is pending.
// After reset: nothing in flight, counters zero. `zero_i` zeroes the ring counters; the caller
// gives it only when idle.
`include "assert.svh"

module ring_write
  import layout_pkg::*;
  import ring_pkg::*;
#(
    // 1 to 8: log2 of the bursts that may wait for an answer; each costs two bits of storage
    parameter int unsigned MaxWritesLog2 = 6
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic              zero_i,
    input  logic              dead_i,
    input  logic              give_up_i,
    input  logic [63:0]       log_base_i,
    input  logic [7:0]        log_log2_i,
    input  logic [63:0]       cq_base_i,
    input  logic [7:0]        cq_log2_i,
    input  logic [63:0]       ckpt_base_i,
    input  logic [7:0]        ckpt_log2_i,
    input  logic              log_full_i,
    input  logic              cq_full_i,
    // a record
    input  logic              record_valid_i,
    output logic              record_take_o,
    input  record_t           record_i,
    // a completion
    input  logic              completion_valid_i,
    output logic              completion_take_o,
    input  completion_t       completion_i,
    // a beat of a checkpoint
    input  beat_t             beat_i,
    output beat_answer_t      beat_o,
    // ring counters
    output logic [31:0]       log_issued_o,
    output logic [31:0]       log_answered_o,
    output logic [15:0]       cq_issued_o,
    output logic [15:0]       cq_answered_o,
    output logic              record_answered_o,
    // write channels
    output axi_pkg::request_t aw_o,
    output logic              aw_valid_o,
    input  logic              aw_ready_i,
    output axi_pkg::write_t   w_o,
    output logic              w_valid_o,
    input  logic              w_ready_i,
    input  axi_pkg::answer_t  b_i,
    input  logic              b_valid_i,
    // status
    output logic              fault_o,
    output logic              stray_o,
    output logic              pending_o,
    output logic              progress_o,
    output logic              room_o  // a record would be accepted now
);
  if (MaxWritesLog2 < 1 || MaxWritesLog2 > 8) begin : g_bad_max_writes_log2
    $fatal(1, "MaxWritesLog2 is 1 to 8");
  end

  localparam int unsigned RecordBeats = RecordBytes / BeatBytes;

  typedef logic [MaxWritesLog2:0] count_t;

  logic awvalid_q, wvalid_q;
  logic [63:0] awaddr_q;
  logic [7:0] awlen_q;
  logic [1:0] beats_q;  // beats left on the bus
  logic [RecordBytes*8-1:0] data_q;  // the next beat is lowest

  typedef enum logic [1:0] {
    KindRecord,
    KindCompletion,
    KindBeat
  } kind_e;

  // Bursts, in order: answered <= sent <= issued.
  count_t issued_q, sent_q, answered_q;
  kind_e kind_q[2**MaxWritesLog2];

  logic [31:0] log_issued_q, log_answered_q;
  logic [15:0] cq_issued_q, cq_answered_q;

  // Derived from the configuration, which is valid before the first burst.
  logic [31:0] cq_mask_q, log_mask_q, ckpt_mask_q;
  always_ff @(posedge clk_i) begin
    cq_mask_q <= index_mask(cq_log2_i);
    log_mask_q <= index_mask(log_log2_i);
    ckpt_mask_q <= index_mask(ckpt_log2_i);
  end

  // One clock ago, as many bursts as possible waited for answers. Bursts are never issued in two
  // adjacent clocks.
  logic all_awaited_q;
  logic on_bus, channel_free, completion_first, issue, sent;
  assign on_bus = awvalid_q || wvalid_q;
  assign channel_free = !on_bus && !dead_i && !all_awaited_q;
  assign completion_first = completion_valid_i && !cq_full_i;
  assign completion_take_o = channel_free && completion_first;
  assign room_o = channel_free && !log_full_i && !completion_first;
  assign record_take_o = room_o && record_valid_i;
  assign beat_o.take = channel_free && beat_i.valid && !completion_take_o && !record_take_o;
  assign issue = completion_take_o || record_take_o || beat_o.take;
  assign sent = on_bus && (!awvalid_q || aw_ready_i) && (!wvalid_q || (w_ready_i && w_o.last));

  // ---- responses
  logic awaited, good;
  kind_e answered_kind;
  assign awaited = answered_q != sent_q;
  assign good = b_valid_i && awaited && b_i.id == '0 && b_i.resp == axi_pkg::Okay;
  assign answered_kind = kind_q[answered_q[MaxWritesLog2-1:0]];
  // After an error nothing counts, so the counted bursts are always the first ones issued.
  assign record_answered_o = good && answered_kind == KindRecord && !dead_i;
  assign beat_o.answered = good && answered_kind == KindBeat && !dead_i;

  always_ff @(posedge clk_i) begin
    if (rst_i || give_up_i) begin
      awvalid_q <= 1'b0;
      wvalid_q <= 1'b0;
      beats_q <= '0;
      issued_q <= '0;
      sent_q <= '0;
      answered_q <= '0;
    end else begin
      if (aw_ready_i) awvalid_q <= 1'b0;
      if (wvalid_q && w_ready_i) begin
        beats_q <= beats_q - 2'd1;
        if (w_o.last) wvalid_q <= 1'b0;
      end
      if (issue) begin
        awvalid_q <= 1'b1;
        wvalid_q <= 1'b1;
        issued_q <= issued_q + 1'b1;
      end
      if (sent) sent_q <= sent_q + 1'b1;
      if (b_valid_i && awaited) answered_q <= answered_q + 1'b1;
    end

    all_awaited_q <= !rst_i && issued_q - answered_q == count_t'(2 ** MaxWritesLog2);

    // While the bus is free, the next burst is prepared, even if it is not accepted.
    if (!on_bus && !rst_i)
      beats_q <= !completion_first && record_valid_i && !log_full_i ? 2'(RecordBeats) : 2'd1;
    if (!on_bus && !all_awaited_q) begin
      kind_q[issued_q[MaxWritesLog2-1:0]] <= completion_first ? KindCompletion : record_valid_i
          && !log_full_i ? KindRecord : KindBeat;
    end
    if (rst_i) begin
      awaddr_q <= '0;
      awlen_q  <= '0;
    end else if (!on_bus) begin
      if (completion_first) begin
        awaddr_q <= entry_address(cq_base_i, 32'(cq_issued_q) & cq_mask_q, CompletionLog2);
        awlen_q  <= 8'd0;
      end else if (record_valid_i && !log_full_i) begin
        awaddr_q <= entry_address(log_base_i, log_issued_q & log_mask_q, LogStrideLog2);
        awlen_q  <= 8'(RecordBeats - 1);
      end else begin
        awaddr_q <= entry_address(ckpt_base_i, beat_i.entry & ckpt_mask_q, CheckpointStrideLog2)
            + (64'(beat_i.at) << BeatLog2);
        awlen_q <= 8'd0;
      end
    end

    // Without an input, the register is not loaded: a simulator would copy the data in every clock.
    if (!on_bus && (record_valid_i || completion_valid_i || beat_i.valid)) begin
      data_q <= record_i;
      if (completion_first) data_q[511:0] <= completion_i;
      else if (!record_valid_i || log_full_i) data_q[511:0] <= beat_i.data;
    end else if (wvalid_q && w_ready_i && !w_o.last) begin
      data_q <= data_q >> 512;
    end

    if (rst_i || zero_i) begin
      log_issued_q <= '0;
      log_answered_q <= '0;
      cq_issued_q <= '0;
      cq_answered_q <= '0;
    end else begin
      if (record_take_o) log_issued_q <= log_issued_q + 32'd1;
      if (completion_take_o) cq_issued_q <= cq_issued_q + 16'd1;
      if (record_answered_o) log_answered_q <= log_answered_q + 32'd1;
      if (good && answered_kind == KindCompletion && !dead_i)
        cq_answered_q <= cq_answered_q + 16'd1;
    end
  end

  assign aw_o = '{id: '0, len: awlen_q, addr: awaddr_q};
  assign aw_valid_o = awvalid_q;
  assign w_o = '{last: beats_q == 2'd1, data: data_q[511:0]};
  assign w_valid_o = wvalid_q;

  assign log_issued_o = log_issued_q;
  assign log_answered_o = log_answered_q;
  assign cq_issued_o = cq_issued_q;
  assign cq_answered_o = cq_answered_q;

  assign fault_o = b_valid_i && !dead_i && !good;
  assign stray_o = b_valid_i && (!awaited || b_i.id != '0);
  assign pending_o = issued_q != answered_q;
  assign progress_o = b_valid_i || (awvalid_q && aw_ready_i) || (wvalid_q && w_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      `ASSERT(!wvalid_q || beats_q != '0, "ring_write: data without beats");
      `ASSERT(!on_bus || issued_q == sent_q + 1'b1, "ring_write: two bursts on the bus");
      `ASSERT(on_bus || issued_q == sent_q, "ring_write: an issued burst that is not on the bus");
      `ASSERT(issued_q - answered_q <= count_t'(2 ** MaxWritesLog2),
              "ring_write: too many bursts await answers");
    end
  end
endmodule
