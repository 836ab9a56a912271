//! What a batch of a room type must read before it is decided.

use std::collections::{BTreeMap, HashSet};

use super::{NightRow, NightShift, RoomAction, RoomCommand, RoomType, RoomTypeKnown};
use crate::command::Terms;
use crate::holds::{LAPSED_MOST, LapsedMark, On};
use crate::ids::User;
use crate::nights::{Dates, Night, sums};
use crate::time::Moment;

/// A batch looks for lapsed holds on at most this many nights.
const SHORT_NIGHTS_MOST: usize = 64;

/// What to read, after taking the row lock, to decide a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RoomTypeNeeds<'a> {
    /// All holds of these users on this room type: each once.
    pub users: Vec<&'a User>,
    /// Holds with these client keys on the same dates: each once.
    pub hold_keys: Vec<(&'a str, On)>,
    /// Holds by the history number at which they began.
    pub holds: Vec<u64>,
    /// What these users held and gave back within the cool-down: each pair once. Empty without a cool-down.
    pub given_back: Vec<(&'a User, On)>,
    /// Stays that were not cancelled, by history number.
    pub stays: Vec<u64>,
    /// Answers stored for these keys: each pair once.
    pub keys: Vec<(&'a User, &'a str)>,
    /// The range that covers every requested night. None: no night is requested.
    pub hull: Option<Dates>,
}

pub fn needs<'a>(commands: &'a [RoomCommand], terms: &Terms) -> RoomTypeNeeds<'a> {
    let mut needs = RoomTypeNeeds::default();
    let (mut users, mut hold_keys, mut keys) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut again = HashSet::new();
    for command in commands {
        if let (Some(user), Some(key)) = (command.actor.user(), &command.key)
            && keys.insert((user, &*key.text))
        {
            needs.keys.push((user, &key.text));
        }
        match &command.action {
            RoomAction::Hold { dates, key } => {
                if let Some(user) = command.actor.user()
                    && users.insert(user)
                {
                    needs.users.push(user);
                }
                if hold_keys.insert((&**key, *dates)) {
                    needs.hold_keys.push((key, On::Nights(*dates)));
                }
                if let Some(user) = command.actor.user().filter(|_| terms.holds.again_after_ms > 0)
                    && again.insert((user, *dates))
                {
                    needs.given_back.push((user, On::Nights(*dates)));
                }
                widen(&mut needs.hull, *dates);
            }
            RoomAction::OnHold { n, .. } => needs.holds.push(*n),
            RoomAction::Cancel { n } => needs.stays.push(*n),
            // Every night from today on: none of them may exceed the new total.
            RoomAction::Amend { amendment, today } if amendment.total.is_some() => {
                widen(&mut needs.hull, Dates { check_in: *today, check_out: Night(i32::MAX) });
            }
            RoomAction::Amend { .. } => {}
        }
    }
    needs
}

/// The nights for which more lapsed holds must be read, each with the number to read. On these nights the batch wants
/// more rooms than are unheld after the lapsed holds that it already read. Needed only if more holds have lapsed than
/// one batch marks expired.
pub fn short_nights(
    room_type: &RoomType,
    known: &RoomTypeKnown,
    commands: &[RoomCommand],
    now: Moment,
) -> Vec<(Night, u32)> {
    let Some(step) = &known.count else { return Vec::new() };
    let wanted = commands.iter().filter_map(|command| match &command.action {
        RoomAction::Hold { dates, .. } => Some((*dates, 1)),
        _ => None,
    });
    let mut demand: BTreeMap<Night, i32> = BTreeMap::new();
    sums(wanted, |night, wanted| {
        demand.insert(night, wanted);
    });
    // What this batch marks expired anyway, and which part of that is already counted.
    let lapsed = known.holds.values().filter(|hold| hold.lapsed(now));
    let lapsed = lapsed.filter_map(|hold| match hold.on {
        On::Nights(dates) => {
            let counted = LapsedMark { ends_at: hold.ends_at, place: hold.id.n } <= step.to;
            Some((dates, NightShift { held: 1, lapsed: -i32::from(counted), reserved: 0 }))
        }
        On::Seats(_) => None,
    });
    let counted =
        step.found.iter().map(|(dates, count)| (*dates, NightShift { lapsed: *count as i32, ..NightShift::default() }));
    let mut turned: BTreeMap<Night, NightShift> = BTreeMap::new();
    sums(lapsed.chain(counted), |night, by| {
        turned.insert(night, by);
    });
    let mut left = LAPSED_MOST as i32;
    let short = demand.into_iter().filter_map(|(night, wanted)| {
        let row = known.nights.get(&night).copied().unwrap_or(NightRow::untouched(room_type.total));
        let turned = turned.get(&night).copied().unwrap_or_default();
        let others = row.lapsed as i32 + turned.lapsed;
        let short = wanted - row.unheld() as i32 - turned.held;
        let short = if step.more { short } else { short.min(others) }.min(left);
        left -= short.max(0);
        // The ledger returns the holds that are already known again, so add their number.
        (short > 0).then_some((night, (short + turned.held) as u32))
    });
    short.take(SHORT_NIGHTS_MOST).collect()
}

fn widen(hull: &mut Option<Dates>, dates: Dates) {
    let known = hull.get_or_insert(dates);
    known.check_in = known.check_in.min(dates.check_in);
    known.check_out = known.check_out.max(dates.check_out);
}
