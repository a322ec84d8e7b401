# Pins of the slot on an Alveo U250. The lanes are placed by the PCIe block.
set_property PACKAGE_PIN AM11 [get_ports pcie_refclk_p_i]
set_property PACKAGE_PIN AM10 [get_ports pcie_refclk_n_i]
set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLUP TRUE} [get_ports pcie_rst_n_i]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p_i]
set_false_path -from [get_ports pcie_rst_n_i]

# Configuration from the board's QSPI flash.
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.CONFIGFALLBACK Enable [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR Yes [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 85.0 [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN disable [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN Pullup [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
