// Made by `cargo xtask gen` from the sources that rtl/portcullis.f lists. Do not edit.
//
// The design id of a real card built from them, first byte lowest. Another source, another id, another key.
package design_pkg;
  localparam logic [127:0] DesignId = 128'h193ce5a5e68bab197fe639487dd9b213;
endpackage
