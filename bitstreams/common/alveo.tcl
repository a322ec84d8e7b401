# Builds the card for an Alveo, for build.tcl of the card in question: checks, the XDMA block in bridge mode, synthesis to bitstream.
# Not run by us: see the README of each target.
#
# Needs: part, defines (list), pcie_block, here (folder of the target). From the environment: PORTCULLIS_KEY_DIR (optional), and with it
# PORTCULLIS_AES_KEY, the .nky file by which the bitstream is encrypted.
set root [file normalize [file join $here ../..]]
source $root/bitstreams/common/sources.tcl
set key_dir [portcullis_key_dir $root]
set aes_key [portcullis_aes_key $root]
set out [file join $here build]
file mkdir $out

create_project -in_memory -part $part
set_property target_language Verilog [current_project]
read_verilog -sv [portcullis_sources $root rtl/portcullis.f]
read_verilog -sv [portcullis_sources $root rtl/shells/shells.f]
read_verilog -sv [list $root/rtl/shells/alveo_xdma/axi_to_axil.sv $root/rtl/shells/alveo_xdma/alveo_xdma.sv]
read_xdc [list $here/pins.xdc $root/bitstreams/common/crossings.xdc]
set_property PROCESSING_ORDER LATE [get_files crossings.xdc]

# Registers in BAR0 (1 MiB, untranslated); MSI-X table and interrupt block in BAR2; host memory untranslated through the slave bridge.
create_ip -name xdma -vendor xilinx.com -library ip -module_name xdma_card -dir $out
set_property -dict [list \
    CONFIG.functional_mode {AXI_Bridge} \
    CONFIG.mode_selection {Advanced} \
    CONFIG.device_port_type {PCI_Express_Endpoint_device} \
    CONFIG.pcie_blk_locn $pcie_block \
    CONFIG.pl_link_cap_max_link_width {X16} \
    CONFIG.pl_link_cap_max_link_speed {8.0_GT/s} \
    CONFIG.ref_clk_freq {100_MHz} \
    CONFIG.axi_addr_width {64} \
    CONFIG.axi_data_width {512_bit} \
    CONFIG.axisten_freq {250} \
    CONFIG.axi_id_width {4} \
    CONFIG.en_axi_slave_if {true} \
    CONFIG.axibar_num {1} \
    CONFIG.axibar_notranslate {true} \
    CONFIG.c_s_axi_supports_narrow_burst {false} \
    CONFIG.c_m_axi_num_write {32} \
    CONFIG.xdma_axilite_slave {false} \
    CONFIG.pf0_device_id {7C01} \
    CONFIG.pf0_subsystem_id {0001} \
    CONFIG.pf0_base_class_menu {Processing_accelerators} \
    CONFIG.pf0_bar0_64bit {true} \
    CONFIG.pf0_bar0_scale {Megabytes} \
    CONFIG.pf0_bar0_size {1} \
    CONFIG.pciebar2axibar_0 {0x0000000000000000} \
    CONFIG.pf0_bar2_enabled {true} \
    CONFIG.pf0_bar2_64bit {true} \
    CONFIG.pf0_bar2_scale {Kilobytes} \
    CONFIG.pf0_bar2_size {64} \
    CONFIG.bar_indicator {BAR_3:2} \
    CONFIG.pf0_interrupt_pin {NONE} \
    CONFIG.pf0_msi_enabled {false} \
    CONFIG.pf0_msix_enabled {true} \
    CONFIG.pf0_msix_impl_locn {Internal} \
    CONFIG.xdma_num_usr_irq {1} \
] [get_ips xdma_card]
generate_target all [get_ips xdma_card]
synth_ip [get_ips xdma_card]

# The slave port of the block has ids of a width of its own, which `axi_id_width` does not set. The shell adapts to it: see alveo_xdma.sv.
# The widths of the two id ports of reads and of writes must be the same, and the netlist must have them.
set stub [lindex [concat [glob -nocomplain $out/xdma_card/xdma_card_stub.v] [glob -nocomplain $out/xdma_card/synth/xdma_card.v]] 0]
set id_bits [exec sh $root/bitstreams/common/port_width.sh $stub s_axib_arid]
foreach port {s_axib_rid s_axib_awid s_axib_bid} {
    set width [exec sh $root/bitstreams/common/port_width.sh $stub $port]
    if {$width != $id_bits} { error "portcullis: `$port` of the XDMA block has $width bits, and `s_axib_arid` has $id_bits" }
}
lappend defines PORTCULLIS_BLOCK_ID_BITS=$id_bits
# A port that is narrower than what is connected to it would lose bits with a warning alone.
set_msg_config -id {Synth 8-689} -new_severity ERROR
synth_design -top alveo_xdma -part $part -include_dirs $key_dir -verilog_define $defines -flatten_hierarchy rebuilt
foreach port {s_axib_arid s_axib_rid} {
    set width [llength [get_pins -quiet -of_objects [get_cells u_xdma] -filter "REF_PIN_NAME =~ ${port}\[*\]"]]
    if {$width != $id_bits} { error "portcullis: `$port` of the XDMA block has $width bits in the netlist, not $id_bits" }
}
opt_design
place_design
phys_opt_design
route_design
report_timing_summary -file $out/timing.rpt
report_utilization -file $out/utilization.rpt
report_drc -file $out/drc.rpt
portcullis_check_cdc $out/cdc.rpt
set slack [get_property SLACK [get_timing_paths -delay_type max]]
set hold [get_property SLACK [get_timing_paths -delay_type min]]
if {$slack < 0 || $hold < 0} { error "portcullis: timing is not met (setup $slack ns, hold $hold ns); no bitstream is written" }
write_checkpoint -force $out/portcullis.dcp
if {$aes_key ne ""} {
    set_property BITSTREAM.ENCRYPTION.ENCRYPT YES [current_design]
    set_property BITSTREAM.ENCRYPTION.ENCRYPTKEYSELECT EFUSE [current_design]
    set_property BITSTREAM.ENCRYPTION.KEYFILE $aes_key [current_design]
}
write_bitstream -force $out/portcullis.bit
write_cfgmem -force -format mcs -size 128 -interface SPIx4 -loadbit "up $flash_offset $out/portcullis.bit" $out/portcullis.mcs
puts "portcullis: now seal it:"
puts "  portcullis bitstream seal $out --target $target --commit \$(git rev-parse HEAD) --tool 'Vivado [version -short]' --key <kind> portcullis.bit portcullis.mcs"
