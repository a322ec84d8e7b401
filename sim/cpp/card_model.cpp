#include "card_model.h"

#include "Vcard.h"
#include "Vcard___024root.h"
#ifdef PORTCULLIS_LANES
#include "Vlanes.h"
#include "Vlanes___024root.h"
#endif

namespace portcullis {

std::unique_ptr<CardModel> new_card_model(uint32_t lanes, VerilatedContext* context) {
  if (lanes == 1) return std::make_unique<CardModelOf<Vcard>>(context);
#ifdef PORTCULLIS_LANES
  if (lanes == PORTCULLIS_LANES) return std::make_unique<CardModelOf<Vlanes>>(context);
#endif
  return nullptr;
}

}  // namespace portcullis
