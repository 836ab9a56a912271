//! The table at the end, and the same as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::goodput::Goodput;
use super::proof::Proof;
use super::tally::RushFigures;

pub const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

pub fn table(figures: &RushFigures, proof: &Proof) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<22}{value:>14}");
    };
    row("offered", grouped(figures.offered));
    row("answered", grouped(figures.answered));
    for (outcome, count) in &figures.outcomes {
        row(&format!("  {outcome}"), grouped(*count));
    }
    row("seconds", format!("{:.1}", figures.took.as_secs_f64()));
    for (name, quantile) in QUANTILES {
        row(name, format!("{:.1} ms", figures.ms(quantile)));
    }
    row("sold", grouped(proof.sold));
    row("sold twice", grouped(proof.sold_twice));
    row("lost", grouped(proof.lost));
    row("unexplained", grouped(proof.unexplained));
    row("order broken", grouped(proof.order_broken));
    row("numbers twice", grouped(proof.numbers_twice));
    row("invariants broken", proof.invariants_broken.map_or("not asked".into(), grouped));
    row("not in the contract", grouped(proof.not_in_contract));
    text
}

/// The verdict in one line.
pub fn sentence(proof: &Proof) -> String {
    let checked = if proof.compared_with_server { "" } else { " (without ADMIN_TOKEN only the answers were compared)" };
    format!(
        "{} sold, {} sold twice, {} lost, {} told sold out{checked}",
        grouped(proof.sold),
        grouped(proof.sold_twice),
        grouped(proof.lost),
        grouped(proof.told_sold_out)
    )
}

/// The rows of `--crowd`.
pub fn crowd(goodput: &Goodput) -> String {
    let mut text = String::new();
    for (name, value) in goodput.rows() {
        let _ = writeln!(text, "  {name:<22}{value:>14}");
    }
    text
}

pub fn machine(figures: &RushFigures, goodput: &Goodput, proof: &Proof) -> Value {
    let quantiles: serde_json::Map<String, Value> =
        QUANTILES.iter().map(|(name, quantile)| ((*name).to_owned(), json!(figures.ms(*quantile)))).collect();
    json!({
        "offered": figures.offered, "answered": figures.answered, "seconds": figures.took.as_secs_f64(),
        "outcomes": figures.outcomes, "latencyMs": quantiles,
        "sold": proof.sold, "soldTwice": proof.sold_twice, "lost": proof.lost, "toldSoldOut": proof.told_sold_out,
        "unexplained": proof.unexplained, "orderBroken": proof.order_broken,
        "numbersTwice": proof.numbers_twice, "invariantsBroken": proof.invariants_broken,
        "notInContract": proof.not_in_contract, "comparedWithServer": proof.compared_with_server,
        "holds": proof.holds(), "crowd": goodput.machine(),
    })
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
