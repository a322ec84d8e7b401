// Structures between the register block and the card.
package csr_pkg;
  import layout_pkg::*;
  import gate_pkg::*;

  // Settings of a session; the session's records contain them.
  typedef struct packed {
    logic [31:0] epoch;
    logic [255:0] ticket_digest;
    logic [31:0] heartbeat_records, heartbeat_ticks;
  } session_config_t;

  // Configuration registers; constant while `cfg_locked` is high.
  typedef struct packed {
    session_config_t session;
    logic [255:0] expected_digest;
    logic [31:0] checkpoint_interval;
    logic [63:0] ckpt_base;     // Checkpoint ring.
    logic [7:0] ckpt_log2;      // log2 of its number of entries; 0: no ring.
    logic [63:0] text_tables;   // Encoded tables of the text lane.
    logic [7:0] text_stride;    // log2 of the bytes of a text window.
  } csr_config_t;

  // Doorbells: `_we` is high for one clock, with the written value.
  typedef struct packed {
    logic heartbeat_we;         // The host presents a heartbeat.
    logic flush_we;             // The host requests a checkpoint.
    logic checkpoint_head_we;
    logic [31:0] checkpoint_head;
    logic [63:0] heartbeat_nonce;
  } csr_doorbells_t;

  // Configuration registers of one lane.
  typedef struct packed {
    logic [63:0] sq_base, cq_base, log_base;
    logic [7:0] sq_log2, log_log2;
  } lane_config_t;

  // An access to a lane's registers.
  typedef struct packed {
    logic valid;
    logic write;
    logic [5:0] address;
    logic [31:0] data;
    logic [31:0] bits;          // Bits to write.
  } lane_access_t;

  // Values of the status registers.
  typedef struct packed {
    life_e life;
    logic locked, busy, needs_reset, stale;
    fault_e fault, load_fault;
    logic [63:0] tick;
    counters_t counters;
    logic [31:0] records;
    logic [255:0] policy_digest, public_key;
    logic [127:0] design_id, boot_nonce;
    logic [31:0] heartbeat_credit, checkpoint_tail;
  } csr_status_t;
endpackage
