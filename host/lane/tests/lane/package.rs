//! Packages for the tests: the shipped policies, and random ones.

use portcullis_core::manifest::PackageManifest;
use portcullis_lane::{CompiledLane, LaneScanner, LaneSource, LaneTableLimits, compile};
use portcullis_mapping::{TextMapper, lane_source, seen_by_lane};
use std::collections::BTreeMap;
use std::path::Path;

/// The shipped policies that have classes.
pub(crate) const SHIPPED: [&str; 5] = ["pii", "clinical", "finance-suitability", "privilege", "residency"];

/// A package, its lane, and a mapping with only the forms that the lane covers.
pub(crate) struct Package {
    pub(crate) manifest: PackageManifest,
    pub(crate) compiled: CompiledLane,
    pub(crate) walk: LaneScanner,
    pub(crate) mapper: TextMapper,
}

impl Package {
    pub(crate) fn new(manifest: PackageManifest, files: BTreeMap<String, Vec<u8>>) -> Self {
        let compiled = compile(&lane_source(&manifest, &files).unwrap(), &LaneTableLimits::default());
        let (seen, files) = seen_by_lane(&manifest, &files, &compiled);
        let mapper = TextMapper::new(&seen, &files).unwrap();
        let walk = LaneScanner::new(compiled.tables.clone()).unwrap();
        Self { manifest, compiled, walk, mapper }
    }

    pub(crate) fn shipped(name: &str) -> Self {
        let (manifest, files) = read(name);
        Self::new(manifest, files)
    }
}

/// A mapping with all forms of a shipped policy.
pub(crate) fn mapper(name: &str) -> TextMapper {
    let (manifest, files) = read(name);
    TextMapper::new(&manifest, &files).unwrap()
}

/// The compiler's input for a shipped policy.
pub(crate) fn source(name: &str) -> LaneSource {
    let (manifest, files) = read(name);
    lane_source(&manifest, &files).unwrap()
}

/// The phrases of a shipped policy.
pub(crate) fn phrases(name: &str) -> Vec<String> {
    crate::made::phrases(&read(name).1)
}

fn read(name: &str) -> (PackageManifest, BTreeMap<String, Vec<u8>>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(name);
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let paths = manifest.classes.iter().flat_map(|class| &class.vocabulary);
    let files = paths.map(|path| (path.clone(), std::fs::read(dir.join(path)).unwrap())).collect();
    (manifest, files)
}
