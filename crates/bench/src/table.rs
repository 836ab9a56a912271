//! The table: the measurements beside DESIGN's goals. Markdown that is readable as text.

use std::fmt::Write;

use crate::machine::Machine;
use crate::rounds::{Series, Spread};

/// One promise about speed.
pub struct Goal {
    pub what: String,
    pub goal: String,
    pub measured: String,
    /// None: not measured in this run.
    pub holds: Option<bool>,
}

impl Goal {
    pub fn at_least(what: &str, least: f64, measured: Spread) -> Goal {
        Goal {
            what: what.to_owned(),
            goal: format!(">= {least}"),
            measured: spread(&measured),
            holds: Some(measured.median >= least),
        }
    }

    /// With a digit more, for a goal close to 1.
    pub fn at_least_exactly(what: &str, least: f64, measured: Spread) -> Goal {
        let Spread { min, median, max } = measured;
        Goal { measured: format!("{median:.3} ({min:.3} to {max:.3})"), ..Goal::at_least(what, least, measured) }
    }

    pub fn at_most(what: &str, most: f64, unit: &str, measured: f64) -> Goal {
        Goal {
            what: what.to_owned(),
            goal: format!("<= {most:.1} {unit}"),
            measured: format!("{measured:.1} {unit}"),
            holds: Some(measured <= most),
        }
    }

    /// For information only: there is no goal.
    pub fn shown(what: &str, measured: &Spread) -> Goal {
        Goal { what: what.to_owned(), goal: String::new(), measured: spread(measured), holds: None }
    }
}

fn spread(of: &Spread) -> String {
    format!("{:.2} ({:.2} to {:.2})", of.median, of.min, of.max)
}

pub struct Report {
    pub machine: Machine,
    pub mode: String,
    pub date: String,
    pub commit: String,
    pub series: Vec<Series>,
    /// The table about overload.
    pub overload: String,
    pub goals: Vec<Goal>,
}

impl Report {
    pub fn markdown(&self) -> String {
        let Machine { processor, cores, memory_mib, kernel, disk, flush, busy } = &self.machine;
        let quiet = if self.machine.was_quiet() { "quiet" } else { "NOT QUIET: run it again when nothing else runs" };
        let mut text = String::from("# Benchmarks\n\n");
        let _ = writeln!(
            text,
            "Written by `make bench`; not edited by hand. What helped and what did not is in\n\
             [performance.md](performance.md).\n\n\
             - date: {}, commit {}, {}\n\
             - machine: {cores} cores ({processor}), {memory_mib} MiB, Linux {kernel}\n\
             - disk: {disk}; 4 KiB appended and flushed: median {} us, 99th percentile {} us\n\
             - when it began others used {:.0}% of the machine ({quiet})\n\
             - the generator runs on the same machine, in a process and thread of its own\n",
            self.date,
            self.commit,
            self.mode,
            flush.p50_us,
            flush.p99_us,
            busy * 100.0
        );
        text.push_str(
            "A ratio compares a run with the ceiling just before and just after it: a bare handler that\n\
             parses and validates the same request, answers the same body and remembers nothing; where a group\n\
             of rows begins with something else, with that. Every run of the product was followed by `tickettock verify`.\n\n## Reservations per second\n\n",
        );
        text.push_str(&table(
            &["what", "connections", "per second", "of the ceiling", "lowest", "highest", "refused"],
            &self.rows(),
        ));
        text.push_str(
            "\n## More people than it can serve\n\n\
             The server and its services run on one core, the generator on another. The refused come again when\n\
             they are told to. The peak is measured just before.\n\
             Where the generator's core is full, less was offered than the second column says.\n\n",
        );
        text.push_str(&self.overload);
        text.push_str("\n## Goals\n\n");
        text.push_str(&table(&["what", "goal", "measured", "holds"], &self.goal_rows()));
        text
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |series: &Series| {
            let ratio = series.ratio();
            let two = |value: f64| format!("{value:.2}");
            vec![
                series.name.clone(),
                series.connections.to_string(),
                format!("{:.0}", series.rate()),
                two(ratio.median),
                two(ratio.min),
                two(ratio.max),
                series.refused.to_string(),
            ]
        };
        self.series.iter().map(row).collect()
    }

    fn goal_rows(&self) -> Vec<Vec<String>> {
        let holds = |goal: &Goal| match goal.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let row =
            |goal: &Goal| vec![goal.what.clone(), goal.goal.clone(), goal.measured.clone(), holds(goal).to_owned()];
        self.goals.iter().map(row).collect()
    }

    pub fn all_hold(&self) -> bool {
        self.goals.iter().all(|goal| goal.holds != Some(false))
    }
}

pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let width = |i: usize| {
        let cells = rows.iter().map(|row| &row[i]).chain([&head[i]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}", line(&head), line(&rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_compare_with_their_limit() {
        let spread = Spread { min: 0.7, median: 0.81, max: 0.9 };
        assert_eq!(Goal::at_least("x", 0.8, spread).holds, Some(true));
        assert_eq!(Goal::at_least("x", 0.82, spread).holds, Some(false));
        assert_eq!(Goal::at_most("x", 40.0, "MiB", 40.1).holds, Some(false));
    }

    #[test]
    fn cells_are_aligned() {
        let text = table(&["a", "long head"], &[vec!["longer".into(), "b".into()]]);
        assert_eq!(text, "| a      | long head |\n| ------ | --------- |\n| longer | b         |\n");
    }
}
