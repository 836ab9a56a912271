//! The tokens of operators, on SQLite.

use rules::history::{AdminName, Happened};
use rules::time::Moment;
use rusqlite::{Connection, Result, Row, params};

use super::records::append_note;
use super::trouble::unknown;
use super::{SqliteLedger, queries};
use crate::ledger::Answered;
use crate::ledger::admin_tokens::{AdminDigest, AdminRole, AdminToken, AdminTokens, EndedTokens, NewAdminToken};

impl AdminTokens for SqliteLedger {
    fn admin_tokens(&self) -> Answered<Vec<AdminToken>> {
        self.readers.read(|conn| conn.prepare_cached(queries::ADMIN_TOKENS)?.query_map([], token)?.collect())
    }

    fn make_admin_token(&self, new: NewAdminToken) -> Answered<bool> {
        self.write(move |tx| {
            let mut taken = tx.conn.prepare_cached(queries::ADMIN_NAME_TAKEN)?;
            let taken: bool = taken.query_row([new.name.as_str()], |row| row.get(0))?;
            if !taken {
                add(tx.conn, &new, new.digest, None)?;
                append_note(tx, &new.note(Happened::TokenMade))?;
            }
            Ok(Some(!taken))
        })
    }

    fn replace_admin_token(&self, new: NewAdminToken, ends_at: Moment, retired: Vec<AdminDigest>) -> Answered<()> {
        self.write(move |tx| {
            let (name, by) = (new.name.clone(), new.by.clone());
            let origin = new.origin.clone();
            end(tx.conn, &EndedTokens { name, ends_at, by, only_replaced: false, origin })?;
            for old in &retired {
                add(tx.conn, &new, *old, Some(ends_at))?;
            }
            add(tx.conn, &new, new.digest, None)?;
            append_note(tx, &new.note(Happened::TokenReplaced)).map(Some)
        })
    }

    fn end_admin_tokens(&self, ending: EndedTokens) -> Answered<u64> {
        self.write(move |tx| {
            let ended = end(tx.conn, &ending)?;
            if ended > 0 {
                append_note(tx, &ending.note())?;
            }
            Ok(Some(ended))
        })
    }
}

fn add(conn: &Connection, new: &NewAdminToken, digest: AdminDigest, ends_at: Option<Moment>) -> Result<()> {
    conn.prepare_cached(queries::ADD_ADMIN_TOKEN)?.execute(params![
        &digest[..],
        new.name.as_str(),
        new.role.as_str(),
        new.at.0,
        new.by.as_str(),
        ends_at.map(|end| end.0),
        ends_at.map(|_| new.by.as_str()),
    ])?;
    Ok(())
}

fn end(conn: &Connection, ending: &EndedTokens) -> Result<u64> {
    let row = params![ending.name.as_str(), ending.ends_at.0, ending.by.as_str(), ending.only_replaced];
    conn.prepare_cached(queries::END_ADMIN_TOKENS)?.execute(row).map(|ended| ended as u64)
}

fn token(row: &Row<'_>) -> Result<AdminToken> {
    let role: String = row.get(2)?;
    Ok(AdminToken {
        digest: row.get(0)?,
        name: AdminName::stored(row.get_ref(1)?.as_str()?),
        role: AdminRole::named(&role).ok_or_else(|| unknown(2, &role))?,
        made_at: Moment(row.get(3)?),
        made_by: AdminName::stored(row.get_ref(4)?.as_str()?),
        ends_at: row.get::<_, Option<i64>>(5)?.map(Moment),
        ended_by: row.get_ref(6)?.as_str_or_null()?.map(AdminName::stored),
    })
}
