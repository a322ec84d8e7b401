# The card on an Alveo U250: vivado -mode batch -source bitstreams/alveo_u250/build.tcl
set here [file dirname [file normalize [info script]]]
set target alveo_u250
set part xcu250-figd2104-2L-e
set pcie_block X1Y2
set flash_offset 0x01002000
set defines {PORTCULLIS_NO_HBM}
source [file join $here ../common/alveo.tcl]
