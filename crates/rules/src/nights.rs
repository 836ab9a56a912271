//! Nights of a stay. A date is the property's own: no clock, no zone, only the calendar.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::outcome::{FieldError, Problem, Refusal};

/// A night, or a morning of departure, by its date: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Night(pub i32);

/// Dates are four digits of year.
const LAST_DAY: i32 = 2_932_896;

const DAYS_PER_ERA: i32 = 146_097;
/// From 0000-03-01, where the calendar's eras begin, to 1970-01-01.
const ERA_OFFSET: i32 = 719_468;

impl Night {
    /// None unless the calendar has that day, from 1970 to 9999.
    pub fn of(year: i32, month: u32, day: u32) -> Option<Night> {
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > month_days(year, month) {
            return None;
        }
        // Years begin in March, so that the leap day is the last one.
        let year = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (year / 400, year % 400);
        let month_from_march = (month as i32 + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day as i32 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Some(Night(era * DAYS_PER_ERA + day_of_era - ERA_OFFSET))
    }

    pub fn plus(self, days: u32) -> Night {
        Night(self.0.saturating_add_unsigned(days).min(LAST_DAY))
    }

    fn civil(self) -> (i32, i32, i32) {
        let days = self.0 + ERA_OFFSET;
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (year_of_era + era * 400 + i32::from(month <= 2), month, day)
    }
}

fn month_days(year: i32, month: u32) -> u32 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Night {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// It is not a date, or the calendar does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADate;

impl FromStr for Night {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Self, NotADate> {
        let bytes = text.as_bytes();
        let digits = |range: std::ops::Range<usize>| {
            let digits = bytes.get(range)?;
            let plain = digits.iter().all(u8::is_ascii_digit);
            plain.then(|| digits.iter().fold(0u32, |n, digit| n * 10 + u32::from(digit - b'0')))
        };
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return Err(NotADate);
        }
        let (Some(year), Some(month), Some(day)) = (digits(0..4), digits(5..7), digits(8..10)) else {
            return Err(NotADate);
        };
        Night::of(year as i32, month, day).ok_or(NotADate)
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

    /// Not in the property's past, and the last night not further ahead than is sold.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_calendar_has_one_spelling() {
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
    fn days_that_are_not_there() {
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
    fn a_stay_ends_in_the_morning_of_its_last_date() {
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
    fn today_can_be_sold_and_yesterday_cannot() {
        let today = Night(20_000);
        let stay = |from: i32, nights: u32| Dates::new(Night(from), Night(from).plus(nights)).unwrap();
        assert!(stay(20_000, 1).sold_on(today, 730).is_ok());
        assert!(stay(19_999, 5).sold_on(today, 730).is_err());
        assert!(stay(20_730, 1).sold_on(today, 730).is_ok(), "the last night is 730 days ahead");
        assert!(stay(20_730, 2).sold_on(today, 730).is_err());
        assert!(stay(20_731, 1).sold_on(today, 730).is_err());
    }
}
