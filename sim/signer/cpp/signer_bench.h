// The clock loop for a Verilated `signer_tb` with any parameters.
//
// Byte strings have their first byte first here; the RTL's vectors have it at the top.
#pragma once

#include <cstdint>
#include <memory>

#include "model_hooks.h"
#include "rust/cxx.h"

namespace portcullis {

struct Outputs;

// When the receiver of the signature is ready, and the core is free.
enum class Stall : uint8_t {
  kNone = 0,
  kAlternating = 1,  // in every second clock
  kRandom = 2,       // in half of the clocks, at random
  kAfterValid = 3,   // only while a word is offered, but not in its first clock
  kLong = 4,         // for a few words, then not for up to 4,095 clocks
  kShared = 5,       // always ready; the hash core is held in half of the clocks
};

class SignerBench {
 public:
  virtual ~SignerBench() = default;

  virtual void reset() = 0;
  virtual void run(uint64_t clocks) = 0;
  virtual uint64_t hash(rust::Slice<uint8_t> state, rust::Slice<const uint8_t> blocks) = 0;
  virtual uint64_t derive(rust::Slice<const uint8_t> secret, rust::Slice<const uint8_t> design_id,
                          uint8_t stall, uint64_t random_seed, rust::Slice<uint8_t> seeds) = 0;
  virtual uint64_t keygen(rust::Slice<const uint8_t> seeds, rust::Slice<uint8_t> root) = 0;
  virtual uint64_t sign(rust::Slice<const uint8_t> message, uint8_t stall, uint64_t random_seed,
                        rust::Slice<uint8_t> signature) = 0;
  virtual void command(uint8_t command) = 0;
  virtual Outputs outputs() const = 0;

  rust::String failure() const { return rust::String::lossy(sink_.stopped ? sink_.text : std::string()); }

 protected:
  ModelSink sink_;
};

std::unique_ptr<SignerBench> new_signer_bench(uint32_t rounds);

}  // namespace portcullis
