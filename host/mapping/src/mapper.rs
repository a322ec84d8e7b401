//! The mapper: compiles a package's declarations, and computes the mutation that a span proposes.

use crate::checkable::{CheckableWord, SentenceFrame, alternatives, checkable, frame, generalisations};
use crate::citation::{self, CitationKind, citations};
use crate::clause::{VerbClause, clauses};
use crate::error::MappingError;
use crate::form::{TextForm, words_of_label};
use crate::hits::{self, Scanner};
use crate::language::Language;
use crate::lexicon::LanguageLexicon;
use crate::load::{self, ListedHosts, LoadFinder, ReferenceLabels};
use crate::proposition::{Grammar, IntroducedWords, PropositionConflict, Propositions};
use crate::quantity::{self, Quantities};
use crate::reading::SpanReading;
use crate::text::{RefusedAddress, ScannedText, TextScanFindings};
use crate::tool::{self, EngineToolCall, Tools, canonical};
use crate::topic::topic;
use crate::view::{MatchingView, completed, decoded, too_deep, undecided, undecoded};
use portcullis_core::class::ClassId;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::manifest::PackageManifest;
use portcullis_core::mutation::{SpanMutation, StageFinding};
use portcullis_core::proposition::{Proposition, PropositionSubject, gender};
use portcullis_core::reason::ValidationReason;
use portcullis_core::state::SemanticState;
use portcullis_core::topic::TopicState;
use portcullis_core::wire::{Anchor, Category, Epistemic, Granularity, fields_touched};
use std::collections::BTreeMap;
use std::ops::Range;

/// A package's declarations, compiled for mapping.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let manifest = serde_json::from_str(r#"{"package":{"name":"p","version":"1.0.0","description":""},
/// #   "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#)?;
/// # let context = portcullis_core::state::AgentProfile::default().context(&manifest)?;
/// # let state = portcullis_core::state::SemanticState::new(&manifest, [0; 32], [0; 32], Default::default(), context);
/// use portcullis_core::wire::{Category, Granularity};
/// use portcullis_mapping::{SpanInput, TextMapper};
///
/// let mapper = TextMapper::new(&manifest, &Default::default())?;
/// let text = mapper.read("It may be cold.".to_owned(), Granularity::Span);
/// let span = SpanInput {
///     text: &text,
///     span: &text.pieces()[0].range,
///     granularity: Granularity::Span,
/// #     inert_prefix: false,
/// #     depth: 0,
/// #     alternatives: 0,
/// #     uncertainty: None,
/// #     choice: None,
///     // …
/// };
/// // `state` is the state of the stream before this span.
/// let mutation = mapper.map(&state, span).mutation;
/// assert_eq!((mutation.category, mutation.certainty.get()), (Category::Qualification, 5000));
/// # Ok(())
/// # }
/// ```
pub struct TextMapper {
    scanner: Scanner,
    quantities: Quantities,
    tools: Tools,
    loads: LoadFinder,
    language: &'static Language,
    /// The language's word tables, if it has any.
    lexicon: Option<LanguageLexicon>,
    propositions: Option<Propositions>,
    grammar: Option<&'static Grammar>,
    /// Expected share of casual words in each declared register; `None` for a register that the mapping does not know.
    registers: Vec<Option<BasisPoints>>,
    span_bytes: u16,
}

/// A span to be mapped.
#[derive(Clone, Copy, Debug)]
pub struct SpanInput<'a> {
    /// The text that contains the span.
    pub text: &'a ScannedText,
    /// The span's bytes in the text.
    pub span: &'a Range<usize>,
    /// The policy's granularity.
    pub granularity: Granularity,
    /// Whether held inert bytes precede the span.
    pub inert_prefix: bool,
    /// Depth of the span in a decomposition; 0 for an undivided span.
    pub depth: u8,
    /// Number of alternatives tried before this candidate.
    pub alternatives: u8,
    /// Number of the choice of values, if the span has several values of a quantity ([`ScannedText::choices`]).
    pub choice: Option<usize>,
    /// The uncertainty from the engine's log-probabilities, if the engine returned any.
    pub uncertainty: Option<BasisPoints>,
}

/// The result of mapping a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanMapping {
    pub mutation: SpanMutation,
    /// Facts for the host's stages. The part `proposed` is moved into the mutation.
    pub reading: SpanReading,
    pub form: TextForm,
    /// The span, or the part of it with sentences, counted from the span's start; `None` if it has none.
    pub prose: Option<Range<usize>>,
}

fn language(manifest: &PackageManifest) -> Result<&'static Language, MappingError> {
    let code = &manifest.package.language;
    let known = || Language::codes().collect::<Vec<_>>().join(", ");
    Language::of(code).ok_or_else(|| MappingError::Language { code: code.clone(), known: known() })
}

/// All reasons why [`TextMapper::new`] cannot use these declarations, grouped by kind.
#[must_use]
pub fn problems(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Vec<MappingError> {
    let mut problems: Vec<MappingError> = language(manifest).err().into_iter().collect();
    problems.extend(hits::problems(manifest, files));
    problems.extend(tool::problems(manifest));
    problems.extend(quantity::problems(manifest));
    problems.extend(load::problems(manifest));
    // Compiling all classes together finds problems that a single class does not show.
    if problems.is_empty() {
        problems.extend(TextMapper::new(manifest, files).err());
    }
    problems
}

impl TextMapper {
    /// Compiles the declarations. `files` are the package's files by path.
    ///
    /// # Errors
    /// [`MappingError`] names the class, pattern or quantity that cannot be used.
    pub fn new(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, MappingError> {
        let language = language(manifest)?;
        Ok(Self {
            scanner: Scanner::new(manifest, files)?,
            quantities: Quantities::new(manifest, language)?,
            tools: Tools::new(manifest)?,
            loads: LoadFinder::new(
                manifest.package.loads,
                manifest.package.links,
                ListedHosts::new(&manifest.package.hosts).map_err(MappingError::Host)?,
            ),
            language,
            lexicon: LanguageLexicon::of(&manifest.package.language),
            propositions: Propositions::of(&manifest.package.language),
            grammar: Grammar::of(&manifest.package.language),
            registers: manifest.enumerations.register.iter().map(|r| expected_casual(r)).collect(),
            span_bytes: manifest.limits.span_bytes,
        })
    }

    pub(crate) const fn language(&self) -> &'static Language {
        self.language
    }

    /// Reads a text: scans it and cuts it into pieces.
    #[must_use]
    pub fn read(&self, text: String, granularity: Granularity) -> ScannedText {
        self.read_after("", text, granularity)
    }

    /// Reads a text that follows `before`. Hits and quantities may begin in `before`; only the new text is cut into
    /// pieces. All ranges count from the start of `before`.
    #[must_use]
    pub fn read_after(&self, before: &str, text: String, granularity: Granularity) -> ScannedText {
        let (from, ends) = (before.len(), before.len() + text.len());
        let text = if before.is_empty() { text } else { [before, &text].concat() };
        let found = self.find(&text, false, &ReferenceLabels::default());
        ScannedText::new(text, from, &[ends], found, self.language, granularity).ended()
    }

    /// Reads texts that follow each other. More text may follow the last one, so callers use [`ScannedText::finish`] to
    /// get its finished part. A piece ends where a text ends, unless a hit crosses that border. `besides` is other
    /// earlier text, such as refused text: hits that begin in it and end in the new texts are found, too. `labels` are
    /// those of the text before `before`.
    #[must_use]
    pub fn read_parts(
        &self,
        before: &str,
        besides: &str,
        parts: &[&str],
        labels: &ReferenceLabels,
        granularity: Granularity,
    ) -> ScannedText {
        let joined = parts.concat();
        let text = [before, &joined].concat();
        let mut found = self.find(&text, true, labels);
        if besides != before {
            let other = self.look(&[besides, &joined].concat(), true, labels);
            let place = |at: usize| at.max(besides.len()) - besides.len() + before.len();
            let here = besides.len()..besides.len() + joined.len();
            // The polarity of a hit must not depend on refused text.
            let hits = other.hits.touching(&here);
            let hits = hits.filter(|hit| hit.range.start < here.start || !self.scanner.is_polar(hit.class));
            let hits = hits.map(|hit| (place(hit.range.start)..place(hit.range.end), hit.class));
            found.hits = found.hits.with(hits);
            found.unfinished = found.unfinished.min(place(other.unfinished));
        }
        self.cut(before.len(), text, parts, found, granularity)
    }

    /// Finds hits, quantities, citations and calls in a text. If `goes_on` is set, more text may follow, so beginnings
    /// of hits at the end are found, too.
    fn find(&self, text: &str, goes_on: bool, labels: &ReferenceLabels) -> TextScanFindings {
        let calls = self.tools.in_text(text);
        let called = calls.iter().flat_map(|call| call.classes.iter().map(|class| (call.range.clone(), *class)));
        let mut found = self.look(text, goes_on, labels);
        found.hits = found.hits.with(called);
        found.calls = calls.into_iter().map(|call| call.range).collect();
        found
    }

    fn cut(
        &self,
        from: usize,
        text: String,
        parts: &[&str],
        found: TextScanFindings,
        granularity: Granularity,
    ) -> ScannedText {
        let ends = parts.iter().scan(from, |end, part| {
            *end += part.len();
            Some(*end)
        });
        ScannedText::new(text, from, &ends.collect::<Vec<_>>(), found, self.language, granularity).ended()
    }

    /// Reads a tool call as one step: its canonical text, with the classes that match the text, the tool's name or the
    /// arguments. `None` for an invalid call ([`ValidationReason::ToolMalformed`]).
    #[must_use]
    pub fn read_call(&self, call: &EngineToolCall) -> Option<ScannedText> {
        let (text, arguments) = canonical(call)?;
        let whole = 0..text.len();
        let classes = self.tools.classes(&call.name, &arguments);
        let mut found = self.look(&text, false, &ReferenceLabels::default());
        found.hits = found.hits.with(classes.into_iter().map(|class| (whole.clone(), class)));
        let ends = [text.len()];
        found.calls = vec![whole];
        Some(ScannedText::new(text, 0, &ends, found, self.language, Granularity::Step).ended())
    }

    /// Number of class hits in a text; runs only the scan, for benchmarks.
    #[must_use]
    pub fn scan(&self, text: &str) -> usize {
        self.scanner.scan(text, MatchingView::of(text).as_ref()).len()
    }

    /// Every hit in the bytes of a text, with any polarity. Tests compare these hits with those of a text lane.
    #[must_use]
    pub fn written(&self, text: &str) -> Vec<(Range<usize>, ClassId)> {
        self.scanner.written(text).into_iter().map(|hit| (hit.range, hit.class)).collect()
    }

    /// Scans the text, its view, and what a program decodes from it.
    fn look(&self, text: &str, goes_on: bool, labels: &ReferenceLabels) -> TextScanFindings {
        let view = MatchingView::of(text);
        let mut quantities = self.quantities.find(text, view.as_ref());
        let mut hits = self.scanner.scan(text, view.as_ref());
        let mut cited = citations(text, view.as_ref());
        // A number whose unit may still come waits as a hit does.
        let of = |text: &str, view: Option<&MatchingView>| {
            self.scanner.unfinished(text, 0, view).min(self.measured_from(text, view))
        };
        let mut unfinished = if goes_on { also_completed(text, view.as_ref(), of) } else { text.len() };
        let (mut loads, mut links) = (self.loads.loads(text, labels), self.loads.links(text));
        for page in decoded(text) {
            let shown = MatchingView::of(page.text());
            let found = self.scanner.scan_decoded(page.text(), shown.as_ref());
            hits = hits.with(found.hits.into_iter().map(|(range, class)| (page.origin(&range), class)));
            hits.depend_on_polarity(found.is_polar);
            self.quantities.only_decoded(&mut quantities, text, &page);
            cited = citation::joined(cited, citations(page.text(), shown.as_ref()), &page);
            loads.extend(self.loads.loads(page.text(), labels).iter().map(|range| page.origin(range)));
            links.extend(self.loads.links(page.text()).iter().map(|range| page.origin(range)));
            if goes_on {
                let at = of(page.text(), shown.as_ref()).min(self.loads.unfinished(page.text()));
                unfinished = unfinished.min(page.origin_from(at, text.len()));
            }
        }
        if goes_on {
            unfinished = unfinished.min(undecoded(text)).min(self.loads.unfinished(text));
        }
        let cited_links =
            cited.iter().flatten().filter(|cited| cited.kind == CitationKind::Link).map(|cited| cited.range.clone());
        links.extend(
            cited_links.filter(|range| text.get(range.clone()).is_none_or(|link| self.loads.is_unlisted(link))),
        );
        let addresses = RefusedAddress::joined(loads, links);
        let (calls, too_deep) = (Vec::new(), too_deep(text));
        TextScanFindings { hits, quantities, citations: cited, addresses, calls, too_deep, unfinished }
    }

    /// Adds the labels of references in the first `end` bytes of a text; the text after them is read, too.
    pub fn remember(&self, text: &str, end: usize, labels: &mut ReferenceLabels) {
        self.loads.remember(text, end, labels);
    }

    /// Reads the finished part of `window`; the first `from` bytes are context. It is searched from `near` on, a border
    /// at which nothing is open, unless a result depends on the text before. `labels` are those of the text before
    /// `near`.
    pub(crate) fn read_window(
        &self,
        window: String,
        from: usize,
        near: usize,
        labels: &ReferenceLabels,
        granularity: Granularity,
    ) -> ScannedText {
        // The head of a table can stand far before its numbers, and its marks can be written as escapes.
        let has_table = self.quantities.is_any() && window.contains(['|', '\t', '&', '%', '\\']);
        let part = window.get(near..).filter(|_| near > 0 && !has_table);
        let found = part.map(|part| self.find(part, false, labels).moved(near));
        let found = found.filter(|found| !found.hits.is_polar());
        let found = found.unwrap_or_else(|| self.find(&window, false, labels));
        let ends = [window.len()];
        ScannedText::new(window, from, &ends, found, self.language, granularity)
    }

    /// The place before which later text cannot change any result: each hit, citation, quantity or markup that begins
    /// before this place is complete. Those that begin before `from` are complete.
    pub(crate) fn settled(&self, text: &str, from: usize) -> usize {
        let of = |text: &str, from: usize, view: Option<&MatchingView>| {
            let quantity = self.measured_from(text, view);
            let hit = self.scanner.unfinished(text, from, view);
            hit.min(citation::unfinished(text, from, view)).min(quantity)
        };
        let pages = decoded(text).into_iter().map(|page| {
            let (shown, from) = (MatchingView::of(page.text()), page.shown_until(from));
            let at = undecided(page.text(), from).min(of(page.text(), from, shown.as_ref()));
            page.origin_from(at.min(self.loads.unfinished(page.text())), text.len())
        });
        let completed = also_completed(text, MatchingView::of(text).as_ref(), |text, view| of(text, from, view));
        let settled = undecided(text, from).min(completed).min(self.loads.unfinished(text));
        pages.min().unwrap_or(text.len()).min(settled)
    }

    /// The start of the first quantity of a text or its view that more text can change.
    fn measured_from(&self, text: &str, view: Option<&MatchingView>) -> usize {
        let seen = view.map(|view| view.origin_from(self.quantities.unfinished(view.text()), text.len()));
        self.quantities.unfinished(text).min(seen.unwrap_or(text.len()))
    }

    /// Content words of a text, in lower case, sorted, each once.
    #[must_use]
    pub fn content_words(&self, text: &str) -> Vec<String> {
        SpanReading::of(text, self.language).proposed.words
    }

    /// The words of a text that a fact can support, in order.
    #[must_use]
    pub fn checkable(&self, text: &str) -> Vec<CheckableWord> {
        checkable(text, self.language)
    }

    /// Stems of the synonyms and derivations of a word; empty for a language without word tables.
    #[must_use]
    pub fn alternatives(&self, word: &str) -> Vec<String> {
        self.lexicon.map(|lexicon| alternatives(word, self.language, lexicon)).unwrap_or_default()
    }

    /// Stems of a word's lemmas and of their more general nouns; empty for a language without word tables.
    #[must_use]
    pub fn generalisations(&self, word: &str) -> Vec<String> {
        self.lexicon.map(|lexicon| generalisations(word, self.language, lexicon)).unwrap_or_default()
    }

    /// The places of verbs, pronouns and similar words in a sentence.
    #[must_use]
    pub fn frame(&self, sentence: &str) -> SentenceFrame {
        frame(sentence, self.language, self.lexicon)
    }

    /// The clauses of a text; empty for a language without word tables.
    #[must_use]
    pub fn clauses(&self, text: &str) -> Vec<VerbClause> {
        clauses(text, self.language, self.lexicon)
    }

    /// The assertions of a span, read after the earlier part of its sentence; pronouns are not resolved. `None` in a
    /// language without a grammar.
    #[must_use]
    pub fn propositions(&self, before: &str, span: &str) -> Option<Vec<Proposition>> {
        self.propositions.map(|reader| reader.read(before, span))
    }

    /// What a heading or label at the start of a span names.
    #[must_use]
    pub fn opened(&self, text: &ScannedText, span: &Range<usize>) -> Option<PropositionSubject> {
        let words = words_of_label(text.slice(span), self.language)?;
        let genders = gender::NEUTER | gender::PLURAL;
        Some(PropositionSubject { words, name: true, genders, ..PropositionSubject::default() })
    }

    /// The topic of the stream after a sentence, and the sentence's new words; `None` in a language without a grammar.
    #[must_use]
    pub fn topic(&self, state: &SemanticState, sentence: &str) -> Option<(TopicState, Vec<String>)> {
        let reading = SpanReading::of(sentence, self.language);
        Some(topic(state, sentence, &reading, self.language, self.lexicon, self.grammar?))
    }

    /// The nouns that a sentence treats as known. `said` is whether the stream has earlier text. `None` in a language
    /// without a grammar.
    #[must_use]
    pub fn pointing(&self, sentence: &str, said: bool) -> Option<Vec<Vec<String>>> {
        self.propositions.map(|reader| reader.pointing(sentence, said))
    }

    /// Adds a word of the stream to those that introduce nouns.
    pub fn introduce(&self, introduced: &mut IntroducedWords, word: &str) {
        if self.is_number(word) {
            introduced.add_number();
        }
        if let Some(reader) = self.propositions {
            reader.introduce(introduced, word);
        }
    }

    /// Whether the words of the stream introduce the noun; false in a language without a grammar.
    #[must_use]
    pub fn is_introduced(&self, introduced: &IntroducedWords, noun: &str) -> bool {
        self.propositions.is_some_and(|reader| reader.is_introduced(introduced, noun))
    }

    /// Whether a word is a number.
    #[must_use]
    pub fn is_number(&self, word: &str) -> bool {
        word.starts_with(char::is_numeric) || self.language.digits(word).is_some()
    }

    /// Whether a text declares that it revises an earlier statement.
    #[must_use]
    pub fn revises(&self, text: &str) -> bool {
        !text.is_empty() && SpanReading::of(text, self.language).proposed.revises
    }

    /// Whether a revising proposition replaces an earlier proposition.
    #[must_use]
    pub fn replaces(&self, earlier: &Proposition, later: &Proposition) -> bool {
        self.propositions.is_some_and(|reader| reader.replaces(earlier, later))
    }

    /// The reason why two propositions cannot both hold; `None` if they can.
    #[must_use]
    pub fn conflict(&self, earlier: &Proposition, later: &Proposition) -> Option<PropositionConflict> {
        self.propositions?.conflict(earlier, later)
    }

    /// Whether two propositions make the same assertion.
    #[must_use]
    pub fn say_the_same(&self, a: &Proposition, b: &Proposition) -> bool {
        self.propositions.is_some_and(|reader| reader.same(a, b))
    }

    /// The mutation that a span proposes if the stream has this state.
    #[must_use]
    pub fn map(&self, state: &SemanticState, candidate: SpanInput<'_>) -> SpanMapping {
        let span = candidate.text.slice(candidate.span);
        let length = u16::try_from(span.len()).ok().filter(|l| *l <= self.span_bytes);
        // A span that is too long is refused for its length, so its words are not read.
        let mut reading = length.map_or_else(SpanReading::default, |_| SpanReading::of(span, self.language));
        if length.is_some() && reading.proposed.ordinal.is_none() {
            let item = candidate.text.item_of(candidate.span.start);
            reading.proposed.ordinal = item.and_then(|item| SpanReading::of(item, self.language).proposed.ordinal);
        }
        let (form, prose) = candidate.text.form(candidate.span);
        if length.is_some() {
            let part = prose.as_ref().filter(|prose| *prose != candidate.span).map(|prose| candidate.text.slice(prose));
            reading.take_form(form, prose.is_some(), part, self.language);
            if candidate.text.is_call(candidate.span) {
                reading.repeats_as_call(span);
            }
        }
        let words = &reading.proposed.words;
        let total = words.len();
        let new = words.iter().filter(|w| !state.memory.words.contains_key(*w)).count();
        let strange = words.iter().filter(|w| !state.knows(w)).count();
        // Without an intent and without earlier text, there is nothing to deviate from.
        let anything = !state.memory.words.is_empty() || !state.intent.words.is_empty();
        let content_deviation = if anything { BasisPoints::ratio(strange, total) } else { BasisPoints::ZERO };
        let category = reading.category();
        let certainty = BasisPoints::try_from(reading.certainty()).unwrap_or(BasisPoints::ONE);
        let (casual, all) = (reading.casual, reading.total);
        let expected = self.registers.get(usize::from(state.context.register)).copied().flatten();
        let mut quantities = candidate.text.quantities(candidate.span);
        if let Some(values) = candidate.choice.and_then(|choice| quantities.choices.get(choice)) {
            (quantities.values, quantities.finding) = (*values, StageFinding::Pass);
        }
        let classes = candidate.text.classes(candidate.span);

        let mut touched = fields_touched::LINEAGE;
        if new > 0 || classes.0 != 0 || quantities.values.iter().any(Option::is_some) {
            touched |= fields_touched::MEMORY;
        }
        if category == Category::Transition {
            touched |= fields_touched::CONTEXT;
        }
        if candidate.uncertainty.is_some() {
            touched |= fields_touched::ENTROPY;
        }
        let mutation = SpanMutation {
            inert_prefix: candidate.inert_prefix,
            call: false,
            category,
            granularity: candidate.granularity,
            epistemic: state.context.epistemic,
            anchor: Anchor::None,
            temporal: state.context.temporal,
            domain: state.context.domain,
            audience: state.context.audience,
            register: state.context.register,
            fields_touched: touched as u8,
            novelty: BasisPoints::ratio(new, total),
            uncertainty: candidate.uncertainty,
            certainty,
            content_deviation,
            certainty_divergence: certainty.distance(expected_certainty(state.context.epistemic)),
            register_divergence: expected.map_or(BasisPoints::ZERO, |e| e.distance(BasisPoints::ratio(casual, all))),
            trust_slope: state.bounds.trust_slope,
            length: length.unwrap_or(u16::MAX),
            depth: candidate.depth,
            alternatives: candidate.alternatives,
            correction: state.bounds.drift.level(),
            classes,
            established: state.memory.established,
            quantities: quantities.values,
            validation: match length {
                None => StageFinding::Reject(ValidationReason::SpanTooLong),
                Some(_) if candidate.text.is_too_deep(candidate.span) => {
                    StageFinding::Reject(ValidationReason::JsonDepth)
                }
                Some(_) => candidate.text.address_finding(candidate.span).unwrap_or(quantities.finding),
            },
            lineage: StageFinding::Pass,
            proposed: std::mem::take(&mut reading.proposed),
        };
        let from = candidate.span.start;
        let prose = prose.map(|prose| prose.start - from..prose.end - from);
        SpanMapping { mutation, reading, form, prose }
    }
}

/// The start of the part that more text can change. Also considers the text with its open markup completed.
fn also_completed(
    text: &str,
    view: Option<&MatchingView>,
    unfinished: impl Fn(&str, Option<&MatchingView>) -> usize,
) -> usize {
    let completed = completed(text).and_then(|text| {
        let at = unfinished(&text, MatchingView::of(&text).as_ref());
        (at < text.len()).then_some(at)
    });
    unfinished(text, view).min(completed.unwrap_or(text.len()))
}

/// Share of casual words that a register allows; `None` for an unknown register.
fn expected_casual(register: &str) -> Option<BasisPoints> {
    match register {
        "formal" | "technical" | "neutral" | "plain" => Some(BasisPoints::ZERO),
        "casual" | "informal" => Some(BasisPoints::ratio(1, 10)),
        _ => None,
    }
}

/// Certainty that a plain statement must have in an epistemic mode.
fn expected_certainty(mode: Epistemic) -> BasisPoints {
    match mode {
        Epistemic::Standard | Epistemic::HighPrecision => BasisPoints::ratio(70, 100),
        Epistemic::Exploratory => BasisPoints::ratio(50, 100),
    }
}
