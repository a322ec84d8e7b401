// Faults of the bus that a test can arm. src/inject.rs numbers them alike.
#pragma once

#include <cstdint>

namespace portcullis {

enum class Inject : uint8_t {
  kReadError = 0,   // its bit 0: SLVERR, 1: DECERR
  kReadLost = 1,
  kReadShort = 2,
  kReadLong = 3,
  kReadCorrupt = 4,
  kReadSpurious = 5,
  kWriteError = 6,  // likewise
  kWriteLost = 7,
  kWriteSpurious = 8,
  kReadRequestsHang = 9,
  kWriteRequestsHang = 10,
  kUnhang = 11,
  kReadLate = 12,   // its bit: clocks
};

}  // namespace portcullis
