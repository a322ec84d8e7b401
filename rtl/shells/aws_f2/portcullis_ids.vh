// Ids of the PCI function on F2: device and vendor, subsystem and subsystem vendor. The same values
// go into the AFI's manifest. Amazon leaves F000 to F0FF of its vendor id to customers' designs;
// whoever publishes an image takes ids of their own.
`ifndef PORTCULLIS_IDS
`define PORTCULLIS_IDS
`define PORTCULLIS_SH_ID0 32'hF0C5_1D0F
`define PORTCULLIS_SH_ID1 32'h0001_1D0F
`endif
