//! Assigns the common numbers of domains and classes, and checks that the members fit.

use super::manifest::CompositionManifest;
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::{ENUMERATION_VALUES, PolicyPackage};
use portcullis_core::class::ClassId;
use portcullis_core::manifest::{ClassDeclaration, CompositionMembership};
use portcullis_core::wire::CLASSES;

/// Each member's numbers. Members get numbers in order, so a member's numbers do not depend on later members.
pub(super) fn memberships(
    manifest: &CompositionManifest,
    members: &[(&str, &PolicyPackage)],
) -> Result<Vec<CompositionMembership>, PolicyPackageError> {
    same_depth(members)?;
    let declared = |package: &PolicyPackage| package.manifest().enumerations.domain.len();
    let domains = members.iter().map(|(name, package)| (*name, declared(package)));
    let help = "leave it out and compose it into an image for another card, or declare fewer domains";
    fits("values of the enumeration `domain`", ENUMERATION_VALUES, domains, help)?;
    let mut classes = Classes::default();
    let numbers: Vec<Vec<usize>> = members.iter().map(|(_, package)| classes.numbers(package)).collect();
    let mut counted = 0;
    let added = members.iter().zip(&numbers).map(|((name, _), own)| {
        let last = own.iter().map(|number| number + 1).max().unwrap_or_default().max(counted);
        let added = last - counted;
        counted = last;
        (*name, added)
    });
    let help =
        "leave it out and compose it into an image for another card; classes that are declared alike share a number";
    fits("classes", CLASSES, added, help)?;

    let mut first = 0;
    let each = manifest.members.iter().zip(members).zip(numbers).map(|((entry, (_, package)), numbers)| {
        let id = |number: usize| u8::try_from(number).ok().and_then(|number| ClassId::try_from(number).ok());
        let fault = || {
            PolicyProblem::new(PolicyProblemKind::Capacity, "compiler fault, please report it: a number over the last")
        };
        let membership = CompositionMembership {
            reference: format!("{} {}/{}", manifest.composition.name, manifest.composition.version, entry.name),
            first_domain: u8::try_from(first).map_err(|_| fault())?,
            classes: numbers.into_iter().map(|number| id(number).ok_or_else(fault)).collect::<Result<_, _>>()?,
            profiles: entry.digests(),
        };
        first += declared(package);
        Ok(membership)
    });
    each.collect()
}

/// Checks that all members have the same depth limit; the image's header has a single one.
fn same_depth(members: &[(&str, &PolicyPackage)]) -> Result<(), PolicyPackageError> {
    let mut depths = members.iter().map(|(name, package)| (name, package.manifest().limits.max_depth));
    let Some((first, depth)) = depths.next() else { return Ok(()) };
    match depths.find(|(_, other)| *other != depth) {
        None => Ok(()),
        Some((name, other)) => {
            let what = format!(
                "member `{name}` does not fit: its limits.max_depth is {other}, that of `{first}` is {depth}, \
                 and an image has one"
            );
            let help = format!(
                "set limits.max_depth = {depth} in the policy.toml of `{name}`, \
                 or compose it into an image for another card"
            );
            Err(PolicyProblem::new(PolicyProblemKind::Capacity, what).help(help).into())
        }
    }
}

/// Checks that the sum of the members' needs fits into `room`. Otherwise the problem names the first member that does
/// not fit.
pub(super) fn fits<'n>(
    what: &str,
    room: usize,
    needs: impl Iterator<Item = (&'n str, usize)>,
    help: &str,
) -> Result<(), PolicyPackageError> {
    let mut used = Vec::new();
    let mut before = 0;
    for (name, need) in needs {
        let with = before + need;
        if with > room {
            let others = if used.is_empty() { String::new() } else { format!(" ({})", used.join(", ")) };
            let message = format!(
                "member `{name}` does not fit: {what}: {before} of {room} are used before it{others}, {with} with it"
            );
            return Err(PolicyProblem::new(PolicyProblemKind::Capacity, message).help(help).into());
        }
        used.push(format!("`{name}` {need}"));
        before = with;
    }
    Ok(())
}

/// The classes that have a number so far, each with the package that declares it.
#[derive(Default)]
struct Classes<'p> {
    numbered: Vec<(&'p PolicyPackage, &'p ClassDeclaration)>,
}

impl<'p> Classes<'p> {
    fn numbers(&mut self, package: &'p PolicyPackage) -> Vec<usize> {
        let mut own: Vec<usize> = Vec::new();
        for class in &package.manifest().classes {
            let alike =
                |(other, known): &(&PolicyPackage, &ClassDeclaration)| is_alike((other, known), (package, class));
            let known = self.numbered.iter().position(alike);
            own.push(known.unwrap_or_else(|| {
                self.numbered.push((package, class));
                self.numbered.len() - 1
            }));
        }
        own
    }
}

/// Whether two classes can share a number: their names, recognition, phrases and languages are equal.
fn is_alike(a: (&PolicyPackage, &ClassDeclaration), b: (&PolicyPackage, &ClassDeclaration)) -> bool {
    // Names are compared first, because this is cheap and most pairs have different names.
    let plain = |class: &ClassDeclaration| ClassDeclaration { description: String::new(), ..class.clone() };
    let language = |package: &PolicyPackage| package.manifest().package.language.clone();
    a.1.name == b.1.name
        && plain(a.1) == plain(b.1)
        && language(a.0) == language(b.0)
        && a.1.vocabulary.iter().all(|path| a.0.files().get(path) == b.0.files().get(path))
}
