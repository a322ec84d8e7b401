# Synthesis of the card for AWS F2; the HDK's build runs it in place of its own synth_CL_TEMPLATE.tcl. Not run by us: see README.md.
#
# From the environment: PORTCULLIS_ROOT, this repository; PORTCULLIS_KEY_DIR, the folder of a production key package (optional).
# From the HDK's build: HDK_SHELL_DIR, HDK_SHELL_DESIGN_DIR, constraints_dir, DEVICE_TYPE, CL.
source ${HDK_SHELL_DIR}/build/scripts/synth_cl_header.tcl

set root $::env(PORTCULLIS_ROOT)
source $root/bitstreams/common/sources.tcl
set includes [list $root/rtl/shells/aws_f2 ${HDK_SHELL_DESIGN_DIR}/interfaces]
set includes [linsert $includes 0 [portcullis_key_dir $root]]

read_verilog -sv [portcullis_sources $root rtl/portcullis.f]
read_verilog -sv [portcullis_sources $root rtl/shells/shells.f]
read_verilog -sv $root/rtl/shells/aws_f2/portcullis_cl.sv
read_verilog -sv [glob ${HDK_SHELL_DESIGN_DIR}/sh_ddr/synth/*.?v]

read_xdc ${constraints_dir}/cl_timing_user.xdc
set_property PROCESSING_ORDER LATE [get_files cl_timing_user.xdc]

synth_design -mode out_of_context -top portcullis_cl -part ${DEVICE_TYPE} -include_dirs $includes \
    -verilog_define XSDB_SLV_DIS -keep_equivalent_registers
portcullis_check_cdc [file join [pwd] portcullis_cdc.rpt]

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_footer.tcl
