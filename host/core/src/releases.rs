//! The releases whose bundles this release can verify, from docs/reference/formats/releases.txt. `cargo xtask gen`
//! updates the line of this release.

/// The versions that a release writes into its bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareRelease {
    pub version: &'static str,
    /// Version of its mapping from text to descriptors.
    pub mapping: u32,
    /// Version of its context documents.
    pub context: u32,
    /// SHA-256 over its layout and register map.
    pub map_digest: [u8; 32],
}

const TEXT: &str = include_str!("../../../docs/reference/formats/releases.txt");

/// Every release, the oldest first.
pub fn all() -> impl Iterator<Item = SoftwareRelease> {
    TEXT.lines().filter_map(parse)
}

/// The name of the last release that can replay bundles with this mapping version and map digest.
#[must_use]
pub fn replaying(mapping: u32, map_digest: &[u8; 32]) -> String {
    name(all(), mapping, map_digest)
}

fn name(releases: impl Iterator<Item = SoftwareRelease>, mapping: u32, map_digest: &[u8; 32]) -> String {
    let able = releases.filter(|release| release.mapping == mapping && release.map_digest == *map_digest).last();
    able.map_or_else(
        || "the release that wrote the bundle".to_owned(),
        |release| format!("release {}", release.version),
    )
}

fn parse(line: &'static str) -> Option<SoftwareRelease> {
    let mut words = line.split(' ');
    let version = words.next().filter(|word| *word != "#")?;
    let mut named = |name| words.next().filter(|word| *word == name).and_then(|_| words.next());
    let (mapping, context) = (named("mapping")?.parse().ok()?, named("context")?.parse().ok()?);
    let map_digest = crate::hex::decode(named("map")?)?;
    Some(SoftwareRelease { version, mapping, context, map_digest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::CONTEXT_VERSION;
    use crate::manifest::MAPPING_VERSION;
    use crate::wire::MAP_DIGEST;

    #[test]
    fn an_older_bundle_is_for_the_last_release_that_mapped_so() {
        let zeros = "0".repeat(64);
        let text = format!(
            "0.1.0 mapping 2 context 2 map {zeros}\n0.1.1 mapping 2 context 2 map {zeros}\n0.2.0 mapping 3 context 2 map {zeros}"
        );
        let text: &'static str = text.leak();
        let of = |mapping| name(text.lines().filter_map(parse), mapping, &[0; 32]);
        assert_eq!([of(2), of(3), of(9)], ["release 0.1.1", "release 0.2.0", "the release that wrote the bundle"]);
    }

    #[test]
    fn every_line_is_a_release_and_the_last_one_is_this() {
        assert_eq!(all().count(), TEXT.lines().filter(|line| !line.starts_with('#')).count());
        let this = all().last().unwrap();
        let found = (this.version, this.mapping, this.context, this.map_digest);
        let expected = (env!("CARGO_PKG_VERSION"), MAPPING_VERSION, CONTEXT_VERSION, MAP_DIGEST);
        assert_eq!(found, expected, "`cargo xtask gen` writes the line");
    }
}
