# Paths between the clock of the bus and the card's: queues with Gray-coded pointers, and single bits behind two flip-flops. The clocks
# have a common source, but nothing relies on it; what is needed is that the bits of a pointer arrive within one period of the bus.
set bus [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/I}]]
set card [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/O}]]
set_max_delay -datapath_only -from $bus -to $card 4.000
set_max_delay -datapath_only -from $card -to $bus 4.000
