//! The reads for batches of room types, sent together and awaited together.

use std::collections::HashMap;

use futures_util::future::try_join4;
use rules::holds::{COUNTED_MOST, CountStep, LAPSED_MOST, LapsedMark};
use rules::ids::User;
use rules::nights::{Dates, NIGHTS_MOST, Night};
use rules::room_type::{RoomType, RoomTypeKnown, needs};
use rules::subject::{RoomTypeId, SubjectId};
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::super::engine::Portion;
use super::super::holds::{hold, lapsed};
use super::super::session::{Session, rows_of, within};
use super::super::trouble::Trouble;
use super::super::{answers, queries};
use super::rows::{night, stay};
use crate::ledger::holds::write_stock;

pub struct RoomTypeReads {
    nights: Statement,
    holds: Statement,
    stays: Statement,
    answers: Statement,
}

impl RoomTypeReads {
    pub async fn prepare(session: &Session) -> Result<RoomTypeReads, Trouble> {
        Ok(RoomTypeReads {
            nights: session.prepared(queries::NIGHTS).await?,
            holds: session.prepared(queries::HOLDS_NEEDED).await?,
            stays: session.prepared(queries::STAYS).await?,
            answers: session.prepared(queries::ANSWERS).await?,
        })
    }

    /// Sends every read at its first poll, so that the reads follow the lock statement in one pipeline.
    pub async fn read(&self, session: &Session, portions: &[Portion<'_, RoomType>]) -> Result<RoomTypeRows, Error> {
        let mut columns = NeedColumns::default();
        for portion in portions {
            columns.add(portion);
        }
        let NeedColumns { subjects, holds, owners, hold_keys, given_back, again_after, hull, stays, keys } = &columns;
        // The limit for stock that the batch does not touch applies per transaction, however many room types it has.
        let lapsed_most = (LAPSED_MOST / portions.len().max(1)).max(1);
        let most = lapsed_most as i64;
        let nights =
            (!hull.0.is_empty()).then_some(async { session.query(&self.nights, &[&hull.0, &hull.1, &hull.2]).await });
        let wanted: [&(dyn ToSql + Sync); 13] = [
            subjects,
            &holds.0,
            &holds.1,
            &owners.0,
            &owners.1,
            &hold_keys.0,
            &hold_keys.1,
            &hold_keys.2,
            &most,
            &given_back.0,
            &given_back.1,
            &given_back.2,
            again_after,
        ];
        let held = session.query(&self.holds, &wanted);
        let stays = (!stays.0.is_empty()).then_some(async { session.query(&self.stays, &[&stays.0, &stays.1]).await });
        let answers =
            (!keys.0.is_empty()).then_some(async { session.query(&self.answers, &[&keys.0, &keys.1, &keys.2]).await });
        let (nights, holds, stays, answers) =
            try_join4(rows_of(nights), held, rows_of(stays), rows_of(answers)).await?;
        Ok(RoomTypeRows { nights, holds, stays, answers, lapsed_most, counts: HashMap::new() })
    }
}

/// What all of them need, as columns for the statements; each column begins with the room type.
#[derive(Default)]
struct NeedColumns<'a> {
    subjects: Vec<i64>,
    holds: (Vec<i64>, Vec<i64>),
    owners: (Vec<i64>, Vec<&'a str>),
    hold_keys: (Vec<i64>, Vec<&'a str>, Vec<String>),
    given_back: (Vec<i64>, Vec<&'a str>, Vec<String>),
    again_after: i64,
    /// Room type, from, to.
    hull: (Vec<i64>, Vec<i32>, Vec<i32>),
    /// By room type.
    stays: (Vec<i64>, Vec<i64>),
    keys: (Vec<i64>, Vec<&'a str>, Vec<&'a str>),
}

impl<'a> NeedColumns<'a> {
    fn add(&mut self, portion: &Portion<'a, RoomType>) {
        let Portion { id, commands, terms, .. } = *portion;
        let needs = needs(commands, &terms);
        let subject = SubjectId::RoomType(id).row();
        self.subjects.push(subject);
        self.holds.1.extend(needs.holds.iter().map(|n| *n as i64));
        self.holds.0.resize(self.holds.1.len(), subject);
        self.owners.1.extend(needs.users.iter().map(|user| user.as_str()));
        self.owners.0.resize(self.owners.1.len(), subject);
        for (key, on) in needs.hold_keys {
            self.hold_keys.0.push(subject);
            self.hold_keys.1.push(key);
            self.hold_keys.2.push(write_stock(&on));
        }
        for (user, on) in needs.given_back {
            self.given_back.0.push(subject);
            self.given_back.1.push(User::as_str(user));
            self.given_back.2.push(write_stock(&on));
        }
        self.again_after = self.again_after.max(terms.holds.again_after_ms);
        self.stays.1.extend(needs.stays.iter().map(|n| *n as i64));
        self.stays.0.resize(self.stays.1.len(), id.0);
        for (user, key) in needs.keys {
            self.keys.0.push(subject);
            self.keys.1.push(User::as_str(user));
            self.keys.2.push(key);
        }
        if let Some(dates) = needs.hull {
            self.hull.0.push(id.0);
            self.hull.1.push(dates.check_in.0);
            self.hull.2.push(dates.check_out.0);
        }
    }
}

/// Rows as they were received.
pub struct RoomTypeRows {
    nights: Vec<Row>,
    holds: Vec<Row>,
    stays: Vec<Row>,
    answers: Vec<Row>,
    lapsed_most: usize,
    counts: HashMap<RoomTypeId, CountStep<Vec<(Dates, u32)>>>,
}

impl RoomTypeRows {
    /// As many holds have lapsed as one batch marks expired: the others must be counted.
    pub fn misses_count(&self, id: RoomTypeId, now: Moment) -> bool {
        let subject = SubjectId::RoomType(id).row();
        let own = |row: &&Row| row.try_get::<_, i64>(0).is_ok_and(|found| found == subject) && lapsed(row, now);
        !self.counts.contains_key(&id) && self.holds.iter().filter(own).count() >= self.lapsed_most
    }

    /// Counts lapsed holds beyond the mark, up to the limit of a step.
    pub async fn count(&mut self, session: &Session, room_type: &RoomType, now: Moment) -> Result<(), Trouble> {
        let step = session.prepared(queries::COUNT_LAPSED).await?;
        let (subject, mut to) = (SubjectId::RoomType(room_type.id).row(), room_type.counted);
        let most = COUNTED_MOST as i64;
        let row: [&(dyn ToSql + Sync); 5] = [&subject, &to.ends_at.0, &(to.place as i64), &now.0, &most];
        let (mut all, mut found) = (0, Vec::new());
        for row in within(session.query(&step, &row)).await?? {
            let dates = Dates { check_in: Night(row.try_get(0)?), check_out: Night(row.try_get(1)?) };
            let holds = row.try_get::<_, i32>(2)? as u32;
            to = LapsedMark { ends_at: Moment(row.try_get(3)?), place: row.try_get::<_, i64>(4)? as u64 };
            all += holds as usize;
            found.push((dates, holds));
        }
        self.counts.insert(room_type.id, CountStep { found, to, more: all == COUNTED_MOST });
        Ok(())
    }

    /// Lapsed holds on nights for which the batch wants more rooms than are left.
    pub async fn read_lapsed_on(
        &mut self,
        session: &Session,
        id: RoomTypeId,
        short: &[(Night, u32)],
        now: Moment,
    ) -> Result<(), Trouble> {
        if short.is_empty() {
            return Ok(());
        }
        let lapsed_on = session.prepared(queries::LAPSED_ON).await?;
        let (days, needed): (Vec<i32>, Vec<i32>) =
            short.iter().map(|(night, needed)| (night.0, *needed as i32)).unzip();
        let subject = SubjectId::RoomType(id).row();
        let row: [&(dyn ToSql + Sync); 5] = [&subject, &days, &needed, &now.0, &(NIGHTS_MOST as i32)];
        self.holds.extend(within(session.query(&lapsed_on, &row)).await??);
        Ok(())
    }

    /// What is known of the room types, for those of which anything is known.
    pub fn understand(&self) -> Result<HashMap<RoomTypeId, RoomTypeKnown>, Trouble> {
        let mut all: HashMap<RoomTypeId, RoomTypeKnown> = HashMap::new();
        for row in &self.nights {
            let (night, counts) = night(row, 1)?;
            all.entry(RoomTypeId(row.try_get(0)?)).or_default().nights.insert(night, counts);
        }
        for row in &self.holds {
            let hold = hold(row)?;
            let SubjectId::RoomType(id) = hold.id.subject else { continue };
            all.entry(id).or_default().holds.insert(hold.id.n, hold);
        }
        for row in &self.stays {
            let stay = stay(row)?;
            all.entry(stay.id.room_type).or_default().stays.insert(stay.id.n, stay);
        }
        for row in &self.answers {
            let SubjectId::RoomType(id) = SubjectId::of_row(row.try_get(5)?) else { continue };
            let (whose, answer) = answers::kept(row)?;
            all.entry(id).or_default().answers.insert(whose, answer);
        }
        for (id, step) in &self.counts {
            all.entry(*id).or_default().count = Some(step.clone());
        }
        Ok(all)
    }
}
