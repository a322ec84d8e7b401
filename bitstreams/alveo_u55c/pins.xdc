# Pins of the slot on an Alveo U55C. The lanes are placed by the PCIe block.
set_property PACKAGE_PIN AR15 [get_ports pcie_refclk_p_i]
set_property PACKAGE_PIN AR14 [get_ports pcie_refclk_n_i]
set_property -dict {PACKAGE_PIN BF41 IOSTANDARD LVCMOS18 PULLUP TRUE} [get_ports pcie_rst_n_i]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p_i]
set_false_path -from [get_ports pcie_rst_n_i]
# A U55C that does not hold this line low may be shut down by its satellite controller.
set_property -dict {PACKAGE_PIN BE45 IOSTANDARD LVCMOS18 PULLDOWN TRUE} [get_ports hbm_cattrip_o]

# Configuration from the board's QSPI flash.
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.CONFIGFALLBACK Enable [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR Yes [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 63.8 [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN disable [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN Pullup [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
