//! A joint space of descriptors for two packages. Each package numbers its classes, values and slots in its own way, so
//! rows are compared by name. A descriptor of the joint space has a reading under each package: the descriptor in that
//! package's numbers. The reading leaves out classes that the package does not declare.

use crate::compile::CompiledPackage;
use crate::cube::{Cube, ENUMERATION_COLUMNS, SET_COLUMNS, Universe, presence_bit};
use crate::package::PolicyPackage;
use crate::vocabulary::{PolicyVocabulary, QUANTITIES, bit, bits_of, prefix_mask};
use portcullis_core::wire::{CLASSES, Descriptor, EnumerationColumn, FlagColumn, QUANTITY_SLOTS, SetColumn};
use zerocopy::little_endian::I32;

#[derive(Clone, Copy)]
pub(super) struct ComparedPackage<'a> {
    pub(super) package: &'a PolicyPackage,
    pub(super) compiled: &'a CompiledPackage,
}

/// The names that rows of either package test, and for each package its own numbers for these names.
pub(super) struct JointUniverse {
    pub(super) universe: Universe,
    readings: [JointNumbering; 2],
}

/// For each number of the joint space, the package's own number, by column; `None` if the package lacks the name.
struct JointNumbering {
    enumerations: [Vec<Option<usize>>; ENUMERATION_COLUMNS],
    sets: [Vec<Option<usize>>; SET_COLUMNS],
    quantities: Vec<Option<usize>>,
}

impl JointUniverse {
    /// The joint space of two packages. Errors: the declarations because of which no descriptor is valid under both.
    pub(super) fn new(a: ComparedPackage<'_>, b: ComparedPackage<'_>) -> Result<Self, Vec<String>> {
        let (first, second) = (a.package.vocabulary(), b.package.vocabulary());
        let shared = |column: EnumerationColumn| {
            let (first, second) = (first.enumeration(column), second.enumeration(column));
            first.iter().filter(|name| second.contains(name)).map(String::as_str).collect::<Vec<_>>()
        };
        let enumerations: [Vec<&str>; ENUMERATION_COLUMNS] = EnumerationColumn::ALL.map(shared);
        let mut obstacles = Vec::new();
        for column in declared_enumerations() {
            if enumerations.get(column.index()).is_some_and(Vec::is_empty) {
                let name = column.name();
                obstacles.push(format!("the two share no {name}: no descriptor can be put to both"));
            }
        }
        let sets: [Vec<&str>; SET_COLUMNS] = SetColumn::ALL.map(|column| {
            let mut names = tested_members(a, column);
            names.extend(tested_members(b, column));
            names.sort_unstable();
            names.dedup();
            names
        });
        let mut quantities = tested_quantities(a);
        quantities.extend(tested_quantities(b));
        quantities.sort_unstable();
        quantities.dedup();
        let room = [("fields", CLASSES), ("classes", CLASSES), ("established classes", CLASSES)];
        let counts = sets.iter().zip(room).map(|(names, (what, room))| (what, names, room));
        for (what, names, room) in counts.chain([("quantities", &quantities, QUANTITY_SLOTS)]) {
            if names.len() > room {
                let tested = names.len();
                obstacles.push(format!(
                    "the rules of the two test {tested} {what} together, and a descriptor has room for {room}: no \
                     descriptor can be put to both; compare versions that are nearer to each other"
                ));
            }
        }
        if !obstacles.is_empty() {
            return Err(obstacles);
        }
        let reading = |vocabulary: &PolicyVocabulary| JointNumbering {
            enumerations: EnumerationColumn::ALL.map(|column| {
                let names = enumerations.get(column.index()).map_or(&[][..], Vec::as_slice);
                numbers(names, vocabulary.enumeration(column))
            }),
            sets: SetColumn::ALL
                .map(|column| numbers(sets.get(column.index()).map_or(&[][..], Vec::as_slice), vocabulary.set(column))),
            quantities: numbers(&quantities, vocabulary.quantities()),
        };
        let universe = Universe::of(
            enumerations.each_ref().map(|names| prefix_mask(names.len()) as u32),
            sets.each_ref().map(|names| prefix_mask(names.len())),
            quantities.len(),
        );
        Ok(Self { readings: [reading(first), reading(second)], universe })
    }

    /// The cubes of a rule in the joint space. A cube that requires a value of one package only is left out, because no
    /// descriptor of the other package can have that value.
    pub(super) fn cubes(&self, side: usize, own: &[Cube]) -> Vec<Cube> {
        own.iter().filter_map(|cube| self.cube(side, cube)).collect()
    }

    fn cube(&self, side: usize, own: &Cube) -> Option<Cube> {
        let reading = self.readings.get(side)?;
        let mut joint = self.universe.all.clone();
        for ((mask, own), numbers) in joint.enumerations.iter_mut().zip(own.enumerations).zip(&reading.enumerations) {
            *mask = to_joint(own.into(), numbers) as u32;
            if *mask == 0 {
                return None;
            }
        }
        for ((set, own), numbers) in joint.sets.iter_mut().zip(own.sets).zip(&reading.sets) {
            set.all = to_joint(own.all, numbers);
            set.any = to_joint(own.any, numbers);
            set.none = to_joint(own.none, numbers);
        }
        let flags = prefix_mask(FlagColumn::ALL.len()) as u8;
        joint.bits_mask = own.bits_mask & flags;
        joint.bits_value = own.bits_value & flags;
        for (fixed, range) in own.ranges.iter().zip(&mut joint.ranges).take(QUANTITIES) {
            *range = *fixed;
        }
        for (slot, number) in reading.quantities.iter().enumerate() {
            let Some(number) = *number else { continue };
            if own.bits_mask >> presence_bit(number) & 1 == 1 {
                joint.bits_mask |= 1 << presence_bit(slot);
                joint.bits_value |= (own.bits_value >> presence_bit(number) & 1) << presence_bit(slot);
            }
            *joint.ranges.get_mut(QUANTITIES + slot)? = *own.ranges.get(QUANTITIES + number)?;
        }
        Some(joint)
    }

    /// The descriptor that a joint descriptor stands for under one package.
    pub(super) fn descriptor(&self, side: usize, joint: &Descriptor) -> Option<Descriptor> {
        let reading = self.readings.get(side)?;
        let mut own = Descriptor { quantity_present: 0, quantities: [I32::ZERO; QUANTITY_SLOTS], ..*joint };
        for column in declared_enumerations() {
            let numbers = reading.enumerations.get(column.index())?;
            let number = numbers.get(usize::from(column.value(joint))).copied().flatten()?;
            column.set_value(&mut own, u8::try_from(number).ok()?);
        }
        for (column, numbers) in SetColumn::ALL.into_iter().zip(&reading.sets) {
            let mask = column.value(joint);
            let held = numbers.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).filter_map(|(_, own)| *own);
            column.set_value(&mut own, held.fold(0, |mask, number| mask | bit(number)));
        }
        for ((slot, number), quantity) in reading.quantities.iter().enumerate().zip(joint.quantities) {
            let Some(number) = number.filter(|_| joint.quantity_present >> slot & 1 == 1) else { continue };
            own.quantity_present |= 1 << number;
            *own.quantities.get_mut(number)? = quantity;
        }
        Some(own.sealed())
    }
}

/// Translates a package's own mask into the joint space; the joint space has every member that a row tests.
fn to_joint(own: u128, numbers: &[Option<usize>]) -> u128 {
    let held = |number: &Option<usize>| number.is_some_and(|number| own & bit(number) != 0);
    numbers.iter().enumerate().filter(|(_, number)| held(number)).fold(0, |mask, (at, _)| mask | bit(at))
}

fn numbers(joint: &[&str], own: &[String]) -> Vec<Option<usize>> {
    joint.iter().map(|name| own.iter().position(|known| known == name)).collect()
}

fn tested_members(side: ComparedPackage<'_>, column: SetColumn) -> Vec<&str> {
    let cubes = side.compiled.cubes.iter().flatten();
    let sets = cubes.filter_map(|cube| cube.sets.get(column.index()));
    let tested = sets.fold(0, |mask, set| mask | set.all | set.any | set.none);
    bits_of(tested).filter_map(|at| side.package.vocabulary().set(column).get(at)).map(String::as_str).collect()
}

fn tested_quantities(side: ComparedPackage<'_>) -> Vec<&str> {
    let cubes = side.compiled.cubes.iter().flatten();
    let tested = cubes.fold(0, |mask, cube| mask | cube.bits_mask >> presence_bit(0));
    bits_of(tested.into()).filter_map(|at| side.package.vocabulary().quantities().get(at)).map(String::as_str).collect()
}

/// The enumerations whose values a package declares. The layout fixes the values of the others.
pub(super) fn declared_enumerations() -> impl Iterator<Item = EnumerationColumn> {
    EnumerationColumn::ALL.into_iter().filter(|column| !column.is_fixed())
}
