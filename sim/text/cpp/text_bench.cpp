#include "portcullis-text-bench/cpp/text_bench.h"

#include <random>

#include "Vtext.h"
#include "portcullis-text-bench/cpp/model_guard.h"
#include "portcullis-text-bench/src/ffi.rs.h"
#include "verilated.h"

namespace portcullis {
namespace {

// More clocks than a scan can be busy after its last item.
constexpr uint32_t kBound = 1000;

}  // namespace

class TextBench::Entry {
 public:
  explicit Entry(TextBench& bench) : guard_(bench.context_.get(), &bench.sink_) {}

 private:
  ModelGuard guard_;
};

TextBench::TextBench() : context_(std::make_unique<VerilatedContext>()) {
  top_ = std::make_unique<Vtext>(context_.get(), "text");
  const Entry entry(*this);
  context_->randReset(0);
  context_->fatalOnError(false);
  // A model's first evaluation detects no clock edge, so evaluate once before the reset clock.
  settle();
  reset();
}

TextBench::~TextBench() {
  const Entry entry(*this);
  top_->final();
}

void TextBench::settle() {
  top_->clk_i = 0;
  top_->eval();
}

// Runs one clock with the current inputs, then settles the outputs.
void TextBench::clock() {
  top_->clk_i = 1;
  top_->eval();
  settle();
  ++clocks_;
}

void TextBench::reset() {
  const Entry entry(*this);
  top_->locked_i = top_->clear_i = top_->load_valid_i = top_->read_i = top_->save_i = 0;
  top_->start_i = top_->new_i = top_->byte_i = top_->end_i = 0;
  top_->rst_i = 1;
  clock();
  top_->rst_i = 0;
  settle();
}

void TextBench::lock(bool locked) {
  const Entry entry(*this);
  top_->locked_i = locked;
  settle();
}

void TextBench::clear() {
  const Entry entry(*this);
  top_->clear_i = 1;
  clock();
  top_->clear_i = 0;
  settle();
}

bool TextBench::upset(rust::Str part, rust::Str memory, uint32_t word, uint32_t bit) {
  const std::string scope = "text.text_tb.u_scan." + static_cast<std::string>(part);
  return invert_bit(*context_, scope, static_cast<std::string>(memory).c_str(), word, bit);
}

Seen TextBench::load(rust::Slice<const uint8_t> bytes, uint8_t idle_of_8, uint64_t seed) {
  const Entry entry(*this);
  std::mt19937_64 random(seed);
  for (const uint8_t byte : bytes) {
    while ((random() & 7) < idle_of_8) clock();
    top_->load_byte_i = byte;
    top_->load_valid_i = 1;
    clock();
    top_->load_valid_i = 0;
  }
  // The write of the last byte.
  clock();
  settle();
  return seen();
}

void TextBench::read_slot(uint16_t slot) {
  top_->slot_i = slot;
  top_->read_i = 1;
  clock();
  top_->read_i = 0;
  settle();
}

void TextBench::start(bool fresh, uint16_t slot) {
  const Entry entry(*this);
  if (!fresh) read_slot(slot);
  top_->start_i = 1;
  top_->new_i = fresh;
  clock();
  top_->start_i = 0;
  settle();
}

void TextBench::read(rust::Slice<const uint8_t> bytes, uint8_t idle_of_8, uint64_t seed) {
  const Entry entry(*this);
  std::mt19937_64 random(seed);
  for (const uint8_t byte : bytes) {
    while ((random() & 7) < idle_of_8) clock();
    top_->data_i = byte;
    top_->byte_i = 1;
    clock();
    top_->byte_i = 0;
  }
  settle();
}

void TextBench::end() {
  const Entry entry(*this);
  top_->end_i = 1;
  clock();
  top_->end_i = 0;
  settle();
}

// Runs until nothing is in progress; returns the clocks.
uint32_t TextBench::drain() {
  const Entry entry(*this);
  uint32_t clocks = 0;
  while (top_->busy_o && clocks < kBound) {
    clock();
    ++clocks;
  }
  return clocks;
}

void TextBench::save(uint16_t slot) {
  const Entry entry(*this);
  top_->slot_i = slot;
  top_->save_i = 1;
  clock();
  top_->save_i = 0;
  settle();
}

rust::Vec<uint8_t> TextBench::saved(uint16_t slot) {
  const Entry entry(*this);
  read_slot(slot);
  return bytes_of(top_->saved_o);
}

rust::Vec<uint8_t> TextBench::state() const { return bytes_of(top_->state_o); }

Seen TextBench::seen() const {
  Seen seen{};
  for (size_t i = 0; i < seen.classes.size(); ++i)
    seen.classes[i] = static_cast<uint8_t>(top_->classes_o[i / 4] >> (8 * (i % 4)));
  seen.utf8 = top_->utf8_o != 0;
  seen.busy = top_->busy_o != 0;
  seen.complete = top_->complete_o != 0;
  seen.bad = top_->bad_o != 0;
  seen.changed = top_->changed_o != 0;
  return seen;
}

std::unique_ptr<TextBench> new_text_bench() { return std::make_unique<TextBench>(); }

}  // namespace portcullis
