#include "host_memory.h"

namespace portcullis {

void HostMemory::map(uint64_t address, uint8_t* memory, size_t size, uint8_t rights) {
  regions_[address] = {memory, size, rights};
}

bool HostMemory::unmap(uint64_t address) { return regions_.erase(address) != 0; }

uint64_t* HostMemory::find(uint64_t address, size_t size, Rights rights) const {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  const auto& [first, region] = *--after;
  const uint64_t offset = address - first;
  if (offset >= region.size || size > region.size - offset) return nullptr;
  if (rights != kNone && (!master_ || (region.rights & rights) == 0)) return nullptr;
  return reinterpret_cast<uint64_t*>(region.memory + offset);
}

}  // namespace portcullis
