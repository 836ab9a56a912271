//! When and where an event takes place, for display. No decision depends on it.

use crate::time::Moment;

pub const PLACE_CHARS: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occasion {
    pub starts_at: Option<Moment>,
    /// The time zone of the venue, by its IANA name.
    pub time_zone: Option<Box<str>>,
    pub place: Option<Box<str>>,
}

/// A field that is not named stays as it is; `Some(None)` removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OccasionAmendment {
    pub starts_at: Option<Option<Moment>>,
    pub time_zone: Option<Option<Box<str>>>,
    pub place: Option<Option<Box<str>>>,
}

impl Occasion {
    pub fn change(&mut self, amendment: &OccasionAmendment) {
        if let Some(starts_at) = amendment.starts_at {
            self.starts_at = starts_at;
        }
        if let Some(time_zone) = &amendment.time_zone {
            self.time_zone.clone_from(time_zone);
        }
        if let Some(place) = &amendment.place {
            self.place.clone_from(place);
        }
    }
}
