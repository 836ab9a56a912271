//! Which users watch with a ticket, and the rows that are theirs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use rules::history::EventRecord;
use rules::ids::User;
use tokio::sync::mpsc;

use super::own;

#[derive(Default)]
pub struct Owners(Mutex<OwnersKnown>);

#[derive(Default)]
struct OwnersKnown {
    senders: HashMap<User, Vec<mpsc::Sender<EventRecord>>>,
    /// When there are this many users, those who left are removed.
    swept_at: usize,
}

const SWEPT_LEAST: usize = 64;

impl Owners {
    pub fn follow(&self, user: User) -> mpsc::Receiver<EventRecord> {
        let (sender, receiver) = own::channel();
        let mut all = self.lock();
        if all.senders.len() >= all.swept_at.max(SWEPT_LEAST) {
            all.senders.retain(|_, senders| {
                senders.retain(|sender| !sender.is_closed());
                !senders.is_empty()
            });
            all.swept_at = all.senders.len() * 2;
        }
        all.senders.entry(user).or_default().push(sender);
        receiver
    }

    /// Disconnects watchers that fall behind.
    pub fn tell(&self, rows: &[EventRecord]) {
        let mut all = self.lock();
        if all.senders.is_empty() {
            return;
        }
        for row in rows {
            if let Some(senders) = row.owner.as_ref().and_then(|owner| all.senders.get_mut(owner)) {
                senders.retain(|sender| sender.try_send(row.clone()).is_ok());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, OwnersKnown> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
