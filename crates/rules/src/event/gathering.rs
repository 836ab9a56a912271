//! Gathering: whoever joins the line before the opening has no place yet. The order of those who gathered is drawn at
//! the opening; who comes later stands behind them by arrival.
//!
//! The draw is fair only if its seed is a secret as long as somebody may still gather. So an event gathers once: after
//! its opening it is not scheduled again, and it does not gather anew when its waiting room was taken away meanwhile.

use super::{Event, EventAmendment, State};
use crate::entries::WaitingRoom;
use crate::outcome::{Expected, FieldError, Problem, Refusal};
use crate::time::Moment;

/// The seed is shown this long after the opening: the clocks of servers differ a little.
const SEED_KEPT_MS: i64 = 5_000;

const GATHER_FROM: &str = "waitingRoom.gatherFrom";

fn refused(field: &str, expected: Expected) -> Refusal {
    FieldError::refused(field, Problem::Expected(expected))
}

fn gather_from(room: Option<WaitingRoom>) -> Option<Moment> {
    room.and_then(|room| room.gather_from)
}

/// A gathering ends with the opening, so it needs one.
pub fn check_gathering(room: Option<WaitingRoom>, opens_at: Option<Moment>) -> Result<(), Refusal> {
    match gather_from(room) {
        Some(from) if opens_at.is_none_or(|opens| opens <= from) => Err(refused(GATHER_FROM, Expected::BeforeOpening)),
        _ => Ok(()),
    }
}

impl Event {
    pub fn has_draw(&self) -> bool {
        gather_from(self.waiting_room).is_some()
    }

    /// Whoever joins now takes part in the draw.
    pub fn gathers(&self, wall: Moment) -> bool {
        self.has_draw() && self.state_at(wall) == State::Scheduled
    }

    /// Seconds until the opening, while users gather.
    pub fn gathers_for(&self, wall: Moment) -> Option<u64> {
        let opens = self.opens_at.filter(|_| self.gathers(wall))?;
        Some(wall.seconds_until(opens).max(1))
    }

    /// When users may begin to join, if that is later.
    pub fn gathers_later(&self, wall: Moment) -> Option<Moment> {
        gather_from(self.waiting_room).filter(|from| self.gathers(wall) && wall < *from)
    }

    /// Somebody may have gathered, or may know the seed.
    pub(super) fn draw_has_begun(&self, wall: Moment) -> bool {
        self.gathering_has_begun(wall) || self.has_draw() && self.state_at(wall) != State::Scheduled
    }

    fn gathering_has_begun(&self, wall: Moment) -> bool {
        gather_from(self.waiting_room).is_some_and(|from| from <= wall)
    }

    /// Whether everybody may know how the order was drawn.
    pub fn draw_is_over(&self, wall: Moment) -> bool {
        let opened = match (self.state, self.opens_at) {
            (State::Scheduled, Some(opens)) => opens.plus_ms(SEED_KEPT_MS) <= wall,
            _ => true,
        };
        self.has_draw() && opened
    }

    /// Whether an amendment leaves the draw fair. `room` is the waiting room that it makes.
    pub(super) fn check_draw_stays(
        &self,
        amendment: &EventAmendment,
        room: Option<WaitingRoom>,
        wall: Moment,
    ) -> Result<(), Refusal> {
        let (before, after) = (gather_from(self.waiting_room), gather_from(room));
        let opened = self.state_at(wall) != State::Scheduled;
        let changes = room.is_some() && before != after;
        if changes && (opened || self.gathered || self.gathering_has_begun(wall)) {
            return Err(refused(GATHER_FROM, Expected::BeforeGathering));
        }
        if opened && before.is_some() && amendment.opens_at.flatten().is_some_and(|opens| opens > wall) {
            return Err(refused("opensAt", Expected::NotDrawnYet));
        }
        if before != after || amendment.opens_at.flatten().is_some() {
            return check_gathering(room, amendment.opens_at.unwrap_or(self.opens_at));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::entries::WaitingRoomAmendment;
    use crate::event::Counts;
    use crate::ids::EventId;
    use crate::seats::Hall;

    fn room(from: Option<i64>) -> Option<WaitingRoom> {
        Some(WaitingRoom { gather_from: from.map(Moment), ..WaitingRoom::default() })
    }

    fn event(opens_at: i64, from: Option<i64>) -> Event {
        Event {
            id: EventId(1),
            name: "Drawn".into(),
            hall: Arc::new(Hall::Count(9)),
            max_per_user: 1,
            opens_at: Some(Moment(opens_at)),
            occasion: Default::default(),
            waiting_room: room(from),
            gathered: false,
            oldest_key: 0,
            hold_ttl_ms: None,
            buyer_fields: Default::default(),
            price: None,
            rehearsal: false,
            archived_at: None,
            state: State::Scheduled,
            deleted: false,
            created_at: Moment(0),
            counts: Counts::default(),
            times: Default::default(),
        }
    }

    /// What an operator may change at `wall`.
    fn amended(
        event: &Event,
        wall: i64,
        opens_at: Option<Option<i64>>,
        from: Option<Option<i64>>,
    ) -> Result<(), String> {
        let change = WaitingRoomAmendment { gather_from: from.map(|from| from.map(Moment)), ..Default::default() };
        let amendment = EventAmendment {
            opens_at: opens_at.map(|opens| opens.map(Moment)),
            waiting_room: from.is_some().then_some(Some(change)),
            ..EventAmendment::default()
        };
        let after = if from.is_some() { change.apply(event.waiting_room).ok() } else { event.waiting_room };
        event.check_draw_stays(&amendment, after, Moment(wall)).map_err(|refusal| match refusal {
            Refusal::Invalid(fault) => fault.field,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_gathering_needs_an_opening_behind_it() {
        assert_eq!(check_gathering(None, None), Ok(()));
        assert_eq!(check_gathering(room(None), None), Ok(()));
        assert_eq!(check_gathering(room(Some(10)), Some(Moment(11))), Ok(()));
        for opens_at in [None, Some(Moment(9)), Some(Moment(10))] {
            assert!(check_gathering(room(Some(10)), opens_at).is_err(), "{opens_at:?}");
        }
    }

    #[test]
    fn users_gather_from_its_beginning_to_the_opening() {
        let event = event(20_000, Some(10_000));
        let at =
            |wall| (event.gathers(Moment(wall)), event.gathers_later(Moment(wall)), event.draw_is_over(Moment(wall)));
        assert_eq!(at(9_999), (true, Some(Moment(10_000)), false));
        assert_eq!(at(10_000), (true, None, false));
        assert_eq!(at(19_999), (true, None, false));
        assert_eq!(at(20_000), (false, None, false), "open, and the seed is still kept");
        assert_eq!(at(25_000), (false, None, true));
        let opened_early = Event { state: State::Open, ..event.clone() };
        assert!(!opened_early.gathers(Moment(1)) && opened_early.draw_is_over(Moment(1)));
        let without = self::event(20_000, None);
        assert!(!without.gathers(Moment(1)) && !without.draw_is_over(Moment(99_999)));
    }

    #[test]
    fn a_draw_that_somebody_waits_for_is_not_changed() {
        let plain = event(20, None);
        assert_eq!(amended(&plain, 5, None, Some(Some(10))), Ok(()));
        assert_eq!(amended(&plain, 5, None, Some(Some(20))), Err("waitingRoom.gatherFrom".into()));
        assert_eq!(amended(&plain, 20, None, Some(Some(19))), Err("waitingRoom.gatherFrom".into()), "it has opened");
        let drawing = event(20, Some(10));
        assert_eq!(amended(&drawing, 9, None, Some(Some(12))), Ok(()));
        assert_eq!(amended(&drawing, 9, None, Some(None)), Ok(()));
        for from in [Some(12), None] {
            assert_eq!(amended(&drawing, 10, None, Some(from)), Err("waitingRoom.gatherFrom".into()), "{from:?}");
        }
        assert_eq!(amended(&drawing, 15, Some(Some(30)), None), Ok(()), "postponed before the opening");
        assert_eq!(amended(&drawing, 15, Some(Some(9)), None), Err("waitingRoom.gatherFrom".into()));
        assert_eq!(amended(&drawing, 15, Some(None), None), Ok(()), "it opens now");
        assert_eq!(amended(&drawing, 20, Some(Some(30)), None), Err("opensAt".into()), "it has opened");
        assert_eq!(amended(&plain, 20, Some(Some(30)), None), Ok(()), "nothing was drawn");
        // The room was taken away after people had gathered: the seed of a second draw would be the first one's.
        let drawn = |event: &Event, wall| event.draw_has_begun(Moment(wall));
        assert_eq!([9, 10, 20].map(|wall| drawn(&drawing, wall)), [false, true, true]);
        let opened_early = Event { state: State::Open, ..drawing.clone() };
        assert!(drawn(&opened_early, 5), "nobody has gathered, and everybody may know the seed");
        assert_eq!([9, 10, 20].map(|wall| drawn(&plain, wall)), [false; 3]);
        let again = Event { gathered: true, ..plain };
        assert_eq!(amended(&again, 5, None, Some(Some(10))), Err("waitingRoom.gatherFrom".into()));
        assert_eq!(amended(&again, 5, Some(Some(40)), None), Ok(()), "it is an event without a draw now");
    }
}
