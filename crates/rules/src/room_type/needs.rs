//! What must be read before a batch of a room type can be decided.

use std::collections::HashSet;

use super::{RoomAction, RoomCommand};
use crate::ids::User;
use crate::nights::{Dates, Night};

/// What must be read, after the lock was taken, to decide a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RoomTypeNeeds<'a> {
    /// Everything these users hold here: each once.
    pub users: Vec<&'a User>,
    /// What is held under these keys of clients: each once.
    pub hold_keys: Vec<&'a str>,
    /// Holds by the number they began with.
    pub holds: Vec<u64>,
    /// Stays that stand, by history number.
    pub stays: Vec<u64>,
    /// Answers kept for these keys: each pair once.
    pub keys: Vec<(&'a User, &'a str)>,
    /// The range that covers every wanted night: all lapsed holds in it are needed. None: no night is
    /// wanted.
    pub hull: Option<Dates>,
}

pub fn needs(commands: &[RoomCommand]) -> RoomTypeNeeds<'_> {
    let mut needs = RoomTypeNeeds::default();
    let (mut users, mut hold_keys, mut keys) = (HashSet::new(), HashSet::new(), HashSet::new());
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
                if hold_keys.insert(&**key) {
                    needs.hold_keys.push(key);
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

fn widen(hull: &mut Option<Dates>, dates: Dates) {
    let known = hull.get_or_insert(dates);
    known.check_in = known.check_in.min(dates.check_in);
    known.check_out = known.check_out.max(dates.check_out);
}
