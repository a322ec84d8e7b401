#include "host_memory.h"

#include <algorithm>

namespace portcullis {

void HostMemory::map(uint64_t address, uint8_t* memory, size_t size) { regions_.push_back({address, memory, size}); }

bool HostMemory::unmap(uint64_t address) {
  const auto at =
      std::find_if(regions_.begin(), regions_.end(), [=](const Region& region) { return region.address == address; });
  if (at == regions_.end()) return false;
  regions_.erase(at);
  return true;
}

uint64_t* HostMemory::find(uint64_t address, size_t size) const {
  for (const Region& region : regions_) {
    const uint64_t offset = address - region.address;
    if (offset < region.size && size <= region.size - offset) {
      return reinterpret_cast<uint64_t*>(region.memory + offset);
    }
  }
  return nullptr;
}

}  // namespace portcullis
