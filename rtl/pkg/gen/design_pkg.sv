// Made by `cargo xtask gen` from the sources that rtl/portcullis.f lists. Do not edit.
//
// The design id of a real card built from them, first byte lowest. Another source, another id, another key.
package design_pkg;
  localparam logic [127:0] DesignId = 128'hd159eb6c91f3f4c354396a7e0e305a5f;
endpackage
