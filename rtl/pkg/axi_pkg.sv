// AXI4 inside the card: 64-byte beats, with one structure for requests and one for responses.
//
// Signals that are the same in every burst of the card are not in these structures: the top module
// drives them at its pins. Data are in the lowest bits, so that a simulator copies whole words.
package axi_pkg;
  localparam logic [2:0] Size64 = 3'd6;   // Beats of 64 bytes.
  localparam logic [1:0] Incr = 2'b01;    // Rising addresses.
  localparam logic [63:0] AllBytes = '1;  // Every byte is written.
  localparam logic [1:0] Okay = 2'b00;

  typedef struct packed {
    logic [4:0]  id;
    logic [7:0]  len;   // Number of beats minus one.
    logic [63:0] addr;
  } request_t;
  typedef struct packed {
    logic         last;
    logic [511:0] data;
  } write_t;
  typedef struct packed {
    logic [4:0] id;
    logic [1:0] resp;
  } answer_t;
  typedef struct packed {
    logic [4:0]   id;
    logic [1:0]   resp;
    logic         last;
    logic [511:0] data;
  } read_t;

  // Outputs of a master.
  typedef struct packed {
    request_t aw;
    logic     aw_valid;
    logic     w_valid;
    logic     b_ready;
    request_t ar;
    logic     ar_valid;
    logic     r_ready;
    write_t   w;
  } req_t;

  // Inputs of a master.
  typedef struct packed {
    logic    aw_ready;
    logic    w_ready;
    answer_t b;
    logic    b_valid;
    logic    ar_ready;
    logic    r_valid;
    read_t   r;
  } rsp_t;

  // AXI4-Lite, for registers: words of 32 bits.
  typedef struct packed {
    logic        aw_valid;
    logic        w_valid;
    logic        b_ready;
    logic        ar_valid;
    logic        r_ready;
    logic [3:0]  w_strb;
    logic [31:0] aw_addr;
    logic [31:0] w_data;
    logic [31:0] ar_addr;
  } lite_req_t;
  typedef struct packed {
    logic        aw_ready;
    logic        w_ready;
    logic        b_valid;
    logic [1:0]  b_resp;
    logic        ar_ready;
    logic        r_valid;
    logic [1:0]  r_resp;
    logic [31:0] r_data;
  } lite_rsp_t;
endpackage
