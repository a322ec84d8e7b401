# Loads a bitstream into an Alveo over JTAG, for a trial: vivado -mode batch -source bitstreams/common/load.tcl -tclargs FILE.bit
# The card forgets it when the power goes. Not run by us.
if {[llength $argv] != 1 || ![file isfile [lindex $argv 0]]} { error "portcullis: say which .bit file to load, after -tclargs" }
open_hw_manager
connect_hw_server
open_hw_target
set devices [get_hw_devices {xcu*}]
if {[llength $devices] != 1} { error "portcullis: [llength $devices] Alveo devices on this JTAG chain, and one is expected" }
current_hw_device $devices
set_property PROGRAM.FILE [file normalize [lindex $argv 0]] $devices
program_hw_devices $devices
close_hw_manager
puts "portcullis: loaded [lindex $argv 0]"
