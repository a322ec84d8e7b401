// What the Verilated runtime calls instead of printing, stopping or aborting.
//
// A failed assertion prints its text and asks the program to stop. Neither may happen behind the back of the caller: the
// text is kept, and the harness asks after every run whether there is any.
#pragma once

#include <string>

namespace portcullis {

// Takes what the model says while it is evaluated on this thread.
struct ModelSink {
  std::string text;      // what was printed, shortened after a few kilobytes
  bool stopped = false;  // an assertion failed, or $stop, $finish or a fatal error was reached
};

// Sets the sink of this thread; null drops what is printed (a stop is never dropped: without a sink it aborts).
void set_model_sink(ModelSink* sink);

int model_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace portcullis

#define VL_PRINTF ::portcullis::model_printf
