//! Sources in a request: texts that an application retrieved. In a closed world, the answer may contain only statements
//! from the sources.

use crate::error::ApiError;
use crate::request::RequestSource;
use crate::session_state::OpenSession;
use portcullis_core::wire::Granularity;
use portcullis_gate::anchor::{
    AnchorCitation, AnchorContents, AnchorEntity, AnchorPassage, AnchorStore, read_passages,
};
use portcullis_gate::{GatePolicy, StreamGovernor};
use portcullis_mapping::{ClauseArgument, TextMapper};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Name of the field, for errors and as the store's name.
pub(crate) const FIELD: &str = "portcullis.sources";
/// Prefix of the source of each fact in a store made from a request.
const SUPPLIED: &str = "supplied";

/// The governor of the model at this index, for a stream with these sources. The time is linear in the length of the
/// sources.
///
/// # Errors The model does not exist, the sources make no valid anchor store, or the operator has configured an anchor
/// store.
pub(crate) async fn governor(
    session: &OpenSession,
    place: usize,
    sources: &Arc<[RequestSource]>,
) -> Result<Arc<StreamGovernor>, ApiError> {
    let governor = session.governors.get(place).ok_or_else(ApiError::no_model)?;
    if sources.is_empty() {
        return Ok(Arc::clone(governor));
    }
    if governor.has_anchors() {
        return Err(ApiError::invalid(FIELD, "this model has anchor stores of the operator, and takes no sources"));
    }
    let (governor, sources) = (Arc::clone(governor), Arc::clone(sources));
    let read = tokio::task::spawn_blocking(move || {
        let store = store(&sources, governor.policy())?;
        Ok(Arc::new(StreamGovernor::clone(&governor).with_supplied(store)))
    });
    read.await.map_err(|_| ApiError::gate("the sources could not be read"))?
}

/// Makes an anchor store from sources. Sources with the same title describe the same entity.
fn store(sources: &[RequestSource], policy: &GatePolicy) -> Result<AnchorStore, ApiError> {
    let mut aliases: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources {
        aliases.entry(source.title.trim()).or_default().extend(source.aliases.iter().map(|alias| alias.trim()));
    }
    let entity = |(title, aliases): (&str, BTreeSet<&str>)| AnchorEntity {
        id: title.to_owned(),
        name: title.to_owned(),
        aliases: aliases.into_iter().map(str::to_owned).collect(),
        kind: SUPPLIED.to_owned(),
    };
    let entities = AnchorContents { entities: aliases.into_iter().map(entity).collect(), ..AnchorContents::default() };
    let passages: Vec<_> = sources.iter().map(passage).collect();
    let facts = read_passages(&passages, &entities, &policy.mapper).facts;
    let cited = sources.iter().filter_map(|source| source.source.clone());
    let citations = cited.map(|id| AnchorCitation { id, source: SUPPLIED.to_owned() }).collect();
    let contents = AnchorContents { facts, citations, ..entities };
    let contents = contents.canonical().map_err(|problem| ApiError::invalid(FIELD, problem))?;
    AnchorStore::from_json_lines(Path::new(FIELD), &contents.json_lines())
        .map_err(|error| ApiError::invalid(FIELD, error.to_string()))
}

/// Makes a source from a document without a title. The title is the first line if that is a heading, otherwise the
/// subject of the first sentence if that is a name, otherwise the document's number. If the title is a number, only the
/// document's statements about other titles count.
pub(crate) fn document(number: usize, document: &str, mapper: &TextMapper) -> RequestSource {
    let source = |title: &str, text: &str| RequestSource {
        title: title.to_owned(),
        aliases: Vec::new(),
        text: text.to_owned(),
        source: Some(format!("document {number}")),
    };
    if let Some((heading, text)) = heading(document) {
        return source(heading, text);
    }
    match named_first(document, mapper) {
        Some(name) => source(&name, document),
        None => source(&format!("document {number}"), document),
    }
}

/// A first line that is not a sentence, and the text below it.
fn heading(document: &str) -> Option<(&str, &str)> {
    let (first, rest) = document.trim_start().split_once('\n')?;
    let first = first.trim().trim_start_matches('#').trim_start();
    let is_sentence = first.ends_with(['.', '!', '?', ':', ';', ',']);
    (!first.is_empty() && !is_sentence && !rest.trim().is_empty()).then_some((first, rest))
}

/// The name that is the subject of a text's first sentence, in languages with clause analysis.
fn named_first(text: &str, mapper: &TextMapper) -> Option<String> {
    let text = mapper.read(text.to_owned(), Granularity::Span);
    let sentence = text.slice(&text.sentence(&text.pieces().first()?.range));
    let clauses = mapper.clauses(sentence);
    let clause = clauses.first()?;
    // In the passive, the grammatical subject is not the agent.
    let mut before: Vec<&ClauseArgument> = clause.subjects.iter().chain(&clause.others).collect();
    before.retain(|word| word.range.end <= clause.verb.start);
    before.sort_by_key(|word| word.range.start);
    let is_capital = |word: &ClauseArgument| {
        let shown = sentence.get(word.range.clone()).unwrap_or_default();
        word.preposition.is_none() && shown.starts_with(char::is_uppercase)
    };
    let words: Vec<&ClauseArgument> = before.into_iter().take_while(|word| is_capital(word)).collect();
    let (first, last) = (words.first()?, words.last()?);
    let name = sentence.get(first.range.start..last.range.end)?;
    words.iter().any(|word| word.name).then(|| name.to_owned())
}

fn passage(source: &RequestSource) -> AnchorPassage {
    let from = source.source.as_deref().unwrap_or(&source.title);
    AnchorPassage {
        entity: source.title.trim().to_owned(),
        text: source.text.clone(),
        source: format!("{SUPPLIED}: {from}"),
    }
}
