// The form of all assertions in the design: a statement that stops the simulation with a message
// such as "module: what is wrong".
`ifndef PORTCULLIS_ASSERT_SVH
`define PORTCULLIS_ASSERT_SVH
`define ASSERT(CONDITION, MESSAGE) assert (CONDITION) else $error(MESSAGE)
`endif
