//! The rows about overload in the report.

use crate::crowd::CrowdFigures;
use crate::table::table;

/// From this share of its core on, the generator limits what is offered.
const FULL: f64 = 0.95;

pub struct OverloadRow {
    pub place: &'static str,
    pub multiple: f64,
    /// Per second.
    pub peak: f64,
    pub health_ms: f64,
    /// Processor time of the server.
    pub server_seconds: f64,
    pub memory_mib: f64,
    pub figures: CrowdFigures,
}

impl OverloadRow {
    pub fn ratio(&self) -> f64 {
        self.figures.goodput() / self.peak
    }

    pub fn generator_is_full(&self) -> bool {
        self.figures.generator >= FULL
    }

    /// Microseconds of the server's processor time for one refusal, if a sale costs what it costs at the peak. None:
    /// too few were refused.
    fn refusal_us(&self, sale_us: f64) -> Option<f64> {
        let (served, refused) = (self.figures.served.count(), self.figures.refused.count());
        let left = self.server_seconds * 1e6 - served as f64 * sale_us;
        (refused > 1_000 && refused > served / 4).then_some((left / refused as f64).max(0.0))
    }
}

pub fn markdown(rows: &[OverloadRow]) -> String {
    let mut sale_us = 0.0;
    let row = |row: &OverloadRow| {
        let figures = &row.figures;
        let served = figures.served.count();
        if figures.refused.count() < served / 50 {
            sale_us = row.server_seconds * 1e6 / served.max(1) as f64;
        }
        let full = if row.generator_is_full() { " (full)" } else { "" };
        vec![
            row.place.to_owned(),
            format!("{} x {:.0}/s", row.multiple, row.peak),
            format!("{:.0}", figures.sent()),
            format!("{:.0}", figures.goodput()),
            format!("{:.2}", row.ratio()),
            format!("{:.0}", figures.served.p99_us() as f64 / 1e3),
            format!("{:.1}%", figures.late_share() * 100.0),
            format!("{:.0}", figures.refused.p99_us() as f64 / 1e3),
            row.refusal_us(sale_us).map_or(String::new(), |us| format!("{us:.0}")),
            format!("{:.2}", figures.amplification()),
            figures.unanswered.to_string(),
            figures.still_wait().to_string(),
            format!("{:.0}", row.health_ms),
            format!("{:.0}", row.memory_mib),
            format!("{:.0}%{full}", figures.generator * 100.0),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    table(
        &[
            "where",
            "offered",
            "requests/s",
            "sold/s",
            "of the peak",
            "served p99 ms",
            "connected late",
            "refused p99 ms",
            "us per refusal",
            "requests per person",
            "no answer",
            "waiting at the end",
            "health ms",
            "memory MiB",
            "generator",
        ],
        &rows,
    )
}
