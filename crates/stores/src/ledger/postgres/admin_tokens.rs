//! The tokens of operators, on PostgreSQL.

use rules::history::{AdminName, Happened};
use rules::time::Moment;
use tokio_postgres::Row;

use super::trouble::{Trouble, unknown};
use super::{PostgresLedger, all, first, queries, values};
use crate::ledger::Answered;
use crate::ledger::admin_tokens::{AdminDigest, AdminRole, AdminToken, AdminTokens, EndedTokens, NewAdminToken};

impl AdminTokens for PostgresLedger {
    fn admin_tokens(&self) -> Answered<Vec<AdminToken>> {
        self.read(queries::ADMIN_TOKENS, values![], |inner, rows| {
            if let Some(now) = first(&rows, |row| Ok(Moment(row.try_get(7)?)))? {
                inner.clock.saw(now);
            }
            Ok(all(&rows, token)?.into_iter().flatten().collect())
        })
    }

    fn make_admin_token(&self, new: NewAdminToken) -> Answered<bool> {
        let note = new.note(Happened::TokenMade);
        self.run(move |inner| async move {
            let made = inner.noted(queries::MAKE_ADMIN_TOKEN, columns(new), note, |rows| Ok(!rows.is_empty())).await;
            made.map_err(Trouble::fault)
        })
    }

    fn replace_admin_token(&self, new: NewAdminToken, ends_at: Moment, retired: Vec<AdminDigest>) -> Answered<()> {
        let note = new.note(Happened::TokenReplaced);
        let mut row = columns(new);
        let retired: Vec<Vec<u8>> = retired.iter().map(|digest| digest.to_vec()).collect();
        row.extend(values![ends_at.0, retired]);
        self.run(move |inner| async move {
            let replaced = inner.noted(queries::REPLACE_ADMIN_TOKEN, row, note, |_| Ok(true)).await;
            replaced.map(drop).map_err(Trouble::fault)
        })
    }

    fn end_admin_tokens(&self, ending: EndedTokens) -> Answered<u64> {
        let note = ending.note();
        let EndedTokens { name, ends_at, by, only_replaced, .. } = ending;
        let row = values![name.as_str().to_owned(), ends_at.0, by.as_str().to_owned(), only_replaced];
        self.run(move |inner| async move {
            let count = |rows: &[Row]| Ok(first(rows, |row| Ok(row.try_get::<_, i64>(0)? as u64))?.unwrap_or_default());
            inner.noted(queries::END_ADMIN_TOKENS, row, note, count).await.map_err(Trouble::fault)
        })
    }
}

fn columns(new: NewAdminToken) -> super::Values {
    values![
        new.digest.to_vec(),
        new.name.as_str().to_owned(),
        new.role.as_str().to_owned(),
        new.at.0,
        new.by.as_str().to_owned()
    ]
}

fn token(row: &Row) -> Result<Option<AdminToken>, Trouble> {
    let Some(digest) = row.try_get::<_, Option<&[u8]>>(0)? else { return Ok(None) };
    let role: &str = row.try_get(2)?;
    Ok(Some(AdminToken {
        digest: digest.try_into().map_err(|_| unknown("a digest"))?,
        name: AdminName::stored(row.try_get(1)?),
        role: AdminRole::named(role).ok_or_else(|| unknown(role))?,
        made_at: Moment(row.try_get(3)?),
        made_by: AdminName::stored(row.try_get(4)?),
        ends_at: row.try_get::<_, Option<i64>>(5)?.map(Moment),
        ended_by: row.try_get::<_, Option<&str>>(6)?.map(AdminName::stored),
    }))
}
