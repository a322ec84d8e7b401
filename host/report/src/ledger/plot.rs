//! The trust slope and its thresholds as inline SVG.

use super::model::StreamModel;
use maud::{Markup, html};
use portcullis_core::wire::Determination;

const WIDTH: usize = 640;
const HEIGHT: usize = 160;
const LEFT: usize = 64;
const BOTTOM: usize = 22;
/// Largest number of points that are marked.
const MARKS: usize = 400;

const POINTS_MIN: usize = 3;

/// Plots the slope after each admitted transition; empty if the stream has too few of them.
pub(super) fn plot(stream: &StreamModel, thresholds: [u16; 3]) -> Markup {
    let admitted = |j: &&portcullis_gate::SpanJudgement| j.determination.determination == Some(Determination::Admit);
    let slopes: Vec<(u32, usize)> =
        stream.judged.iter().filter(admitted).map(|j| (j.determination.seq, usize::from(j.slope))).collect();
    if slopes.len() < POINTS_MIN {
        return html! {};
    }
    let set: Vec<(usize, &str)> = thresholds
        .into_iter()
        .zip(["warning", "correction", "halt"])
        .filter(|(t, _)| *t < u16::MAX)
        .map(|(t, name)| (usize::from(t), name))
        .collect();
    let top = slopes.iter().map(|(_, s)| *s).chain(set.iter().map(|(t, _)| *t)).max().unwrap_or(0).max(100);
    let y = |value: usize| 8 + (HEIGHT - BOTTOM - 8) * (top - value) / top;
    let x = |at: usize| LEFT + (WIDTH - LEFT - 10) * at / (slopes.len() - 1);
    let points: Vec<String> = slopes.iter().enumerate().map(|(at, (_, s))| format!("{},{}", x(at), y(*s))).collect();
    let base = HEIGHT - BOTTOM;
    html! {
        figure {
            svg viewBox=(format_args!("0 0 {WIDTH} {HEIGHT}")) role="img"
                aria-label="Trust slope over the admitted transitions" {
                @for &(threshold, name) in &set {
                    line class={ "t-" (name) } x1=(LEFT) x2=(WIDTH) y1=(y(threshold)) y2=(y(threshold)) {}
                    text x=(WIDTH - 4) y=(y(threshold).saturating_sub(3).max(9)) text-anchor="end" {
                        (name) " " (threshold)
                    }
                }
                polyline points=(points.join(" ")) {}
                @for (at, (seq, slope)) in slopes.iter().enumerate().take(MARKS) {
                    circle cx=(x(at)) cy=(y(*slope)) r="3" { title { (seq) ": " (slope) } }
                }
                line.axis x1=(LEFT) x2=(WIDTH) y1=(base) y2=(base) {}
                text x=(LEFT - 6) y=(base + 4) text-anchor="end" { "0" }
                text x=(LEFT - 6) y="16" text-anchor="end" { (top) }
                text x=(LEFT) y=(HEIGHT - 6) { "admitted transitions, " (slopes.len()) " in all" }
            }
            figcaption {
                "Trust slope in basis points: the distance that admitted text has gathered."
                @if set.is_empty() { " The policy sets no threshold." }
            }
        }
    }
}
