// Checks the card's side of the bus, independently of the assertions in the RTL, and counts what breaks the rules.
#pragma once

#include <cstdint>
#include <string>

#include "bus_port.h"

namespace portcullis {

class BusRules {
 public:
  // A VALID that was refused for `watchdog` clocks may be taken back.
  explicit BusRules(uint64_t watchdog) : watchdog_(watchdog) {}

  // Looks at one clock: what both sides drive in it.
  void clock(uint64_t now, const FromCard& card, const ToCard& memory);
  // Both sides were reset: nothing is in flight, and nothing is held.
  void reset();
  // The read with this id will never be answered; it no longer counts as in flight.
  void forget_read(uint8_t id) { in_flight_ &= ~(uint32_t{1} << (id & 31)); }
  // True in the clock in which the card took back a write that had begun.
  bool write_abandoned() const { return write_abandoned_; }

  uint64_t violations() const { return violations_; }
  unsigned reads_in_flight() const { return static_cast<unsigned>(__builtin_popcount(in_flight_)); }
  const std::string& text() const { return text_; }

 private:
  // A channel that the card drives: the payload that it showed while it was refused.
  template <typename Payload>
  struct Held {
    bool waiting = false;
    uint64_t since = 0;
    bool given_up = false;  // In the clock before, after its time.
    Payload payload{};
  };

  void violation(const char* what);
  template <typename Payload>
  bool hold(Held<Payload>& held, bool valid, bool ready, const Payload& payload, const char* dropped,
            const char* changed);
  void request(const Request& request, bool read);

  const uint64_t watchdog_;
  uint64_t now_ = 0;
  uint64_t violations_ = 0;
  std::string text_;

  Held<Request> ar_, aw_;
  Held<WriteData> w_;
  uint32_t in_flight_ = 0;
  // Data beats of requests shown and not yet accepted; and since when none of them has been offered.
  unsigned beats_left_ = 0;
  uint64_t data_late_ = 0;
  uint64_t r_refused_ = 0, b_refused_ = 0;
  bool write_abandoned_ = false;
};

}  // namespace portcullis
