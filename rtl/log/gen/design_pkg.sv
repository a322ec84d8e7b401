// Made by `cargo xtask gen` from the sources that rtl/portcullis.f lists. Do not edit.
//
// The design id of a real card built from them, first byte lowest. Another source, another id, another key.
package design_pkg;
  localparam logic [127:0] DesignId = 128'h4ad4ff0a5f0b26f0a395d3b38838e826;
endpackage
