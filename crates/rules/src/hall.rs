//! How many seats an event has and what they are called. Names are computed, not stored per seat, so creating a million
//! seats costs nothing.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::event::SEATS_PER_EVENT;
use crate::ids::{Seat, printable};
use crate::outcome::{FieldError, Problem, Refusal};

pub const SECTIONS_MOST: usize = 1_000;
/// The limit for all sections together.
pub const ROWS_MOST: usize = 50_000;
pub const SEATS_PER_ROW: u32 = 100_000;
pub const PLACE_NAME_CHARS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hall {
    /// One row `A` with this many seats.
    Count(u32),
    /// Sections of rows, in the order in which their seats are numbered.
    Sections(HallPlan),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub name: Box<str>,
    pub rows: Vec<HallRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HallRow {
    pub name: Box<str>,
    pub seats: u32,
    /// Wheelchair-accessible places in this row, counted from 1.
    #[serde(default, skip_serializing_if = "<[u32]>::is_empty")]
    pub accessible: Box<[u32]>,
}

/// Sections, with the first seat of each row: a seat is found by binary search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Section>", into = "Vec<Section>")]
pub struct HallPlan {
    sections: Vec<Section>,
    /// Per row: the number of seats before it, its section, its index in the section.
    rows: Vec<(u32, u32, u32)>,
    seat_count: u32,
}

impl From<Vec<Section>> for HallPlan {
    fn from(sections: Vec<Section>) -> HallPlan {
        let mut rows = Vec::new();
        let mut seat_count = 0u32;
        for (s, section) in sections.iter().enumerate() {
            for (r, row) in section.rows.iter().enumerate() {
                rows.push((seat_count, s as u32, r as u32));
                seat_count = seat_count.saturating_add(row.seats);
            }
        }
        HallPlan { sections, rows, seat_count }
    }
}

impl From<HallPlan> for Vec<Section> {
    fn from(plan: HallPlan) -> Vec<Section> {
        plan.sections
    }
}

impl HallPlan {
    /// The row of a seat and its place in it, counted from 1.
    fn find(&self, seat: Seat) -> Option<(&Section, &HallRow, u32)> {
        let before = seat.0.checked_sub(1).filter(|before| *before < self.seat_count)?;
        let at = self.rows.partition_point(|(begins, ..)| *begins <= before).checked_sub(1)?;
        let (begins, section, row) = self.rows[at];
        let section = &self.sections[section as usize];
        Some((section, &section.rows[row as usize], before - begins + 1))
    }
}

impl Hall {
    pub fn has_seat(&self, seat: Seat) -> bool {
        seat.0 >= 1 && seat.0 <= self.seat_count()
    }

    /// Validates sections. An error names its path, such as `seats.sections[0].rows[2].seats`.
    pub fn of_sections(sections: Vec<Section>) -> Result<Hall, Refusal> {
        within("seats.sections", sections.len(), SECTIONS_MOST)?;
        let mut names = HashSet::new();
        let (mut rows, mut seats) = (0usize, 0u64);
        for (s, section) in sections.iter().enumerate() {
            let at = format!("seats.sections[{s}]");
            place_name(&format!("{at}.name"), &section.name)?;
            if !names.insert(&section.name) {
                return Err(FieldError::refused(format!("{at}.name"), Problem::Repeated));
            }
            rows += section.rows.len();
            within(&format!("{at}.rows"), section.rows.len(), ROWS_MOST)?;
            within("seats.sections", rows, ROWS_MOST)?;
            seats += check_rows(&at, &section.rows)?;
            if seats > u64::from(SEATS_PER_EVENT) {
                return Err(FieldError::refused(
                    "seats",
                    Problem::OutOfRange { least: 0, most: SEATS_PER_EVENT.into() },
                ));
            }
        }
        Ok(Hall::Sections(sections.into()))
    }

    pub fn seat_count(&self) -> u32 {
        match self {
            Hall::Count(count) => *count,
            Hall::Sections(plan) => plan.seat_count,
        }
    }

    pub fn seat_name(&self, seat: Seat) -> String {
        let mut name = String::new();
        self.write_name(seat, &mut name);
        name
    }

    /// Appends a seat's name: `1층 A5`; `1층 12-5` where the row's own name ends in a digit.
    pub fn write_name(&self, seat: Seat, name: &mut String) {
        use std::fmt::Write;
        // Writing to a string does not fail.
        let _ = match self {
            Hall::Count(_) => write!(name, "A{}", seat.0),
            Hall::Sections(plan) => match plan.find(seat) {
                Some((section, row, place)) => {
                    let between = if row.name.ends_with(|c: char| c.is_ascii_digit()) { "-" } else { "" };
                    write!(name, "{} {}{between}{place}", section.name, row.name)
                }
                None => write!(name, "{}", seat.0),
            },
        };
    }

    /// The sections of a plan. None for a plain count.
    pub fn sections(&self) -> Option<&[Section]> {
        match self {
            Hall::Count(_) => None,
            Hall::Sections(plan) => Some(&plan.sections),
        }
    }
}

fn check_rows(at: &str, rows: &[HallRow]) -> Result<u64, Refusal> {
    let mut names = HashSet::new();
    let mut seats = 0;
    for (r, row) in rows.iter().enumerate() {
        let field = |name: &str| format!("{at}.rows[{r}].{name}");
        place_name(&field("name"), &row.name)?;
        if !names.insert(&row.name) {
            return Err(FieldError::refused(field("name"), Problem::Repeated));
        }
        if !(1..=SEATS_PER_ROW).contains(&row.seats) {
            return Err(FieldError::refused(
                field("seats"),
                Problem::OutOfRange { least: 1, most: SEATS_PER_ROW.into() },
            ));
        }
        let mut accessible = HashSet::new();
        for (i, place) in row.accessible.iter().enumerate() {
            let refused = |problem| Err(FieldError::refused(format!("{}[{i}]", field("accessible")), problem));
            if !(1..=row.seats).contains(place) {
                return refused(Problem::OutOfRange { least: 1, most: row.seats.into() });
            }
            if !accessible.insert(place) {
                return refused(Problem::Repeated);
            }
        }
        seats += u64::from(row.seats);
    }
    Ok(seats)
}

fn within(field: &str, count: usize, most: usize) -> Result<(), Refusal> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(FieldError::refused(field, Problem::Count { least: 1, most }))
}

fn place_name(field: &str, name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(FieldError::refused(field, Problem::Missing));
    }
    if printable(name, PLACE_NAME_CHARS) {
        return Ok(());
    }
    let long = name.chars().count() > PLACE_NAME_CHARS;
    Err(FieldError::refused(
        field,
        if long { Problem::Length { most: PLACE_NAME_CHARS } } else { Problem::Unprintable },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, seats: u32) -> HallRow {
        HallRow { name: name.into(), seats, accessible: [].into() }
    }

    fn accessible(places: &[u32]) -> HallRow {
        HallRow { accessible: places.into(), ..row("A", 5) }
    }

    fn section(name: &str, rows: Vec<HallRow>) -> Section {
        Section { name: name.into(), rows }
    }

    #[test]
    fn names_follow_rows() {
        let hall = Hall::of_sections(vec![
            section("1층", vec![row("A", 20), row("12", 5)]),
            section("2층", vec![row("A", 1), row("B", 2)]),
        ])
        .unwrap();
        assert_eq!(hall.seat_count(), 28);
        for (seat, name) in [
            (1, "1층 A1"),
            (20, "1층 A20"),
            (21, "1층 12-1"),
            (25, "1층 12-5"),
            (26, "2층 A1"),
            (27, "2층 B1"),
            (28, "2층 B2"),
        ] {
            assert_eq!(hall.seat_name(Seat(seat)), name);
        }
    }

    #[test]
    fn names_are_unique() {
        let hall = Hall::of_sections(vec![
            section("X", vec![row("A", 111), row("A1", 12), row("1", 3)]),
            section("Y", vec![row("A", 3)]),
        ])
        .unwrap();
        let names: HashSet<String> = (1..=hall.seat_count()).map(|s| hall.seat_name(Seat(s))).collect();
        assert_eq!(names.len(), hall.seat_count() as usize);
    }

    #[test]
    fn errors_name_the_path_of_the_field() {
        let rows = |count: u32| (0..count).map(|i| row(&format!("R{i}"), 1)).collect::<Vec<_>>();
        let long = "x".repeat(33);
        for (sections, field) in [
            (vec![], "seats.sections"),
            (vec![section("", rows(1))], "seats.sections[0].name"),
            (vec![section("a", vec![])], "seats.sections[0].rows"),
            (vec![section("a", rows(1)), section("a", rows(1))], "seats.sections[1].name"),
            (vec![section("a", vec![row("A", 1), row("B", 1), row("C", 0)])], "seats.sections[0].rows[2].seats"),
            (vec![section("a", vec![row("A", SEATS_PER_ROW + 1)])], "seats.sections[0].rows[0].seats"),
            (vec![section("a", vec![row("A", 1), row("A", 1)])], "seats.sections[0].rows[1].name"),
            (vec![section("a", vec![accessible(&[1, 5, 6])])], "seats.sections[0].rows[0].accessible[2]"),
            (vec![section("a", vec![accessible(&[0])])], "seats.sections[0].rows[0].accessible[0]"),
            (vec![section("a", vec![accessible(&[2, 1, 2])])], "seats.sections[0].rows[0].accessible[2]"),
            (vec![section("a", vec![row("A\u{0}", 1)])], "seats.sections[0].rows[0].name"),
            (vec![section("a", vec![row(&long, 1)])], "seats.sections[0].rows[0].name"),
            (vec![section("a", (0..101).map(|i| row(&format!("R{i}"), SEATS_PER_ROW)).collect())], "seats"),
            (vec![section("a", rows(30_000)), section("b", rows(30_000))], "seats.sections"),
        ] {
            match Hall::of_sections(sections) {
                Err(Refusal::Invalid(fault)) => assert_eq!(fault.field, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }
}
