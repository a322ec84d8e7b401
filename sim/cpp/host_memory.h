// The memory that the card reaches: regions of the host at device addresses.
//
// The host may touch the same bytes from other threads, so every access is a relaxed atomic word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portcullis {

constexpr size_t kBeatBytes = 64;
constexpr size_t kBeatWords = kBeatBytes / sizeof(uint64_t);

class HostMemory {
 public:
  void map(uint64_t address, uint8_t* memory, size_t size);
  bool unmap(uint64_t address);

  // The words at a device address that is a multiple of 8, or null when the `size` bytes there are not all mapped.
  uint64_t* find(uint64_t address, size_t size) const;

 private:
  struct Region {
    uint64_t address;
    uint8_t* memory;
    size_t size;
  };
  std::vector<Region> regions_;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "beats are copied as little-endian words");

inline uint64_t load_word(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
inline void store_word(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

}  // namespace portcullis
