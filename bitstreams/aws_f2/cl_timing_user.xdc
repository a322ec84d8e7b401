# Paths between clk_main_a0 and the card's clock, half of it: see ../common/crossings.xdc, which says why.
set bus [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/I}]]
set card [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/O}]]
set_max_delay -datapath_only -from $bus -to $card 4.000
set_max_delay -datapath_only -from $card -to $bus 4.000
# Lamps are read by a management tool, in no clock of ours.
set_false_path -to [get_ports cl_sh_status_vled*]
