// The one form of an assertion in the design: a statement, which stops the simulation with its
// message. Message: "module: what is wrong".
`ifndef PORTCULLIS_ASSERT_SVH
`define PORTCULLIS_ASSERT_SVH
`define ASSERT(CONDITION, MESSAGE) assert (CONDITION) else $error(MESSAGE)
`endif
