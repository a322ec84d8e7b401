//! Loads: addresses that a client fetches by itself when it shows a text, such as those of images, frames and style
//! sheets. A policy refuses them, or all but those of listed hosts (`loads` in `policy.toml`).
//!
//! What is withheld is chosen so that the text without it loads nothing: the target of an image, the value of an
//! attribute, the colon and address of a definition.

mod address;
mod html;
mod markdown;

pub(crate) use address::ListedHosts;

use crate::error::MappingError;
use crate::words::find;
use portcullis_core::manifest::{LinkPolicy, LoadPolicy, PackageManifest};
use std::collections::BTreeSet;
use std::ops::Range;

/// Longest alternative text, target, tag and distance of a definition before its image, in bytes.
const REACH: usize = 1024;
/// Most bytes of labels that are remembered. With more, every definition can be that of an image.
const LABELS: usize = 1 << 16;

/// A piece of markup that can load something.
#[derive(Debug, Default)]
struct Construct {
    /// The ranges that must not leave, from the start of the construct.
    withheld: Vec<Range<usize>>,
    /// Whether more text can change the construct.
    open: bool,
}

/// The labels of references in the text that was read already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceLabels {
    /// Labels of images.
    images: BTreeSet<String>,
    /// Labels whose definition was not withheld.
    defined: BTreeSet<String>,
    /// Number of bytes of both.
    bytes: usize,
}

impl ReferenceLabels {
    fn add(&mut self, label: String, image: bool) {
        let set = if image { &mut self.images } else { &mut self.defined };
        if self.bytes <= LABELS && !set.contains(&label) {
            self.bytes += label.len() + 1;
            set.insert(label);
        }
    }

    fn has(&self, label: &str, image: bool) -> bool {
        self.bytes > LABELS || if image { &self.images } else { &self.defined }.contains(label)
    }
}

/// The errors in the keys of a package about links and loads.
pub(crate) fn problems(manifest: &PackageManifest) -> Vec<MappingError> {
    let package = &manifest.package;
    let bad = |key, problem| MappingError::PackageKey { key, problem };
    let (links, loads) = (package.links == Some(LinkPolicy::Listed), package.loads == LoadPolicy::Listed);
    let mut found = Vec::new();
    if package.hosts.is_empty() {
        let empty = "the value is `listed`, and `hosts` lists no host";
        found.extend(links.then(|| bad("links", empty)));
        found.extend(loads.then(|| bad("loads", empty)));
    } else if !links && !loads {
        found.push(bad("hosts", "neither `links` nor `loads` is `listed`, so the list has no effect"));
    }
    found.extend(ListedHosts::new(&package.hosts).err().map(MappingError::Host));
    found
}

/// Finds the loads that a policy refuses.
#[derive(Debug)]
pub(crate) struct LoadFinder {
    policy: LoadPolicy,
    /// Whether links may lead only to listed hosts.
    listed_links: bool,
    hosts: ListedHosts,
}

/// The bytes with which constructs begin.
fn is_start(byte: u8) -> bool {
    matches!(byte, b'!' | b'[' | b'<' | b'(' | b'@' | b'\\')
}

impl LoadFinder {
    pub(crate) const fn new(policy: LoadPolicy, links: Option<LinkPolicy>, hosts: ListedHosts) -> Self {
        Self { policy, listed_links: matches!(links, Some(LinkPolicy::Listed)), hosts }
    }

    /// The ranges of a text that must not leave, in order and apart. `labels` are those of the text before it.
    pub(crate) fn loads(&self, text: &str, labels: &ReferenceLabels) -> Vec<Range<usize>> {
        let mut labels = labels.clone();
        let found = self.read(text, text.len(), &mut labels);
        crate::citation::join(found)
    }

    /// The addresses of links in markup whose host is not listed, in order; none if any link may leave.
    pub(crate) fn links(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut from = 0;
        let is_refused = |address: &str| self.is_unlisted(address);
        let start = |byte| matches!(byte, b']' | b'[' | b'<');
        while let Some(at) = find(text.as_bytes(), from, start).filter(|_| self.listed_links) {
            from = at + 1;
            let Some(rest) = text.get(at..) else { continue };
            let ranges = match rest.as_bytes() {
                [b']', b'(', ..] => {
                    let target = rest.get(1..).map(|rest| markdown::target(rest, &is_refused)).unwrap_or_default();
                    target.withheld.into_iter().map(|range| range.start + 1..range.end + 1).collect()
                }
                [b'[', ..] if markdown::begins_line(text, at) => {
                    let address = markdown::definition(rest).map(|definition| definition.address);
                    let refused = |range: &Range<usize>| rest.get(range.clone()).is_some_and(is_refused);
                    address.into_iter().filter(refused).collect()
                }
                [b'<', ..] => html::links(rest, &is_refused),
                _ => Vec::new(),
            };
            found.extend(ranges.into_iter().map(|range| at + range.start..at + range.end));
        }
        found
    }

    /// Whether an address names another host than the page's own, and policy does not list it.
    pub(crate) fn is_unlisted(&self, address: &str) -> bool {
        self.listed_links && address::is_unlisted(address, &self.hosts)
    }

    /// Adds the labels of the constructs that begin in the first `end` bytes of a text.
    pub(crate) fn remember(&self, text: &str, end: usize, labels: &mut ReferenceLabels) {
        self.read(text, end, labels);
    }

    fn read(&self, text: &str, end: usize, labels: &mut ReferenceLabels) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.policy == LoadPolicy::Any {
            return found;
        }
        let is_refused = |address: &str| address::is_refused(address, self.policy, &self.hosts);
        let images = if text.contains("]:") { images(text) } else { Vec::new() };
        let mut from = 0;
        while let Some(at) = find(text.as_bytes(), from, is_start).filter(|at| *at < end) {
            from = at + 1;
            let Some(rest) = text.get(at..) else { continue };
            if let Some(construct) = construct(text, at, &is_refused) {
                // A mark before a withheld mark would take its place.
                let start = |start: usize| if start == 0 { at - marks(text, at) } else { at + start };
                found.extend(construct.withheld.iter().map(|range| start(range.start)..at + range.end));
            }
            if rest.starts_with("![") {
                for label in markdown::image(rest, &is_refused).labels {
                    // Without its marks, an image by reference is a link.
                    if labels.has(&label, false) {
                        found.push(at - marks(text, at)..at + 1);
                    }
                    labels.add(label, true);
                }
            } else if rest.starts_with('[') && markdown::begins_line(text, at) {
                let definition = markdown::definition(rest).filter(|definition| !definition.label.is_empty());
                let Some(definition) = definition else { continue };
                if !rest.get(definition.address.clone()).is_some_and(is_refused) {
                    continue;
                }
                let near = images.partition_point(|(place, _)| *place < at);
                let mut near = images.iter().skip(near).take_while(|(place, _)| *place < at + REACH);
                if labels.has(&definition.label, true) || near.any(|(_, label)| *label == definition.label) {
                    found.push(at + definition.withheld.start..at + definition.withheld.end);
                } else {
                    labels.add(definition.label, false);
                }
            }
        }
        found
    }

    /// The start of the first construct that more text can change; the text's length if there is none.
    pub(crate) fn unfinished(&self, text: &str) -> usize {
        if self.policy == LoadPolicy::Any {
            return text.len();
        }
        let mut from = text.ceil_char_boundary(text.len().saturating_sub(3 * REACH));
        while let Some(at) = find(text.as_bytes(), from, is_start) {
            from = at + 1;
            let waits = text.get(at..).is_some_and(|rest| rest == "!")
                || construct(text, at, &|_| false).is_some_and(|construct| construct.open)
                || self.is_open_definition(text, at);
            if waits {
                return at - marks(text, at);
            }
        }
        text.len()
    }

    /// Whether a definition is not complete, or its image can follow.
    fn is_open_definition(&self, text: &str, at: usize) -> bool {
        let Some(rest) = text.get(at..).filter(|rest| rest.starts_with('[')) else { return false };
        if !markdown::begins_line(text, at) {
            return false;
        }
        markdown::definition(rest).is_some_and(|definition| {
            let refused = |address: &str| address::is_refused(address, self.policy, &self.hosts);
            let loads = definition.open || rest.get(definition.address.clone()).is_some_and(refused);
            let near = bounded(rest, REACH + 1).match_indices("![").filter_map(|(at, _)| rest.get(at..));
            let mut images = near.map(|image| markdown::image(image, &|_| false).construct);
            loads && (rest.len() < REACH + 2 || images.any(|image| image.open))
        })
    }
}

/// Number of exclamation marks directly before `at`.
fn marks(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().bytes().rev().take_while(|b| *b == b'!').count()
}

/// The construct at `at`, if a construct begins there.
fn construct(text: &str, at: usize, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    let rest = text.get(at..)?;
    let from_text = |construct: Construct| {
        let withheld = construct.withheld.into_iter().map(|range| range.start - at..range.end - at).collect();
        Construct { withheld, ..construct }
    };
    match rest.as_bytes().first()? {
        b'!' if rest.starts_with("![") => Some(markdown::image(rest, is_refused).construct),
        b'[' => markdown::bulletin(rest, is_refused),
        b'<' => html::tag(rest, is_refused),
        b'(' => html::function(text, at, is_refused).map(from_text),
        b'@' => html::import(text, at, is_refused).map(from_text),
        b'\\' => markdown::graphics(rest, is_refused),
        _ => None,
    }
}

/// The places and labels of images by reference, in order.
fn images(text: &str) -> Vec<(usize, String)> {
    let all = text.match_indices("![");
    let labels = |(at, _)| {
        let labels = text.get(at..).map(|rest| markdown::image(rest, &|_| false).labels).unwrap_or_default();
        labels.into_iter().map(move |label| (at, label))
    };
    all.flat_map(labels).collect()
}

/// The first `most` bytes, cut at a character boundary.
fn bounded(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
