+incdir+rtl/shells/common
+incdir+rtl/shells/aws_f2
+incdir+rtl/shells/aws_f2/standin
rtl/shells/standin/xilinx.sv
rtl/shells/aws_f2/standin/sh_ddr.sv
rtl/shells/aws_f2/portcullis_cl.sv
