# The card on an Alveo U55C: vivado -mode batch -source bitstreams/alveo_u55c/build.tcl
set here [file dirname [file normalize [info script]]]
set target alveo_u55c
set part xcu55c-fsvh2892-2L-e
set pcie_block PCIE4C_X1Y0
set flash_offset 0x01002000
set defines {}
source [file join $here ../common/alveo.tcl]
