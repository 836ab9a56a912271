//! Figures per event. A scrape shows the busiest events by name and the sum of the others, so that its size
//! and its cost do not grow with the number of events.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rules::ids::EventId;
use rules::queue::Serving;

use super::switch;

/// Events with series of their own.
pub const SHOWN_MOST: usize = 100;
/// The label of all others together.
const OTHERS: &str = "other";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EventLabels {
    event: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    remaining: Option<i64>,
    line: Option<LineFigures>,
    /// Batches and line readings since the last scrape, plus half of what it was before.
    activity: u64,
    /// There was news since the last `forget_unused`.
    used: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct LineFigures {
    waiting: i64,
    inside: i64,
    admitted_per_minute: i64,
    /// 1, or with several lines how many.
    open: i64,
}

impl LineFigures {
    fn and(self, other: LineFigures) -> LineFigures {
        LineFigures {
            waiting: self.waiting + other.waiting,
            inside: self.inside + other.inside,
            admitted_per_minute: self.admitted_per_minute + other.admitted_per_minute,
            open: self.open + other.open,
        }
    }
}

#[derive(Default)]
pub struct EventSeries {
    events: Mutex<HashMap<EventId, Figures>>,
    remaining: Family<EventLabels, Gauge>,
    in_line: Family<EventLabels, Gauge>,
    inside: Family<EventLabels, Gauge>,
    admitted_per_minute: Family<EventLabels, Gauge>,
    open: Family<EventLabels, Gauge>,
}

impl EventSeries {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("remaining_seats", "Free seats after the last batch", self.remaining.clone());
        registry.register("queue_waiting", "People in line who were seen lately", self.in_line.clone());
        registry.register("queue_inside", "People inside a waiting room", self.inside.clone());
        let meaning = "People who were let in within the last minute, by any server";
        registry.register("queue_admitted_per_minute", meaning, self.admitted_per_minute.clone());
        let meaning = "1: the event is open and not sold out, so people are let in where there is room";
        registry.register("queue_open", meaning, self.open.clone());
    }

    pub fn remaining(&self, event: EventId, seats: u32) {
        self.active(event, |figures| figures.remaining = Some(i64::from(seats)));
    }

    /// `selling`: the event is open.
    pub fn line(&self, event: EventId, serving: &Serving, selling: bool) {
        let line = LineFigures {
            waiting: serving.waiting as i64,
            inside: serving.inside as i64,
            admitted_per_minute: serving.admitted_per_minute as i64,
            open: i64::from(selling && !serving.sold_out),
        };
        self.active(event, |figures| figures.line = Some(line));
    }

    /// The event was deleted.
    pub fn forget(&self, event: EventId) {
        self.events().remove(&event);
    }

    /// Forgets events that had no news since the last call. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        let mut events = self.events();
        events.retain(|_, figures| std::mem::take(&mut figures.used));
        events.shrink_to_fit();
        events.len()
    }

    /// Events by activity, the busiest first.
    pub fn busiest(&self) -> Vec<EventId> {
        let mut all: Vec<(u64, EventId)> = self.events().iter().map(|(id, figures)| (figures.activity, *id)).collect();
        all.sort_unstable_by_key(|(activity, id)| (std::cmp::Reverse(*activity), *id));
        all.into_iter().map(|(_, id)| id).collect()
    }

    /// Writes the figures of this moment into the series.
    pub fn show(&self) {
        let busiest = self.busiest();
        let (shown, others) = busiest.split_at(busiest.len().min(SHOWN_MOST));
        let mut events = self.events();
        self.remaining.clear();
        self.in_line.clear();
        self.inside.clear();
        self.admitted_per_minute.clear();
        self.open.clear();
        for event in shown {
            if let Some(figures) = events.get(event) {
                self.set(event.to_string(), figures);
            }
        }
        let rest = others.iter().filter_map(|event| events.get(event)).copied().reduce(|sum, one| Figures {
            remaining: added(sum.remaining, one.remaining, |a, b| a + b),
            line: added(sum.line, one.line, LineFigures::and),
            ..Figures::default()
        });
        if let Some(rest) = rest {
            self.set(OTHERS.to_owned(), &rest);
        }
        events.values_mut().for_each(|figures| figures.activity /= 2);
    }

    fn set(&self, event: String, figures: &Figures) {
        let labels = EventLabels { event };
        if let Some(remaining) = figures.remaining {
            self.remaining.get_or_create(&labels).set(remaining);
        }
        if let Some(line) = figures.line {
            self.in_line.get_or_create(&labels).set(line.waiting);
            self.inside.get_or_create(&labels).set(line.inside);
            self.admitted_per_minute.get_or_create(&labels).set(line.admitted_per_minute);
            self.open.get_or_create(&labels).set(line.open);
        }
    }

    fn active(&self, event: EventId, change: impl FnOnce(&mut Figures)) {
        if switch::is_off() {
            return;
        }
        let mut events = self.events();
        let figures = events.entry(event).or_default();
        figures.activity += 1;
        figures.used = true;
        change(figures);
    }

    fn events(&self) -> MutexGuard<'_, HashMap<EventId, Figures>> {
        self.events.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn added<T>(a: Option<T>, b: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn text(series: &EventSeries) -> String {
        let mut registry = Registry::default();
        series.register(&mut registry);
        series.show();
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn the_busiest_are_shown_and_the_rest_are_summed() {
        let series = EventSeries::default();
        for id in 1..=3_000 {
            series.remaining(EventId(id), 7);
        }
        for _ in 0..5 {
            series.remaining(EventId(2_999), 4);
        }
        let text = text(&series);
        assert!(text.contains("remaining_seats{event=\"2999\"} 4"), "{text}");
        let others = (3_000 - SHOWN_MOST as i64) * 7;
        assert!(text.contains(&format!("remaining_seats{{event=\"other\"}} {others}")), "{text}");
        assert_eq!(text.matches("remaining_seats{").count(), SHOWN_MOST + 1);
    }

    #[test]
    fn activity_fades_and_deleted_events_are_forgotten() {
        let series = EventSeries::default();
        (0..8).for_each(|_| series.remaining(EventId(1), 1));
        text(&series);
        (0..6).for_each(|_| series.remaining(EventId(2), 1));
        assert_eq!(series.busiest(), [EventId(2), EventId(1)]);
        series.forget(EventId(2));
        assert!(!text(&series).contains("event=\"2\""));
    }
}
