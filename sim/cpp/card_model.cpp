#include "card_model.h"

#include "Vcard.h"
#include "Vlanes.h"

namespace portcullis {

std::unique_ptr<CardModel> new_card_model(uint32_t lanes, VerilatedContext* context) {
  if (lanes == 1) return std::make_unique<CardModelOf<Vcard>>(context);
  if (lanes == PORTCULLIS_LANES) return std::make_unique<CardModelOf<Vlanes>>(context);
  return nullptr;
}

}  // namespace portcullis
