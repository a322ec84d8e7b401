//! Every shipped policy: what its lane sees, and that the walk of its tables misses nothing that the mapping finds.
#![cfg(test)]

mod support;

use portcullis_core::class::{ClassId, ClassSet};
use portcullis_lane::{Limits, Relation, ScanState, Sight, Tables, compile};
use support::{Package, PACKAGES};

#[test]
fn what_the_lanes_of_shipped_policies_see() {
    for name in PACKAGES {
        let package = Package::read(name);
        let time = std::time::Instant::now();
        let compiled = compile(&package.source(), &Limits::default());
        eprintln!("{name}: {:?} states, {:?} bytes, {:?}", compiled.tables.states().collect::<Vec<_>>(), compiled.tables.encode().len(), time.elapsed());
        for class in &compiled.classes {
            eprintln!("  {} {:?}", class.name, class.sight());
            for form in &class.forms {
                eprintln!("     {:?} {} {:?} {:?} {}", form.place, form.states, form.relation, form.widened, form.name.chars().take(60).collect::<String>());
            }
            for form in &class.left_out {
                eprintln!("     HOST {} : {}", form.form.chars().take(40).collect::<String>(), form.reason);
            }
        }
    }
}
