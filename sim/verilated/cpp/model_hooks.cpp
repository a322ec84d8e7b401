#include "model_hooks.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "verilated.h"
#include "verilated_sym_props.h"

namespace portcullis {
namespace {

constexpr size_t kMostText = 4096;
thread_local ModelSink* sink = nullptr;

void stop(const char* what, const char* file, int line, const char* text) {
  if (sink == nullptr) {
    std::fprintf(stderr, "%s:%d: %s: %s outside of a run\n", file, line, text, what);
    std::abort();
  }
  sink->stopped = true;
  model_printf("%s:%d: %s%s%s\n", file, line, what, *text ? ": " : "", text);
}

}  // namespace

void set_model_sink(ModelSink* next) { sink = next; }

int model_printf(const char* format, ...) {
  char buffer[1024];
  va_list args;
  va_start(args, format);
  const int length = std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  if (sink != nullptr && sink->text.size() < kMostText) sink->text += buffer;
  return length;
}

bool invert_bit(const VerilatedContext& context, const std::string& scope, const char* memory, uint32_t word,
                uint32_t bit) {
  const VerilatedScope* const found = context.scopeFind(scope.c_str());
  VerilatedVar* const words = found == nullptr ? nullptr : found->varFind(memory);
  if (words == nullptr) return false;
  // The unpacked dimension is the words.
  const size_t bytes = words->totalSize() / words->elements(1);
  if (word >= static_cast<uint32_t>(words->elements(1)) || bit / 8 >= bytes) return false;
  static_cast<uint8_t*>(words->datap())[word * bytes + bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
  return true;
}

}  // namespace portcullis

void vl_finish(const char* file, int line, const char*) { portcullis::stop("$finish", file, line, ""); }

void vl_stop(const char* file, int line, const char*) { portcullis::stop("$stop", file, line, ""); }

void vl_fatal(const char* file, int line, const char*, const char* message) {
  portcullis::stop("fatal", file, line, message);
}
