//! Garbage collection: expired data is removed later, in steps of a bounded number of rows. Nothing depends on it:
//! whether an answer or a hold is valid follows from its time, and a deleted event sells nothing.

/// Data that is removed by its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aged {
    /// Answers stored for idempotency keys.
    Answers,
    /// Holds that ended without a sale. A confirmed hold is kept with its sale, because it answers a second
    /// confirmation.
    Holds,
    /// Names, phones and addresses in the history and in sales.
    Personal,
}

/// Rows that one step removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    pub answers: usize,
    pub holds: usize,
    pub entries: usize,
    pub seats: usize,
    pub halls: usize,
    /// Deleted events of which only their own row and their history remain. Their ids are never reused, and the row
    /// keeps the generation of their arrival numbers.
    pub events: usize,
    /// History rows that were processed: the personal data in them is erased.
    pub personal: usize,
}

impl Tidied {
    pub fn rows(&self) -> usize {
        self.answers + self.holds + self.entries + self.seats + self.halls + self.personal
    }

    /// By kind, for metrics.
    pub fn kinds(&self) -> [(&'static str, usize); 7] {
        [
            ("answers", self.answers),
            ("holds", self.holds),
            ("entries", self.entries),
            ("seats", self.seats),
            ("halls", self.halls),
            ("events", self.events),
            ("personal", self.personal),
        ]
    }
}
