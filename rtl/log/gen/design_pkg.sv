package design_pkg;
  localparam logic [127:0] DesignId = 128'h0;
endpackage
