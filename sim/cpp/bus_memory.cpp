#include "bus_memory.h"

#include <algorithm>

#include "bus_rules.h"

namespace portcullis {
namespace {

constexpr uint8_t kOkay = 0, kSlaveError = 2, kDecodeError = 3;
constexpr uint32_t kNoFlip = ~uint32_t{0};
constexpr uint32_t kBeatBits = kBeatBytes * 8;

}  // namespace

void BusMemory::set(uint32_t read_latency, uint32_t write_latency, uint8_t pattern, uint64_t seed) {
  read_latency_ = read_latency;
  write_latency_ = write_latency;
  stall_.set(pattern, seed);
  changed_ = true;
}

void BusMemory::inject(Inject kind, uint32_t nth, uint32_t bit) {
  switch (kind) {
    case Inject::kReadError:
    case Inject::kReadLost:
    case Inject::kReadShort:
    case Inject::kReadLong:
    case Inject::kReadCorrupt:
    case Inject::kReadLate:
      armed_reads_.push_back({kind, nth, bit});
      break;
    case Inject::kWriteError:
    case Inject::kWriteLost:
      armed_writes_.push_back({kind, nth, bit});
      break;
    case Inject::kReadSpurious: {
      Request request;
      request.id = static_cast<uint8_t>(nth);
      Read read{request, 0, 0, 1, kNoFlip};
      read.spurious = true;
      reads_.push_back(read);
      break;
    }
    case Inject::kWriteSpurious:
      responses_.push_front({0, static_cast<uint8_t>(nth), kOkay});
      break;
    case Inject::kReadRequestsHang:
      reads_hang_ = true;
      break;
    case Inject::kWriteRequestsHang:
      writes_hang_ = true;
      break;
    case Inject::kUnhang:
      reads_hang_ = writes_hang_ = false;
      break;
  }
  changed_ = true;
}

void BusMemory::drive(uint64_t now) {
  stall_.next_clock(now);
  const bool ar = stall_.moves(Channel::kReadRequest) && !reads_hang_;
  const bool aw = stall_.moves(Channel::kWriteRequest) && !writes_hang_;
  const bool w = stall_.moves(Channel::kWriteData) && !writes_hang_;
  changed_ = changed_ || ar != out_.ar_ready || aw != out_.aw_ready || w != out_.w_ready;
  out_.ar_ready = ar;
  out_.aw_ready = aw;
  out_.w_ready = w;

  if (!out_.r_valid && !reads_.empty() && stall_.moves(Channel::kReadData)) {
    // Answer in order of request, or pick any ready read; a spurious beat is sent as soon as it is armed.
    size_t chosen = reads_.size();
    const size_t offset = stall_.random_order() ? stall_.random() % reads_.size() : 0;
    for (size_t i = 0; i < reads_.size(); ++i) {
      const size_t at = (i + offset) % reads_.size();
      if (reads_[at].ready_at <= now && first_of_its_id(at)) {
        chosen = at;
        break;
      }
      if (!stall_.random_order() && !reads_[at].late && !reads_[at].spurious && !reads_.back().spurious) break;
    }
    if (chosen < reads_.size()) {
      showing_ = chosen;
      show_beat(reads_[chosen]);
    }
  }
  if (!out_.b_valid && !responses_.empty() && responses_.front().ready_at <= now &&
      stall_.moves(Channel::kWriteResponse)) {
    out_.b_valid = true;
    out_.b_id = responses_.front().id;
    out_.b_response = responses_.front().code;
    responses_.pop_front();
    changed_ = true;
  }
}

bool BusMemory::first_of_its_id(size_t at) const {
  const auto same = [&](const Read& read) { return read.request.id == reads_[at].request.id; };
  return std::none_of(reads_.begin(), reads_.begin() + static_cast<std::ptrdiff_t>(at), same);
}

void BusMemory::show_beat(Read& read) {
  out_.r_valid = true;
  out_.r_id = read.request.id;
  out_.r_last = read.next + 1 == read.beats;
  out_.r_response = kOkay;
  out_.r_data.fill(0);
  if (read.error != kOkay) {
    out_.r_response = read.error;
  } else if (!read.spurious) {
    // For a burst that is too long, the extra beat repeats the last one.
    const unsigned beat = std::min(read.next, unsigned{read.request.length});
    const uint64_t* words = memory_.find(read.request.address + beat * kBeatBytes, kBeatBytes, kRead);
    if (words == nullptr) {
      out_.r_response = kDecodeError;
    } else {
      for (size_t i = 0; i < kBeatWords; ++i) out_.r_data[i] = load_word(words + i);
    }
    if (read.flip != kNoFlip && read.flip / kBeatBits == beat) {
      out_.r_data[read.flip % kBeatBits / 64] ^= uint64_t{1} << (read.flip % 64);
    }
  }
  changed_ = true;
}

void BusMemory::accept_read(uint64_t now, const Request& request, BusRules& rules) {
  ++counters_.read_bursts;
  Read read{request, now + std::max(read_latency_, uint32_t{1}), 0, request.beats(), kNoFlip};
  if (memory_.find(request.address, request.beats() * kBeatBytes, kRead) == nullptr) {
    ++counters_.out_of_range;
    read.error = kDecodeError;
  }
  bool lost = false;
  for (size_t i = 0; i < armed_reads_.size();) {
    Armed& armed = armed_reads_[i];
    if (armed.nth != 0) {
      --armed.nth;
      ++i;
      continue;
    }
    switch (armed.kind) {
      case Inject::kReadError: read.error = armed.bit == 0 ? kSlaveError : kDecodeError; break;
      case Inject::kReadLost: lost = true; break;
      case Inject::kReadShort: read.beats -= 1; break;
      case Inject::kReadLong: read.beats += 1; break;
      case Inject::kReadLate:
        read.ready_at = now + armed.bit;
        read.late = true;
        break;
      default: read.flip = armed.bit; break;
    }
    armed_reads_.erase(armed_reads_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (lost || read.beats == 0) {
    rules.forget_read(request.id);
  } else {
    reads_.push_back(read);
  }
}

void BusMemory::accept_write(const Request& request) {
  ++counters_.write_bursts;
  Write write{request};
  if (memory_.find(request.address, request.beats() * kBeatBytes, kWrite) == nullptr) {
    ++counters_.out_of_range;
    write.error = kDecodeError;
  }
  for (size_t i = 0; i < armed_writes_.size();) {
    Armed& armed = armed_writes_[i];
    if (armed.nth != 0) {
      --armed.nth;
      ++i;
      continue;
    }
    if (armed.kind == Inject::kWriteError) {
      write.error = armed.bit == 0 ? kSlaveError : kDecodeError;
    } else {
      write.lost = true;
    }
    armed_writes_.erase(armed_writes_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  requests_.push_back(write);
}

// Stores accepted data beats of accepted write requests.
void BusMemory::store_data(uint64_t now) {
  while (!requests_.empty() && !data_.empty()) {
    Write& write = requests_.front();
    const WriteData& beat = data_.front();
    if (write.error == kOkay) {
      uint64_t* words = memory_.find(write.request.address + write.next * kBeatBytes, kBeatBytes, kWrite);
      if (words == nullptr) {
        write.error = kDecodeError;  // unmapped after it was accepted
      } else {
        for (size_t i = 0; i < kBeatWords; ++i) {
          const uint8_t bytes = static_cast<uint8_t>(beat.strobe >> (i * 8));
          if (bytes == 0xff) {
            store_word(words + i, beat.data[i]);
          } else {
            uint64_t word = load_word(words + i);
            for (unsigned b = 0; b < 8; ++b) {
              if (!((bytes >> b) & 1)) continue;
              const uint64_t mask = uint64_t{0xff} << (b * 8);
              word = (word & ~mask) | (beat.data[i] & mask);
            }
            store_word(words + i, word);
          }
        }
      }
    }
    data_.pop_front();
    if (++write.next == write.request.beats()) {
      if (!write.lost) responses_.push_back({now + std::max(write_latency_, uint32_t{1}), write.request.id, write.error});
      requests_.pop_front();
    }
  }
}

void BusMemory::take(uint64_t now, const FromCard& card, BusRules& rules) {
  changed_ = false;
  bool moved = false;
  if (card.ar_valid && out_.ar_ready) accept_read(now, card.ar, rules);
  if (out_.r_valid && card.r_ready) {
    moved = true;
    ++counters_.read_beats;
    Read& read = reads_[showing_];
    if (++read.next == read.beats) reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(showing_));
    out_.r_valid = false;
    changed_ = true;
  }
  if (card.aw_valid && out_.aw_ready) accept_write(card.aw);
  if (card.w_valid && out_.w_ready) {
    moved = true;
    ++counters_.write_beats;
    data_.push_back(card.w);
  }
  if (!data_.empty()) store_data(now);
  if (out_.b_valid && card.b_ready) {
    out_.b_valid = false;
    changed_ = true;
  }
  if (moved) ++counters_.busy_clocks;
}

void BusMemory::reset() {
  reads_.clear();
  requests_.clear();
  data_.clear();
  responses_.clear();
  out_ = ToCard{};
  changed_ = true;
}

void BusMemory::abandon_write() {
  requests_.clear();
  data_.clear();
}

}  // namespace portcullis
