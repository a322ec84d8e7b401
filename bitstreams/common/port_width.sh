#!/bin/sh
# Prints the number of bits of a port, as a Verilog file declares it: `port_width.sh FILE PORT`.
#
# The file is what Vivado writes for a block: its stub or its wrapper. Both declare a port per line, from a highest bit down to bit 0.
# Exit code 1, with a message: the port is not declared, or with different widths.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 FILE PORT" >&2; exit 2; }
[ -r "$1" ] || { echo "portcullis: cannot read \`$1\`" >&2; exit 1; }
awk -v port="$2" '
  {
    line = $0
    sub(/\/\/.*/, "", line)
    if (line !~ /^[ \t]*(input|output|inout)[ \t\[]/) next
    if (line !~ ("[ \t\\]]" port "[ \t]*[,;)]*[ \t]*$")) next
    width = 1
    if (match(line, /\[[ \t]*[0-9]+[ \t]*:[ \t]*0[ \t]*\]/)) {
      width = substr(line, RSTART + 1, RLENGTH)
      sub(/^[ \t]*/, "", width)
      width = width + 1
    } else if (line ~ /\[/) { unread = 1 }
    if (found && width != found) differs = 1
    found = width
  }
  END {
    if (!found || differs || unread) {
      print "portcullis: `" port "` is not declared, or not with one width from bit 0 up" > "/dev/stderr"
      exit 1
    }
    print found
  }' "$1"
