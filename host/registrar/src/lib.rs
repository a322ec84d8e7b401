//! The parties outside the operator's reach: who certifies cards, who issues session tickets, and the witness.
