//! Generates a package's Cedar schema from its manifest. The principal is the agent, the action the category, the
//! resource the stream; the context has the descriptor's fields by name.

use crate::vocabulary::PolicyVocabulary;
use portcullis_core::manifest::PackageManifest;
use portcullis_core::wire::{Category, FlagColumn, RangeColumn, RangeUnit, SetColumn};

/// Name of the schema's file in a package.
pub const SCHEMA_FILE: &str = "policy.cedarschema";

/// The schema for a manifest.
#[must_use]
pub fn generate(manifest: &PackageManifest) -> String {
    let vocabulary = PolicyVocabulary::new(manifest);
    let mut text = String::from(
        "// Generated from policy.toml by `portcullis policy schema`. Do not edit.\n\
         // Enumerations and sets are strings; `policy check` holds every literal to the values listed here.\n\n\
         // The engine on whose behalf text is proposed. No rule can tell agents apart: \
         the descriptor does not name them.\n\
         entity Agent;\n\
         // One governed generation. No rule can tell streams apart.\n\
         entity Stream;\n\n\
         type Descriptor = {\n",
    );
    let listed = |values: &[String]| values.join(", ");
    for column in PolicyVocabulary::CONTEXT_ENUMERATIONS {
        field(&mut text, column.name(), "String", &listed(vocabulary.enumeration(*column)));
    }
    for column in SetColumn::ALL {
        field(&mut text, column.name(), "Set<String>", &listed(vocabulary.set(column)));
    }
    for column in RangeColumn::FIELDS {
        let (least, greatest) = column.limits();
        match column.unit() {
            RangeUnit::BasisPoints => field(&mut text, column.name(), "decimal", "0.0000 to 1.0000"),
            RangeUnit::Count(_) | RangeUnit::Quantity => {
                field(&mut text, column.name(), "Long", &format!("{least} to {greatest}"));
            }
        }
    }
    for name in FlagColumn::NAMES {
        field(&mut text, name, "Bool", "");
    }
    if manifest.quantities.is_empty() {
        text.push_str("    quantity: {},\n");
    } else {
        text.push_str("    quantity: {\n");
        for quantity in &manifest.quantities {
            text.push_str("    ");
            let note = format!("{} to {} {}", quantity.min, quantity.max, quantity.description);
            field(&mut text, &format!("{}?", quantity.name), "Long", note.trim_end());
        }
        text.push_str("    },\n");
    }
    text.push_str("};\n\naction ");
    let actions: Vec<_> = Category::ALL.iter().map(|category| format!("\"{}\"", category.name())).collect();
    text.push_str(&actions.join(", "));
    text.push_str(" appliesTo {\n    principal: Agent,\n    resource: Stream,\n    context: Descriptor,\n};\n");
    text
}

fn field(text: &mut String, name: &str, cedar_type: &str, note: &str) {
    // A note must stay on one comment line, even if a description contains line breaks.
    let note: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let comment = if note.is_empty() { String::new() } else { format!(" // {note}") };
    text.push_str(&format!("    {name}: {cedar_type},{comment}\n"));
}
