//! Gathering: a user who joins the line before the opening has no place yet. The order of these users is drawn at the
//! opening; users who join later are behind them, in order of arrival.
//!
//! The draw is fair only if its seed is secret while users can still gather. So an event gathers once: after its
//! opening it is not scheduled again, and it does not gather again if its waiting room was removed meanwhile. The wall
//! clock alone cannot end a gathering, because it may be set back. The ledger stores the end (`gathered`), and the seed
//! is shown only after that.

use super::{Event, EventAmendment, State};
use crate::entries::WaitingRoom;
use crate::outcome::{Expected, FieldError, Problem, Refusal};
use crate::time::Moment;

/// The seed is shown this long after the opening. From this long before the opening, the opening can no longer be
/// postponed. The reason: the clocks of the servers differ a little, and so does what they know of the event.
const SEED_KEPT_MS: i64 = 5_000;

const GATHER_FROM: &str = "waitingRoom.gatherFrom";

fn refused(field: &str, expected: Expected) -> Refusal {
    FieldError::refused(field, Problem::Expected(expected))
}

fn gather_from(room: Option<WaitingRoom>) -> Option<Moment> {
    room.and_then(|room| room.gather_from)
}

/// A gathering ends at the opening, so it requires one.
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

    /// A user who joins now takes part in the draw.
    pub fn gathers(&self, wall: Moment) -> bool {
        self.has_draw() && !self.gathered && self.state_at(wall) == State::Scheduled
    }

    /// Seconds until the opening, while users gather.
    pub fn gathers_for(&self, wall: Moment) -> Option<u64> {
        let opens = self.opens_at.filter(|_| self.gathers(wall))?;
        Some(wall.seconds_until(opens).max(1))
    }

    /// When users may begin to join, if that is in the future.
    pub fn gathers_later(&self, wall: Moment) -> Option<Moment> {
        gather_from(self.waiting_room).filter(|from| self.gathers(wall) && wall < *from)
    }

    /// Users may have gathered, or may know the seed.
    pub(super) fn draw_has_begun(&self, wall: Moment) -> bool {
        self.gathering_has_begun(wall) || self.has_draw() && self.state_at(wall) != State::Scheduled
    }

    fn gathering_has_begun(&self, wall: Moment) -> bool {
        gather_from(self.waiting_room).is_some_and(|from| from <= wall)
    }

    /// The places of its line were drawn, or will be.
    pub fn is_drawn(&self) -> bool {
        self.has_draw() || self.gathered
    }

    /// The draw is over but not yet stored in the ledger: the next batch stores it.
    pub fn draw_ends(&self, wall: Moment) -> bool {
        let over = match (self.state, self.opens_at) {
            (State::Scheduled, Some(opens)) => opens.plus_ms(SEED_KEPT_MS) <= wall,
            _ => true,
        };
        self.has_draw() && !self.gathered && over
    }

    /// Ends the gathering for good if the draw is over. Returns true if that is new.
    pub(super) fn end_draw(&mut self, wall: Moment) -> bool {
        let ends = self.draw_ends(wall);
        if ends {
            self.gathered = true;
            self.waiting_room = self.waiting_room.map(|room| WaitingRoom { gathered: true, ..room });
        }
        ends
    }

    /// The opening would be postponed after places were drawn, or while they are being drawn. Some servers would then
    /// report places while others still gather.
    fn postpones_the_draw(&self, opens_at: Option<Moment>, wall: Moment) -> bool {
        let opened = self.gathered || self.state_at(wall) != State::Scheduled;
        let opens_soon = self.state_at(wall.plus_ms(SEED_KEPT_MS)) != State::Scheduled;
        let later = |opens: Moment| if opened { opens > wall } else { opens_soon && Some(opens) > self.opens_at };
        self.has_draw() && opens_at.is_some_and(later)
    }

    /// Whether the draw stays fair after an amendment. `room` is the waiting room that results.
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
        if self.postpones_the_draw(amendment.opens_at.flatten(), wall) {
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
        let at = |wall| (event.gathers(Moment(wall)), event.gathers_later(Moment(wall)), event.draw_ends(Moment(wall)));
        assert_eq!(at(9_999), (true, Some(Moment(10_000)), false));
        assert_eq!(at(10_000), (true, None, false));
        assert_eq!(at(19_999), (true, None, false));
        assert_eq!(at(20_000), (false, None, false), "open, and the seed is still kept");
        assert_eq!(at(25_000), (false, None, true));
        let opened_early = Event { state: State::Open, ..event.clone() };
        assert!(!opened_early.gathers(Moment(1)) && opened_early.draw_ends(Moment(1)));
        let without = self::event(20_000, None);
        assert!(!without.gathers(Moment(1)) && !without.draw_ends(Moment(99_999)));
    }

    /// Whoever knows the seed would join as the first, if a clock that is set back made the event gather again.
    #[test]
    fn stored_end_of_a_draw_outlasts_the_wall_clock() {
        let mut event = event(20_000, Some(10_000));
        assert!(!event.end_draw(Moment(24_999)) && event.gathers(Moment(15_000)), "the seed is still kept");
        assert!(event.end_draw(Moment(25_000)) && !event.gathers(Moment(15_000)));
        assert_eq!(event.state_at(Moment(15_000)), State::Scheduled, "the sale follows the wall clock all the same");
        assert!(!event.end_draw(Moment(30_000)), "it is stored once");
        assert!(event.is_drawn() && event.waiting_room.is_some_and(|room| room.gathered));
        for wall in [15_000, 25_000] {
            assert_eq!(amended(&event, wall, Some(Some(40_000)), None), Err("opensAt".into()), "at {wall}");
            assert_eq!(amended(&event, wall, None, Some(None)), Err("waitingRoom.gatherFrom".into()), "at {wall}");
        }
    }

    #[test]
    fn a_draw_that_somebody_waits_for_is_not_changed() {
        let plain = event(20_000, None);
        assert_eq!(amended(&plain, 5_000, None, Some(Some(10_000))), Ok(()));
        assert_eq!(amended(&plain, 5_000, None, Some(Some(20_000))), Err("waitingRoom.gatherFrom".into()));
        let late = amended(&plain, 20_000, None, Some(Some(19_000)));
        assert_eq!(late, Err("waitingRoom.gatherFrom".into()), "it has opened");
        let drawing = event(20_000, Some(10_000));
        assert_eq!(amended(&drawing, 9_000, None, Some(Some(12_000))), Ok(()));
        assert_eq!(amended(&drawing, 9_000, None, Some(None)), Ok(()));
        for from in [Some(12_000), None] {
            assert_eq!(amended(&drawing, 10_000, None, Some(from)), Err("waitingRoom.gatherFrom".into()), "{from:?}");
        }
        assert_eq!(amended(&drawing, 14_999, Some(Some(30_000)), None), Ok(()), "postponed before the opening");
        for wall in [15_000, 19_999, 20_000] {
            let postponed = amended(&drawing, wall, Some(Some(30_000)), None);
            assert_eq!(postponed, Err("opensAt".into()), "places are drawn at {wall}, or are about to be");
        }
        assert_eq!(amended(&drawing, 15_000, Some(Some(20_000)), None), Ok(()), "it stays as it is");
        assert_eq!(amended(&drawing, 15_000, Some(Some(16_000)), None), Ok(()), "it opens earlier");
        assert_eq!(amended(&drawing, 15_000, Some(Some(9_000)), None), Err("waitingRoom.gatherFrom".into()));
        assert_eq!(amended(&drawing, 15_000, Some(None), None), Ok(()), "it opens now");
        assert_eq!(amended(&drawing, 22_000, Some(Some(21_000)), None), Ok(()), "it has opened, and stays so");
        assert_eq!(amended(&plain, 20_000, Some(Some(30_000)), None), Ok(()), "nothing was drawn");
        // The room was taken away after people had gathered: the seed of a second draw would be the first one's.
        let drawn = |event: &Event, wall| event.draw_has_begun(Moment(wall));
        assert_eq!([9_000, 10_000, 20_000].map(|wall| drawn(&drawing, wall)), [false, true, true]);
        let opened_early = Event { state: State::Open, ..drawing.clone() };
        assert!(drawn(&opened_early, 5_000), "nobody has gathered, and everybody may know the seed");
        assert_eq!([9_000, 10_000, 20_000].map(|wall| drawn(&plain, wall)), [false; 3]);
        let again = Event { gathered: true, ..plain };
        assert_eq!(amended(&again, 5_000, None, Some(Some(10_000))), Err("waitingRoom.gatherFrom".into()));
        assert_eq!(amended(&again, 5_000, Some(Some(40_000)), None), Ok(()), "it is an event without a draw now");
    }
}
