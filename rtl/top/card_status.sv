// Status of the whole card: the digest of the tables at OPEN, the boot nonce, the sums over the
// lanes, the first fault of the lanes, and the interrupt hint.
//
// Sums, least credit and boot nonce are one clock old; `fault_o` belongs to the present clock.
// `irq_o` is high for one clock when a completion of any lane was answered.
// After reset: digest 0, no interrupt.
module card_status
  import layout_pkg::*;
  import gate_pkg::*;
#(
    parameter int unsigned Lanes = 1
) (
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  life_e                       life_i,
    // Digest of the tables.
    input  logic                        hashed_i,  // A hash of the tables is complete.
    input  logic      [255:0]           digest_i,  // Its digest.
    output logic      [255:0]           policy_digest_o,
    input  logic      [127:0]           boot_nonce_i,
    output logic      [127:0]           boot_nonce_o,
    // Inputs of each lane.
    input  fault_e    [Lanes-1:0]       lane_fault_i,
    input  logic                        head_fault_i,  // Fault of the checkpoint ring's head.
    output fault_e                      fault_o,
    input  counters_t [Lanes-1:0]       counters_i,
    input  logic      [Lanes-1:0][63:0] size_i,
    input  logic      [Lanes-1:0][31:0] records_i,
    input  logic      [Lanes-1:0][31:0] credit_i,
    input  logic      [Lanes-1:0][15:0] cq_tail_i,
    // Sums and flags of all lanes together.
    output counters_t                   counters_o,
    output logic      [63:0]            size_o,
    output logic      [31:0]            records_o,
    output logic      [31:0]            credit_o,  // The least credit of a lane.
    output logic                        irq_o
);
  // The digest at OPEN; the digest at CLOSE is only compared with it.
  always_ff @(posedge clk_i) begin
    if (rst_i) policy_digest_o <= '0;
    else if (hashed_i && life_i == LifeOpening) policy_digest_o <= digest_i;
  end
  // A register, so that this input does not reach the register block's read multiplexer, which a
  // simulator would otherwise evaluate at each edge.
  always_ff @(posedge clk_i) boot_nonce_o <= boot_nonce_i;

  // The fault of the first lane that has one; without one, that of the checkpoint ring.
  always_comb begin
    fault_o = head_fault_i ? FaultDoorbell : FaultNone;
    for (int l = Lanes - 1; l >= 0; l--) begin
      if (lane_fault_i[l] != FaultNone) fault_o = lane_fault_i[l];
    end
  end

  always_ff @(posedge clk_i) begin
    automatic counters_t sums = '0;
    automatic logic [63:0] size = '0;
    automatic logic [31:0] records = '0, least = '1;
    for (int unsigned l = 0; l < Lanes; l++) begin
      sums.verdicts += counters_i[l].verdicts;
      sums.admits += counters_i[l].admits;
      sums.rejects += counters_i[l].rejects;
      sums.decomposes += counters_i[l].decomposes;
      sums.refused += counters_i[l].refused;
      sums.open_streams += counters_i[l].open_streams;
      sums.busy_clocks += counters_i[l].busy_clocks;
      size += size_i[l];
      records += records_i[l];
      if (credit_i[l] < least) least = credit_i[l];
    end
    counters_o <= sums;
    size_o <= size;
    records_o <= records;
    credit_o <= least;
  end

  logic [Lanes-1:0][15:0] cq_tail_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cq_tail_q <= '0;
      irq_o <= 1'b0;
    end else begin
      cq_tail_q <= cq_tail_i;
      irq_o <= cq_tail_i != cq_tail_q && life_i != LifeOpening;
    end
  end
endmodule
