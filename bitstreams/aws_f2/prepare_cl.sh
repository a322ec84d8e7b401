#!/bin/sh
# Prepares the folder of the card's custom logic (CL) in a checkout of AWS's HDK: `prepare_cl.sh AWS_FPGA`, where AWS_FPGA is the
# folder of the checkout. Prints the folder, which is the value of CL_DIR.
#
# The folder is below the HDK's tree, at the depth of the template, because the template's build scripts are relative symbolic links.
# The HDK's build reads the PCI ids for the AFI's manifest from design/cl_id_defines.vh. This script makes that file from
# portcullis_ids.vh, from which the RTL takes the ids; a card whose ids differ from the manifest does not load.
# Nothing is left behind if a step fails. Exit code 1, with a message: something is missing, or the folder exists.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 AWS_FPGA" >&2; exit 2; }
fail() { echo "portcullis: $1" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
hdk=$(cd "$1" 2>/dev/null && pwd) || fail "there is no folder \`$1\`"
template=$hdk/hdk/cl/examples/CL_TEMPLATE
cl=$hdk/hdk/cl/developer_designs/portcullis_cl
[ -d "$template" ] || fail "\`$hdk\` has no hdk/cl/examples/CL_TEMPLATE: it is no checkout of aws-fpga, branch f2"
[ ! -e "$cl" ] || fail "\`$cl\` exists; remove it, or build in it"

ids=$root/rtl/shells/aws_f2/portcullis_ids.vh
# The HDK's script cuts the characters 2 and 3 off the start of an id, as a part of "32'h".
id() {
  value=$(sed -n "s/^\`define PORTCULLIS_$1 32'h\([0-9A-F]\{4\}_[0-9A-F]\{4\}\) *$/\1/p" "$ids")
  case $value in
    "") fail "\`$ids\` does not define PORTCULLIS_$1 as 32'hXXXX_XXXX" ;;
    [23]*) fail "PORTCULLIS_$1 in \`$ids\` begins with 2 or 3, which the HDK's build would lose" ;;
  esac
  echo "$value"
}
id0=$(id SH_ID0)
id1=$(id SH_ID1)

made=$cl.new.$$
trap 'rm -rf "$made"' EXIT
mkdir -p "$(dirname "$cl")"
cp -R -P "$template" "$made"
cp "$root/bitstreams/aws_f2/synth_portcullis_cl.tcl" "$made/build/scripts/"
cp "$root/bitstreams/aws_f2/cl_timing_user.xdc" "$made/build/constraints/"
cp "$root/rtl/shells/aws_f2/portcullis_cl.sv" "$ids" "$made/design/"
cat > "$made/design/cl_id_defines.vh" <<IDS
// Made from portcullis_ids.vh by bitstreams/aws_f2/prepare_cl.sh: device and vendor, then subsystem and its vendor.
\`ifndef CL_ID_DEFINES
\`define CL_ID_DEFINES
\`define CL_SH_ID0 32'h$id0
\`define CL_SH_ID1 32'h$id1
\`endif
IDS
broken=$(find "$made" -type l ! -exec test -e {} \; -print)
[ -z "$broken" ] || fail "links of the template lead nowhere: $(echo "$broken" | sed "s#^$made/##" | tr '\n' ' ')"
[ -e "$made/build/scripts/aws_build_dcp_from_cl.py" ] || fail "the template has no build/scripts/aws_build_dcp_from_cl.py"
mv "$made" "$cl"
trap - EXIT
echo "$cl"
