//! All tests of the card on all transports, in one program, so that the driver is compiled once per transport.
#![cfg(test)]

mod card_attest;
mod card_chaos;
mod card_differential;
mod card_entries;
mod card_faults;
mod card_grid;
mod card_heartbeat;
mod card_hostile;
mod card_lanes;
mod card_lifecycle;
mod card_lock;
mod card_oracle;
mod card_patrol;
mod card_rate;
mod card_stalled;
mod card_support;
mod card_text;
mod card_transport;
mod card_upsets;
mod card_vfio_user;
