//! Counters of a running gateway. No metric contains text, and no label is a client's choice: routes are those of the
//! router, models those of the configuration, rules those of the policies.

use crate::upstream::UpstreamError;
use axum::http::StatusCode;
use portcullis_core::wire::Determination;
use portcullis_gate::engine::Proposal;
use portcullis_gate::{Candidate, Credit, Event, EventKind};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::cell::Cell;
use std::time::Duration;

/// Seconds from the arrival of a byte to its release.
const HOLD_BUCKETS: [f64; 14] = [0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.5, 5.0, 15.0];

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

/// The counters of a gateway.
#[derive(Debug, Default)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    streams: Gauge,
    determinations: Family<VerdictLabel, Counter>,
    refusals: Family<RuleLabel, Counter>,
    released: Counter,
    rotations: Counter,
    unknown_uncertainty: Counter,
    upstream_errors: Family<KindLabel, Counter>,
    hold: Option<Histogram>,
    queues: Family<QueueLabel, Gauge>,
}

/// Lengths of queues and free places at the time when the metrics are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queues {
    /// Requests that are being answered.
    pub(crate) requests: usize,
    /// Streams of the native API that are open.
    pub(crate) decide_streams: usize,
    /// The session's room; zero without a session.
    pub(crate) session: Credit,
}

impl Metrics {
    /// All of them, at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self { hold: Some(Histogram::new(HOLD_BUCKETS)), ..Self::default() };
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
        if let Some(hold) = &metrics.hold {
            let help = "Time from the arrival of a byte from a model server to its release";
            registry.register_with_unit("portcullis_hold", help, Unit::Seconds, hold.clone());
        }
        let queues = "What waits, and what there is room for";
        registry.register("portcullis_queue", queues, metrics.queues.clone());
        metrics
    }

    /// A request was answered. `route` is the router's pattern, `model` a name of the configuration.
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
    }

    /// Something happened in a stream.
    pub(crate) fn event(&self, event: &Event) {
        match &event.what {
            EventKind::Begun { .. } => {
                self.streams.inc();
            }
            EventKind::Ended { .. } => {
                self.streams.dec();
            }
            EventKind::Determined(judged) => {
                let judged = &judged.determination;
                let verdict = judged.determination.map_or("fault", Determination::name);
                self.determinations.get_or_create(&VerdictLabel { verdict }).inc();
                if let Some(rule) = judged.rule.clone().filter(|_| judged.determination == Some(Determination::Reject))
                {
                    self.refusals.get_or_create(&RuleLabel { rule }).inc();
                }
            }
            EventKind::Released { text, .. } => {
                self.released.inc_by(text.len() as u64);
            }
            EventKind::Proposed(answer) => {
                if let Ok(Proposal::Candidate(Candidate { logprobs_absent: Some(_), .. })) = &**answer {
                    self.unknown_uncertainty.inc();
                }
            }
            EventKind::Deferred { .. }
            | EventKind::Expired { .. }
            | EventKind::RolledBack { .. }
            | EventKind::Drift { .. } => {}
        }
    }

    /// The pre-execution filter refused an input by these rules.
    pub(crate) fn input_refused(&self, rules: &[String]) {
        for rule in rules {
            self.refusals.get_or_create(&RuleLabel { rule: rule.clone() }).inc();
        }
    }

    /// A session ended: none of its streams is open.
    pub(crate) fn session_over(&self) {
        self.streams.set(0);
    }

    /// A session is about to follow another.
    pub(crate) fn rotated(&self) {
        self.rotations.inc();
    }

    pub(crate) fn upstream_failed(&self, error: &UpstreamError) {
        self.upstream_errors.get_or_create(&KindLabel { kind: error.kind() }).inc();
    }

    /// A piece of a model server's answer was released so long after it had come.
    pub(crate) fn held(&self, time: Duration) {
        if let Some(hold) = &self.hold {
            hold.observe(time.as_secs_f64());
        }
    }

    /// All of them in Prometheus' text format.
    pub(crate) fn text(&self, queues: Queues) -> String {
        let Queues { requests, decide_streams, session } = queues;
        for (queue, length) in [
            ("requests", requests),
            ("decide_streams", decide_streams),
            ("streams_waiting", session.waiting),
            ("slots_free", session.slots),
            ("entries_free", session.entries),
        ] {
            self.queues.get_or_create(&QueueLabel { queue }).set(i64::try_from(length).unwrap_or(i64::MAX));
        }
        let mut written = String::new();
        // Writing into a string cannot fail, and an incomplete list of metrics would be worse than an empty one.
        match text::encode(&mut written, &self.registry) {
            Ok(()) => written,
            Err(_) => String::new(),
        }
    }
}

tokio::task_local! {
    /// Place of the model that the request of this task is answered by, once that is known.
    static MODEL: Cell<Option<usize>>;
}

/// The request of this task is answered by this model.
pub(crate) fn note_model(place: usize) {
    let _ = MODEL.try_with(|model| model.set(Some(place)));
}

/// The result of `answered`, and the model that it noted.
pub(crate) async fn with_model<T>(answered: impl Future<Output = T>) -> (T, Option<usize>) {
    MODEL.scope(Cell::new(None), async { (answered.await, MODEL.with(Cell::get)) }).await
}
