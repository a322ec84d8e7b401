// The interface between the harness and the Verilated card: pins and clock, for any number of lanes.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "bus_port.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#endif

namespace portcullis {

// Inputs of the register port.
struct RegisterPins {
  uint32_t read_address = 0;
  uint32_t write_address = 0;
  uint32_t data = 0;
  bool ar_valid = false;
  bool aw_valid = false;
  bool w_valid = false;
};

// Outputs of the register port in this clock.
struct RegisterAnswers {
  bool ar_ready, aw_ready, w_ready;
  bool r_valid, b_valid;
  uint8_t r_response, b_response;
  uint32_t data;
};

class CardModel {
 public:
  virtual ~CardModel() = default;
  virtual void reset(bool on) = 0;
  // Whether the fence of a shell would be owed answers.
  virtual void stale(bool on) = 0;
  virtual void drive(const ToCard& memory) = 0;
  virtual void drive(const RegisterPins& pins) = 0;
  // Lets the next evaluation compute what depends on the inputs. Without this, it keeps the values of before, because
  // the build leaves out Verilator's own request. Due after a change of an input but the clock, or of a memory.
  virtual void settle_inputs() = 0;
  // Sets the clock low and settles the logic.
  virtual void low() = 0;
  virtual void high() = 0;
  virtual void sample(FromCard& card) const = 0;
  virtual RegisterAnswers registers() const = 0;
#if VM_TRACE
  virtual void trace(VerilatedFstC& file) = 0;
#endif
};

template <typename Verilated>
class CardModelOf final : public CardModel {
 public:
  explicit CardModelOf(VerilatedContext* context) : m_(context, "card") {
    m_.s_axil_awprot = m_.s_axil_arprot = 0;
    m_.s_axil_wstrb = 0xf;
    m_.s_axil_bready = m_.s_axil_rready = 1;
    drive(RegisterPins{});
  }
  ~CardModelOf() override { m_.final(); }

  void reset(bool on) override {
    m_.rst_i = on;
    settle_inputs();
  }

  void stale(bool on) override {
    m_.stale_i = on;
    settle_inputs();
  }

  void drive(const ToCard& memory) override {
    m_.m_axi_arready = memory.ar_ready;
    m_.m_axi_awready = memory.aw_ready;
    m_.m_axi_wready = memory.w_ready;
    m_.m_axi_rvalid = memory.r_valid;
    if (memory.r_valid) {
      m_.m_axi_rid = memory.r_id;
      m_.m_axi_rresp = memory.r_response;
      m_.m_axi_rlast = memory.r_last;
      std::memcpy(m_.m_axi_rdata.data(), memory.r_data.data(), kBeatBytes);
    }
    m_.m_axi_bvalid = memory.b_valid;
    m_.m_axi_bid = memory.b_id;
    m_.m_axi_bresp = memory.b_response;
    settle_inputs();
  }

  void drive(const RegisterPins& pins) override {
    m_.s_axil_araddr = pins.read_address;
    m_.s_axil_awaddr = pins.write_address;
    m_.s_axil_wdata = pins.data;
    m_.s_axil_arvalid = pins.ar_valid;
    m_.s_axil_awvalid = pins.aw_valid;
    m_.s_axil_wvalid = pins.w_valid;
    settle_inputs();
  }

  void settle_inputs() override { m_.rootp->__VicoFirstIteration = 1; }

  void low() override {
    m_.clk_i = 0;
    m_.eval();
  }
  void high() override {
    m_.clk_i = 1;
    m_.eval();
  }

  void sample(FromCard& card) const override {
    card.ar_valid = m_.m_axi_arvalid;
    card.aw_valid = m_.m_axi_awvalid;
    card.w_valid = m_.m_axi_wvalid;
    card.r_ready = m_.m_axi_rready;
    card.b_ready = m_.m_axi_bready;
    if (card.ar_valid) card.ar = {m_.m_axi_araddr, m_.m_axi_arid, m_.m_axi_arlen, m_.m_axi_arsize, m_.m_axi_arburst};
    if (card.aw_valid) card.aw = {m_.m_axi_awaddr, m_.m_axi_awid, m_.m_axi_awlen, m_.m_axi_awsize, m_.m_axi_awburst};
    if (card.w_valid) {
      std::memcpy(card.w.data.data(), m_.m_axi_wdata.data(), kBeatBytes);
      card.w.strobe = m_.m_axi_wstrb;
      card.w.last = m_.m_axi_wlast;
    }
  }

  RegisterAnswers registers() const override {
    return {m_.s_axil_arready != 0,
            m_.s_axil_awready != 0,
            m_.s_axil_wready != 0,
            m_.s_axil_rvalid != 0,
            m_.s_axil_bvalid != 0,
            static_cast<uint8_t>(m_.s_axil_rresp),
            static_cast<uint8_t>(m_.s_axil_bresp),
            m_.s_axil_rdata};
  }

#if VM_TRACE
  void trace(VerilatedFstC& file) override { m_.trace(&file, 99); }
#endif

 private:
  Verilated m_;
};

// A card with one lane, or with the larger number of this build; null for any other number.
std::unique_ptr<CardModel> new_card_model(uint32_t lanes, VerilatedContext* context);

}  // namespace portcullis
