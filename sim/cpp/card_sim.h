// The Verilated card with its clock, its register port, and the memory behind its bus.
#pragma once

#include <cstdint>
#include <memory>

#include "rust/cxx.h"

namespace portcullis {

struct RegisterResult;
struct SimulatedBusCounters;

class CardSim {
 public:
  CardSim(uint32_t lanes, uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed,
          uint64_t watchdog, rust::Str trace);
  ~CardSim();

  // Applies the hardware reset: the card's reset pin, and a bus that drops everything in flight.
  void hardware_reset();
  bool trace_ok() const;

  void map(uint64_t address, uint8_t* memory, size_t size, uint8_t rights);
  bool unmap(uint64_t address);
  void set_master(bool on);
  bool is_mapped(uint64_t address) const;

  RegisterResult read32(uint32_t address, uint64_t bound);
  RegisterResult write32(uint32_t address, uint32_t value, uint64_t bound);
  void run(uint64_t clocks);
  bool run_until(uint64_t address, uint64_t mask, uint64_t value, bool equal, uint64_t bound);

  void inject(uint8_t kind, uint32_t nth, uint32_t bit);
  // Inverts one bit of a memory in a lane's table, as radiation would. False if that bit does not exist.
  void set_stale(bool on);
  bool upset_table(uint32_t lane, rust::Str table, rust::Str memory, uint32_t row, uint32_t bit);
  void set_bus(uint32_t read_latency, uint32_t write_latency, uint8_t stall, uint64_t seed);

  SimulatedBusCounters counters() const;
  rust::String violations() const;
  void trip();
  bool failed() const;
  uint64_t failure_clock() const;
  rust::String failure() const;

 private:
  struct Parts;
  class Entry;
  void tick();
  void settle();
  void rise();
  void hold_reset();

  std::unique_ptr<Parts> parts_;
};

// `lanes` is 1, or the number of lanes of the larger card in this build.
std::unique_ptr<CardSim> new_card_sim(uint32_t lanes, uint32_t read_latency, uint32_t write_latency, uint8_t stall,
                                      uint64_t seed, uint64_t watchdog, rust::Str trace);

// Nanoseconds to sweep a single bank of 256 rows for this many clocks; 0 if an assertion failed, or in
// a build without the second card.
uint64_t sweep_alone(uint64_t clocks);

// The message of a model whose assertion fails, built like the card; empty if the assertion did not stop it.
rust::String canary();

}  // namespace portcullis
