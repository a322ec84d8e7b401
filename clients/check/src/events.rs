//! Converts a checked answer to a stream of events, for clients that expect one.

use crate::question::{CheckedApi, ClientQuestion};
use serde_json::{Value, json};

/// The events for a whole answer. `inputs` are the arguments of those calls whose arguments are objects.
pub(crate) fn events(question: &ClientQuestion, answer: &Value, inputs: &[String]) -> String {
    match question.api {
        CheckedApi::Chat | CheckedApi::Completions => chunks(question, answer),
        CheckedApi::Responses => responses(answer),
        CheckedApi::Messages => messages(answer, inputs),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn with(value: &Value, fields: Value) -> Value {
    let mut value = value.clone();
    if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
        value.extend(fields);
    }
    value
}

/// Chunks of OpenAI's chat completions and completions.
fn chunks(question: &ClientQuestion, answer: &Value) -> String {
    let is_chat = question.api == CheckedApi::Chat;
    let object = if is_chat { "chat.completion.chunk" } else { "text_completion" };
    let chunk = |choices: Value| with(answer, json!({"object": object, "choices": choices, "usage": null}));
    let mut written = String::new();
    let mut data = |value: Value| written.push_str(&format!("data: {value}\n\n"));
    for choice in list(answer, "choices") {
        if !is_chat {
            data(chunk(json!([choice])));
            continue;
        }
        let mut delta = choice.get("message").cloned().unwrap_or_default();
        let calls: Vec<Value> =
            (0..).zip(list(&delta, "tool_calls")).map(|(at, call)| with(call, json!({"index": at}))).collect();
        if let Some(delta) = delta.as_object_mut().filter(|_| !calls.is_empty()) {
            delta.insert("tool_calls".into(), Value::Array(calls));
        }
        data(chunk(json!([{"index": choice["index"], "delta": delta, "finish_reason": null}])));
        data(chunk(json!([{"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}])));
    }
    if question.has_usage {
        data(with(answer, json!({"object": object, "choices": []})));
    }
    written + "data: [DONE]\n\n"
}

/// Named events, as in Anthropic's API and in OpenAI's responses.
#[derive(Default)]
struct Named {
    written: String,
    sequence: u64,
}

impl Named {
    fn event(&mut self, kind: &str, fields: &Value) {
        let value = with(fields, json!({"type": kind}));
        self.written.push_str(&format!("event: {kind}\ndata: {value}\n\n"));
    }

    fn numbered(&mut self, kind: &str, fields: &Value) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.event(kind, &with(fields, json!({"sequence_number": sequence})));
    }
}

fn messages(answer: &Value, inputs: &[String]) -> String {
    let mut inputs = inputs.iter();
    let mut events = Named::default();
    let empty = json!({"content": [], "stop_reason": null, "stop_details": null, "portcullis": null});
    events.event("message_start", &json!({"message": with(answer, empty)}));
    for (index, block) in (0..).zip(list(answer, "content")) {
        let (start, delta) = match block["type"].as_str() {
            Some("thinking") => {
                (json!({"thinking": ""}), json!({"type": "thinking_delta", "thinking": block["thinking"]}))
            }
            Some("tool_use") => {
                (json!({"input": {}}), json!({"type": "input_json_delta", "partial_json": inputs.next()}))
            }
            _ => (json!({"text": ""}), json!({"type": "text_delta", "text": block["text"]})),
        };
        events.event("content_block_start", &json!({"index": index, "content_block": with(block, start)}));
        events.event("content_block_delta", &json!({"index": index, "delta": delta}));
        events.event("content_block_stop", &json!({"index": index}));
    }
    let delta = json!({
        "stop_reason": answer["stop_reason"], "stop_sequence": null, "stop_details": answer["stop_details"],
    });
    let last = json!({"delta": delta, "usage": answer["usage"], "portcullis": answer["portcullis"]});
    events.event("message_delta", &last);
    events.event("message_stop", &json!({}));
    events.written
}

fn responses(answer: &Value) -> String {
    let mut events = Named::default();
    let begun = with(answer, json!({"status": "in_progress", "output": [], "usage": null, "portcullis": null}));
    events.numbered("response.created", &json!({"response": begun}));
    events.numbered("response.in_progress", &json!({"response": begun}));
    for (index, item) in (0..).zip(list(answer, "output")) {
        let at = json!({"item_id": item["id"], "output_index": index});
        let is_call = item["type"] == "function_call";
        let open = if is_call {
            json!({"arguments": "", "status": "in_progress"})
        } else {
            json!({"content": [], "status": "in_progress"})
        };
        events.numbered("response.output_item.added", &json!({"output_index": index, "item": with(item, open)}));
        if is_call {
            events.numbered("response.function_call_arguments.delta", &with(&at, json!({"delta": item["arguments"]})));
            let done = json!({"name": item["name"], "arguments": item["arguments"]});
            events.numbered("response.function_call_arguments.done", &with(&at, done));
        }
        for (place, part) in (0..).zip(list(item, "content")) {
            let at = with(&at, json!({"content_index": place}));
            let (kind, field) = match part["type"].as_str() {
                Some("reasoning_text") => ("reasoning_text", "text"),
                Some("refusal") => ("refusal", "refusal"),
                _ => ("output_text", "text"),
            };
            let is_part = kind != "reasoning_text";
            if is_part {
                let part = with(part, json!({field: ""}));
                events.numbered("response.content_part.added", &with(&at, json!({"part": part})));
            }
            let (delta, text) = (json!({"delta": part[field]}), json!({field: part[field]}));
            let logprobs = if kind == "output_text" { json!({"logprobs": []}) } else { json!({}) };
            events.numbered(&format!("response.{kind}.delta"), &with(&with(&at, delta), logprobs.clone()));
            events.numbered(&format!("response.{kind}.done"), &with(&with(&at, text), logprobs));
            if is_part {
                events.numbered("response.content_part.done", &with(&at, json!({"part": part})));
            }
        }
        events.numbered("response.output_item.done", &json!({"output_index": index, "item": item}));
    }
    let status = answer["status"].as_str().unwrap_or("completed");
    events.numbered(&format!("response.{status}"), &json!({"response": answer}));
    events.written
}
