//! The origins of history rows and their links in the chain, as columns for the statements.

use rules::history::RequestOrigin;
use tokio_postgres::types::ToSql;

use crate::chain::Link;

pub struct LinkColumns<'a> {
    trace: Vec<Option<&'a str>>,
    details: Vec<Option<&'a str>>,
    address: Vec<Option<&'a str>>,
    salt: Vec<Option<&'a [u8]>>,
    hash: Vec<&'a [u8]>,
}

impl<'a> LinkColumns<'a> {
    pub fn of(rows: impl Iterator<Item = (&'a RequestOrigin, &'a Link)>) -> LinkColumns<'a> {
        let most = rows.size_hint().0;
        let mut columns = LinkColumns {
            trace: Vec::with_capacity(most),
            details: Vec::with_capacity(most),
            address: Vec::with_capacity(most),
            salt: Vec::with_capacity(most),
            hash: Vec::with_capacity(most),
        };
        for (origin, link) in rows {
            columns.trace.push(origin.trace.as_deref());
            columns.details.push(link.details.as_deref());
            columns.address.push(link.address.as_deref());
            columns.salt.push(link.salt.as_ref().map(|salt| &salt[..]));
            columns.hash.push(&link.hash[..]);
        }
        columns
    }

    /// The last five parameters of every statement that appends history.
    pub fn row(&self) -> [&(dyn ToSql + Sync); 5] {
        [&self.trace, &self.details, &self.address, &self.salt, &self.hash]
    }
}
