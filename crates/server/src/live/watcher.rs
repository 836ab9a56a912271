//! One watcher: its first words, then round after round, until it leaves, is too slow, or the server stops.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{Stream, unfold};
use salvo::hyper::body::Bytes;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::hub::{Round, Subscribed};
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
        Watching { first, rounds, draining, client, place, last_told: false }
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
