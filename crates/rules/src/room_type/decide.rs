//! One batch of commands for one room type. Nights are written as differences; a constraint keeps each
//! row within its total.

use std::collections::{BTreeMap, HashMap};

use super::writes::{NightShift, RoomTypeKnown, RoomTypeWrites, Shift};
use super::{NightRow, RoomAction, RoomCommand, RoomRecord, RoomType, RoomTypeAmendment, Stay};
use crate::decide::{Deciding, Opening};
use crate::history::{Actor, Details, Happened};
use crate::holds::{CountStep, Hold, LapsedMark, On};
use crate::ids::User;
use crate::nights::{Dates, Night, sums};
use crate::outcome::{Done, Forbidden, Refusal};
use crate::subject::{RoomTypeId, StayId, Subject, SubjectId};

/// The working state of a batch of a room type.
#[derive(Debug)]
pub struct RoomTypeDraft {
    nights: HashMap<Night, NightRow>,
    stays: HashMap<u64, Stay>,
    /// The change of the counts of each night.
    shifts: BTreeMap<Night, NightShift>,
    count: Option<CountStep<Vec<(Dates, u32)>>>,
    /// Lapsed holds that were marked expired. Their nights change together, because there may be many of both.
    turned: Vec<(Dates, NightShift)>,
}

impl Subject for RoomType {
    type Id = RoomTypeId;
    type Action = RoomAction;
    type Known = RoomTypeKnown;
    type Draft = RoomTypeDraft;
    type Writes = RoomTypeWrites;
    type Effects = ();

    fn subject(id: RoomTypeId) -> SubjectId {
        SubjectId::RoomType(id)
    }

    fn id(&self) -> RoomTypeId {
        self.id
    }

    fn newest(&self) -> u64 {
        self.n
    }

    fn gives_back(action: &RoomAction) -> bool {
        action.gives_back()
    }

    fn about_a_hold(action: &RoomAction) -> bool {
        action.about_a_hold()
    }

    fn then(_: &mut (), (): ()) {}

    fn open(&self, known: RoomTypeKnown) -> Opening<RoomTypeDraft> {
        let backlog = CountStep::backlog(known.count.as_ref());
        let draft = RoomTypeDraft {
            nights: known.nights,
            stays: known.stays,
            shifts: BTreeMap::new(),
            count: known.count,
            turned: Vec::new(),
        };
        Opening { holds: known.holds, answers: known.answers, draft, backlog }
    }

    fn count_lapsed(deciding: &mut Deciding<RoomType>) {
        let Some(step) = deciding.draft.count.take() else { return };
        deciding.subject.counted = step.to;
        let counted = |lapsed: u32| NightShift { lapsed: lapsed as i32, ..NightShift::default() };
        deciding.draft.turned.extend(step.found.into_iter().map(|(dates, lapsed)| (dates, counted(lapsed))));
    }

    fn turn_lapsed(deciding: &mut Deciding<RoomType>) {
        let turned = std::mem::take(&mut deciding.draft.turned);
        sums(turned.into_iter(), |night, by| deciding.shift_night(night, by));
    }

    fn perform(deciding: &mut Deciding<RoomType>, command: &RoomCommand) -> Result<Done, Refusal> {
        match &command.action {
            RoomAction::Hold { dates, key } => deciding.hold_nights(command, *dates, key),
            RoomAction::OnHold { n, ask } => deciding.on_hold(command, *n, *ask),
            RoomAction::Cancel { n } => deciding.cancel(command, *n),
            RoomAction::Amend { amendment, today } => deciding.amend(amendment, *today, &command.actor),
        }
    }

    fn take_stock(deciding: &mut Deciding<RoomType>, hold: &Hold, actor: &Actor) {
        let Some(dates) = dates_of(hold) else { return };
        let total = deciding.subject.total;
        let (nights, new) = (&mut deciding.draft.nights, &mut deciding.writes.new_nights);
        for night in dates.nights() {
            nights.entry(night).or_insert_with(|| {
                new.push((night, total));
                NightRow::untouched(total)
            });
        }
        deciding.shift(dates, NightShift { held: 1, ..NightShift::default() });
        deciding.hold_happened(Happened::Held, hold, dates, Some(actor));
    }

    fn return_stock(deciding: &mut Deciding<RoomType>, hold: &Hold, why: Happened, actor: Option<&Actor>) {
        let Some(dates) = dates_of(hold) else { return };
        if why == Happened::Expired {
            let mark = LapsedMark { ends_at: hold.ends_at, place: hold.id.n };
            let lapsed = -i32::from(mark <= deciding.subject.counted);
            deciding.draft.turned.push((dates, NightShift { held: -1, lapsed, reserved: 0 }));
        } else {
            deciding.shift(dates, NightShift { held: -1, ..NightShift::default() });
        }
        deciding.hold_happened(why, hold, dates, actor);
    }

    fn sell_stock(deciding: &mut Deciding<RoomType>, hold: &Hold, actor: &Actor) -> Vec<u64> {
        let Some(dates) = dates_of(hold) else { return Vec::new() };
        deciding.shift(dates, NightShift { reserved: 1, held: -1, lapsed: 0 });
        deciding.hold_happened(Happened::Reserved, hold, dates, Some(actor));
        let (room_type, n) = (deciding.subject.id, deciding.subject.n);
        let (owner, at) = (hold.owner.clone(), deciding.now);
        let metadata = hold.metadata.clone();
        let stay = Stay { id: StayId { room_type, n }, owner, dates, hold: hold.id.n, at, metadata };
        deciding.writes.stays.push(stay);
        vec![n]
    }

    fn record_extension(deciding: &mut Deciding<RoomType>, hold: &Hold, actor: &Actor) {
        let Some(dates) = dates_of(hold) else { return };
        deciding.hold_happened(Happened::Extended, hold, dates, Some(actor));
    }

    fn close(before: &RoomType, after: &mut RoomType, draft: RoomTypeDraft, writes: &mut RoomTypeWrites) {
        let shifts = draft.shifts.into_iter().filter(|(_, by)| *by != NightShift::default());
        writes.shifts = shifts.map(|(night, by)| Shift { night, by }).collect();
        writes.counted = after.counted != before.counted;
    }
}

impl Deciding<RoomType> {
    /// Checks in the order of the contract: repeat, key conflict, limit, cool-down, stock.
    fn hold_nights(&mut self, command: &RoomCommand, dates: Dates, key: &str) -> Result<Done, Refusal> {
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        let (on, terms) = (On::Nights(dates), self.hold_terms());
        let same = self.holds.same(user, &on);
        if let Some(repeated) = self.holds.repeat(same, key, &terms) {
            return Ok(repeated);
        }
        self.holds.conflict(user, key, &on)?;
        let live = self.holds.live_of(user).count() - usize::from(same.is_some());
        terms.one_more(live).map_err(|limit| Refusal::LimitReached { seats: Vec::new(), limit })?;
        if same.is_none() {
            self.holds.cooled_down(user, &on, &terms)?;
        }
        self.room_on(dates, same.is_some())?;
        let replaced = same.map(|old| old.id.n);
        Ok(self.begin_hold(command, user, on, key, replaced))
    }

    /// Whether every night has a free room. With `own`, the user's own hold is about to be replaced and counts as a
    /// free room. A lapsed hold must be marked expired before its room is sold again. If the batch could not read
    /// enough lapsed holds, the caller asks again.
    fn room_on(&self, dates: Dates, own: bool) -> Result<(), Refusal> {
        let row = |night: &Night| self.draft.nights.get(night).copied();
        let row = |night: &Night| row(night).unwrap_or(NightRow::untouched(self.subject.total));
        let own = u32::from(own);
        let full: Vec<Night> = dates.nights().filter(|night| row(night).unheld() + own == 0).collect();
        if full.is_empty() {
            return Ok(());
        }
        let nights: Vec<Night> = full.into_iter().filter(|night| row(night).free() + own == 0).collect();
        if nights.is_empty() {
            return Err(Refusal::Overloaded);
        }
        Err(self.lacking(Refusal::NotAvailable { nights, seats: Vec::new() }))
    }

    fn cancel(&mut self, command: &RoomCommand, n: u64) -> Result<Done, Refusal> {
        let stay = self.draft.stays.get(&n).ok_or(Refusal::NotFound)?;
        if command.actor.admin().is_none() && command.actor.user() != Some(&stay.owner) {
            return Err(Refusal::Forbidden(Forbidden::Anothers));
        }
        let (dates, owner, hold) = (stay.dates, stay.owner.clone(), stay.hold);
        let details = Details::of_cancelled(n, stay.metadata.as_ref(), command.reason());
        self.draft.stays.remove(&n);
        self.writes.ended.push(n);
        self.shift(dates, NightShift { reserved: -1, ..NightShift::default() });
        self.happened(Happened::Cancelled, Some(hold), Some(dates), Some(owner), Some(&command.actor), details);
        Ok(Done::Cancelled)
    }

    fn amend(&mut self, amendment: &RoomTypeAmendment, today: Night, by: &Actor) -> Result<Done, Refusal> {
        if let Some(total) = amendment.total {
            let coming = self.draft.nights.iter().filter(|(night, _)| **night >= today);
            let least = coming.map(|(_, row)| row.in_use()).max().unwrap_or(0);
            if total < least {
                return Err(self.lacking(Refusal::RoomsInUse { least }));
            }
            // Lapsed holds that are not marked expired yet block the new total for a moment.
            if self.draft.nights.iter().any(|(night, row)| *night >= today && row.reserved + row.held > total) {
                return Err(Refusal::Overloaded);
            }
            self.subject.total = total;
            for (night, row) in
                self.draft.nights.iter_mut().filter(|(night, row)| **night >= today && row.total != total)
            {
                row.total = total;
                self.writes.totals.insert(*night, total);
            }
        }
        let room_type = &mut self.subject;
        let set = |field: &mut Box<str>, new: &Option<Box<str>>| {
            if let Some(new) = new {
                *field = new.clone();
            }
        };
        set(&mut room_type.name, &amendment.name);
        set(&mut room_type.time_zone, &amendment.time_zone);
        if let Some(description) = &amendment.description {
            room_type.description = description.clone();
        }
        if let Some(price) = &amendment.price {
            room_type.price = price.clone();
        }
        if let Some(currency) = &amendment.currency {
            room_type.currency = currency.clone();
        }
        self.happened(Happened::Amended, None, None, None, Some(by), None);
        Ok(Done::RoomsChanged(Box::new(self.subject.clone())))
    }

    fn shift(&mut self, dates: Dates, by: NightShift) {
        for night in dates.nights() {
            self.shift_night(night, by);
        }
    }

    fn shift_night(&mut self, night: Night, by: NightShift) {
        let shift = self.draft.shifts.entry(night).or_default();
        *shift = *shift + by;
        // Nights that no command of this batch requests were not read.
        if let Some(row) = self.draft.nights.get_mut(&night) {
            row.reserved = row.reserved.saturating_add_signed(by.reserved);
            row.held = row.held.saturating_add_signed(by.held);
            row.lapsed = row.lapsed.saturating_add_signed(by.lapsed);
        }
    }

    fn happened(
        &mut self,
        what: Happened,
        hold: Option<u64>,
        dates: Option<Dates>,
        owner: Option<User>,
        actor: Option<&Actor>,
        details: Option<Box<Details>>,
    ) {
        self.subject.n += 1;
        let admin = actor.and_then(Actor::admin).cloned();
        let (n, at, origin) = (self.subject.n, self.now, self.origin.clone());
        let entry = RoomRecord { n, what, hold, dates, owner, admin, at, origin, details };
        self.writes.history.push(entry);
    }

    fn hold_happened(&mut self, what: Happened, hold: &Hold, dates: Dates, actor: Option<&Actor>) {
        let details = match what {
            Happened::Held | Happened::Reserved | Happened::Released | Happened::Expired => {
                Details::of(hold.metadata.as_ref(), hold.reason.as_deref())
            }
            _ => None,
        };
        self.happened(what, Some(hold.id.n), Some(dates), Some(hold.owner.clone()), actor, details);
    }
}

fn dates_of(hold: &Hold) -> Option<Dates> {
    match &hold.on {
        On::Nights(dates) => Some(*dates),
        On::Seats(_) => None,
    }
}
