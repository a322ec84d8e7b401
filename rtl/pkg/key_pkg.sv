// The public test secret: SHA-256("SIM TEST KEY - NOT FOR PRODUCTION"). First byte at the top.
//
// A production bitstream gets its own secret by parameter; the test secret stops its elaboration.
package key_pkg;
  localparam logic [255:0] TestSecret =
      256'h09d4042f_ba0326d2_923afb87_273dba04_4922ed06_8ee82d85_855dcc01_e85abf76;
endpackage
