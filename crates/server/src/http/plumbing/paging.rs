//! Keyset pages: `limit`, `after`, and in the answer `next`. A page never shifts under a reader.

use rules::ids::whole;
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
        let limit = match request.query("limit")? {
            None => LIMIT,
            Some(text) => whole(&text)
                .and_then(|n| usize::try_from(n).ok())
                .filter(|limit| (1..=LIMIT_MOST).contains(limit))
                .ok_or_else(|| {
                    FieldError::refused("limit", Problem::OutOfRange { least: 1, most: LIMIT_MOST as i64 })
                })?,
        };
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
