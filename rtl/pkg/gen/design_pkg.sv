// Made by `cargo xtask gen` from the sources that rtl/portcullis.f lists. Do not edit.
//
// The design id of a real card built from them, first byte lowest. Another source, another id, another key.
package design_pkg;
  localparam logic [127:0] DesignId = 128'h1867e5133a3730750faff5172edf513b;
endpackage
