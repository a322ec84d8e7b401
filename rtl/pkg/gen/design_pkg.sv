// Made by `cargo xtask gen` from the sources that rtl/portcullis.f lists. Do not edit.
//
// The design id of a real card built from them, first byte lowest. Another source, another id, another key.
package design_pkg;
  localparam logic [127:0] DesignId = 128'he46a9f1eaf6ebeef49c7c9c17ab24d11;
endpackage
