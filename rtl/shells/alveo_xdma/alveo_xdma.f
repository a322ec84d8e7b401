+incdir+rtl/shells/common
rtl/shells/standin/xilinx.sv
rtl/shells/alveo_xdma/standin/xdma_card.sv
rtl/shells/alveo_xdma/axi_to_axil.sv
rtl/shells/alveo_xdma/alveo_xdma.sv
