// Faults of the bus that a test can arm. src/inject.rs uses the same numbers.
#pragma once

#include <cstdint>

namespace portcullis {

enum class Inject : uint8_t {
  kReadError = 0,   // `bit` 0: SLVERR, 1: DECERR
  kReadLost = 1,
  kReadShort = 2,
  kReadLong = 3,
  kReadCorrupt = 4,
  kReadSpurious = 5,
  kWriteError = 6,  // `bit` as for kReadError
  kWriteLost = 7,
  kWriteSpurious = 8,
  kReadRequestsHang = 9,
  kWriteRequestsHang = 10,
  kUnhang = 11,
  kReadLate = 12,   // `bit`: delay in clocks
};

}  // namespace portcullis
