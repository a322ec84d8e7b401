// A single bank, swept in every clock: the reference for the speed of a simulated card.

#include <chrono>

#ifdef PORTCULLIS_LANES
#include "Vbank.h"
#endif
#include "portcullis-sim/cpp/card_sim.h"
#include "model_hooks.h"
#include "verilated.h"

namespace portcullis {

#ifdef PORTCULLIS_LANES

namespace {

constexpr uint16_t kRows = 256;
constexpr uint64_t kRowWords = 48;

// A write of a whole word, in the layout of table_access_t.
uint64_t write_of(uint64_t row, uint64_t word, uint32_t data) {
  return uint64_t{3} << 49 | row << 39 | word << 33 | uint64_t{1} << 32 | data;
}

// A step of a judged entry, in the layout of step_t.
uint32_t step_of(uint16_t row) {
  return uint32_t{1} << 19 | uint32_t{row == 0} << 18 | uint32_t{row == kRows - 1} << 17 | uint32_t{1} << 16 | row;
}

void clock(Vbank& bank) {
  bank.clk_i = 0;
  bank.eval();
  bank.clk_i = 1;
  bank.eval();
}

}  // namespace

uint64_t sweep_alone(uint64_t clocks) {
  VerilatedContext context;
  context.fatalOnError(false);
  ModelSink sink;
  set_model_sink(&sink);
  VerilatedContext* const before = Verilated::threadContextp();
  Verilated::threadContextp(&context);
  uint64_t nanoseconds = 0;
  {
    Vbank bank(&context, "bank");
    bank.rst_i = 1;
    clock(bank);
    bank.rst_i = 0;
    bank.count_i = kRows;
    for (uint64_t row = 0; row < kRows; ++row) {
      for (uint64_t word = 0; word < kRowWords; ++word) {
        bank.access_i = write_of(row, word, static_cast<uint32_t>(0x9e3779b9u * (row * kRowWords + word + 1)));
        clock(bank);
      }
    }
    bank.access_i = 0;
    bank.locked_i = 1;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < clocks && !sink.stopped; ++i) {
      const uint16_t row = i % kRows;
      if (row == 0) bank.desc_i[1] = static_cast<uint32_t>(0x85ebca6bu * (i + 1));
      bank.step_i = step_of(row);
      clock(bank);
    }
    const auto time = std::chrono::steady_clock::now() - start;
    nanoseconds = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    bank.final();
  }
  Verilated::threadContextp(before);
  set_model_sink(nullptr);
  return sink.stopped ? 0 : nanoseconds;
}

#else

uint64_t sweep_alone(uint64_t) {
  return 0;
}

#endif

}  // namespace portcullis
