//! One watcher: its first words, then round after round, until it leaves, is too slow, or the server stops.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{Stream, unfold};
use salvo::hyper::body::Bytes;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};

use super::channel::{Round, Subscribed};
use super::series::LiveSeries;
use crate::connections::ClientSocket;

/// A place among the watchers of this server, until it is dropped.
pub struct WatcherPlace {
    taken: Arc<AtomicUsize>,
    series: LiveSeries,
}

impl WatcherPlace {
    /// None: there are `most` already.
    pub fn take(taken: &Arc<AtomicUsize>, most: usize, series: &LiveSeries) -> Option<WatcherPlace> {
        let add = |count: usize| (count < most).then_some(count + 1);
        taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).ok()?;
        series.watchers.inc();
        Some(WatcherPlace { taken: taken.clone(), series: series.clone() })
    }
}

impl Drop for WatcherPlace {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
        self.series.watchers.dec();
    }
}

pub struct Watching {
    first: VecDeque<Bytes>,
    rounds: broadcast::Receiver<Round>,
    draining: watch::Receiver<bool>,
    client: Option<ClientSocket>,
    /// One's own messages.
    own: Option<mpsc::Receiver<Bytes>>,
    place: WatcherPlace,
    last_told: bool,
}

impl Watching {
    pub fn new(
        subscribed: Subscribed,
        draining: watch::Receiver<bool>,
        client: Option<ClientSocket>,
        place: WatcherPlace,
    ) -> Watching {
        place.series.messages.inc_by(subscribed.messages as u64);
        let (first, rounds) = (subscribed.first.into(), subscribed.rounds);
        Watching { first, rounds, draining, client, own: None, place, last_told: false }
    }

    /// Adds one's own messages.
    pub fn with_own(self, own: mpsc::Receiver<Bytes>) -> Watching {
        Watching { own: Some(own), ..self }
    }

    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
        unfold(self, |mut watching| async move {
            let text = watching.next().await?;
            Some((Ok(text), watching))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        if self.last_told {
            return None;
        }
        tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => None,
            round = self.rounds.recv() => match round {
                Ok(round) => {
                    self.place.series.messages.inc_by(round.messages as u64);
                    self.last_told = round.last;
                    Some(round.text)
                }
                Err(RecvError::Lagged(_)) => {
                    self.place.series.dropped.inc();
                    None
                }
                Err(RecvError::Closed) => None,
            },
            own = own_message(self.own.as_mut()) => {
                // None: too many of them waited, or the hub ended.
                self.place.series.messages.inc_by(u64::from(own.is_some()));
                own
            }
            () = left(self.client.as_ref()) => None,
        }
    }
}

/// Completes when the client has closed its side.
async fn left(client: Option<&ClientSocket>) {
    match client {
        Some(client) => client.left().await,
        None => std::future::pending().await,
    }
}

async fn own_message(own: Option<&mut mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    match own {
        Some(own) => own.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::HubChannel;
    use super::*;

    #[tokio::test]
    async fn watcher_that_falls_behind_is_dropped() {
        let (channel, series, taken) = (HubChannel::default(), LiveSeries::default(), Arc::default());
        let place = WatcherPlace::take(&taken, 1, &series).unwrap();
        assert!(WatcherPlace::take(&taken, 1, &series).is_none(), "there is one place");
        let subscribed = Subscribed { first: Vec::new(), messages: 0, rounds: channel.subscribe() };
        let draining = watch::Sender::new(false);
        let mut watching = Watching::new(subscribed, draining.subscribe(), None, place);
        let round = |n: u8| Round { text: vec![n].into(), messages: 1, last: false };
        channel.say(round(1));
        assert_eq!(watching.next().await.as_deref(), Some(&[1][..]));
        (0..=64).for_each(|n| channel.say(round(n)));
        assert_eq!(watching.next().await, None);
        assert_eq!((series.dropped.get(), series.messages.get()), (1, 1));
        drop(watching);
        assert_eq!(series.watchers.get(), 0);
        assert!(WatcherPlace::take(&taken, 1, &series).is_some(), "the place is free again");
    }
}
