//! Joins the fragments of tool calls. Servers differ: some repeat the name or the id in every fragment, some give every
//! call the index 0, some send the name in pieces, and some send the fragments of two calls in turns. So no call is
//! complete before its choice ends, and a fragment that fits no call without doubt ends the answer.

use portcullis_mapping::EngineToolCall;
use std::collections::BTreeMap;

/// Largest tool call, in bytes.
const CALL_BYTES: usize = 1 << 20;

/// A fragment of a tool call, as a server sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFragment {
    /// The server's number of the call.
    pub index: u64,
    /// The server's id of the call. It only tells calls apart; clients get an id of the gateway.
    pub id: Option<String>,
    /// The tool's name, or a piece of it.
    pub name: Option<String>,
    /// A piece of the arguments.
    pub arguments: String,
}

/// A tool call of a conversation or of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifiedCall {
    /// Chosen by the client or by the gateway.
    pub id: String,
    pub call: EngineToolCall,
}

/// A call that is judged. Where arguments are absent, they are an empty object.
pub(crate) fn judged_call(name: String, arguments: String) -> EngineToolCall {
    EngineToolCall { name, arguments: if arguments.trim().is_empty() { "{}".into() } else { arguments } }
}

/// Joins the fragments of the calls of one choice.
#[derive(Debug, Default)]
pub(crate) struct CallAssembler {
    /// A call began, so the answer's own text is over.
    has_begun: bool,
    /// In the order in which the calls began.
    calls: Vec<OpenCall>,
    /// The latest call under each index.
    latest: BTreeMap<u64, usize>,
}

#[derive(Debug, Default)]
struct OpenCall {
    id: Option<String>,
    name: String,
    arguments: String,
    end: ObjectEnd,
}

/// Finds the end of a JSON object in pieces of text.
#[derive(Debug, Default)]
struct ObjectEnd {
    begun: bool,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl ObjectEnd {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                _ if escaped => {}
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => (self.begun, self.depth) = (true, self.depth + 1),
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    const fn is_reached(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

impl CallAssembler {
    /// Whether calls wait for further fragments or for the end of the choice.
    pub(crate) const fn has_open(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Checks that the answer's own text may go on.
    ///
    /// # Errors
    /// A call began before.
    pub(crate) const fn check_text(&self) -> Result<(), &'static str> {
        if self.has_begun { Err("an answer that goes on after its tool calls") } else { Ok(()) }
    }

    /// Adds a fragment.
    ///
    /// # Errors
    /// The fragment fits no call without doubt, or its call is too long.
    pub(crate) fn push(&mut self, fragment: CallFragment) -> Result<(), &'static str> {
        let CallFragment { index, id, name, arguments } = fragment;
        self.has_begun = true;
        let (id, name) = (id.filter(|id| !id.is_empty()), name.filter(|name| !name.is_empty()));
        let known = self.latest.get(&index).copied().filter(|at| {
            self.calls.get(*at).is_some_and(|call| !call.is_followed_by(id.as_deref(), name.as_deref(), &arguments))
        });
        let at = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push(OpenCall::default());
            self.latest.insert(index, at);
        }
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if let Some(name) = name.filter(|name| *name != call.name) {
            // Only before the arguments can another name be the rest of the name.
            if !call.name.is_empty() && !call.arguments.is_empty() {
                return Err("a tool call whose name changes");
            }
            call.name.push_str(&name);
        }
        call.id = id.or(call.id.take());
        call.end.read(&arguments);
        call.arguments.push_str(&arguments);
        match call.name.len() + call.arguments.len() > CALL_BYTES {
            true => Err("a tool call that is longer than the bound"),
            false => Ok(()),
        }
    }

    /// Takes the calls, because the choice has ended.
    pub(crate) fn take(&mut self) -> Vec<EngineToolCall> {
        self.latest.clear();
        let call = |OpenCall { name, arguments, .. }: OpenCall| judged_call(name, arguments);
        std::mem::take(&mut self.calls).into_iter().map(call).collect()
    }
}

impl OpenCall {
    /// Whether a fragment under the same index begins another call.
    fn is_followed_by(&self, id: Option<&str>, name: Option<&str>, arguments: &str) -> bool {
        match (self.id.as_deref(), id) {
            (Some(known), Some(id)) => known != id,
            // Without ids, a name after complete arguments begins the next call. The same name without arguments is
            // only a repetition.
            _ => name.is_some_and(|name| self.end.is_reached() && (name != self.name || !arguments.trim().is_empty())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(fragments: &[(u64, &str, &str, &str)]) -> Result<Vec<(String, String)>, &'static str> {
        let mut calls = CallAssembler::default();
        let some = |text: &str| Some(text.to_owned());
        for (index, id, name, arguments) in fragments {
            let arguments = (*arguments).to_owned();
            calls.push(CallFragment { index: *index, id: some(id), name: some(name), arguments })?;
        }
        Ok(calls.take().into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    fn call(name: &str, arguments: &str) -> (String, String) {
        (name.into(), arguments.into())
    }

    #[test]
    fn fragments_are_joined_in_every_form() {
        let look = Ok(vec![call("look", r#"{"a":"}"}"#)]);
        let both = Ok(vec![call("look", r#"{"a":1}"#), call("add", r#"{"b":2}"#)]);
        // The name comes once, in every fragment, late, or in two pieces; the last fragment has a name alone.
        assert_eq!(joined(&[(0, "a", "look", ""), (0, "", "", r#"{"a":"#), (0, "", "", r#""}"}"#)]), look);
        assert_eq!(joined(&[(0, "", "look", ""), (0, "", "look", r#"{"a":""#), (0, "", "look", r#"}"}"#)]), look);
        assert_eq!(joined(&[(3, "a", "look", r#"{"a":"}"}"#), (3, "a", "look", "")]), look);
        assert_eq!(joined(&[(0, "", "look", r#"{"a":"}"}"#), (0, "", "look", "")]), look);
        assert_eq!(joined(&[(0, "a", "", r#"{"a":"#), (0, "", "look", r#""}"}"#)]), look);
        assert_eq!(joined(&[(0, "a", "lo", ""), (0, "", "ok", r#"{"a":"}"}"#)]), look);
        // Two calls: in turns, under one index with ids, and under one index without ids.
        let turns = [(0, "a", "look", r#"{"a":"#), (1, "b", "add", r#"{"b":"#), (0, "", "", "1}"), (1, "", "", "2}")];
        assert_eq!(joined(&turns), both);
        assert_eq!(joined(&[(0, "a", "look", r#"{"a":1}"#), (0, "b", "add", r#"{"b":2}"#)]), both);
        assert_eq!(joined(&[(0, "", "look", r#"{"a":1}"#), (0, "", "add", ""), (0, "", "", r#"{"b":2}"#)]), both);
        let same = Ok(vec![call("look", r#"{"a":1}"#), call("look", r#"{"a":2}"#)]);
        assert_eq!(joined(&[(0, "", "look", r#"{"a":1}"#), (0, "", "look", r#"{"a":2}"#)]), same);
        assert_eq!(joined(&[(0, "a", "look", "")]), Ok(vec![call("look", "{}")]));
    }

    #[test]
    fn what_fits_no_call_ends_the_answer() {
        assert_eq!(joined(&[(0, "", "look", r#"{"a":"#), (0, "", "add", "1}")]), Err("a tool call whose name changes"));
        assert_eq!(joined(&[(0, "a", "look", "{}"), (0, "a", "add", "")]), Err("a tool call whose name changes"));
        let long = "a".repeat(CALL_BYTES);
        assert!(joined(&[(0, "a", "look", &long)]).is_err());
    }
}
