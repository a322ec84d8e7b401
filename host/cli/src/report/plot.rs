//! The trust slope as inline SVG, with its thresholds.

use super::model::Stream;
use portcullis_core::wire::Determination;

const WIDTH: usize = 640;
const HEIGHT: usize = 160;
const LEFT: usize = 64;
const BOTTOM: usize = 22;

/// The slope after each admitted transition; nothing for a stream with fewer than two.
pub(crate) fn plot(stream: &Stream, thresholds: [u16; 3]) -> String {
    let admitted = |j: &&portcullis_gate::Judgement| j.determination.determination == Some(Determination::Admit);
    let slopes: Vec<(u32, usize)> =
        stream.judged.iter().filter(admitted).map(|j| (j.determination.seq, usize::from(j.slope))).collect();
    if slopes.len() < 2 {
        return String::new();
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
    let mut svg = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Trust slope over the admitted transitions\">"
    );
    for (threshold, name) in set {
        let (line, text) = (y(threshold), y(threshold).saturating_sub(3).max(9));
        svg.push_str(&format!(
            "<line class=\"t-{name}\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{line}\" y2=\"{line}\"/>\
             <text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{name} {threshold}</text>",
            WIDTH - 4
        ));
    }
    let points: Vec<String> = slopes.iter().enumerate().map(|(at, (_, s))| format!("{},{}", x(at), y(*s))).collect();
    svg.push_str(&format!("<polyline points=\"{}\"/>", points.join(" ")));
    for (at, (seq, slope)) in slopes.iter().enumerate().take(400) {
        svg.push_str(&format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"3\"><title>{seq}: {slope}</title></circle>",
            x(at),
            y(*slope)
        ));
    }
    let base = HEIGHT - BOTTOM;
    svg.push_str(&format!(
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{base}\" y2=\"{base}\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">0</text><text x=\"{}\" y=\"16\" text-anchor=\"end\">{top}</text>\
         <text x=\"{LEFT}\" y=\"{}\">admitted transitions, {} in all</text></svg>\
         <figcaption>Trust slope in basis points: the distance that admitted text has gathered.</figcaption></figure>",
        LEFT - 6,
        base + 4,
        LEFT - 6,
        HEIGHT - 6,
        slopes.len()
    ));
    svg
}
