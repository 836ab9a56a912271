//! What must be read to decide a batch of a room type, sent together and awaited together.

use futures_util::future::{OptionFuture, try_join4};
use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::stays::Command;
use rules::stays::decide::{Known, LAPSED_MOST, needs};
use rules::subject::{RoomTypeId, Subject};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::super::session::Session;
use super::super::trouble::Trouble;
use super::super::{queries, rows};
use super::{hold, night, stay};

/// The statements of a batch, prepared before any of them is sent: nothing may come between the
/// parts of a pipeline.
pub struct Reads {
    pub lock: Statement,
    pub now: Statement,
    nights: Statement,
    holds: Statement,
    stays: Statement,
    answers: Statement,
}

impl Reads {
    pub async fn prepare(session: &Session) -> Result<Reads, Trouble> {
        Ok(Reads {
            lock: session.prepared(queries::LOCK_ROOM_TYPE).await?,
            now: session.prepared(queries::NOW).await?,
            nights: session.prepared(queries::NIGHTS).await?,
            holds: session.prepared(queries::HOLDS_NEEDED).await?,
            stays: session.prepared(queries::STAYS).await?,
            answers: session.prepared(queries::ANSWERS).await?,
        })
    }

    /// Sends every read at its first poll, so that it can stand behind the lock in one pipeline.
    pub async fn known(&self, session: &Session, id: RoomTypeId, commands: &[Command]) -> Result<Raw, Error> {
        let needs = needs(commands);
        let subject = Subject::RoomType(id).row();
        let numbers = |all: &[u64]| -> Vec<i64> { all.iter().map(|n| *n as i64).collect() };
        let (holds, stays) = (numbers(&needs.holds), numbers(&needs.stays));
        let users: Vec<&str> = needs.users.iter().map(|user| user.as_str()).collect();
        let (key_users, keys): (Vec<&str>, Vec<&str>) =
            needs.keys.iter().map(|(user, key)| (User::as_str(user), *key)).unzip();
        // Nobody wants a night: nothing lies between these two.
        let nowhere = Dates { check_in: Night(i32::MAX), check_out: Night(i32::MIN) };
        let Dates { check_in, check_out } = needs.hull.unwrap_or(nowhere);
        let most = LAPSED_MOST as i64;
        let nights =
            needs.hull.map(|_| async move { session.query(&self.nights, &[&id.0, &check_in.0, &check_out.0]).await });
        let wanted: [&(dyn ToSql + Sync); 7] =
            [&subject, &holds, &users, &needs.hold_keys, &check_in.0, &check_out.0, &most];
        let held = session.query(&self.holds, &wanted);
        let stays = (!stays.is_empty()).then_some(async { session.query(&self.stays, &[&id.0, &stays]).await });
        let answers =
            (!keys.is_empty()).then_some(async { session.query(&self.answers, &[&subject, &key_users, &keys]).await });
        let (nights, holds, stays, answers) =
            try_join4(rows_of(nights), held, rows_of(stays), rows_of(answers)).await?;
        Ok(Raw { nights, holds, stays, answers })
    }
}

async fn rows_of(query: Option<impl Future<Output = Result<Vec<Row>, Error>>>) -> Result<Vec<Row>, Error> {
    OptionFuture::from(query).await.unwrap_or(Ok(Vec::new()))
}

/// Rows as they came.
pub struct Raw {
    nights: Vec<Row>,
    holds: Vec<Row>,
    stays: Vec<Row>,
    answers: Vec<Row>,
}

impl Raw {
    pub fn understand(&self) -> Result<Known, Trouble> {
        let mut known = Known { answers: rows::answers(&self.answers)?, ..Known::default() };
        for row in &self.nights {
            let (night, row) = night(row, 0)?;
            known.nights.insert(night, row);
        }
        for row in &self.holds {
            let hold = hold(row)?;
            known.holds.insert(hold.id.n, hold);
        }
        for row in &self.stays {
            let stay = stay(row)?;
            known.stays.insert(stay.id.n, stay);
        }
        Ok(known)
    }
}
