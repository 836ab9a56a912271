//! Time zones: the date at a property. The zone database is part of the binary, so nothing has to be
//! installed and all machines agree.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use rules::nights::Night;
use rules::outcome::{Expected, Problem, Refusal};
use rules::time::Moment;

use crate::http::plumbing::json::Node;

fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// The zone with exactly this name, if it exists.
pub fn named(name: &str) -> Option<TimeZone> {
    zones().get(name).ok().filter(|zone| zone.iana_name() == Some(name))
}

/// A name that was sent.
pub fn name_sent(node: &Node<'_>) -> Result<Box<str>, Refusal> {
    let name = node.text()?;
    named(&name).ok_or_else(|| node.fault(Problem::Expected(Expected::TimeZone)))?;
    Ok(name.into())
}

/// The date at that moment in that zone.
pub fn date_in(zone: &TimeZone, now: Moment) -> Night {
    let at = Timestamp::from_millisecond(now.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let date = at.to_zoned(zone.clone()).date();
    Night::of(i32::from(date.year()), date.month() as u32, date.day() as u32).unwrap_or(Night(0))
}

/// Today's date at the property. A zone that no longer exists counts as UTC.
pub fn today(zone: &str, now: Moment) -> Night {
    date_in(&named(zone).unwrap_or(TimeZone::UTC), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        Moment(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn date_follows_the_zone_of_the_property() {
        for (zone, now, date) in [
            ("Asia/Seoul", "2026-12-23T14:59:59Z", "2026-12-23"),
            ("Asia/Seoul", "2026-12-23T15:00:00Z", "2026-12-24"),
            ("America/New_York", "2026-03-08T04:59:59Z", "2026-03-07"),
            ("America/New_York", "2026-03-08T05:00:00Z", "2026-03-08"),
            // Daylight saving time begins that night: the next day begins an hour earlier in UTC.
            ("America/New_York", "2026-03-09T03:59:59Z", "2026-03-08"),
            ("America/New_York", "2026-03-09T04:00:00Z", "2026-03-09"),
            // Apia skipped December 30.
            ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
            ("UTC", "2028-02-29T23:59:59Z", "2028-02-29"),
        ] {
            assert_eq!(today(zone, at(now)).to_string(), date, "{zone} {now}");
        }
    }

    /// A million stays: the number of nights follows from the dates, whatever the clocks do in between.
    #[test]
    fn nights_are_the_difference_of_dates() {
        use jiff::ToSpan;
        let first = jiff::civil::date(2020, 1, 1);
        let mut dice = 4u64;
        for _ in 0..1_000_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (from, count) = ((dice >> 40) % 20_000, 1 + (dice >> 20) % 365);
            let check_in = first + (from as i64).days();
            let check_out = check_in + (count as i64).days();
            let night = |d: jiff::civil::Date| Night::of(d.year().into(), d.month() as u32, d.day() as u32).unwrap();
            let dates = rules::nights::Dates::new(night(check_in), night(check_out)).unwrap();
            assert_eq!(dates.count() as u64, count, "{check_in} {check_out}");
            assert_eq!(night(check_in).plus(count as u32), night(check_out));
        }
        assert_eq!(Night::of(2028, 2, 29).unwrap().to_string(), jiff::civil::date(2028, 2, 29).to_string());
    }

    #[test]
    fn zone_names_are_exact() {
        assert!(named("Asia/Seoul").is_some() && named("UTC").is_some());
        for bad in ["asia/seoul", "Seoul", "", "Mars/Olympus", "../etc/passwd", "+09:00", "UTC "] {
            assert!(named(bad).is_none(), "{bad}");
        }
    }
}
