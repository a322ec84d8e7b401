// The memory that the card reaches: regions of the host at device addresses.
//
// The host may touch the same bytes from other threads and processes, so every access is an atomic word: loads acquire and stores
// release, so that whoever sees a completion sees its record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace portcullis {

constexpr size_t kBeatBytes = 64;
constexpr size_t kBeatWords = kBeatBytes / sizeof(uint64_t);

// What the card may do with a region.
enum Rights : uint8_t { kNone = 0, kRead = 1, kWrite = 2 };

class HostMemory {
 public:
  void map(uint64_t address, uint8_t* memory, size_t size, uint8_t rights);
  bool unmap(uint64_t address);
  // While the card is no bus master, it reaches nothing.
  void set_master(bool on) { master_ = on; }

  // The words at a device address that is a multiple of 8, or null when the `size` bytes there are not all in one region that grants
  // `rights`.
  uint64_t* find(uint64_t address, size_t size, Rights rights) const;

 private:
  struct Region {
    uint8_t* memory;
    size_t size;
    uint8_t rights;
  };
  std::map<uint64_t, Region> regions_;  // by first address; they do not overlap
  bool master_ = true;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "beats are copied as little-endian words");

inline uint64_t load_word(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
inline void store_word(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

}  // namespace portcullis
