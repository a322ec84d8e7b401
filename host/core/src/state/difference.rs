//! Dumps of a state, and the differences between two states.

use super::SemanticState;
use serde::Serialize;
use serde_json::Value;

/// A value that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateDifference {
    /// Path of the value (JSON Pointer, RFC 6901).
    pub path: String,
    /// The value in the first state; absent when only the second has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value in the second state; absent when only the first has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl SemanticState {
    /// The state as JSON; equal states give equal bytes. Errors: those of serde_json, which do not occur for states
    /// that this crate builds.
    pub fn dump(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads a state from its dump. Errors: the text is not a dump of a state.
    pub fn read(dump: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(dump)
    }

    /// Differences from another state, by path; empty for equal states. Errors: as [`SemanticState::dump`].
    pub fn difference(&self, other: &Self) -> Result<Vec<StateDifference>, serde_json::Error> {
        let mut differences = Vec::new();
        let (before, after) = (serde_json::to_value(self)?, serde_json::to_value(other)?);
        compare(String::new(), Some(&before), Some(&after), &mut differences);
        Ok(differences)
    }
}

fn compare(path: String, before: Option<&Value>, after: Option<&Value>, out: &mut Vec<StateDifference>) {
    let step = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                compare(step(name), a.get(name), b.get(name), out);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                compare(step(&at.to_string()), a.get(at), b.get(at), out);
            }
        }
        (before, after) if before == after => {}
        (before, after) => out.push(StateDifference { path, before: before.cloned(), after: after.cloned() }),
    }
}
