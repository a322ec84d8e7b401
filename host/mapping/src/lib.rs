//! Maps text to spans, and spans to mutations: vocabulary, category, novelty, uncertainty, quantities.
//!
//! The mapping is a pure function of text, state and package. It does not use a clock, a locale, the order of hash
//! tables or floating point. `docs/explanation/mapping.md` describes each rule and its weak points.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let manifest: portcullis_core::manifest::PackageManifest =
//! # serde_json::from_str(r#"{"package":{"name":"p","version":"1.0.0","description":""},
//! #   "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]},
//! #   "class":[{"name":"mail","pattern":[{"regex":"\\b[a-z]{1,9}@[a-z]{1,9}\\.org\\b"}]}]}"#)?;
//! use portcullis_core::wire::Granularity;
//! let mapper = portcullis_mapping::TextMapper::new(&manifest, &Default::default())?;
//! let text = mapper.read("Write to ana@example.org. It is quick.".into(), Granularity::Span);
//! let spans: Vec<_> = text.pieces().iter().filter(|p| !p.inert).map(|p| text.slice(&p.range)).collect();
//! assert_eq!(spans, ["Write to ana@example.org.", "It is quick."]);
//! assert_eq!(text.slice(&text.split(&text.pieces()[0].range, &[])[2].range), "ana@example.org");
//! # Ok(())
//! # }
//! ```

mod abbreviation;
mod anchored;
mod bytes;
mod checkable;
mod citation;
mod claims;
mod clause;
mod cues;
mod document;
mod domains;
mod error;
mod form;
mod full_stop;
mod hits;
mod item;
mod json;
mod label;
mod lane;
mod language;
mod lexicon;
mod load;
mod logprobs;
mod mapper;
mod networks;
mod number;
mod pattern;
mod phrase;
mod polarity;
mod proposition;
mod quantity;
mod reading;
mod segment;
mod segmenter;
mod sentence;
mod source;
mod text;
mod token;
mod tool;
mod topic;
mod unfinished;
mod validators;
mod view;
mod words;

pub use checkable::{CheckableWord, SentenceFrame};
pub use clause::{ClauseArgument, VerbClause};
pub use document::{RepeatedKey, json_document};
pub use error::{LogProbsError, MappingError};
pub use form::TextForm;
pub use lane::{lane_source, seen_by_lane};
pub use lexicon::{LanguageLexicon, LexiconLemma, PartOfSpeech, WordLemmas};
pub use load::ReferenceLabels;
pub use logprobs::LogProbs;
pub use mapper::{SpanInput, SpanMapping, TextMapper, problems};
pub use proposition::{IntroducedWords, PropositionConflict};
pub use reading::SpanReading;
pub use segment::TextPiece;
pub use segmenter::{NotUtf8, Segmenter};
pub use text::ScannedText;
pub use tool::EngineToolCall;
