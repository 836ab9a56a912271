//! Time zones: which date it is at a property. The zones are in the binary, so that nothing has to
//! be installed and every machine agrees.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use rules::nights::Night;
use rules::time::Moment;

fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// The zone under its own spelling; none: there is no such zone.
pub fn named(name: &str) -> Option<TimeZone> {
    zones().get(name).ok().filter(|zone| zone.iana_name() == Some(name))
}

/// The date at that moment in that zone.
pub fn date_in(zone: &TimeZone, now: Moment) -> Night {
    let at = Timestamp::from_millisecond(now.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let date = at.to_zoned(zone.clone()).date();
    Night::of(i32::from(date.year()), date.month() as u32, date.day() as u32).unwrap_or(Night(0))
}

/// What day it is at the property. A zone that is not known any more counts as UTC.
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
    fn the_property_has_its_own_date() {
        for (zone, now, date) in [
            ("Asia/Seoul", "2026-12-23T14:59:59Z", "2026-12-23"),
            ("Asia/Seoul", "2026-12-23T15:00:00Z", "2026-12-24"),
            ("America/New_York", "2026-03-08T04:59:59Z", "2026-03-07"),
            ("America/New_York", "2026-03-08T05:00:00Z", "2026-03-08"),
            // The clocks go forward that night: the next day begins an hour earlier.
            ("America/New_York", "2026-03-09T03:59:59Z", "2026-03-08"),
            ("America/New_York", "2026-03-09T04:00:00Z", "2026-03-09"),
            // Apia went from the 29th to the 31st.
            ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
            ("UTC", "2028-02-29T23:59:59Z", "2028-02-29"),
        ] {
            assert_eq!(today(zone, at(now)).to_string(), date, "{zone} {now}");
        }
    }

    #[test]
    fn zones_have_one_spelling() {
        assert!(named("Asia/Seoul").is_some() && named("UTC").is_some());
        for bad in ["asia/seoul", "Seoul", "", "Mars/Olympus", "../etc/passwd", "+09:00", "UTC "] {
            assert!(named(bad).is_none(), "{bad}");
        }
    }
}
