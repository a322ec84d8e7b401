// Tasks for a card behind a shell; both benches include them. The including bench has `clk`,
// `host_read` and `host_write` of 32 bits, `u_memory` (host_memory), `irqs` (number of requests),
// `hold` and `stall` (of the memory), `recover` (the shell's hardware reset) and `dut`.
//
// `if` and `$fatal` check the requirements on the hardware, not `assert`, so that runs with
// `+verilator+noassert` check them, too.
//
// A bench drives at the falling edge and samples at the rising edge. The reason: Verilator treats
// `<=` in an initial block as `=`, so if a bench drove at the rising edge, the device would see the
// new value at that edge already.
localparam logic [63:0] SubmissionRing = 64'h1_0000_0000, CompletionRing = 64'h1_0001_0000,
    LogRing = 64'h1_0002_0000;
localparam logic [31:0] LaneBase = 32'h1000;
// Offset that is added to the addresses above for this session's rings.
logic [63:0] elsewhere = '0;

// Half periods in time units: that of the bus is `BusHalf`. With `+card_half=N`, the card's clock
// has N units and a random phase; without it, the shell divides the bus's clock by two. `slow` is
// the number of bus clocks per card clock, rounded up.
localparam int unsigned BusHalf = 8;
int unsigned card_half = 0, slow = 2;
initial begin
  clk = 1'b0;
  forever #(BusHalf) clk = !clk;
end
initial
  if ($value$plusargs("card_half=%d", card_half)) begin
    slow = (card_half + BusHalf - 1) / BusHalf;
    dut.u_card_clk.free = 1'b1;
    #(1 + $urandom_range(card_half));
    forever #(card_half) dut.u_card_clk.half_q = !dut.u_card_clk.half_q;
  end

// The bench and the shell must see each edge of the bus's clock in the same simulation step;
// otherwise one would read values that the other writes at this edge.
logic [7:0] edges_q = '0, shell_edges_q = '0;
always_ff @(posedge clk) begin
  edges_q <= edges_q + 8'd1;
  assert (edges_q == shell_edges_q) else $fatal(1, "the bench's clock is behind the shell's");
end
always_ff @(posedge dut.u_card.bus_clk_i) begin
  shell_edges_q <= shell_edges_q + 8'd1;
  assert (edges_q == shell_edges_q) else $fatal(1, "the shell's clock is behind the bench's");
end

task automatic expect_word(logic [31:0] addr, logic [31:0] wanted, string what);
  logic [31:0] found;
  host_read(addr, found);
  if (found !== wanted) $fatal(1, "%s: register %h is %h, wanted %h", what, addr, found, wanted);
endtask

task automatic await_life(layout_pkg::life_e wanted, string what);
  logic [31:0] status;
  for (int i = 0; i < 40000; i++) begin
    host_read(32'h44, status);
    if (status[3:0] == 4'(wanted)) return;
  end
  $fatal(1, "%s: life is %0d, wanted %0d", what, status[3:0], wanted);
endtask

// An access in the first clock after a reset waits, and then gets its answer.
task automatic answered_at_once();
  logic [31:0] found;
  host_read(32'h000, found);
  if (found != 32'hffff_ffff && found != 32'h4c55_4350)
    $fatal(1, "magic right after reset: %h", found);
  host_write(32'h060, 32'd0);
endtask

task automatic identify(logic [7:0] key_flags);
  expect_word(32'h000, 32'h4c55_4350, "magic");
  for (int i = 0; i < 8; i++)
    expect_word(32'h020 + 32'(i * 4), layout_pkg::MapDigest[32*i+:32], "map digest");
  expect_word(32'h018, {24'd0, key_flags}, "key flags");
  // In a simulated card, the top bit of the design id's first byte is set.
  for (int i = 0; i < 4; i++)
    expect_word(32'h150 + 32'(i * 4), design_pkg::DesignId[32*i+:32] | (i == 0 ? 32'h80 : 32'h0),
        "design id");
  for (int i = 0; i < 4; i++) expect_word(32'h160 + 32'(i * 4), 32'd0, "boot nonce");
endtask

// Each bank has one row, of kind empty, which matches nothing.
task automatic load_tables();
  layout_pkg::image_header_t header;
  logic [31:0][31:0] words;
  header = '0;
  header.magic = 32'(layout_pkg::ImageMagic);
  header.version = 8'(layout_pkg::LayoutVersion);
  header.map_digest = layout_pkg::MapDigest;
  header.policy_rows = 16'd1;
  header.entropy_rows = 16'd1;
  words = header;
  host_write(32'h40, 32'd1);
  await_life(layout_pkg::LifeLoad, "LOAD");
  for (int i = 0; i < 32; i++) host_write(32'h1_0000 + 32'(i * 4), words[i]);
  for (int i = 0; i < 48; i++) host_write(32'h4_0000 + 32'(i * 4), 32'd0);
  for (int i = 0; i < 48; i++) host_write(32'h8_0000 + 32'(i * 4), 32'd0);
endtask

task automatic write_pair(logic [31:0] addr, logic [63:0] value);
  host_write(addr, value[31:0]);
  host_write(addr + 32'd4, value[63:32]);
endtask

// Brings the card from RESET to RUN. The first OPEN is refused because of a wrong digest; after it,
// the card shows the correct digest.
task automatic open_session();
  logic [31:0] digest[8];
  for (int i = 0; i < 8; i++) host_write(32'h60 + 32'(i * 4), 32'd0);
  load_tables();
  host_write(32'h40, 32'd2);
  await_life(layout_pkg::LifeLoad, "OPEN with a wrong digest");
  expect_word(32'h4C, 32'(layout_pkg::FaultImageDigest), "load fault");
  for (int i = 0; i < 8; i++) host_read(32'h80 + 32'(i * 4), digest[i]);
  for (int i = 0; i < 8; i++) host_write(32'h60 + 32'(i * 4), digest[i]);
  load_tables();
  write_pair(LaneBase + 32'h00, SubmissionRing + elsewhere);
  host_write(LaneBase + 32'h08, 32'd5);
  write_pair(LaneBase + 32'h10, CompletionRing + elsewhere);
  write_pair(LaneBase + 32'h20, LogRing + elsewhere);
  host_write(LaneBase + 32'h28, 32'd4);
  host_write(32'h40, 32'd2);
  await_life(layout_pkg::LifeRun, "OPEN");
  expect_word(32'h48, 32'd0, "fault");
endtask

function automatic logic [511:0] line(logic [63:0] addr);
  return u_memory.lines.exists(addr) ? u_memory.lines[addr] : '0;
endfunction

// Checks a card that has lost track of its bus: RESET never completes, and no session opens.
task automatic stays_shut(string what);
  logic [31:0] status;
  await_life(layout_pkg::LifeFault, what);
  expect_word(32'h48, 32'(layout_pkg::FaultWatchdog), what);
  for (int i = 0; i < 8; i++) begin
    // RESET, LOAD and OPEN in turn; the held answers come during these commands.
    host_write(32'h40, i % 3 == 0 ? 32'd4 : 32'(i % 3));
    if (i == 4) {hold, stall} = '0;
    repeat (200 * slow) @(negedge clk);
    host_read(32'h44, status);
    if (status[6:0] != {1'b1, 1'b1, 1'b1, 4'(layout_pkg::LifeClosing)})
      $fatal(1, "%s: status %h after RESET", what, status);
  end
endtask

// Answers that come after the watchdog has expired, and writes that stall within a record, must not
// affect a later session.
task automatic late_reads_and_stalled_writes();
  logic [511:0] kept[logic [63:0]];
  // Each session has its rings at other addresses, so that a beat in the rings of another session
  // is found.
  for (int round = 0; round < 6; round++) begin
    string what;
    recover();
    elsewhere = 64'h10_0000 * 64'(round + 1);
    open_session();
    refuse_two();
    if (round % 2 == 0) begin
      what = "late reads";
      hold = 1'b1;
      host_write(LaneBase + 32'h0C, 32'd6);
    end else begin
      what = "stalled writes";
      host_write(LaneBase + 32'h18, 32'd2);
      host_write(LaneBase + 32'h2C, 32'd3);
      host_write(LaneBase + 32'h0C, 32'd14);
      repeat ($urandom_range(100 * slow)) @(negedge clk);
      stall = 1'b1;
    end
    stays_shut(what);
    recover();
    kept = u_memory.lines;
    elsewhere = elsewhere + 64'h8_0000;
    open_session();
    refuse_two();
    foreach (kept[addr])
      if (addr[19] != elsewhere[19] && u_memory.lines[addr] != kept[addr])
        $fatal(1, "%s: %h of an earlier session was written", what, addr);
  end
  elsewhere = '0;
  recover();
  open_session();
  refuse_two();
endtask

// Submits entries while the bus does not answer, so their reads stay in flight.
task automatic reads_in_flight();
  hold = 1'b1;
  repeat (4) @(negedge clk);
  host_write(LaneBase + 32'h0C, 32'd8);
  for (int i = 0; i < 100 * slow && u_memory.reads.size() == 0; i++) @(negedge clk);
  if (u_memory.reads.size() == 0) $fatal(1, "no read in flight");
endtask

// Submits two entries of zeros. The card must refuse each of them with a record and a completion.
task automatic refuse_two();
  int unsigned seen;
  logic [31:0] refused;
  seen = irqs;
  host_write(LaneBase + 32'h0C, 32'd2);
  for (int i = 0; i < 40000; i++) begin
    host_read(LaneBase + 32'h38, refused);
    if (refused == 32'd2) break;
  end
  expect_word(LaneBase + 32'h38, 32'd2, "completions");
  expect_word(32'h114, 32'd2, "refused");
  expect_word(32'h108, 32'd0, "admits");
  if (line(LogRing + elsewhere) == '0) $fatal(1, "no OPEN record in host memory");
  if (line(CompletionRing + elsewhere + 64) == '0) $fatal(1, "no second completion in host memory");
  repeat (64 * slow) @(negedge clk);
  if (irqs == seen) $fatal(1, "no interrupt after completions");
endtask
