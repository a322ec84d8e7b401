// The secret that everybody knows: SHA-256("SIM TEST KEY - NOT FOR PRODUCTION"). First byte at the
// top.
//
// A production bitstream takes its own secret by parameter; elaboration stops when it is this one.
package key_pkg;
  localparam logic [255:0] TestSecret =
      256'h09d4042f_ba0326d2_923afb87_273dba04_4922ed06_8ee82d85_855dcc01_e85abf76;
endpackage
