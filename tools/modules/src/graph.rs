//! The graph of files of a crate that use each other, and its cycles.

use crate::scan::{CrateSource, Import, Module, Segments};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A use of one file by another: the line, and the path in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileUse {
    pub(crate) line: usize,
    pub(crate) path: String,
}

/// The uses of a crate, by the using file and then by the used file; for each pair, only the first use.
pub(crate) type Uses = BTreeMap<usize, BTreeMap<usize, FileUse>>;

/// Largest number of imports that are followed for a name.
const DEPTH: usize = 12;

/// Every use of another file. A name counts as a use of the file that defines it, even if a module re-exports it.
pub(crate) fn uses(source: &CrateSource) -> Uses {
    let mut uses = Uses::new();
    for (at, module) in &source.modules {
        for (path, line) in &module.paths {
            add(&mut uses, module.file, target(source, at, path, DEPTH), *line, path);
        }
        let Some(file) = source.files.get(module.file) else { continue };
        for import in &module.imports {
            if import.name == "*" {
                for name in &file.mentioned {
                    let path = with_last(&import.path, name);
                    if named(source, at, &path) {
                        add(&mut uses, module.file, target(source, at, &path, DEPTH), import.line, &path);
                    }
                }
            } else if (!import.public || file.mentioned.contains(&import.name)) && !is_module(source, at, &import.path)
            {
                add(&mut uses, module.file, target(source, at, &import.path, DEPTH), import.line, &import.path);
            }
        }
    }
    uses
}

/// The circles of files. Without `strict`, a folder's module may use its own children, because its task is to combine
/// them: then only a way back from a child counts that leaves the folder.
pub(crate) fn circles(source: &CrateSource, strict: bool) -> Vec<(BTreeSet<usize>, Vec<usize>)> {
    let uses = uses(source);
    if strict {
        return knots(&uses);
    }
    let places: BTreeMap<usize, &Segments> =
        source.modules.iter().rev().map(|(at, module)| (module.file, at)).collect();
    let below = |parent: usize, child: usize| match (places.get(&parent), places.get(&child)) {
        (Some(parent), Some(child)) => !parent.is_empty() && child.starts_with(parent),
        _ => false,
    };
    let mut beside = uses.clone();
    for (from, used) in &mut beside {
        used.retain(|to, _| !below(*from, *to));
    }
    let mut found = knots(&beside);
    for (parent, child) in uses.iter().flat_map(|(from, used)| used.keys().map(move |to| (*from, *to))) {
        if below(parent, child)
            && let Some(way) = way_round(&uses, parent, child, |file| !below(parent, file))
        {
            found.push((way.iter().copied().collect(), way));
        }
    }
    found
}

/// The shortest way from `parent` by `child` back to `parent` whose last step is from a file outside the folder.
fn way_round(uses: &Uses, parent: usize, child: usize, is_outside: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([child]);
    while let Some(at) = open.pop_front() {
        for next in uses.get(&at).into_iter().flat_map(BTreeMap::keys).copied() {
            if next == parent && is_outside(at) {
                let mut way = vec![parent, at];
                while let Some(earlier) = way.last().and_then(|last| before.get(last)) {
                    way.push(*earlier);
                }
                way.push(parent);
                way.reverse();
                return Some(way);
            }
            if next != parent && next != child && !before.contains_key(&next) {
                before.insert(next, at);
                open.push_back(next);
            }
        }
    }
    None
}

fn add(uses: &mut Uses, from: usize, to: Option<usize>, line: usize, path: &[String]) {
    if let Some(to) = to.filter(|to| *to != from) {
        uses.entry(from).or_default().entry(to).or_insert_with(|| FileUse { line, path: path.join("::") });
    }
}

fn with_last(path: &[String], name: &str) -> Segments {
    path.iter().take(path.len().saturating_sub(1)).cloned().chain([name.to_owned()]).collect()
}

/// The module that the first segments of a path name, and the rest of the path; `None` for a path into another crate.
fn descend(source: &CrateSource, at: &Segments, path: &[String], depth: usize) -> Option<(Segments, Segments)> {
    let (first, mut rest) = path.split_first()?;
    let mut module = match first.as_str() {
        "crate" => Segments::new(),
        "self" => at.clone(),
        "super" => parent(at)?,
        name => {
            let child = child(at, name);
            if source.modules.contains_key(&child) {
                child
            } else {
                // The segment may be the name under which a module was imported.
                let import = source.modules.get(at)?.imports.iter().find(|import| import.name == name)?;
                let (module, left) = descend(source, at, &import.path, depth.checked_sub(1)?)?;
                if !left.is_empty() {
                    return None;
                }
                module
            }
        }
    };
    while let Some((next, behind)) = rest.split_first() {
        if next == "super" {
            module = parent(&module)?;
        } else if source.modules.contains_key(&child(&module, next)) {
            module = child(&module, next);
        } else {
            break;
        }
        rest = behind;
    }
    Some((module, rest.to_vec()))
}

fn parent(at: &Segments) -> Option<Segments> {
    at.split_last().map(|(_, parent)| parent.to_vec())
}

fn child(at: &Segments, name: &str) -> Segments {
    at.iter().cloned().chain([name.to_owned()]).collect()
}

/// Whether a path names a whole module. Such a path does not count; the paths through the module do.
fn is_module(source: &CrateSource, at: &Segments, path: &[String]) -> bool {
    descend(source, at, path, DEPTH).is_some_and(|(_, left)| left.is_empty())
}

/// Whether a module defines or exports the last name of this path.
fn named(source: &CrateSource, at: &Segments, path: &[String]) -> bool {
    let Some((module, left)) = descend(source, at, path, DEPTH) else { return false };
    let (Some(name), Some(module)) = (left.first(), source.modules.get(&module)) else { return false };
    module.definitions.contains(name) || module.imports.iter().any(|import| import.public && import.name == *name)
}

/// The file that defines the item of a path; `None` for an item of another crate.
fn target(source: &CrateSource, at: &Segments, path: &[String], depth: usize) -> Option<usize> {
    let (place, left) = descend(source, at, path, depth)?;
    let module = source.modules.get(&place)?;
    let Some(name) = left.first() else { return Some(module.file) };
    if module.definitions.contains(name) {
        return Some(module.file);
    }
    let depth = depth.checked_sub(1)?;
    if let Some(import) = module.imports.iter().find(|import| import.name == *name) {
        return target(source, &place, &continued(import, &left), depth);
    }
    let globs = module.imports.iter().filter(|import| import.name == "*");
    let mut through = globs.map(|import| with_last(&import.path, name)).filter(|path| named(source, &place, path));
    match through.next() {
        Some(path) => target(source, &place, &path, depth),
        // A macro generates the name, or it is a macro itself: `#[macro_export]` puts macros into the root.
        None => Some(exported_macro(source, module, name)),
    }
}

fn exported_macro(source: &CrateSource, module: &Module, name: &String) -> usize {
    let root = source.modules.get(&Segments::new()).is_some_and(|root| std::ptr::eq(root, module));
    let defining = source.modules.values().find(|other| root && other.definitions.contains(name));
    defining.unwrap_or(module).file
}

/// `left` with its first segment replaced by the path of the import.
fn continued(import: &Import, left: &[String]) -> Segments {
    import.path.iter().chain(left.iter().skip(1)).cloned().collect()
}

/// The sets of files in which every file uses every other, directly or indirectly; for each set, a shortest cycle. A
/// cycle's first file is also its last.
fn knots(uses: &Uses) -> Vec<(BTreeSet<usize>, Vec<usize>)> {
    let mut found: Vec<(BTreeSet<usize>, Vec<usize>)> = Vec::new();
    for start in uses.keys() {
        if found.iter().any(|(knot, _)| knot.contains(start)) {
            continue;
        }
        let reached = reachable(uses, *start);
        if !reached.contains(start) {
            continue;
        }
        let knot: BTreeSet<usize> =
            reached.into_iter().filter(|other| reachable(uses, *other).contains(start)).collect();
        let shortest = knot.iter().filter_map(|member| circle(uses, *member)).min_by_key(Vec::len);
        found.extend(shortest.map(|circle| (knot, circle)));
    }
    found
}

/// All files that a file uses directly or indirectly.
fn reachable(uses: &Uses, start: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        open.extend(uses.get(&at).into_iter().flat_map(BTreeMap::keys).filter(|next| seen.insert(**next)));
    }
    seen
}

/// The shortest path from a file back to itself.
fn circle(uses: &Uses, start: usize) -> Option<Vec<usize>> {
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for next in uses.get(&at).into_iter().flat_map(BTreeMap::keys) {
            if *next == start {
                let mut way = vec![start, at];
                while let Some(earlier) = way.last().and_then(|last| before.get(last)) {
                    way.push(*earlier);
                }
                if at == start {
                    way.pop();
                }
                way.reverse();
                way.extend((way.first() != Some(&start)).then_some(start));
                return Some(way);
            }
            if *next != start && !before.contains_key(next) {
                before.insert(*next, at);
                open.push_back(*next);
            }
        }
    }
    None
}
