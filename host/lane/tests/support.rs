//! Packages of the shipped policies.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by tests that use different parts; a test stops at its first surprise")]

use portcullis_core::manifest::Manifest;
use portcullis_lane::Source;
use portcullis_mapping::{Mapper, lane_source};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const PACKAGES: [&str; 5] = ["pii", "clinical", "finance-suitability", "privilege", "residency"];

pub(crate) struct Package {
    pub(crate) manifest: Manifest,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Package {
    pub(crate) fn read(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(name);
        let manifest: Manifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
        let paths = manifest.classes.iter().flat_map(|class| &class.vocabulary);
        let files = paths.map(|path| (path.clone(), std::fs::read(dir.join(path)).unwrap())).collect();
        Self { manifest, files }
    }

    pub(crate) fn source(&self) -> Source {
        lane_source(&self.manifest, &self.files).unwrap()
    }

    pub(crate) fn mapper(&self) -> Mapper {
        Mapper::new(&self.manifest, &self.files).unwrap()
    }
}
