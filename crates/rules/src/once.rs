//! Once is once: the answers that are kept for a caller's keys while a batch is decided.

use std::collections::HashMap;

use crate::command::Command;
use crate::decide::{Answer, KeptAnswer, NewAnswer};
use crate::ids::User;
use crate::outcome::{Done, Kept, Outcome, Refusal};
use crate::subject::Subject;
use crate::time::Moment;

#[derive(Debug)]
pub struct Once {
    known: HashMap<(User, Box<str>), KeptAnswer>,
    key_ttl_ms: i64,
    now: Moment,
    /// To be written.
    pub new: Vec<NewAnswer>,
}

impl Once {
    pub fn new(known: HashMap<(User, Box<str>), KeptAnswer>, key_ttl_ms: i64, now: Moment) -> Once {
        Once { known, key_ttl_ms, now, new: Vec::new() }
    }

    /// The same key again: the first answer, or a refusal if something else was asked.
    pub fn before<S: Subject>(&self, command: &Command<S>) -> Option<Answer> {
        let (user, key) = (command.actor.user()?, command.key.as_ref()?);
        let before = self.known.get(&(user.clone(), key.text.clone()))?;
        if before.at.plus_ms(self.key_ttl_ms) <= self.now {
            return None;
        }
        if before.content != key.content {
            return Some(Outcome::Refused(Refusal::KeyMismatch).into());
        }
        Some(Answer { outcome: Outcome::Done(before.kept.clone().into()), replayed: true })
    }

    /// Only what changed something is kept.
    pub fn keep<S: Subject>(&mut self, command: &Command<S>, done: &Done) {
        let (Some(user), Some(key), Some(kept)) = (command.actor.user(), &command.key, Kept::of(done)) else { return };
        let answer = KeptAnswer { content: key.content, at: self.now, kept };
        self.known.insert((user.clone(), key.text.clone()), answer.clone());
        self.new.push(NewAnswer { user: user.clone(), key: key.text.clone(), answer });
    }
}
