//! Compares a text lane's tables with the mapping on the bytes of real texts. Lists, by class, the hits that the lane
//! should find but misses, and the hits that only the lane finds.

use crate::streaming::{policies, texts};
use anyhow::{Context, Result, ensure};
use portcullis_lane::{LaneScanner, LaneTableLimits, compile};
use portcullis_mapping::{TextMapper, lane_source, seen_by_lane};
use portcullis_policy::PolicyPackage;
use portcullis_tools::tool::say;
use std::path::Path;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let texts = texts(folder)?;
    println!("| policy | class | texts with a hit | missed by the lane | found by the lane alone |");
    println!("| --- | --- | --- | --- | --- |");
    let mut missed = 0;
    for path in policies()? {
        let name = path.file_name().context("a policy has a name")?.to_string_lossy().into_owned();
        say(&format!("reading {} texts under {name}", texts.len()));
        let package = PolicyPackage::load(&path)?;
        let (manifest, files) = (package.manifest(), package.files());
        let compiled = compile(&lane_source(manifest, files)?, &LaneTableLimits::default());
        let (seen, files) = seen_by_lane(manifest, files, &compiled);
        let mapper = TextMapper::new(&seen, &files)?;
        let walk = LaneScanner::new(compiled.tables.clone()).context("the tables have more engines than a walk")?;
        // By class: texts with a hit of the mapping, texts with a missed hit, and texts where only the lane has a hit.
        let mut counts = vec![[0usize; 3]; compiled.classes.len()];
        for text in &texts {
            let hits = mapper.written(text);
            let lane = walk.classes(text);
            for (class, [both, missed, more]) in compiled.classes.iter().zip(&mut counts) {
                let hit = hits.iter().any(|(_, id)| *id == class.id);
                let found = lane.contains(class.id);
                *both += usize::from(hit);
                *missed += usize::from(hit && !found);
                *more += usize::from(found && !hit);
            }
        }
        for (class, [hits, lost, more]) in compiled.classes.iter().zip(counts) {
            println!("| {name} | {} | {hits} | {lost} | {more} |", class.name);
            missed += lost;
        }
    }
    ensure!(missed == 0, "the lane missed {missed} classes of texts that the mapping finds in the same bytes");
    Ok(())
}
