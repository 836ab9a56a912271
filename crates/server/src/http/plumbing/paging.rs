//! Keyset pages: `limit`, `after`, and in the answer `next`. A page never shifts under a reader. Seats are counted,
//! so their pages begin with a seat: `from`.

use rules::ids::{Seat, whole};
use rules::outcome::{Expected, FieldError, Problem, Refusal};

use super::call::Incoming;

const LIMIT: usize = 100;
const LIMIT_MOST: usize = 1_000;

pub struct Paging {
    limit: usize,
    after: Option<String>,
}

impl Paging {
    pub fn of(request: &Incoming) -> Result<Paging, Refusal> {
        let limit = limit(request)?.unwrap_or(LIMIT);
        Ok(Paging { limit, after: request.query("after")? })
    }

    /// Where the page begins, parsed by the code that wrote `next`.
    pub fn after<T>(&self, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Refusal> {
        let not_ours = || FieldError::refused("after", Problem::Expected(Expected::NextOfAPage));
        self.after.as_deref().map(|text| read(text).ok_or_else(not_ours)).transpose()
    }

    /// Whether the caller asked for a page. Where everything can be had at once, it is sent otherwise.
    pub fn asked(request: &Incoming) -> Result<bool, Refusal> {
        Ok(request.query("limit")?.is_some() || request.query("after")?.is_some())
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// One row more than asked for tells whether there is another page.
    pub fn one_more(&self) -> usize {
        self.limit + 1
    }

    pub fn cut<T>(&self, mut rows: Vec<T>, name: impl FnOnce(&T) -> String) -> (Vec<T>, Option<String>) {
        if rows.len() <= self.limit {
            return (rows, None);
        }
        rows.truncate(self.limit);
        let next = rows.last().map(name);
        (rows, next)
    }
}

fn limit(request: &Incoming) -> Result<Option<usize>, Refusal> {
    request.query("limit")?.map(|text| within("limit", &text, LIMIT_MOST)).transpose()
}

fn within(name: &'static str, text: &str, most: usize) -> Result<usize, Refusal> {
    let number = whole(text).and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| FieldError::refused(name, Problem::OutOfRange { least: 1, most: most as i64 }))
}

/// A page of a list of seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatRange {
    pub first: Seat,
    pub count: usize,
}

impl SeatRange {
    /// None: the whole list is wanted.
    pub fn asked(request: &Incoming) -> Result<Option<SeatRange>, Refusal> {
        let from = request.query("from")?.map(|text| within("from", &text, u32::MAX as usize)).transpose()?;
        let limit = limit(request)?;
        if from.is_none() && limit.is_none() {
            return Ok(None);
        }
        let first = Seat(from.map_or(1, |from| from as u32));
        Ok(Some(SeatRange { first, count: limit.unwrap_or(LIMIT_MOST) }))
    }
}
