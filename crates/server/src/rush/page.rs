//! One self-contained page with the figures and the plots. It fetches nothing, so it can be mailed.

use std::fmt::Write;

use super::proof::Proof;
use super::report::{self, grouped};
use super::tally::RushFigures;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 160.0;

pub fn page(title: &str, figures: &RushFigures, proof: &Proof) -> String {
    let answered: Vec<u64> = figures.seconds.iter().map(|(count, _)| *count).collect();
    let p99: Vec<u64> = figures.seconds.iter().map(|(_, p99)| p99 / 1000).collect();
    let verdict = if proof.holds() { "holds" } else { "broken" };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\
         <h1>{title}</h1><p class=\"{verdict}\">{}</p>{}{}<pre>{}</pre></html>",
        escaped(&report::sentence(figures, proof)),
        plot("Answers per second", &answered, "/s"),
        plot("99th percentile per second", &p99, " ms"),
        escaped(&report::table(figures, proof)),
        title = escaped(title),
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem;color:#1b1f24}\
svg{width:100%;height:auto;background:#f6f8fa;border-radius:8px}polyline{fill:none;stroke:#0b6bcb;stroke-width:2}\
.holds{font-weight:600;color:#116329}.broken{font-weight:600;color:#a40e26}pre{background:#f6f8fa;padding:1rem;border-radius:8px}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}svg,pre{background:#161b22}.holds{color:#3fb950}.broken{color:#ff7b72}text{fill:#e6edf3}}";

fn plot(title: &str, values: &[u64], unit: &str) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let step = if values.len() > 1 { WIDTH / (values.len() - 1) as f64 } else { 0.0 };
    let mut points = String::new();
    for (i, value) in values.iter().enumerate() {
        let y = HEIGHT - (*value as f64 / most as f64) * (HEIGHT - 24.0);
        let _ = write!(points, "{:.1},{y:.1} ", i as f64 * step);
    }
    format!(
        "<h2>{title}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}, at most {most}{unit}\">\
         <polyline points=\"{points}\"/><text x=\"8\" y=\"18\" font-size=\"14\">at most {}{unit}, {} s</text></svg>",
        grouped(most),
        values.len()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::tally::RushFigures;

    #[test]
    fn page_fetches_nothing() {
        let page = page("Rush <1>", &RushFigures::of(&[], 0), &Proof::default());
        assert!(page.contains("Rush &lt;1&gt;") && !page.contains("http"), "{page}");
    }
}
