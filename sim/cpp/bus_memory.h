// Host memory behind the card's AXI4 master, with latencies, stalls, out-of-order reads, and faults on demand.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bus_port.h"
#include "host_memory.h"
#include "inject.h"
#include "stall.h"

namespace portcullis {

class BusRules;

struct BusCounters {
  uint64_t read_bursts = 0, read_beats = 0, write_bursts = 0, write_beats = 0;
  uint64_t busy_clocks = 0, out_of_range = 0;
};

class BusMemory {
 public:
  void set(uint32_t read_latency, uint32_t write_latency, uint8_t pattern, uint64_t seed);
  void inject(Inject kind, uint32_t nth, uint32_t bit);

  // Determines the outputs for clock `now`.
  void drive(uint64_t now);
  const ToCard& out() const { return out_; }
  // True when the outputs may differ from those of the previous clock.
  bool changed() const { return changed_; }
  // True when nothing is in flight.
  bool quiet() const { return reads_.empty() && requests_.empty() && data_.empty() && responses_.empty() && !out_.r_valid && !out_.b_valid; }

  // Processes the handshakes of clock `now`.
  void take(uint64_t now, const FromCard& card, BusRules& rules);
  // Drops a write whose data will not be completed.
  void abandon_write();
  // Resets both sides: drops all requests, as a link does that goes down. Memory and armed faults stay.
  void reset();

  HostMemory& memory() { return memory_; }
  const HostMemory& memory() const { return memory_; }
  const BusCounters& counters() const { return counters_; }

 private:
  struct Read {
    Request request;
    uint64_t ready_at;
    unsigned next = 0;   // next beat to send
    unsigned beats;      // number of beats to send
    uint32_t flip;       // bit to invert, or kNoFlip
    uint8_t error = 0;  // response in place of OKAY
    bool spurious = false;
    bool late = false;  // other reads may be answered first
  };
  struct Response {
    uint64_t ready_at;
    uint8_t id, code;
  };
  struct Armed {
    Inject kind;
    uint32_t nth, bit;
  };
  struct Write {
    Request request;
    unsigned next = 0;  // next beat to store
    uint8_t error = 0;
    bool lost = false;
  };

  void accept_read(uint64_t now, const Request& request, BusRules& rules);
  void accept_write(const Request& request);
  void store_data(uint64_t now);
  void show_beat(Read& read);
  // True when no earlier read with the same id waits: responses of one id must be in order.
  bool first_of_its_id(size_t at) const;

  HostMemory memory_;
  Stall stall_;
  uint32_t read_latency_ = 0, write_latency_ = 0;
  bool reads_hang_ = false, writes_hang_ = false, changed_ = true;
  std::vector<Armed> armed_reads_, armed_writes_;

  std::deque<Read> reads_;
  size_t showing_ = 0;  // index of the read whose beat is driven
  std::deque<Write> requests_;
  std::deque<WriteData> data_;
  std::deque<Response> responses_;
  ToCard out_;
  BusCounters counters_;
};

}  // namespace portcullis
