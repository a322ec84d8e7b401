//! Counters of a running gateway. They contain no text, and clients cannot choose labels: routes are the router's
//! patterns, models are names in the configuration, rules are those of the policies.

use crate::upstream::UpstreamError;
use axum::http::StatusCode;
use portcullis_card::CardInfo;
use portcullis_core::wire::Determination;
use portcullis_gate::engine::EngineProposal;
use portcullis_gate::{AnswerCandidate, SessionCapacity, StreamEvent, StreamEventKind};
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bucket bounds for hold times, in milliseconds. A hold time is the time from the arrival of a byte to its release.
const HOLD_BUCKETS: [u64; 14] = [1, 3, 5, 10, 25, 50, 100, 250, 500, 1_000, 1_500, 2_500, 5_000, 15_000];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    model: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabel {
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabel {
    rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabel {
    queue: &'static str,
}

/// Number of refusals per rule or reason.
#[derive(Clone, Debug, Default)]
struct RuleCounts(Arc<Mutex<BTreeMap<String, u64>>>);

impl RuleCounts {
    fn add(&self, rule: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(rule) {
            Some(count) => *count += 1,
            None => {
                counts.insert(rule.to_owned(), 1);
            }
        }
    }

    fn all(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EncodeMetric for RuleCounts {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.all().into_iter().try_for_each(|(rule, count)| {
            let labels = RuleLabel { rule };
            encoder.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
        })
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// Histogram of hold times: the buckets of [`HOLD_BUCKETS`], and one for longer times.
#[derive(Clone, Debug, Default)]
struct HoldTimes(Arc<HoldCounts>);

#[derive(Debug, Default)]
struct HoldCounts {
    buckets: [AtomicU64; HOLD_BUCKETS.len() + 1],
    microseconds: AtomicU64,
}

impl HoldTimes {
    fn observe(&self, time: Duration) {
        let place = HOLD_BUCKETS.iter().take_while(|bound| time > Duration::from_millis(**bound)).count();
        if let Some(bucket) = self.0.buckets.get(place) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.microseconds.fetch_add(micros, Ordering::Relaxed);
    }

    fn counts(&self) -> Vec<u64> {
        self.0.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect()
    }
}

impl EncodeMetric for HoldTimes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let counts = self.counts();
        let bounds = HOLD_BUCKETS.iter().map(|bound| Duration::from_millis(*bound).as_secs_f64());
        let buckets: Vec<_> = bounds.chain([f64::INFINITY]).zip(counts.iter().copied()).collect();
        let sum = Duration::from_micros(self.0.microseconds.load(Ordering::Relaxed)).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(sum, counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[derive(Clone, Debug)]
pub(crate) struct OpenStream {
    pub(crate) id: String,
    pub(crate) begun: Instant,
    /// Number of admitted mutations.
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    /// Number of released bytes.
    pub(crate) bytes: u64,
    /// Trust slope, in basis points.
    pub(crate) slope: u16,
}

/// State of the card and its session, as far as known.
#[derive(Clone, Debug, Default)]
pub(crate) struct CardState {
    /// The session opened last.
    pub(crate) session: Option<OpenedSession>,
    /// Time of the last signed checkpoint.
    pub(crate) checkpoint: Option<Instant>,
}

/// A session, and the card's data at its OPEN.
#[derive(Clone, Debug)]
pub(crate) struct OpenedSession {
    pub(crate) name: String,
    pub(crate) opened: Instant,
    pub(crate) card: CardInfo,
}

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GatewayTotals {
    pub(crate) requests: u64,
    pub(crate) streams: u64,
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    pub(crate) faults: u64,
    pub(crate) bytes: u64,
}

/// The counters of a gateway.
#[derive(Debug, Default)]
pub struct GatewayMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    /// Total of `requests`.
    answered: Counter,
    /// Total of begun streams.
    begun: Counter,
    streams: Gauge,
    determinations: Family<VerdictLabel, Counter>,
    refusals: RuleCounts,
    released: Counter,
    rotations: Counter,
    unknown_uncertainty: Counter,
    upstream_errors: Family<KindLabel, Counter>,
    hold: HoldTimes,
    queues: Family<QueueLabel, Gauge>,
    /// The open streams by card and number. Their count is limited by the cards' slots.
    open: Mutex<BTreeMap<(usize, u64), OpenStream>>,
    /// In the order of the cards.
    cards: Mutex<Vec<CardState>>,
    card_states: Family<CardStateLabel, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CardStateLabel {
    state: &'static str,
}

/// Number of cards by the state of their sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CardCounts {
    pub(crate) open: usize,
    pub(crate) between: usize,
    pub(crate) over: usize,
}

/// Queue lengths and free places at the time of a scrape.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLengths {
    /// Requests that are being answered.
    pub(crate) requests: usize,
    /// Streams of the native API that are open.
    pub(crate) decide_streams: usize,
    /// Free room in all open sessions; zero without a session.
    pub(crate) session: SessionCapacity,
    pub(crate) cards: CardCounts,
}

impl GatewayMetrics {
    /// All counters at zero, for this number of cards.
    #[must_use]
    pub fn new(cards: usize) -> Self {
        let mut metrics = Self { cards: Mutex::new(vec![CardState::default(); cards]), ..Self::default() };
        let registry = &mut metrics.registry;
        let requests = "Requests that were answered, by route, model and class of status";
        registry.register("portcullis_requests", requests, metrics.requests.clone());
        registry.register("portcullis_streams", "Governed streams that are open", metrics.streams.clone());
        let determinations = "Determinations by verdict; a fault is none";
        registry.register("portcullis_determinations", determinations, metrics.determinations.clone());
        let refusals = "Rejected mutations by rule or reason";
        registry.register("portcullis_refusals", refusals, metrics.refusals.clone());
        let released = "Bytes of admitted text that were released";
        registry.register_with_unit("portcullis_released", released, Unit::Bytes, metrics.released.clone());
        registry.register("portcullis_rotations", "Sessions that were followed by another", metrics.rotations.clone());
        let unknown = "Candidates whose log-probabilities were asked for and are not known";
        registry.register("portcullis_unknown_uncertainty", unknown, metrics.unknown_uncertainty.clone());
        let upstream = "Answers that a model server did not finish, by kind of error";
        registry.register("portcullis_upstream_errors", upstream, metrics.upstream_errors.clone());
        let help = "Time from the arrival of a byte from a model server to its release";
        registry.register_with_unit("portcullis_hold", help, Unit::Seconds, metrics.hold.clone());
        let queues = "What waits, and what there is room for";
        registry.register("portcullis_queue", queues, metrics.queues.clone());
        let cards = "Cards by the state of their sessions";
        registry.register("portcullis_cards", cards, metrics.card_states.clone());
        metrics
    }

    /// Counts an answered request. `route` is the router's pattern, `model` a name in the configuration.
    pub(crate) fn request(&self, route: &str, model: &str, status: StatusCode) {
        let status = match status.as_u16() {
            100..=199 => "1xx",
            200..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        let labels = RequestLabels { route: route.to_owned(), model: model.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        self.answered.inc();
    }

    /// Counts an event of a stream of this card.
    pub(crate) fn event(&self, card: usize, event: &StreamEvent) {
        let key = (card, event.stream);
        match &event.what {
            StreamEventKind::Begun { id, .. } => {
                self.begun.inc();
                let (id, begun) = (id.clone(), Instant::now());
                let stream = OpenStream { id, begun, admitted: 0, refused: 0, bytes: 0, slope: 0 };
                self.change_open(|open| drop(open.insert(key, stream)));
            }
            StreamEventKind::Ended { .. } => {
                self.change_open(|open| drop(open.remove(&key)));
            }
            StreamEventKind::Determined(judged) => {
                let (slope, judged) = (judged.slope, &judged.determination);
                let verdict = judged.determination.map_or("fault", Determination::name);
                self.determinations.get_or_create(&VerdictLabel { verdict }).inc();
                let is_reject = judged.determination == Some(Determination::Reject);
                if let Some(rule) = judged.rule.as_ref().filter(|_| is_reject) {
                    self.refusals.add(rule);
                }
                if let Some(stream) = self.open().get_mut(&key) {
                    match judged.determination {
                        Some(Determination::Admit) => stream.admitted += 1,
                        Some(Determination::Reject) => stream.refused += 1,
                        Some(Determination::None | Determination::Decompose) | None => {}
                    }
                    stream.slope = slope;
                }
            }
            StreamEventKind::Released { text, .. } => {
                self.released.inc_by(text.len() as u64);
                if let Some(stream) = self.open().get_mut(&key) {
                    stream.bytes += text.len() as u64;
                }
            }
            StreamEventKind::Proposed(answer) => {
                if let Ok(EngineProposal::Candidate(AnswerCandidate { logprobs_absent: Some(_), .. })) = &**answer {
                    self.unknown_uncertainty.inc();
                }
            }
            StreamEventKind::Deferred { .. }
            | StreamEventKind::Expired { .. }
            | StreamEventKind::RolledBack { .. }
            | StreamEventKind::Drift { .. } => {}
        }
    }

    /// Counts an input that these rules of the pre-execution filter refused.
    pub(crate) fn input_refused(&self, rules: &[String]) {
        rules.iter().for_each(|rule| self.refusals.add(rule));
    }

    /// A session of this card ended, so all its streams are closed.
    pub(crate) fn session_over(&self, card: usize) {
        self.change_open(|open| open.retain(|(of, _), _| *of != card));
        self.card(card, |state| state.session = None);
    }

    /// Notes the session that was opened on this card.
    pub(crate) fn session_opened(&self, card: usize, name: &str, info: &CardInfo) {
        let opened = OpenedSession { name: name.to_owned(), opened: Instant::now(), card: info.clone() };
        self.card(card, |state| state.session = Some(opened));
    }

    /// Notes the time of a signed checkpoint of this card.
    pub(crate) fn checkpoint(&self, card: usize) {
        self.card(card, |state| state.checkpoint = Some(Instant::now()));
    }

    /// Changes the open streams, and with them their number. Several threads do this.
    fn change_open(&self, change: impl FnOnce(&mut BTreeMap<(usize, u64), OpenStream>)) {
        let mut open = self.open();
        change(&mut open);
        self.streams.set(i64::try_from(open.len()).unwrap_or(i64::MAX));
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<(usize, u64), OpenStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn card(&self, card: usize, change: impl FnOnce(&mut CardState)) {
        if let Some(state) = self.cards.lock().unwrap_or_else(PoisonError::into_inner).get_mut(card) {
            change(state);
        }
    }

    /// The states of the cards and their sessions, in the order of the cards.
    pub(crate) fn card_states(&self) -> Vec<CardState> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of open streams, the newest `most` of them, and the highest trust slope of all.
    pub(crate) fn open_streams(&self, most: usize) -> (usize, Vec<OpenStream>, u16) {
        let open = self.open();
        let mut newest: Vec<_> = open.values().cloned().collect();
        newest.sort_by_key(|stream| Reverse(stream.begun));
        newest.truncate(most);
        (open.len(), newest, open.values().map(|stream| stream.slope).max().unwrap_or(0))
    }

    /// The number of refusals per rule or reason.
    pub(crate) fn rules(&self) -> BTreeMap<String, u64> {
        self.refusals.all()
    }

    /// The upper bounds of the hold times and the count in each bucket; the last count is for times above all bounds.
    pub(crate) fn hold_times(&self) -> (Vec<Duration>, Vec<u64>) {
        (HOLD_BUCKETS.map(Duration::from_millis).to_vec(), self.hold.counts())
    }

    pub(crate) fn totals(&self) -> GatewayTotals {
        let verdict = |verdict| self.determinations.get_or_create(&VerdictLabel { verdict }).get();
        GatewayTotals {
            requests: self.answered.get(),
            streams: self.begun.get(),
            admitted: verdict(Determination::Admit.name()),
            refused: verdict(Determination::Reject.name()),
            faults: verdict("fault"),
            bytes: self.released.get(),
        }
    }

    /// Counts a rotation.
    pub(crate) fn rotated(&self) {
        self.rotations.inc();
    }

    pub(crate) fn upstream_failed(&self, error: &UpstreamError) {
        self.upstream_errors.get_or_create(&KindLabel { kind: error.kind() }).inc();
    }

    /// Counts a released piece that was held for this time.
    pub(crate) fn held(&self, time: Duration) {
        self.hold.observe(time);
    }

    /// All metrics in the text format of Prometheus.
    pub(crate) fn text(&self, queues: QueueLengths) -> String {
        let QueueLengths { requests, decide_streams, session, cards } = queues;
        for (queue, length) in [
            ("requests", requests),
            ("decide_streams", decide_streams),
            ("streams_waiting", session.waiting),
            ("slots_free", session.slots),
            ("entries_free", session.entries),
        ] {
            self.queues.get_or_create(&QueueLabel { queue }).set(i64::try_from(length).unwrap_or(i64::MAX));
        }
        for (state, count) in [("open", cards.open), ("between", cards.between), ("over", cards.over)] {
            self.card_states.get_or_create(&CardStateLabel { state }).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let mut written = String::new();
        // Writing to a string cannot fail; if it did, an empty list would be better than an incomplete one.
        match text::encode(&mut written, &self.registry) {
            Ok(()) => written,
            Err(_) => String::new(),
        }
    }
}

tokio::task_local! {
    /// Index of the model for this task's request, once it is known.
    static MODEL: Cell<Option<usize>>;
}

/// Notes the model for this task's request.
pub(crate) fn note_model(place: usize) {
    let _ = MODEL.try_with(|model| model.set(Some(place)));
}

/// Runs `answered`, and returns its result with the model that `answered` noted.
pub(crate) async fn with_model<T>(answered: impl Future<Output = T>) -> (T, Option<usize>) {
    MODEL.scope(Cell::new(None), async { (answered.await, MODEL.with(Cell::get)) }).await
}
