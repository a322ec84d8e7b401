//! Types and wire layouts: semantic state, descriptor, verdict, record, fixed point. No I/O, no `unsafe`.

pub mod wire;
