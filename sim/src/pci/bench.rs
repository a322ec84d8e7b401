//! Registers in BAR4, if the card has it, with which a test in another process disturbs the card's bus.
//!
//! | address | read | write |
//! | --- | --- | --- |
//! | 0x0 | 1 if the card broke a bus rule or left its memory, else 0 | a disturbance: 0 an error for a read, 1 an error
//! for a write, 2 no more reads accepted, 3 no more writes accepted, 4 the end of 2 and 3 |
//! | 0x4 | 0 | runs this many clocks |

use portcullis_vfio_user::Errno;

use crate::{InjectedBusFault, SimulatedCard};

const DISTURB: u64 = 0;
const PASS: u64 = 4;
/// Largest number of clocks per write; the socket has to wait while they run.
const LONGEST: u32 = 1 << 20;

pub(super) fn read(sim: &SimulatedCard, offset: u64) -> u32 {
    let stats = sim.stats();
    let broken = sim.violations().is_some() || stats.violations != 0 || stats.out_of_range != 0;
    u32::from(offset == DISTURB && broken)
}

pub(super) fn write(sim: &mut SimulatedCard, offset: u64, value: u32) -> Result<(), Errno> {
    let inject = match (offset, value) {
        (DISTURB, 0) => InjectedBusFault::ReadError { nth: 0 },
        (DISTURB, 1) => InjectedBusFault::WriteError { nth: 0 },
        (DISTURB, 2) => InjectedBusFault::ReadRequestsHang,
        (DISTURB, 3) => InjectedBusFault::WriteRequestsHang,
        (DISTURB, 4) => InjectedBusFault::Unhang,
        (PASS, clocks) if clocks <= LONGEST => return sim.run(clocks.into()).map_err(|_| Errno::IO),
        _ => return Err(Errno::INVAL),
    };
    sim.inject(inject).map_err(|_| Errno::IO)
}
