// Determines when a channel of the bus may transfer.
#pragma once

#include <cstdint>

namespace portcullis {

enum class Channel : uint8_t { kReadRequest, kReadData, kWriteRequest, kWriteData, kWriteResponse };

// Decides once per clock, independently for each channel.
class Stall {
 public:
  // Stalls: 0 never, 1 in three of four clocks, 2 at random in half of the clocks.
  void set(uint8_t pattern, uint64_t seed) {
    pattern_ = pattern;
    // SplitMix64, so that neighbouring seeds give different runs. The generator's state must not be 0.
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = (z ^ (z >> 31)) | 1;
    open_ = 0xff;
  }

  void next_clock(uint64_t clock) {
    if (pattern_ == 0) return;
    if (pattern_ == 1) {
      open_ = (clock & 3) == 0 ? 0xff : 0;
    } else {
      open_ = static_cast<uint8_t>(random());
    }
  }

  bool moves(Channel channel) const { return (open_ >> static_cast<unsigned>(channel)) & 1; }
  bool random_order() const { return pattern_ == 2; }

  // xorshift64*
  uint64_t random() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1du) >> 32;
  }

 private:
  uint8_t pattern_ = 0;
  uint8_t open_ = 0xff;
  uint64_t state_ = 1;
};

}  // namespace portcullis
