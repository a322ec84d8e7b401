// Functions that the Verilated runtime calls instead of printing, stopping or aborting.
//
// By default a failed assertion prints its text and stops the program. Here the text is stored instead, and the harness
// checks for it after every run.
#pragma once

#include <cstdint>
#include <string>

class VerilatedContext;

namespace portcullis {

// Receives the model's messages while it is evaluated on this thread.
struct ModelSink {
  std::string text;      // printed text, limited to a few kilobytes
  bool stopped = false;  // an assertion failed, or $stop, $finish or a fatal error was reached
};

// Sets the sink of this thread. With null, printed text is dropped; a stop without a sink aborts the program.
void set_model_sink(ModelSink* sink);

int model_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Inverts one bit of a memory that hooks.vlt makes public, as radiation would. False if that bit does not exist.
bool invert_bit(const VerilatedContext& context, const std::string& scope, const char* memory, uint32_t word,
                uint32_t bit);

}  // namespace portcullis

#define VL_PRINTF ::portcullis::model_printf
