#include "portcullis-text-bench/cpp/lane_bench.h"

#include "Vtextlane.h"
#include "portcullis-text-bench/cpp/model_guard.h"
#include "portcullis-text-bench/src/ffi.rs.h"
#include "verilated.h"

namespace portcullis {
namespace {

// More clocks than an entry of the longest window takes on the slowest bus.
constexpr uint32_t kBound = 4'000'000;
constexpr uint8_t kSlvErr = 2;

// The first byte of a digest is the most significant one of a port.
template <typename Port, typename Digest>
void put_digest(Port& port, const Digest& digest) {
  for (size_t i = 0; i < 32; ++i) {
    const size_t at = 31 - i;
    if (at % 4 == 3) port[at / 4] = 0;
    port[at / 4] |= static_cast<uint32_t>(digest[i]) << (8 * (at % 4));
  }
}

}  // namespace

class LaneBench::Entry {
 public:
  explicit Entry(LaneBench& bench) : guard_(bench.context_.get(), &bench.sink_) {}

 private:
  ModelGuard guard_;
};

LaneBench::LaneBench() : context_(std::make_unique<VerilatedContext>()) {
  top_ = std::make_unique<Vtextlane>(context_.get(), "lane");
  const Entry entry(*this);
  context_->randReset(0);
  context_->fatalOnError(false);
  // A model's first evaluation sees no edge: without this one the clock of the reset would be lost.
  settle_inputs();
  reset();
}

LaneBench::~LaneBench() {
  const Entry entry(*this);
  top_->final();
}

void LaneBench::settle_inputs() {
  top_->clk_i = 0;
  top_->eval();
}

// What the bus offers in this clock, at random.
void LaneBench::offer_beat() {
  top_->ar_ready_i = !pauses();
  top_->r_valid_i = 0;
  if (silent_ || bursts_.empty() || bursts_.front().not_before > clocks_ || pauses()) return;
  Burst& burst = bursts_.front();
  top_->r_valid_i = 1;
  top_->r_id_i = 0;
  top_->r_resp_i = 0;
  top_->r_last_i = burst.left == 1;
  const Beat& data = memory_[burst.beat];
  for (size_t i = 0; i < 16; ++i)
    top_->r_data_i[i] = static_cast<uint32_t>(data[4 * i]) | static_cast<uint32_t>(data[4 * i + 1]) << 8 |
                        static_cast<uint32_t>(data[4 * i + 2]) << 16 | static_cast<uint32_t>(data[4 * i + 3]) << 24;
  if (fault_in_ != 1) return;
  switch (fault_) {
    case BusFault::Error:
      top_->r_resp_i = kSlvErr;
      break;
    case BusFault::Place:
      top_->r_last_i = !top_->r_last_i;
      break;
    case BusFault::Stranger:
      top_->r_id_i = 3;
      break;
    default:
      top_->r_valid_i = 0;
      silent_ = true;
      fault_in_ = 0;
      fault_met_ = true;
  }
}

// One clock with the inputs as they are; afterwards the outputs are settled.
void LaneBench::clock() {
  offer_beat();
  settle_inputs();
  const bool asks = top_->ar_valid_o && top_->ar_ready_i;
  const uint64_t first = top_->ar_addr_o / 64;
  const uint32_t beats = top_->ar_len_o + 1u;
  const bool gives = top_->r_valid_i;
  const bool last = top_->r_last_i;
  top_->clk_i = 1;
  top_->eval();
  settle_inputs();
  ++clocks_;
  if (gives) {
    Burst& burst = bursts_.front();
    for (uint8_t& byte : memory_[burst.beat]) byte = static_cast<uint8_t>(byte * 5 + 1);
    ++burst.beat;
    if (burst.left > 1) --burst.left;
    if (fault_in_ == 1) fault_met_ = true;
    if (fault_in_ > 0) --fault_in_;
    // Behind a last beat that was not called so comes one that is.
    if (last) bursts_.pop_front();
  }
  if (asks) {
    const uint64_t latency = least_latency_ + random_() % (most_latency_ - least_latency_ + 1);
    bursts_.push_back({first, beats, clocks_ + latency});
    for (uint32_t i = 0; i < beats; ++i) reads_.push_back((first + i) * 64);
  }
}

void LaneBench::reset() {
  const Entry entry(*this);
  top_->load_valid_i = 0;
  top_->locked_i = 1;
  top_->renew_valid_i = top_->entry_valid_i = top_->settle_i = top_->admit_i = 0;
  bursts_.clear();
  silent_ = fault_met_ = false;
  fault_in_ = 0;
  top_->rst_i = 1;
  clock();
  top_->rst_i = 0;
  settle_inputs();
}

// Asks for a load of tables from the memory, and locks them; the result, or 4 when none came.
uint8_t LaneBench::load(const LaneTables& tables) {
  const Entry entry(*this);
  top_->locked_i = 0;
  top_->load_valid_i = 1;
  top_->load_address_i = tables.address;
  top_->load_bytes_i = tables.bytes;
  put_digest(top_->load_digest_i, tables.digest);
  uint8_t result = 4;
  for (uint32_t clocks = 0; clocks < kBound && result == 4; ++clocks) {
    clock();
    if (top_->load_done_o) result = top_->load_result_o;
  }
  top_->load_valid_i = 0;
  top_->locked_i = 1;
  settle_inputs();
  return result;
}

void LaneBench::set_bus(Bus bus) {
  random_.seed(bus.seed);
  least_latency_ = bus.least_latency;
  most_latency_ = bus.most_latency;
  stall_of_8_ = bus.stall_of_8;
}

void LaneBench::fault_at(BusFault fault, uint32_t beats) {
  fault_ = fault;
  fault_in_ = beats;
  fault_met_ = false;
}

void LaneBench::write(uint64_t address, rust::Slice<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) memory_[(address + i) / 64][(address + i) % 64] = bytes[i];
}

// Clocks until the slot was renewed; 0 when it was not within `bound`.
uint32_t LaneBench::renew(uint16_t slot, uint32_t bound) {
  const Entry entry(*this);
  top_->renew_valid_i = 1;
  top_->renew_slot_i = slot;
  for (uint32_t clocks = 1; clocks <= bound; ++clocks) {
    settle_inputs();
    const bool ready = top_->renew_ready_o;
    clock();
    if (!ready) continue;
    top_->renew_valid_i = 0;
    settle_inputs();
    return clocks;
  }
  top_->renew_valid_i = 0;
  settle_inputs();
  return 0;
}

// Clocks until the entry was taken; 0 when it was not.
uint32_t LaneBench::enter(const LaneEntry& given) {
  const Entry entry(*this);
  top_->entry_valid_i = 1;
  top_->address_i = given.address;
  top_->beats_i = given.beats;
  top_->outside_i = given.outside;
  put_digest(top_->commitment_i, given.commitment);
  top_->slot_i = given.slot;
  for (uint32_t clocks = 1; clocks < kBound; ++clocks) {
    settle_inputs();
    const bool ready = top_->entry_ready_o;
    clock();
    if (!ready) continue;
    top_->entry_valid_i = 0;
    settle_inputs();
    return clocks;
  }
  return 0;
}

LaneAnswer LaneBench::answer() {
  const Entry entry(*this);
  LaneAnswer answer{};
  for (uint32_t clocks = 0; clocks < kBound && !top_->answer_valid_o; ++clocks) clock();
  answer.came = top_->answer_valid_o != 0;
  answer.agrees = top_->agrees_o != 0;
  answer.cause = top_->cause_o;
  answer.call = top_->call_o != 0;
  answer.length = top_->length_o;
  for (size_t i = 0; i < 16; ++i) {
    answer.classes[i] = static_cast<uint8_t>(top_->classes_o[i / 4] >> (8 * (i % 4)));
    answer.established[i] = static_cast<uint8_t>(top_->established_o[i / 4] >> (8 * (i % 4)));
  }
  answer.state = bytes_of(top_->state_o);
  return answer;
}

void LaneBench::settle(bool admit) {
  const Entry entry(*this);
  top_->settle_i = 1;
  top_->admit_i = admit;
  clock();
  top_->settle_i = top_->admit_i = 0;
  settle_inputs();
}

void LaneBench::idle(uint32_t clocks) {
  const Entry entry(*this);
  for (uint32_t i = 0; i < clocks; ++i) clock();
}

// Addresses of the beats that were asked for since the last call, in order.
rust::Vec<uint64_t> LaneBench::reads() {
  rust::Vec<uint64_t> reads;
  for (const uint64_t address : reads_) reads.push_back(address);
  reads_.clear();
  return reads;
}

bool LaneBench::complete() const { return top_->complete_o != 0; }

bool LaneBench::idle_now() const { return top_->idle_o != 0; }

bool LaneBench::broken() const { return top_->broken_o != 0; }

std::unique_ptr<LaneBench> new_lane_bench() { return std::make_unique<LaneBench>(); }

}  // namespace portcullis
