// The signals of the card's AXI4 master in one clock, in both directions.
#pragma once

#include <array>
#include <cstdint>

#include "host_memory.h"

namespace portcullis {

struct Request {
  uint64_t address = 0;
  uint8_t id = 0;
  uint8_t length = 0;  // beats - 1
  uint8_t size = 0;
  uint8_t burst = 0;

  bool operator==(const Request& other) const {
    return address == other.address && id == other.id && length == other.length && size == other.size &&
           burst == other.burst;
  }
  unsigned beats() const { return unsigned{length} + 1; }
};

using Beat = std::array<uint64_t, kBeatWords>;

struct WriteData {
  Beat data{};
  uint64_t strobe = 0;
  bool last = false;

  bool operator==(const WriteData& other) const {
    return data == other.data && strobe == other.strobe && last == other.last;
  }
};

// Signals from the card. A payload is valid only while its VALID is high.
struct FromCard {
  bool ar_valid = false, aw_valid = false, w_valid = false, r_ready = false, b_ready = false;
  Request ar, aw;
  WriteData w;
};

// Signals from the memory.
struct ToCard {
  bool ar_ready = false, aw_ready = false, w_ready = false;
  bool r_valid = false, r_last = false;
  uint8_t r_id = 0, r_response = 0;
  Beat r_data{};
  bool b_valid = false;
  uint8_t b_id = 0, b_response = 0;
};

}  // namespace portcullis
