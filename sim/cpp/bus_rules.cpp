#include "bus_rules.h"

namespace portcullis {
namespace {

// Clocks within which the card must perform its own handshakes.
constexpr uint64_t kDuty = 64;
constexpr unsigned kMostReadBeats = 8;
constexpr unsigned kMostReads = 32;
constexpr size_t kMostText = 4096;
constexpr uint64_t kPage = 4096;

}  // namespace

void BusRules::violation(const char* what) {
  ++violations_;
  if (text_.size() < kMostText) text_ += "clock " + std::to_string(now_) + ": " + what + "\n";
}

// Checks that a refused payload is stable. Returns true when a new payload appears in this clock.
template <typename Payload>
bool BusRules::hold(Held<Payload>& held, bool valid, bool ready, const Payload& payload, const char* dropped,
                    const char* changed) {
  const bool fresh = valid && !held.waiting;
  // The card evaluates the last beat of a burst one clock later, and its watchdog counts that clock. A request that
  // appears in that clock has one clock less until the watchdog.
  const bool early = held.waiting && !valid && now_ - held.since + 1 < watchdog_;
  if (early) violation(dropped);
  if (held.waiting && valid && !(payload == held.payload)) violation(changed);
  // After a request was abandoned, the request of another lane appears in the next clock. It has waited behind the
  // first one, so it may be abandoned equally soon. Any other request gets the full time.
  if (fresh && !held.given_up) held.since = now_;
  held.given_up = held.waiting && !valid && !early;
  held.waiting = valid && !ready;
  if (held.waiting) held.payload = payload;
  return fresh;
}

void BusRules::reset() {
  ar_ = aw_ = {};
  w_ = {};
  in_flight_ = 0;
  beats_left_ = 0;
  data_late_ = r_refused_ = b_refused_ = 0;
  write_abandoned_ = false;
}

void BusRules::request(const Request& request, bool read) {
  if (request.size != 6) violation(read ? "read size is not 64 bytes" : "write size is not 64 bytes");
  if (request.burst != 1) violation(read ? "read burst is not INCR" : "write burst is not INCR");
  if (request.address % kBeatBytes != 0) violation(read ? "read is not aligned" : "write is not aligned");
  if (request.address % kPage + request.beats() * kBeatBytes > kPage) {
    violation(read ? "read crosses 4 KiB" : "write crosses 4 KiB");
  }
}

void BusRules::clock(uint64_t now, const FromCard& card, const ToCard& memory) {
  now_ = now;
  write_abandoned_ = (aw_.waiting && !card.aw_valid) || (w_.waiting && !card.w_valid);

  // Reads.
  if (hold(ar_, card.ar_valid, memory.ar_ready, card.ar, "ARVALID fell before ARREADY", "read request changed")) {
    request(card.ar, true);
    if (card.ar.beats() > kMostReadBeats) violation("read burst over 512 bytes");
    const uint32_t bit = uint32_t{1} << (card.ar.id & 31);
    if (in_flight_ & bit) violation("read id used again while in flight");
    in_flight_ |= bit;
    if (reads_in_flight() > kMostReads) violation("too many reads in flight");
  } else if (!card.ar_valid && ar_.waiting) {
    in_flight_ &= ~(uint32_t{1} << (ar_.payload.id & 31));
  }
  if (memory.r_valid && card.r_ready && memory.r_last) forget_read(memory.r_id);
  r_refused_ = memory.r_valid && !card.r_ready ? r_refused_ + 1 : 0;
  if (r_refused_ == kDuty) violation("RREADY late");

  // Writes.
  if (write_abandoned_) beats_left_ = 0;
  if (hold(aw_, card.aw_valid, memory.aw_ready, card.aw, "AWVALID fell before AWREADY", "write request changed")) {
    request(card.aw, false);
    if (beats_left_ != 0) violation("write request before the data of the last one");
    beats_left_ += card.aw.beats();
    data_late_ = 0;
  }
  hold(w_, card.w_valid, memory.w_ready, card.w, "WVALID fell before WREADY", "write data changed");
  if (card.w_valid) {
    data_late_ = 0;
    if (beats_left_ == 0) {
      violation("write data before its request");
    } else {
      if (card.w.last != (beats_left_ == 1)) violation("WLAST does not fit the length of the burst");
      if (memory.w_ready) --beats_left_;
    }
    if (card.w.strobe != ~uint64_t{0}) violation("write strobes are not full");
  } else if (beats_left_ != 0 && ++data_late_ == kDuty) {
    violation("write data late");
  }
  b_refused_ = memory.b_valid && !card.b_ready ? b_refused_ + 1 : 0;
  if (b_refused_ == kDuty) violation("BREADY late");
}

}  // namespace portcullis
