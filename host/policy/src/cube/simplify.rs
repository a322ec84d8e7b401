//! Reduces the number of rows for a set of descriptors. Every step keeps the set: it drops a cube that is inside
//! another cube, or joins two cubes that differ in one column if their union is a cube.

use super::{Cube, SetCondition};

/// The same set of descriptors in the same number of cubes or fewer, sorted. The order of the input does not matter.
pub(crate) fn simplify(mut cubes: Vec<Cube>) -> Vec<Cube> {
    loop {
        cubes.sort_unstable();
        cubes.dedup();
        absorb(&mut cubes);
        if !join_one_pair(&mut cubes) {
            return cubes;
        }
    }
}

fn absorb(cubes: &mut Vec<Cube>) {
    let mut kept: Vec<Cube> = Vec::with_capacity(cubes.len());
    for cube in cubes.drain(..) {
        if kept.iter().any(|other| cube.within(other)) {
            continue;
        }
        kept.retain(|other| !other.within(&cube));
        kept.push(cube);
    }
    *cubes = kept;
}

/// Makes one pass over the cubes and joins the pairs that it finds; returns whether it joined any.
fn join_one_pair(cubes: &mut Vec<Cube>) -> bool {
    let mut found = false;
    let mut at = 0;
    while at < cubes.len() {
        let (head, tail) = cubes.split_at(at + 1);
        let joined = head.last().and_then(|cube| {
            tail.iter().enumerate().find_map(|(offset, other)| Some((at + 1 + offset, join(cube, other)?)))
        });
        match joined {
            Some((other, cube)) => {
                cubes.remove(other);
                if let Some(slot) = cubes.get_mut(at) {
                    *slot = cube;
                }
                found = true;
            }
            None => at += 1,
        }
    }
    found
}

/// The union of two cubes; `None` if they differ in several columns, or if the union is not a cube.
fn join(a: &Cube, b: &Cube) -> Option<Cube> {
    let differ = a.enumerations.iter().zip(b.enumerations).filter(|(x, y)| *x != y).count()
        + a.ranges.iter().zip(b.ranges).filter(|(x, y)| *x != y).count()
        + a.sets.iter().zip(b.sets).filter(|(x, y)| *x != y).count()
        + usize::from((a.bits_mask, a.bits_value) != (b.bits_mask, b.bits_value));
    if differ != 1 {
        return None;
    }
    let mut cube = a.clone();
    for (mask, with) in cube.enumerations.iter_mut().zip(b.enumerations) {
        *mask |= with;
    }
    for (range, (low, high)) in cube.ranges.iter_mut().zip(b.ranges) {
        if range.1.saturating_add(1) < low || high.saturating_add(1) < range.0 {
            return None;
        }
        *range = (range.0.min(low), range.1.max(high));
    }
    for (set, with) in cube.sets.iter_mut().zip(b.sets) {
        if *set != with {
            *set = join_sets(*set, with)?;
        }
    }
    if a.bits_mask != b.bits_mask {
        return None;
    }
    let differing = a.bits_value ^ b.bits_value;
    match differing.count_ones() {
        0 => {}
        1 => {
            cube.bits_mask &= !differing;
            cube.bits_value &= !differing;
        }
        _ => return None,
    }
    Some(cube)
}

fn join_sets(a: SetCondition, b: SetCondition) -> Option<SetCondition> {
    let (only_a, only_b) = (a.all & !b.all, b.all & !a.all);
    if a.none == b.none {
        // A single required member and an `any` are both choices; two choices can be joined into one `any`.
        let choice = |only: u128, any: u128| match (only.count_ones(), any) {
            (1, 0) => Some(only),
            (0, any) if any != 0 => Some(any),
            _ => None,
        };
        let any = choice(only_a, a.any)? | choice(only_b, b.any)?;
        return SetCondition { all: a.all & b.all, any, none: a.none }.normalised();
    }
    // If one cube requires a member and the other forbids it, their union has no condition on that member.
    let differing = a.none ^ b.none;
    let decided = differing.count_ones() == 1 && only_a | only_b == differing && only_a & only_b == 0;
    let opposite = a.none & differing == only_b && b.none & differing == only_a;
    if decided && opposite && a.any == b.any {
        return Some(SetCondition { all: a.all & b.all, any: a.any, none: a.none & b.none });
    }
    None
}
