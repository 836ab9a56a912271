//! Nights of a stay. A date is local to the property: no clock, no time zone, only the calendar.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Neg};
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::outcome::{FieldError, Problem, Refusal};

/// The date of a night, or of a morning of departure, as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Night(pub i32);

/// The year of a date has four digits.
const LAST_DAY: i32 = 2_932_896;

const EPOCH: Date = Date::constant(1970, 1, 1);

impl Night {
    /// None unless the day exists in the calendar, from 1970 to 9999.
    pub fn of(year: i32, month: u32, day: u32) -> Option<Night> {
        let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
        Night::of_date(date.ok()?)
    }

    /// None before 1970.
    fn of_date(date: Date) -> Option<Night> {
        let days = date.duration_since(EPOCH).as_hours() / 24;
        i32::try_from(days).ok().filter(|days| *days >= 0).map(Night)
    }

    pub fn plus(self, days: u32) -> Night {
        Night(self.0.saturating_add_unsigned(days).min(LAST_DAY))
    }

    fn date(self) -> Date {
        EPOCH.saturating_add(SignedDuration::from_hours(24 * i64::from(self.0)))
    }
}

impl fmt::Display for Night {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.date().fmt(f)
    }
}

/// The text is not a date, or the calendar does not have that day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADate;

impl FromStr for Night {
    type Err = NotADate;

    /// Only `2026-12-24` is valid: the library alone would accept other spellings.
    fn from_str(text: &str) -> Result<Self, NotADate> {
        let shape = |(i, byte): (usize, u8)| if i == 4 || i == 7 { byte == b'-' } else { byte.is_ascii_digit() };
        if text.len() != 10 || !text.bytes().enumerate().all(shape) {
            return Err(NotADate);
        }
        text.parse().ok().and_then(Night::of_date).ok_or(NotADate)
    }
}

pub const NIGHTS_MOST: u32 = 365;

/// The nights from `check_in` up to, not including, `check_out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dates {
    pub check_in: Night,
    pub check_out: Night,
}

impl Dates {
    /// At least one night, at most 365.
    pub fn new(check_in: Night, check_out: Night) -> Result<Dates, Refusal> {
        let (least, most) = (check_in.plus(1), check_in.plus(NIGHTS_MOST));
        if check_out < least || check_out > most {
            return Err(FieldError::refused("checkOut", Problem::Dates { least, most }));
        }
        Ok(Dates { check_in, check_out })
    }

    /// The nights of a month, written `2026-12`.
    pub fn of_month(text: &str) -> Option<Dates> {
        let check_in: Night = format!("{text}-01").parse().ok()?;
        let last = check_in.date().last_of_month();
        Some(Dates { check_in, check_out: Night::of_date(last)?.plus(1) })
    }

    /// The part from `first` up to, not including, `end`. None: no nights are left.
    pub fn within(self, first: Night, end: Night) -> Option<Dates> {
        let dates = Dates { check_in: self.check_in.max(first), check_out: self.check_out.min(end) };
        (dates.check_in < dates.check_out).then_some(dates)
    }

    /// Not before the property's current date, and the last night within the booking horizon.
    pub fn sold_on(self, today: Night, days_ahead: u32) -> Result<Dates, Refusal> {
        let furthest = today.plus(days_ahead);
        if self.check_in < today || self.check_in > furthest {
            return Err(FieldError::refused("checkIn", Problem::Dates { least: today, most: furthest }));
        }
        if self.check_out > furthest.plus(1) {
            let (least, most) = (self.check_in.plus(1), furthest.plus(1));
            return Err(FieldError::refused("checkOut", Problem::Dates { least, most }));
        }
        Ok(self)
    }

    /// The range from the first night of either to the last night of either.
    pub fn around(self, other: Dates) -> Dates {
        Dates { check_in: self.check_in.min(other.check_in), check_out: self.check_out.max(other.check_out) }
    }

    pub fn nights(self) -> impl Iterator<Item = Night> {
        (self.check_in.0..self.check_out.0).map(Night)
    }

    pub fn count(self) -> usize {
        (self.check_out.0 - self.check_in.0).max(0) as usize
    }

    pub fn overlaps(self, other: Dates) -> bool {
        self.check_in < other.check_out && other.check_in < self.check_out
    }
}

/// Calls `on_night` once per night with the sum of everything that covers it, in order, omitting sums of zero. The cost
/// is one step per stay and one per night, however long the stays are.
pub fn sums<T>(stays: impl Iterator<Item = (Dates, T)>, mut on_night: impl FnMut(Night, T))
where
    T: Copy + Default + PartialEq + Add<Output = T> + Neg<Output = T>,
{
    let mut turns: BTreeMap<Night, T> = BTreeMap::new();
    for (dates, by) in stays {
        for (night, by) in [(dates.check_in, by), (dates.check_out, -by)] {
            let turn = turns.entry(night).or_default();
            *turn = *turn + by;
        }
    }
    let (mut sum, mut from) = (T::default(), Night(0));
    for (night, turn) in turns {
        if sum != T::default() {
            (from.0..night.0).for_each(|day| on_night(Night(day), sum));
        }
        (sum, from) = (sum + turn, night);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_as_long_as_the_calendar_says() {
        let night = |text: &str| text.parse::<Night>().unwrap();
        let december = Dates { check_in: night("2026-12-01"), check_out: night("2027-01-01") };
        assert_eq!(Dates::of_month("2026-12"), Some(december));
        assert_eq!(Dates::of_month("2028-02").map(Dates::count), Some(29));
        for bad in ["2026-13", "2026-00", "2026", "2026-1", "2026-12-01", "", "1969-12"] {
            assert_eq!(Dates::of_month(bad), None, "{bad}");
        }
        let rest = december.within(night("2026-12-30"), night("2030-01-01"));
        assert_eq!(rest.map(Dates::count), Some(2));
        assert_eq!(december.within(night("2027-01-01"), night("2030-01-01")), None);
        let [january, march] = ["2027-01", "2027-03"].map(|month| Dates::of_month(month).unwrap());
        let winter = Dates { check_in: night("2027-01-01"), check_out: night("2027-04-01") };
        assert_eq!([march.around(january), january.around(march), winter.around(march)], [winter; 3]);
    }

    #[test]
    fn every_day_has_one_spelling() {
        let (first, last) = (Night::of(1970, 1, 1).unwrap(), Night::of(9999, 12, 31).unwrap());
        assert_eq!((first, last), (Night(0), Night(LAST_DAY)));
        let mut before = String::new();
        for day in 0..=LAST_DAY {
            let text = Night(day).to_string();
            assert_eq!(text.parse(), Ok(Night(day)), "{text}");
            assert!(before < text, "{before} {text}");
            before = text;
        }
    }

    #[test]
    fn impossible_dates_and_other_spellings_are_refused() {
        for bad in [
            "2026-02-30",
            "2026-02-29",
            "2100-02-29",
            "2026-04-31",
            "2026-00-01",
            "2026-13-01",
            "2026-01-00",
            "2026-1-01",
            "2026-01-1",
            "26-01-01",
            "1969-12-31",
            "2026/01/01",
            "2026-01-01T00:00",
            "+026-01-01",
            "2026-0١-01",
            "",
            "tomorrow",
        ] {
            assert_eq!(bad.parse::<Night>(), Err(NotADate), "{bad}");
        }
        assert_eq!("2028-02-29".parse::<Night>().unwrap().plus(1), "2028-03-01".parse().unwrap());
        assert_eq!("2000-02-29".parse::<Night>().unwrap().plus(1), "2000-03-01".parse().unwrap());
    }

    #[test]
    fn check_out_is_not_a_night_of_the_stay() {
        let date = |text: &str| text.parse::<Night>().unwrap();
        let dates = Dates::new(date("2026-12-30"), date("2027-01-02")).unwrap();
        let nights: Vec<String> = dates.nights().map(|night| night.to_string()).collect();
        assert_eq!(nights, ["2026-12-30", "2026-12-31", "2027-01-01"]);
        assert_eq!(dates.count(), 3);
        let next = Dates::new(date("2027-01-02"), date("2027-01-03")).unwrap();
        assert!(!dates.overlaps(next) && dates.overlaps(dates));
        for (check_in, check_out) in [("2026-12-24", "2026-12-24"), ("2026-12-24", "2026-12-23")] {
            assert!(Dates::new(date(check_in), date(check_out)).is_err());
        }
        assert!(Dates::new(date("2026-01-01"), date("2027-01-01")).is_ok(), "365 nights");
        assert!(Dates::new(date("2026-01-01"), date("2027-01-02")).is_err(), "366 nights");
    }

    #[test]
    fn only_today_up_to_the_horizon_is_sold() {
        let today = Night(20_000);
        let stay = |from: i32, nights: u32| Dates::new(Night(from), Night(from).plus(nights)).unwrap();
        assert!(stay(20_000, 1).sold_on(today, 730).is_ok());
        assert!(stay(19_999, 5).sold_on(today, 730).is_err());
        assert!(stay(20_730, 1).sold_on(today, 730).is_ok(), "the last night is 730 days ahead");
        assert!(stay(20_730, 2).sold_on(today, 730).is_err());
        assert!(stay(20_731, 1).sold_on(today, 730).is_err());
    }

    #[test]
    fn sums_count_what_covers_each_night() {
        let stay = |check_in, check_out| Dates { check_in: Night(check_in), check_out: Night(check_out) };
        let stays = [(stay(3, 6), 1), (stay(5, 7), 2), (stay(9, 10), 1), (stay(3, 4), -1)];
        let mut found = Vec::new();
        sums(stays.into_iter(), |night, sum| found.push((night.0, sum)));
        assert_eq!(found, [(4, 1), (5, 3), (6, 2), (9, 1)]);
    }
}
