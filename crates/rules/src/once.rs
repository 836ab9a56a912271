//! Idempotency: the answers stored for callers' keys, while a batch is decided.

use std::collections::HashMap;

use crate::command::Command;
use crate::decide::Answer;
use crate::ids::User;
use crate::outcome::{Done, Kept, Outcome, Refusal};
use crate::subject::Subject;
use crate::time::Moment;

/// A stored answer, and a digest of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub content: [u8; 32],
    pub at: Moment,
    pub kept: Kept,
}

/// By user and key.
pub type KeptAnswers = HashMap<(User, Box<str>), KeptAnswer>;

/// An answer to write.
#[derive(Clone, Debug)]
pub struct NewAnswer {
    pub user: User,
    pub key: Box<str>,
    pub answer: KeptAnswer,
}

#[derive(Debug)]
pub struct Once {
    known: KeptAnswers,
    key_ttl_ms: i64,
    now: Moment,
    new: Vec<NewAnswer>,
}

impl Once {
    pub fn new(known: KeptAnswers, key_ttl_ms: i64, now: Moment) -> Once {
        Once { known, key_ttl_ms, now, new: Vec::new() }
    }

    /// For a key that was used before: the first answer, or a refusal if the request differs.
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

    /// Stores the answer only if the request changed something.
    pub fn keep<S: Subject>(&mut self, command: &Command<S>, done: &Done) {
        let (Some(user), Some(key), Some(kept)) = (command.actor.user(), &command.key, Kept::of(done)) else { return };
        let answer = KeptAnswer { content: key.content, at: self.now, kept };
        self.known.insert((user.clone(), key.text.clone()), answer.clone());
        self.new.push(NewAnswer { user: user.clone(), key: key.text.clone(), answer });
    }

    /// The answers to write.
    pub fn finish(self) -> Vec<NewAnswer> {
        self.new
    }
}
