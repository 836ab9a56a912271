//! Answers stored for idempotency keys, the same for every kind of subject.

use rules::once::{KeptAnswer, NewAnswer};
use rules::time::Moment;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Result, Row, params};

use super::queries;

pub fn kept(row: &Row<'_>) -> Result<KeptAnswer> {
    let kept: String = row.get(2)?;
    Ok(KeptAnswer {
        content: row.get(0)?,
        at: Moment(row.get(1)?),
        kept: serde_json::from_str(&kept).map_err(|e| Error::FromSqlConversionFailure(2, Type::Text, Box::new(e)))?,
    })
}

pub fn keep(conn: &Connection, subject: i64, answers: &[NewAnswer]) -> Result<()> {
    for new in answers {
        let kept = serde_json::to_string(&new.answer.kept).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))?;
        conn.prepare_cached(queries::KEEP_ANSWER)?.execute(params![
            subject,
            new.user.as_str(),
            &*new.key,
            new.answer.content,
            new.answer.at.0,
            kept
        ])?;
    }
    Ok(())
}
