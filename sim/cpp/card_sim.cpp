#include "portcullis-sim/cpp/card_sim.h"

#include <cstring>
#include <string>

#include "Vcanary.h"
#include "Vcard.h"
#include "bus_memory.h"
#include "bus_rules.h"
#include "model_hooks.h"
#include "portcullis-sim/src/ffi.rs.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#endif

namespace portcullis {
namespace {

constexpr unsigned kResetClocks = 8;

}  // namespace

struct CardSim::Parts {
  explicit Parts(uint64_t watchdog) : rules(watchdog), model(&context, "card") {}

  VerilatedContext context;
  ModelSink sink;
  BusMemory bus;
  BusRules rules;
  FromCard from;
  uint64_t now = 0;  // clocks, the reset included
  uint64_t counted_from = 0;
  uint64_t failure_clock = 0;
  uint64_t most_reads = 0;
  bool trace_ok = true;
#if VM_TRACE
  VerilatedFstC trace;
  bool tracing = false;
#endif
  // Last, so that it goes first.
  Vcard model;
};

// Makes this thread the model's for the time of a call, whichever thread it is.
class CardSim::Entry {
 public:
  explicit Entry(Parts& parts) : before_(Verilated::threadContextp()) {
    Verilated::threadContextp(&parts.context);
    set_model_sink(&parts.sink);
  }
  ~Entry() {
    set_model_sink(nullptr);
    Verilated::threadContextp(before_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  VerilatedContext* before_;
};

CardSim::CardSim(uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed, uint64_t watchdog,
                 rust::Str trace)
    : parts_(new Parts(watchdog)) {
  Parts& p = *parts_;
  const Entry entry(p);
  p.context.randReset(0);
  p.context.fatalOnError(false);
#if VM_TRACE
  if (!trace.empty()) {
    p.context.traceEverOn(true);
    p.model.trace(&p.trace, 99);
    p.trace.open(std::string(trace).c_str());
    p.trace_ok = p.tracing = p.trace.isOpen();
  }
#else
  p.trace_ok = trace.empty();
#endif
  Vcard& m = p.model;
  m.s_axil_awvalid = m.s_axil_wvalid = m.s_axil_arvalid = 0;
  m.s_axil_awprot = m.s_axil_arprot = 0;
  m.s_axil_wstrb = 0xf;
  m.s_axil_bready = m.s_axil_rready = 1;
  p.bus.set(0, 0, 0, 0);
  m.rst_i = 1;
  for (unsigned i = 0; i < kResetClocks; ++i) tick();
  m.rst_i = 0;
  p.bus.set(read_latency, write_latency, stall, seed);
  p.counted_from = p.now;
}

CardSim::~CardSim() {
  const Entry entry(*parts_);
#if VM_TRACE
  if (parts_->tracing) parts_->trace.close();
#endif
  parts_->model.final();
}

// One clock. What the card drives is taken after the inputs of this clock have settled and before the rising edge.
void CardSim::tick() {
  Parts& p = *parts_;
  Vcard& m = p.model;
  p.bus.drive(p.now);
  if (p.bus.changed()) {
    const ToCard& out = p.bus.out();
    m.m_axi_arready = out.ar_ready;
    m.m_axi_awready = out.aw_ready;
    m.m_axi_wready = out.w_ready;
    m.m_axi_rvalid = out.r_valid;
    if (out.r_valid) {
      m.m_axi_rid = out.r_id;
      m.m_axi_rresp = out.r_response;
      m.m_axi_rlast = out.r_last;
      std::memcpy(m.m_axi_rdata.data(), out.r_data.data(), kBeatBytes);
    }
    m.m_axi_bvalid = out.b_valid;
    m.m_axi_bid = out.b_id;
    m.m_axi_bresp = out.b_response;
  }
  m.clk_i = 0;
  m.eval();
#if VM_TRACE
  if (p.tracing) p.trace.dump(p.now * 2);
#endif

  FromCard& from = p.from;
  from.ar_valid = m.m_axi_arvalid;
  from.aw_valid = m.m_axi_awvalid;
  from.w_valid = m.m_axi_wvalid;
  from.r_ready = m.m_axi_rready;
  from.b_ready = m.m_axi_bready;
  if (from.ar_valid) {
    from.ar = {m.m_axi_araddr, m.m_axi_arid, m.m_axi_arlen, m.m_axi_arsize, m.m_axi_arburst};
  }
  if (from.aw_valid) {
    from.aw = {m.m_axi_awaddr, m.m_axi_awid, m.m_axi_awlen, m.m_axi_awsize, m.m_axi_awburst};
  }
  if (from.w_valid) {
    std::memcpy(from.w.data.data(), m.m_axi_wdata.data(), kBeatBytes);
    from.w.strobe = m.m_axi_wstrb;
    from.w.last = m.m_axi_wlast;
  }

  m.clk_i = 1;
  m.eval();
#if VM_TRACE
  if (p.tracing) p.trace.dump(p.now * 2 + 1);
#endif

  p.rules.clock(p.now, from, p.bus.out());
  if (p.rules.write_abandoned()) p.bus.abandon_write();
  p.bus.take(p.now, from, p.rules);
  if (from.ar_valid && p.rules.reads_in_flight() > p.most_reads) p.most_reads = p.rules.reads_in_flight();
  if (p.sink.stopped && p.failure_clock == 0) p.failure_clock = p.now;
  ++p.now;
}

bool CardSim::trace_ok() const { return parts_->trace_ok; }

void CardSim::map(uint64_t address, uint8_t* memory, size_t size, uint8_t rights) {
  parts_->bus.memory().map(address, memory, size, rights);
}

bool CardSim::unmap(uint64_t address) { return parts_->bus.memory().unmap(address); }

void CardSim::set_master(bool on) { parts_->bus.memory().set_master(on); }

bool CardSim::is_mapped(uint64_t address) const {
  return parts_->bus.memory().find(address, sizeof(uint64_t), kNone) != nullptr;
}

RegisterResult CardSim::read32(uint32_t address, uint64_t bound) {
  Parts& p = *parts_;
  const Entry entry(p);
  Vcard& m = p.model;
  m.s_axil_araddr = address;
  m.s_axil_arvalid = 1;
  RegisterResult result{false, 0, 0};
  for (uint64_t i = 0; i < bound && !p.sink.stopped; ++i) {
    // What the port answers in this clock is known once its inputs have settled.
    m.clk_i = 0;
    m.eval();
    const bool accepted = m.s_axil_arvalid && m.s_axil_arready;
    if (m.s_axil_rvalid) {
      result = {true, static_cast<uint8_t>(m.s_axil_rresp), m.s_axil_rdata};
    }
    tick();
    if (accepted) m.s_axil_arvalid = 0;
    if (result.answered) break;
  }
  m.s_axil_arvalid = 0;
  return result;
}

RegisterResult CardSim::write32(uint32_t address, uint32_t value, uint64_t bound) {
  Parts& p = *parts_;
  const Entry entry(p);
  Vcard& m = p.model;
  m.s_axil_awaddr = address;
  m.s_axil_wdata = value;
  m.s_axil_awvalid = m.s_axil_wvalid = 1;
  RegisterResult result{false, 0, 0};
  for (uint64_t i = 0; i < bound && !p.sink.stopped; ++i) {
    m.clk_i = 0;
    m.eval();
    const bool address_accepted = m.s_axil_awvalid && m.s_axil_awready;
    const bool data_accepted = m.s_axil_wvalid && m.s_axil_wready;
    if (m.s_axil_bvalid) {
      result = {true, static_cast<uint8_t>(m.s_axil_bresp), 0};
    }
    tick();
    if (address_accepted) m.s_axil_awvalid = 0;
    if (data_accepted) m.s_axil_wvalid = 0;
    if (result.answered) break;
  }
  m.s_axil_awvalid = m.s_axil_wvalid = 0;
  return result;
}

void CardSim::run(uint64_t clocks) {
  Parts& p = *parts_;
  const Entry entry(p);
  for (uint64_t i = 0; i < clocks && !p.sink.stopped; ++i) tick();
}

bool CardSim::run_until(uint64_t address, uint64_t mask, uint64_t value, bool equal, uint64_t bound) {
  Parts& p = *parts_;
  const Entry entry(p);
  const uint64_t* word = p.bus.memory().find(address, sizeof(uint64_t), kNone);
  if (word == nullptr) return false;
  const auto fits = [&] { return ((load_word(word) & mask) == value) == equal; };
  bool done = fits();
  // Only a data beat can change what is watched.
  for (uint64_t i = 0; i < bound && !done && !p.sink.stopped; ++i) {
    const uint64_t beats = p.bus.counters().write_beats;
    tick();
    if (p.bus.counters().write_beats != beats) done = fits();
  }
  return done || fits();
}

void CardSim::inject(uint8_t kind, uint32_t nth, uint32_t bit) {
  parts_->bus.inject(static_cast<Inject>(kind), nth, bit);
}

void CardSim::set_bus(uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed) {
  parts_->bus.set(read_latency, write_latency, stall, seed);
}

Counters CardSim::counters() const {
  const BusCounters& c = parts_->bus.counters();
  return Counters{parts_->now - parts_->counted_from,
                  c.read_bursts,
                  c.read_beats,
                  c.write_bursts,
                  c.write_beats,
                  c.busy_clocks,
                  c.out_of_range,
                  parts_->rules.violations(),
                  parts_->most_reads};
}

rust::String CardSim::violations() const { return rust::String(parts_->rules.text()); }

void CardSim::trip() {
  const Entry entry(*parts_);
  VL_STOP_MT("trip", 0, "card");
  parts_->failure_clock = parts_->now;
}

bool CardSim::failed() const { return parts_->sink.stopped; }

uint64_t CardSim::failure_clock() const { return parts_->failure_clock; }

rust::String CardSim::failure() const { return rust::String::lossy(parts_->sink.text); }

std::unique_ptr<CardSim> new_card_sim(uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed,
                                      uint64_t watchdog, rust::Str trace) {
  return std::make_unique<CardSim>(read_latency, write_latency, stall, seed, watchdog, trace);
}

rust::String canary() {
  VerilatedContext context;
  context.fatalOnError(false);
  ModelSink sink;
  set_model_sink(&sink);
  VerilatedContext* const before = Verilated::threadContextp();
  Verilated::threadContextp(&context);
  {
    Vcanary model(&context, "canary");
    for (int i = 0; i < 32 && !sink.stopped; ++i) {
      model.clk_i = !model.clk_i;
      model.eval();
    }
    model.final();
  }
  Verilated::threadContextp(before);
  set_model_sink(nullptr);
  return rust::String::lossy(sink.stopped ? sink.text : std::string());
}

}  // namespace portcullis
