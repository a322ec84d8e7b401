#include "portcullis-signer-bench/cpp/signer_bench.h"

#include <algorithm>
#include <random>

#include "Vsigner1.h"
#include "Vsigner16.h"
#include "Vsigner2.h"
#include "Vsigner4.h"
#include "portcullis-signer-bench/src/ffi.rs.h"
#include "verilated.h"

namespace portcullis {
namespace {

constexpr uint64_t kBound = 100'000'000;  // clocks: ten times the longest signature
constexpr size_t kBlockBytes = 64;
constexpr size_t kWordBytes = 16;

// Copies bytes into a vector, the first byte at the top.
template <std::size_t Words>
void put(VlWide<Words>& port, rust::Slice<const uint8_t> bytes) {
  std::fill_n(port.data(), Words, 0);
  for (size_t i = 0; i < bytes.size() && i < Words * 4; ++i) {
    port[i / 4] |= static_cast<EData>(bytes[bytes.size() - 1 - i]) << (8 * (i % 4));
  }
}

template <std::size_t Words>
void get(const VlWide<Words>& port, uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[size - 1 - i] = static_cast<uint8_t>(port[i / 4] >> (8 * (i % 4)));
}

// Determines, for each clock, whether the receiver is ready and whether the core is held.
class Stalls {
 public:
  Stalls(Stall stall, uint64_t seed) : stall_(stall), random_(seed) {}

  bool ready(bool valid) {
    switch (stall_) {
      case Stall::kAlternating:
        return (++clocks_ & 1) == 0;
      case Stall::kRandom:
        return (random_() & 1) != 0;
      case Stall::kAfterValid: {
        const bool now = valid && waited_;
        waited_ = valid && !now;
        return now;
      }
      case Stall::kLong:
        if (pause_ > 0) {
          --pause_;
          return false;
        }
        if (valid && (random_() & 7) == 0) pause_ = random_() & 4095;
        return true;
      default:
        return true;
    }
  }

  bool hold() { return stall_ == Stall::kShared && (random_() & 1) != 0; }

 private:
  Stall stall_;
  std::mt19937_64 random_;
  uint64_t clocks_ = 0;
  uint64_t pause_ = 0;
  bool waited_ = false;
};

template <class Top>
class Bench final : public SignerBench {
 public:
  Bench() : top_(&context_, "signer") {
    const Entry entry(*this);
    context_.randReset(0);
    context_.fatalOnError(false);
    // A model's first evaluation detects no clock edge, so evaluate once before the reset clock.
    settle();
    reset();
  }
  ~Bench() override {
    const Entry entry(*this);
    top_.final();
  }

  void reset() override {
    const Entry entry(*this);
    top_.start_i = top_.hold_i = top_.derive_i = top_.keygen_i = top_.sign_i = 0;
    top_.word_ready_i = 0;
    top_.rst_i = 1;
    clock();
    top_.rst_i = 0;
    settle();
  }

  void run(uint64_t clocks) override {
    const Entry entry(*this);
    top_.word_ready_i = 1;
    for (uint64_t i = 0; i < clocks; ++i) clock();
    top_.word_ready_i = 0;
  }

  uint64_t hash(rust::Slice<uint8_t> state, rust::Slice<const uint8_t> blocks) override {
    const Entry entry(*this);
    put(top_.state_i, {state.data(), state.size()});
    size_t started = 0;
    for (uint64_t clocks = 1; clocks < kBound && !sink_.stopped; ++clocks) {
      // In the first clock `done` can belong to an earlier hash, and when a chained block starts, to the previous block.
      if (started * kBlockBytes == blocks.size() && top_.done_o && !top_.busy_o) {
        get(top_.digest_o, state.data(), state.size());
        top_.chain_i = 0;
        return clocks;
      }
      top_.start_i = started * kBlockBytes != blocks.size() && top_.core_ready_o;
      if (top_.start_i) {
        top_.chain_i = started != 0;
        put(top_.block_i, {blocks.data() + kBlockBytes * started++, kBlockBytes});
      }
      clock();
      top_.start_i = 0;
    }
    return 0;
  }

  uint64_t derive(rust::Slice<const uint8_t> secret, rust::Slice<const uint8_t> design_id,
                  uint8_t stall, uint64_t random_seed, rust::Slice<uint8_t> seeds) override {
    const Entry entry(*this);
    put(top_.secret_i, secret);
    put(top_.design_id_i, design_id);
    give(top_.derive_i);
    Stalls stalls(static_cast<Stall>(stall), random_seed);
    const uint64_t clocks = wait([&] {
      top_.hold_i = stalls.hold();
      return top_.derive_valid_o != 0;
    });
    top_.hold_i = 0;
    get(top_.derived_o, seeds.data(), seeds.size());
    return clocks;
  }

  uint64_t keygen(rust::Slice<const uint8_t> seeds, rust::Slice<uint8_t> root) override {
    const Entry entry(*this);
    top_.use_derived_i = seeds.empty();
    put(top_.seeds_i, seeds);
    give(top_.keygen_i);
    const uint64_t clocks = wait([this] { return top_.ready_o && top_.root_valid_o; });
    get(top_.root_o, root.data(), root.size());
    return clocks;
  }

  uint64_t sign(rust::Slice<const uint8_t> message, uint8_t stall, uint64_t random_seed,
                rust::Slice<uint8_t> signature) override {
    const Entry entry(*this);
    put(top_.message_i, message);
    give(top_.sign_i);
    Stalls stalls(static_cast<Stall>(stall), random_seed);
    size_t taken = 0;
    bool more = false;
    const uint64_t clocks = wait([&] {
      top_.word_ready_i = stalls.ready(top_.word_valid_o);
      top_.hold_i = stalls.hold();
      if (top_.word_valid_o && top_.word_ready_i) {
        more |= taken + kWordBytes > signature.size();
        if (!more) get(top_.word_o, signature.data() + taken, kWordBytes);
        taken += kWordBytes;
      }
      return top_.ready_o != 0;
    });
    top_.word_ready_i = top_.hold_i = 0;
    return more || taken != signature.size() ? 0 : clocks;
  }

  void command(uint8_t command) override {
    const Entry entry(*this);
    give(command == 0 ? top_.derive_i : command == 1 ? top_.keygen_i : top_.sign_i);
  }

  Outputs outputs() const override {
    return Outputs{top_.busy_o != 0,  top_.derive_busy_o != 0, top_.derive_valid_o != 0,
                   top_.ready_o != 0, top_.root_valid_o != 0,  top_.word_valid_o != 0};
  }

 private:
  // Sets the model's context and message sink for this thread during a call.
  class Entry {
   public:
    explicit Entry(Bench& bench) : before_(Verilated::threadContextp()) {
      Verilated::threadContextp(&bench.context_);
      set_model_sink(&bench.sink_);
    }
    ~Entry() {
      set_model_sink(nullptr);
      Verilated::threadContextp(before_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    VerilatedContext* before_;
  };

  void settle() {
    top_.clk_i = 0;
    top_.eval();
  }

  // Runs one clock with the current inputs, then settles the outputs. No output depends on an input in the same clock.
  void clock() {
    top_.clk_i = 1;
    top_.eval();
    settle();
  }

  void give(CData& command) {
    command = 1;
    clock();
    command = 0;
  }

  // Counts clocks since the command, those of the command and of the result included. `done` checks the settled
  // outputs of each clock and may set inputs.
  template <class Done>
  uint64_t wait(Done done) {
    for (uint64_t clocks = 2; clocks < kBound && !sink_.stopped; ++clocks) {
      if (done()) return clocks;
      clock();
    }
    return 0;
  }

  VerilatedContext context_;
  Top top_;
};

}  // namespace

std::unique_ptr<SignerBench> new_signer_bench(uint32_t rounds) {
  switch (rounds) {
    case 1:
      return std::make_unique<Bench<Vsigner1>>();
    case 2:
      return std::make_unique<Bench<Vsigner2>>();
    case 4:
      return std::make_unique<Bench<Vsigner4>>();
    case 16:
      return std::make_unique<Bench<Vsigner16>>();
    default:
      return nullptr;
  }
}

}  // namespace portcullis
