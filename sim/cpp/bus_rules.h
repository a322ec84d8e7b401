// Checks the card's side of the bus, independently of the assertions in the RTL, and counts violations.
#pragma once

#include <cstdint>
#include <string>

#include "bus_port.h"

namespace portcullis {

class BusRules {
 public:
  // The card may withdraw a VALID after it was refused for `watchdog` clocks.
  explicit BusRules(uint64_t watchdog) : watchdog_(watchdog) {}

  // Checks the signals of both sides in one clock.
  void clock(uint64_t now, const FromCard& card, const ToCard& memory);
  // Resets the checker, when both sides are reset: nothing is in flight.
  void reset();
  // The read with this id will never be answered, so it no longer counts as in flight.
  void forget_read(uint8_t id) { in_flight_ &= ~(uint32_t{1} << (id & 31)); }
  // True in the clock in which the card withdrew a write that had begun.
  bool write_abandoned() const { return write_abandoned_; }

  uint64_t violations() const { return violations_; }
  unsigned reads_in_flight() const { return static_cast<unsigned>(__builtin_popcount(in_flight_)); }
  const std::string& text() const { return text_; }

 private:
  // A channel that the card drives, with the payload that was refused.
  template <typename Payload>
  struct Held {
    bool waiting = false;
    uint64_t since = 0;
    bool given_up = false;  // withdrawn in the previous clock, after the watchdog
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
  // Data beats that announced write requests still need, and the clock since which no beat has been offered.
  unsigned beats_left_ = 0;
  uint64_t data_late_ = 0;
  uint64_t r_refused_ = 0, b_refused_ = 0;
  bool write_abandoned_ = false;
};

}  // namespace portcullis
