// Turns hints into interrupt requests, of which at most one waits for its acknowledgement.
//
// `Level` 0 (AWS F2): `req_o` is high for one clock; the next request comes after `ack_i`. `Level`
// 1 (XDMA): `req_o` holds until `ack_i`, and is low for at least one clock before the next request.
// All hints that come before `ack_i` give one further request. An unexpected acknowledgement is
// ignored. If an acknowledgement never comes (MSI-X is off), there are no more requests until
// reset; no other logic waits for it.
// Latency: 1 clock.
// After reset: nothing requested.
module irq_request #(
    parameter bit Level = 1'b0
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic hint_i,
    output logic req_o,
    input  logic ack_i
);
  logic hinted_q, awaiting_q, request;
  assign request = (hinted_q || hint_i) && !awaiting_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      hinted_q <= 1'b0;
      awaiting_q <= 1'b0;
      req_o <= 1'b0;
    end else begin
      hinted_q <= (hinted_q || hint_i) && !request;
      awaiting_q <= request || (awaiting_q && !ack_i);
      req_o <= request || (Level && req_o && !ack_i);
    end
  end
endmodule
