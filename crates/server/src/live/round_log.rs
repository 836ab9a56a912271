//! The newest rounds of a hub. Its watchers read them at their own pace, so each round is kept once for all.

use std::collections::VecDeque;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use tokio::sync::watch;

use super::channel::Round;

/// The most rounds that a watcher may be behind. One further behind is disconnected: 6 s at the fastest pace.
pub const ROUNDS_BEHIND: usize = 64;

#[derive(Default)]
pub struct RoundLog {
    kept: RwLock<KeptRounds>,
    /// The number of rounds so far, for watchers in tasks of their own.
    said: watch::Sender<u64>,
}

#[derive(Default)]
struct KeptRounds {
    rounds: VecDeque<Round>,
    /// The number of rounds removed before the oldest of them.
    gone: u64,
    /// The number of rounds before the newest one with the whole state.
    whole: u64,
}

/// A cursor in the log: the next round to read. While one exists, the hub has a watcher.
pub struct RoundReader {
    log: Arc<RoundLog>,
    next: u64,
}

/// The result of a read.
#[derive(Debug)]
pub enum NextRound {
    Said(Round),
    /// All rounds were read.
    None,
    /// The next round is no longer kept.
    Lagged,
}

impl RoundLog {
    pub fn say(&self, round: Round) {
        let mut kept = self.kept.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if kept.rounds.len() == ROUNDS_BEHIND {
            kept.rounds.pop_front();
            kept.gone += 1;
        }
        let before = kept.said();
        if round.whole {
            kept.whole = before;
        }
        kept.rounds.push_back(round);
        drop(kept);
        self.said.send_replace(before + 1);
    }

    /// A cursor after the newest round.
    pub fn reader(self: &Arc<Self>) -> RoundReader {
        RoundReader { next: self.kept().said(), log: self.clone() }
    }

    /// The number of cursors.
    pub fn readers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self).saturating_sub(1)
    }

    fn kept(&self) -> RwLockReadGuard<'_, KeptRounds> {
        self.kept.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl KeptRounds {
    fn said(&self) -> u64 {
        self.gone + self.rounds.len() as u64
    }
}

impl RoundReader {
    /// The next round. Rounds before one with the whole state are skipped.
    pub fn next(&mut self) -> NextRound {
        let kept = self.log.kept();
        let next = self.next.max(kept.whole);
        let Some(place) = next.checked_sub(kept.gone) else { return NextRound::Lagged };
        let Some(round) = usize::try_from(place).ok().and_then(|place| kept.rounds.get(place)) else {
            return NextRound::None;
        };
        self.next = next + 1;
        NextRound::Said(round.clone())
    }

    /// Whether rounds that it has not read are no longer kept.
    pub fn has_lagged(&self) -> bool {
        let kept = self.log.kept();
        self.next.max(kept.whole) < kept.gone
    }

    /// Completes when there is a round to read, or when it has lagged.
    pub async fn wait(&self) {
        let next = self.next;
        // The sender lives as long as the log.
        let _ = self.log.said.subscribe().wait_for(|said| *said > next).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Messages;
    use super::*;

    fn round(n: usize, whole: bool) -> Round {
        let mut messages = Messages::default();
        messages.add("seats", None, &n);
        Round { whole, messages: n, ..Round::of(messages, false) }
    }

    fn read(reader: &mut RoundReader) -> Vec<usize> {
        let next = || match reader.next() {
            NextRound::Said(round) => Some(round.messages),
            NextRound::None | NextRound::Lagged => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn readers_get_every_round_once_from_the_newest_snapshot_on() {
        let log = Arc::new(RoundLog::default());
        log.say(round(0, true));
        let (mut early, mut late) = (log.reader(), log.reader());
        assert_eq!(log.readers(), 2);
        log.say(round(1, false));
        assert_eq!(read(&mut early), [1]);
        log.say(round(2, false));
        log.say(round(3, true));
        log.say(round(4, false));
        assert_eq!((read(&mut early), read(&mut late)), (vec![3, 4], vec![3, 4]));
        log.say(round(5, false));
        assert_eq!((read(&mut early), read(&mut late), read(&mut late)), (vec![5], vec![5], vec![]));
        drop((early, late));
        assert_eq!(log.readers(), 0);
    }

    #[test]
    fn reader_lags_when_a_round_that_it_needs_is_gone() {
        let log = Arc::new(RoundLog::default());
        let (mut reader, mut helped) = (log.reader(), log.reader());
        (0..ROUNDS_BEHIND).for_each(|n| log.say(round(n, false)));
        assert!(!reader.has_lagged());
        log.say(round(64, false));
        assert!(reader.has_lagged() && matches!(reader.next(), NextRound::Lagged));
        log.say(round(65, true));
        assert!(!helped.has_lagged());
        assert_eq!(read(&mut helped), [65], "a snapshot tells everything");
    }

    #[tokio::test]
    async fn waiting_ends_with_the_next_round() {
        let log = Arc::new(RoundLog::default());
        let mut reader = log.reader();
        let said = log.clone();
        tokio::join!(reader.wait(), async { said.say(round(1, false)) });
        assert_eq!(read(&mut reader), [1]);
    }
}
