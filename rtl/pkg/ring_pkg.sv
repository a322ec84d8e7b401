// Rings in host memory: their configuration, and the rules for addresses and bursts.
package ring_pkg;
  import layout_pkg::*;

  typedef struct packed {
    logic [63:0] sq_base;   // submission ring
    logic [63:0] cq_base;   // completion ring; as many entries as the submission ring
    logic [63:0] log_base;  // log ring
    logic [7:0]  sq_log2;   // log2 of the entries of the submission ring
    logic [7:0]  log_log2;  // log2 of the entries of the log ring
    logic [63:0] ckpt_base; // checkpoint ring
    logic [7:0]  ckpt_log2; // log2 of its number of entries; 0: no ring
  } ring_cfg_t;

  // Doorbells: `_we` is high for one clock, with the written value.
  typedef struct packed {
    logic sq_tail_we, cq_head_we, log_head_we;
    logic [31:0] sq_tail, cq_head, log_head;
  } ring_doorbells_t;

  // Progress of the card.
  typedef struct packed {
    logic [15:0] sq_head;   // entries fetched, modulo 2^16
    logic [15:0] cq_tail;   // completions whose write was answered, modulo 2^16
    logic [31:0] log_tail;  // records whose write was answered, modulo 2^32
  } ring_pointers_t;

  // An entry, and the number of entries submitted before it, modulo 2^16.
  typedef struct packed {
    logic [15:0] index;
    descriptor_t descriptor;  // Lowest, so that a simulator copies whole words.
  } submission_t;

  // A beat of a checkpoint; it is held until it is accepted.
  typedef struct packed {
    logic valid;
    logic [8:0] at;         // its place in the entry
    logic [31:0] entry;     // number of the entry since OPEN
    logic [511:0] data;     // first byte lowest
  } beat_t;

  // Answers to a beat of a checkpoint.
  typedef struct packed {
    logic take;             // the beat is accepted
    logic answered;         // the bus has answered an accepted beat
  } beat_answer_t;

  localparam int unsigned RingLog2Min = 5;
  localparam int unsigned LogLog2Min = 4;
  localparam int unsigned CheckpointLog2Max = 8;

  // log2 of the bytes of an entry.
  localparam logic [7:0] DescriptorLog2 = 8'($clog2(DescriptorBytes));
  localparam logic [7:0] CompletionLog2 = 8'($clog2(CompletionBytes));
  localparam logic [7:0] LogStrideLog2 = 8'($clog2(LogStride));
  localparam logic [7:0] CheckpointStrideLog2 = 8'($clog2(CheckpointStride));
  localparam logic [7:0] BeatLog2 = 8'($clog2(BeatBytes));

  // A read burst has at most this many descriptors (512 bytes) and never crosses a multiple of its
  // largest size, so it crosses neither a 4 KiB boundary nor the end of a ring.
  localparam int unsigned BurstEntries = 4;

  // A mask of the bits below 2^log2: an index modulo the size of its ring is `index & mask`.
  function automatic logic [31:0] index_mask(logic [7:0] log2);
    return ~(32'hffff_ffff << log2);
  endfunction

  // Whether a ring of 2^(log2 + entry_log2) bytes starts at a multiple of 4 KiB and ends within
  // 64-bit addresses. It would end outside only if all bits above its offsets are set in `base`,
  // and an offset bit, too. `log2` is at most 31.
  function automatic logic base_ok(logic [63:0] base, logic [7:0] log2, logic [7:0] entry_log2);
    logic [63:0] offsets = (64'(index_mask(log2)) << entry_log2) | ((64'd1 << entry_log2) - 64'd1);
    return base[11:0] == '0 && ((base | offsets) != '1 || (base & offsets) == '0);
  endfunction

  function automatic logic cfg_ok(ring_cfg_t cfg, logic [7:0] ring_max, logic [7:0] log_max);
    return cfg.sq_log2 >= 8'(RingLog2Min) && cfg.sq_log2 <= ring_max
        && cfg.log_log2 >= 8'(LogLog2Min) &&
        cfg.log_log2 <= log_max && base_ok(cfg.sq_base, cfg.sq_log2, DescriptorLog2) &&
        base_ok(cfg.cq_base, cfg.sq_log2, CompletionLog2)
            && base_ok(cfg.log_base, cfg.log_log2, LogStrideLog2) &&
        cfg.ckpt_log2 <= 8'(CheckpointLog2Max)
            && base_ok(cfg.ckpt_base, cfg.ckpt_log2, CheckpointStrideLog2);
  endfunction

  // Address of an entry.
  function automatic logic [63:0] entry_address(logic [63:0] base, logic [31:0] index,
      logic [7:0] entry_log2);
    return base + (64'(index) << entry_log2);
  endfunction
endpackage
