// The clock loop for the Verilated `text_tb`.
//
// Byte strings have their least significant byte first, as in the RTL's vectors.
#pragma once

#include <cstdint>
#include <memory>

#include "model_hooks.h"
#include "rust/cxx.h"

class Vtext;
class VerilatedContext;

namespace portcullis {

struct Seen;

class TextBench final {
 public:
  TextBench();
  ~TextBench();

  void reset();
  void lock(bool locked);
  void clear();
  bool upset(rust::Str part, rust::Str memory, uint32_t word, uint32_t bit);
  Seen load(rust::Slice<const uint8_t> bytes, uint8_t idle_of_8, uint64_t seed);
  void start(bool fresh, uint16_t slot);
  void read(rust::Slice<const uint8_t> bytes, uint8_t idle_of_8, uint64_t seed);
  void end();
  uint32_t drain();
  void save(uint16_t slot);
  rust::Vec<uint8_t> saved(uint16_t slot);
  rust::Vec<uint8_t> state() const;
  Seen seen() const;
  uint64_t clocks() const { return clocks_; }
  rust::String failure() const { return rust::String::lossy(sink_.stopped ? sink_.text : std::string()); }

 private:
  class Entry;
  void settle();
  void clock();
  void read_slot(uint16_t slot);

  ModelSink sink_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vtext> top_;
  uint64_t clocks_ = 0;
};

std::unique_ptr<TextBench> new_text_bench();

}  // namespace portcullis
