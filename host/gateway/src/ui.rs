//! The figures of the live page.

use crate::clock::now;
use crate::metrics::{CardState, GatewayMetrics, GatewayTotals, OpenStream, OpenedSession};
use crate::service::GatewayService;
use crate::session_state::SessionState;
use portcullis_core::hex;
use portcullis_core::wire::key_flags;
use portcullis_report::live::{LiveCard, LiveGatewayState, LiveStream, STREAMS, time};
use portcullis_report::time::utc;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};

/// Time between two samples.
const STEP: Duration = Duration::from_secs(1);
/// Samples that are kept: one minute, and the sample before it.
const SAMPLES: usize = 61;
/// Number of samples over which a rate is computed.
const WINDOW: usize = 10;

/// The counters at one time.
#[derive(Clone, Copy)]
struct CounterSample {
    at: Instant,
    totals: GatewayTotals,
    /// The highest trust slope of the open streams, in basis points.
    slope: u16,
}

/// The samples of the last minute.
#[derive(Default)]
pub(crate) struct CounterHistory(Mutex<VecDeque<CounterSample>>);

/// Takes a sample every second until the task is aborted.
pub(crate) async fn sample(metrics: Arc<GatewayMetrics>, history: Arc<CounterHistory>) {
    let mut tick = interval(STEP);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tick.tick().await;
        let (_, _, slope) = metrics.open_streams(0);
        history.push(CounterSample { at: Instant::now(), totals: metrics.totals(), slope });
    }
}

impl CounterHistory {
    fn push(&self, sample: CounterSample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push_back(sample);
        while samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    /// The current content of the page.
    pub(crate) fn live(&self, service: &GatewayService) -> LiveGatewayState {
        let metrics = service.metrics();
        let totals = metrics.totals();
        let (open, newest, slope) = metrics.open_streams(STREAMS);
        let samples: Vec<CounterSample> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let before = samples.iter().rev().nth(WINDOW - 1).or(samples.first()).copied();
        let rate = |of: fn(&GatewayTotals) -> u64| {
            let total = of(&totals);
            let rate = before.map(|before| per_second(total - of(&before.totals).min(total), before.at.elapsed()));
            format!("{} per second, {total} in all", rate.unwrap_or_else(|| "0.0".to_owned()))
        };
        let queues = service.queues();
        let started = Duration::from_secs(now().saturating_sub(service.started()));
        let figures = vec![
            ("Open streams", open.to_string()),
            ("Streams", rate(|totals| totals.streams)),
            ("Requests", rate(|totals| totals.requests)),
            ("Admitted", rate(|totals| totals.admitted)),
            ("Refused", rate(|totals| totals.refused)),
            ("Faults", totals.faults.to_string()),
            ("Bytes released", rate(|totals| totals.bytes)),
            ("Requests that are being answered", queues.requests.to_string()),
            ("Streams that wait for a slot", queues.session.waiting.to_string()),
            ("Open streams of the native API", queues.decide_streams.to_string()),
            ("Running for", time(started)),
        ];
        let slopes = samples.iter().skip(samples.len().saturating_sub(SAMPLES - 1)).map(|sample| sample.slope);
        LiveGatewayState {
            program: concat!("portcullis ", env!("CARGO_PKG_VERSION")).to_owned(),
            now: utc(now()),
            figures,
            cards: cards(service, metrics),
            rules: metrics.rules(),
            streams: newest.into_iter().map(stream).collect(),
            slopes: slopes.chain([slope]).collect(),
            hold: metrics.hold_times(),
        }
    }
}

fn stream(open: OpenStream) -> LiveStream {
    let OpenStream { id, begun, admitted, refused, bytes, slope } = open;
    LiveStream { id, age: begun.elapsed(), counts: (admitted, refused), bytes, slope }
}

/// The columns about the cards and their sessions: one for each card.
fn cards(service: &GatewayService, metrics: &GatewayMetrics) -> Vec<LiveCard> {
    let states = service.session_states();
    states.iter().zip(metrics.card_states()).map(|(state, known)| card(state, known)).collect()
}

fn card(state: &SessionState, CardState { session, checkpoint }: CardState) -> LiveCard {
    let takes = match state {
        SessionState::Open(_) => "open: it takes streams",
        SessionState::Between => "no session takes streams: the next one is about to open",
        SessionState::Over => "over: no session follows",
    };
    let none = || "none".to_owned();
    let of_session = |of: fn(&OpenedSession) -> String| session.as_ref().map_or_else(none, of);
    let open = match state {
        SessionState::Open(open) => Some(open),
        SessionState::Between | SessionState::Over => None,
    };
    let slots = open.map_or(0, |open| open.handle.credit().slots);
    let proofs = open.and_then(|open| open.proofs.as_ref());
    let is_recorded = open.is_none() || proofs.is_some();
    let last = match checkpoint {
        Some(at) => format!("{} ago", time(at.elapsed())),
        None if is_recorded => none(),
        None => "none: no bundle is written, so nothing is signed".to_owned(),
    };
    let signed = proofs.map(|proofs| proofs.book.signed().iter().sum::<u64>().to_string());
    LiveCard(vec![
        ("State", takes.to_owned()),
        ("Session", of_session(|opened| opened.name.clone())),
        ("Open for", of_session(|opened| time(opened.opened.elapsed()))),
        ("Card", of_session(|opened| kind(u32::from(opened.card.key_flags)))),
        ("Design", of_session(|opened| hex::encode(&opened.card.design_id))),
        ("Lanes", of_session(|opened| opened.card.lanes.to_string())),
        ("Slots", of_session(|opened| opened.card.max_streams.to_string())),
        ("Free slots", slots.to_string()),
        ("Last checkpoint", last),
        ("Records under it", signed.unwrap_or_else(none)),
    ])
}

/// The kind of card, from its key flags.
fn kind(flags: u32) -> String {
    let is_simulated = flags & u32::from(key_flags::SIM) != 0;
    if is_simulated { "simulated" } else { "hardware" }.to_owned()
}

/// `count` in `time`, per second, with one decimal.
fn per_second(count: u64, time: Duration) -> String {
    let millis = time.as_millis().max(1);
    let tenths = u128::from(count) * 10_000 / millis;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!(per_second(0, Duration::ZERO), "0.0");
        assert_eq!(per_second(5, Duration::from_secs(10)), "0.5");
        assert_eq!(per_second(1_234, Duration::from_secs(1)), "1234.0");
        assert_eq!(per_second(u64::MAX, Duration::from_millis(1)).len(), 25);
    }

    #[test]
    fn a_minute_is_kept() {
        let history = CounterHistory::default();
        for slope in 0..200 {
            history.push(CounterSample { at: Instant::now(), totals: GatewayTotals::default(), slope });
        }
        let samples = history.0.lock().unwrap();
        assert_eq!((samples.len(), samples.front().unwrap().slope), (SAMPLES, 200 - SAMPLES as u16));
    }
}
