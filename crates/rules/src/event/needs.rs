//! What a batch must read before it is decided.

use std::collections::HashSet;

use super::Turn;
use super::action::EventAction;
use crate::command::{Command, Terms};
use crate::holds::{LAPSED_MOST, On};
use crate::ids::{Number, Seat, User};

/// What to read, after taking the row lock, to decide a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EventNeeds<'a> {
    /// Users whose seats to read: each user once.
    pub users: Vec<&'a User>,
    /// Answers stored for these keys: each pair once.
    pub keys: Vec<(&'a User, &'a str)>,
    /// Sales by history number.
    pub sales: Vec<u64>,
    /// The rows of these seats: each once.
    pub seats: Vec<Seat>,
    /// This many of the lowest freed seats.
    pub free_seats: usize,
    /// This many seats without a row beyond the cursor, lowest first.
    pub gaps: usize,
    /// Users whose entries to read: each user once.
    pub entries: Vec<&'a User>,
    /// Arrival numbers that may already have been used to enter.
    pub numbers: Vec<Number>,
    /// This many of the lapsed entries, oldest end first.
    pub lapsed_entries: usize,
    /// Holds with these client keys on the same seats.
    pub hold_keys: Vec<(&'a str, On)>,
    /// Holds by the history number at which they began.
    pub holds: Vec<u64>,
    /// What these users held and gave back within the cool-down: each pair once. Empty without a cool-down.
    pub given_back: Vec<(&'a User, On)>,
}

/// A batch ends at most this many lapsed entries.
const ENTRIES_MOST: usize = 1_000;

impl EventNeeds<'_> {
    /// Mark this many lapsed holds as expired, oldest end first. That is more than the batch can sell: however many the
    /// requests for chosen seats use, enough remain for the requests for the lowest seat.
    pub fn lapsed_holds(&self) -> usize {
        LAPSED_MOST + self.seats.len()
    }
}

pub fn needs<'a>(commands: &'a [Command], terms: &Terms) -> EventNeeds<'a> {
    let mut needs = EventNeeds::default();
    let (mut users, mut keys) = (HashSet::with_capacity(commands.len()), HashSet::new());
    let (mut seats, mut lowest, mut inside, mut again) = (HashSet::new(), 0, HashSet::new(), HashSet::new());
    for command in commands {
        if let (Some(user), Some(key)) = (command.actor.user(), &command.key)
            && keys.insert((user, &*key.text))
        {
            needs.keys.push((user, &key.text));
        }
        // The user whose limit and entry apply: a service confirms for the owner of the hold.
        let whose = match &command.action {
            EventAction::ConfirmFor { owner, .. } => Some(owner),
            _ => command.actor.user(),
        };
        // A confirmation may be the booking that ends an entry.
        let confirms = command.action.confirms_a_hold();
        let entry_matters = command.entry.is_some() || confirms || command.action.is_about_entries();
        if let Some(user) = whose.filter(|_| entry_matters)
            && inside.insert(user)
        {
            needs.entries.push(user);
        }
        // A user at the limit neither gets another seat nor enters.
        let enters = matches!(command.action, EventAction::Enter { .. });
        let holds = matches!(command.action, EventAction::Hold { .. });
        if let Some(user) = whose.filter(|_| confirms || enters || holds || command.action.wants_a_seat())
            && users.insert(user)
        {
            needs.users.push(user);
        }
        match &command.action {
            EventAction::Reserve(_) => lowest += 1,
            EventAction::ReserveSeat { seat, .. } => needs.seats.extend(seats.insert(*seat).then_some(*seat)),
            EventAction::Hold { seats: wanted, key } => {
                needs.seats.extend(wanted.iter().copied().filter(|seat| seats.insert(*seat)));
                needs.hold_keys.push((key, On::Seats(wanted.clone())));
                if let Some(user) = whose.filter(|_| terms.holds.again_after_ms > 0)
                    && again.insert((user, wanted))
                {
                    needs.given_back.push((user, On::Seats(wanted.clone())));
                }
            }
            EventAction::OnHold { n, .. } | EventAction::ConfirmWith { n, .. } | EventAction::ConfirmFor { n, .. } => {
                needs.holds.push(*n);
            }
            EventAction::Cancel { n } => needs.sales.push(*n),
            EventAction::Enter { number, .. } => {
                needs.numbers.extend(number);
                needs.lapsed_entries = ENTRIES_MOST;
            }
            // Lapsed entries do not count as inside.
            EventAction::Turn(Turn::Archive) => needs.lapsed_entries = ENTRIES_MOST,
            EventAction::Leave
            | EventAction::Renew
            | EventAction::Turn(_)
            | EventAction::Amend(_)
            | EventAction::Delete
            | EventAction::DeleteSold => {}
        }
    }
    // Chosen seats may be the lowest ones, so read that many more.
    if lowest > 0 {
        needs.free_seats = lowest + needs.seats.len();
    }
    // A batch of chosen seats alone moves the cursor too, so that it never falls far behind.
    needs.gaps = needs.free_seats.max(needs.seats.len().min(1));
    needs
}
