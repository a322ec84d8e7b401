# Paths between the clock of the bus and the card's: queues with Gray-coded pointers, and single bits behind two flip-flops. The clocks
# have a common source, but nothing relies on it; what is needed is that the bits of a pointer arrive within one period of the bus.
set bus [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/I}]]
set card [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *u_card_clk/O}]]
set_max_delay -datapath_only -from $bus -to $card 4.000
set_max_delay -datapath_only -from $card -to $bus 4.000
# Besides, the bits of one pointer arrive within one period of each other, so that never two of them are seen changed at once.
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_aw/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_aw/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_aw/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_aw/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_w/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_w/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_w/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_w/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_b/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_b/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_b/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_b/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_ar/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_ar/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_ar/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_ar/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_r/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_r/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_reg_r/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_reg_r/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_aw/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_aw/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_aw/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_aw/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_w/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_w/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_w/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_w/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_b/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_b/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_b/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_b/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_ar/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_ar/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_ar/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_ar/rd_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_r/wr_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_r/wr_seen_q_reg[0]*}] 4.000
set_bus_skew -from [get_cells -hierarchical -filter {NAME =~ *u_dma_r/rd_gray_q_reg*}] -to [get_cells -hierarchical -filter {NAME =~ *u_dma_r/rd_seen_q_reg[0]*}] 4.000
