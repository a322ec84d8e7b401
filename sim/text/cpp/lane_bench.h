// The clock loop around the Verilated `text_lane_tb`, with a memory on its bus.
//
// The bus answers with any latency and pauses. What was read is destroyed in the memory, so that a second read could
// not give the same again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>

#include "model_hooks.h"
#include "rust/cxx.h"

class Vtextlane;
class VerilatedContext;

namespace portcullis {

struct LaneEntry;
struct LaneAnswer;
struct LaneTables;
struct Bus;
enum class BusFault : uint8_t;

class LaneBench final {
 public:
  LaneBench();
  ~LaneBench();

  void reset();
  uint8_t load(const LaneTables& tables);
  void set_bus(Bus bus);
  void fault_at(BusFault fault, uint32_t beats);
  void write(uint64_t address, rust::Slice<const uint8_t> bytes);
  uint32_t renew(uint16_t slot, uint32_t bound);
  uint32_t enter(const LaneEntry& entry);
  LaneAnswer answer();
  void settle(bool admit);
  void idle(uint32_t clocks);
  rust::Vec<uint64_t> reads();
  bool fault_met() const { return fault_met_; }
  bool broken() const;
  bool complete() const;
  bool idle_now() const;
  uint64_t clocks() const { return clocks_; }
  rust::String failure() const { return rust::String::lossy(sink_.stopped ? sink_.text : std::string()); }

 private:
  class Entry;
  using Beat = std::array<uint8_t, 64>;
  // Of a burst that the bus took: the beat that is next, how many are left, and the clock before which none comes.
  struct Burst {
    uint64_t beat;
    uint32_t left;
    uint64_t not_before;
  };

  void settle_inputs();
  void clock();
  void offer_beat();
  bool pauses() { return (random_() & 7) < stall_of_8_; }

  ModelSink sink_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vtextlane> top_;
  uint64_t clocks_ = 0;

  std::unordered_map<uint64_t, Beat> memory_;
  std::deque<Burst> bursts_;
  std::vector<uint64_t> reads_;
  std::mt19937_64 random_{1};
  uint32_t least_latency_ = 1, most_latency_ = 1;
  uint8_t stall_of_8_ = 0;
  BusFault fault_{};
  uint32_t fault_in_ = 0;  // Beats until the fault; 0 is none.
  bool fault_met_ = false;
  bool silent_ = false;
};

std::unique_ptr<LaneBench> new_lane_bench();

}  // namespace portcullis
