// The memory that the card can reach: regions of host memory at device addresses.
//
// Other threads and processes of the host can use the same bytes, so every access is an atomic word. Loads acquire and
// stores release, so that a thread that reads a completion also reads its record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace portcullis {

constexpr size_t kBeatBytes = 64;
constexpr size_t kBeatWords = kBeatBytes / sizeof(uint64_t);

// Access rights of the card to a region.
enum Rights : uint8_t { kNone = 0, kRead = 1, kWrite = 2 };

class HostMemory {
 public:
  void map(uint64_t address, uint8_t* memory, size_t size, uint8_t rights);
  bool unmap(uint64_t address);
  // While bus mastering is off, the card reaches no memory.
  void set_master(bool on) { master_ = on; }

  // The words at a device address, which must be a multiple of 8. Null unless all `size` bytes are in one region that
  // grants `rights`.
  uint64_t* find(uint64_t address, size_t size, Rights rights) const;

 private:
  struct Region {
    uint8_t* memory;
    size_t size;
    uint8_t rights;
  };
  std::map<uint64_t, Region> regions_;  // by first address; regions do not overlap
  bool master_ = true;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "beats are copied as little-endian words");

inline uint64_t load_word(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
inline void store_word(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

}  // namespace portcullis
