#include "portcullis-sim/cpp/card_sim.h"

#include <cstring>
#include <string>

#include "Vcanary.h"
#include "bus_memory.h"
#include "bus_rules.h"
#include "card_model.h"
#include "model_hooks.h"
#include "portcullis-sim/src/ffi.rs.h"
#include "verilated.h"

namespace portcullis {
namespace {

constexpr unsigned kResetClocks = 8;

}  // namespace

struct CardSim::Parts {
  Parts(uint32_t lanes, uint64_t watchdog) : rules(watchdog), model(new_card_model(lanes, &context)) {}

  VerilatedContext context;
  ModelSink sink;
  BusMemory bus;
  BusRules rules;
  FromCard from;
  uint64_t now = 0;  // clocks, reset included
  uint64_t counted_from = 0;
  uint64_t failure_clock = 0;
  uint64_t most_reads = 0;
  bool trace_ok = true;
#if VM_TRACE
  VerilatedFstC trace;
  bool tracing = false;
#endif
  RegisterPins pins;
  // Declared last, so that it is destroyed first.
  std::unique_ptr<CardModel> model;
};

// Sets the model's context and message sink for this thread during a call.
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

CardSim::CardSim(uint32_t lanes, uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed,
                 uint64_t watchdog, rust::Str trace)
    : parts_(new Parts(lanes, watchdog)) {
  Parts& p = *parts_;
  const Entry entry(p);
  p.context.randReset(0);
  p.context.fatalOnError(false);
#if VM_TRACE
  if (!trace.empty()) {
    p.context.traceEverOn(true);
    p.model->trace(p.trace);
    p.trace.open(std::string(trace).c_str());
    p.trace_ok = p.tracing = p.trace.isOpen();
  }
#else
  p.trace_ok = trace.empty();
#endif
  p.bus.set(0, 0, 0, 0);
  hold_reset();
  p.bus.set(read_latency, write_latency, stall, seed);
  p.counted_from = p.now;
}

void CardSim::hold_reset() {
  parts_->model->reset(true);
  for (unsigned i = 0; i < kResetClocks; ++i) tick();
  parts_->model->reset(false);
}

void CardSim::hardware_reset() {
  const Entry entry(*parts_);
  parts_->bus.reset();
  parts_->rules.reset();
  hold_reset();
}

CardSim::~CardSim() {
  const Entry entry(*parts_);
#if VM_TRACE
  if (parts_->tracing) parts_->trace.close();
#endif
  parts_->model.reset();
}

// Runs one clock.
void CardSim::tick() {
  settle();
  rise();
}

// The first half of a clock: the inputs settle. The clock falls once, so that parts that sleep see an input in time.
void CardSim::settle() {
  Parts& p = *parts_;
  CardModel& model = *p.model;
  p.bus.drive(p.now);
  if (p.bus.changed()) model.drive(p.bus.out());
  model.low();
#if VM_TRACE
  if (p.tracing) p.trace.dump(p.now * 2);
#endif
  model.sample(p.from);
}

// The second half: the rising edge. The bus takes the outputs that were sampled before it.
void CardSim::rise() {
  Parts& p = *parts_;
  const FromCard& from = p.from;
  p.model->high();
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
  p.pins.read_address = address;
  p.pins.ar_valid = true;
  RegisterResult result{false, 0, 0};
  for (uint64_t i = 0; i < bound && !p.sink.stopped && !result.answered; ++i) {
    // The port's outputs in this clock depend on its inputs, so settle them first.
    p.model->drive(p.pins);
    settle();
    const RegisterAnswers answers = p.model->registers();
    if (answers.r_valid) result = {true, answers.r_response, answers.data};
    if (answers.ar_ready) p.pins.ar_valid = false;
    rise();
  }
  p.pins.ar_valid = false;
  p.model->drive(p.pins);
  return result;
}

RegisterResult CardSim::write32(uint32_t address, uint32_t value, uint64_t bound) {
  Parts& p = *parts_;
  const Entry entry(p);
  p.pins.write_address = address;
  p.pins.data = value;
  p.pins.aw_valid = p.pins.w_valid = true;
  RegisterResult result{false, 0, 0};
  for (uint64_t i = 0; i < bound && !p.sink.stopped && !result.answered; ++i) {
    p.model->drive(p.pins);
    settle();
    const RegisterAnswers answers = p.model->registers();
    if (answers.b_valid) result = {true, answers.b_response, 0};
    if (answers.aw_ready) p.pins.aw_valid = false;
    if (answers.w_ready) p.pins.w_valid = false;
    rise();
  }
  p.pins.aw_valid = p.pins.w_valid = false;
  p.model->drive(p.pins);
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
  // The watched word can change only with a data beat.
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

bool CardSim::upset_table(uint32_t lane, rust::Str table, rust::Str memory, uint32_t row, uint32_t bit) {
  const std::string scope =
      "card.portcullis_top.g_lane[" + std::to_string(lane) + "].u_lane." + static_cast<std::string>(table);
  parts_->model->settle_inputs();
  return invert_bit(parts_->context, scope, static_cast<std::string>(memory).c_str(), row, bit);
}

void CardSim::set_stale(bool on) { parts_->model->stale(on); }

void CardSim::set_bus(uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed) {
  parts_->bus.set(read_latency, write_latency, stall, seed);
}

SimulatedBusCounters CardSim::counters() const {
  const BusCounters& c = parts_->bus.counters();
  return SimulatedBusCounters{parts_->now - parts_->counted_from,
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

std::unique_ptr<CardSim> new_card_sim(uint32_t lanes, uint32_t read_latency, uint32_t write_latency, uint8_t stall,
                                      uint64_t seed, uint64_t watchdog, rust::Str trace) {
  return std::make_unique<CardSim>(lanes, read_latency, write_latency, stall, seed, watchdog, trace);
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
