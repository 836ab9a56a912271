//! Answers stored for idempotency keys, the same for every kind of subject.

use rules::ids::User;
use rules::once::{KeptAnswer, NewAnswer};
use rules::time::Moment;
use tokio_postgres::{Error, Row, Statement};

use super::session::{Session, execute};
use super::trouble::Trouble;

/// A stored answer, with its user and key.
pub fn kept(row: &Row) -> Result<((User, Box<str>), KeptAnswer), Trouble> {
    let whose = (User::stored(row.try_get(0)?), row.try_get::<_, &str>(1)?.into());
    let content: &[u8] = row.try_get(2)?;
    let kept: &str = row.try_get(4)?;
    let answer = KeptAnswer {
        content: content.try_into().map_err(|_| Trouble::Broken("a digest of another length".into()))?,
        at: Moment(row.try_get(3)?),
        kept: serde_json::from_str(kept).map_err(|e| Trouble::Broken(format!("a kept answer: {e}")))?,
    };
    Ok((whose, answer))
}

/// Stored answers, each with its subject.
pub async fn keep(session: &Session, statement: &Statement, new: Vec<(i64, &NewAnswer)>) -> Result<(), Error> {
    let (subject, new): (Vec<i64>, Vec<&NewAnswer>) = new.into_iter().unzip();
    let user: Vec<&str> = new.iter().map(|a| a.user.as_str()).collect();
    let key: Vec<&str> = new.iter().map(|a| &*a.key).collect();
    let content: Vec<&[u8]> = new.iter().map(|a| &a.answer.content[..]).collect();
    let at: Vec<i64> = new.iter().map(|a| a.answer.at.0).collect();
    // Plain data: serializing it to JSON cannot fail.
    let kept: Vec<String> = new.iter().map(|a| serde_json::to_string(&a.answer.kept).unwrap_or_default()).collect();
    execute(session, statement, &[&subject, &user, &key, &content, &at, &kept]).await
}
