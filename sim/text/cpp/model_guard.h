// What every bench of this crate needs around a Verilated model.
#pragma once

#include <cstdint>

#include "model_hooks.h"
#include "rust/cxx.h"
#include "verilated.h"

namespace portcullis {

// Makes this thread the model's for the time of a call, whichever thread it is.
class ModelGuard {
 public:
  ModelGuard(VerilatedContext* context, ModelSink* sink) : before_(Verilated::threadContextp()) {
    Verilated::threadContextp(context);
    set_model_sink(sink);
  }
  ~ModelGuard() {
    set_model_sink(nullptr);
    Verilated::threadContextp(before_);
  }
  ModelGuard(const ModelGuard&) = delete;
  ModelGuard& operator=(const ModelGuard&) = delete;

 private:
  VerilatedContext* before_;
};

// The bytes of a vector, the least significant one first.
template <std::size_t Words>
rust::Vec<uint8_t> bytes_of(const VlWide<Words>& port) {
  rust::Vec<uint8_t> bytes;
  for (size_t i = 0; i < Words * 4; ++i) bytes.push_back(static_cast<uint8_t>(port[i / 4] >> (8 * (i % 4))));
  return bytes;
}

}  // namespace portcullis
