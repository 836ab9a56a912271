//! One watcher: its first messages, then round after round, until it leaves, falls behind, or the server stops.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{Stream, unfold};
use salvo::hyper::body::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::channel::{Round, Subscribed};
use super::direct::{DirectWatcher, SocketWrite, StreamEnd};
use super::fan_out::{Audience, FanOut};
use super::follower::BEAT;
use super::message::chunk;
use super::round_log::{NextRound, RoundReader};
use super::series::LiveSeries;
use crate::connections::{ClientSocket, client_left};

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
    told: Told,
    draining: watch::Receiver<bool>,
    client: Option<ClientSocket>,
    /// Private messages.
    own: Option<mpsc::Receiver<Bytes>>,
    place: WatcherPlace,
    audience: Arc<Audience>,
    fan_out: FanOut,
}

/// How a watcher gets what follows its first messages.
enum Told {
    /// By the connection's own task. Where a round is sent in turns, the next turn is at `from`.
    InBody { rounds: RoundReader, last_told: bool, from: Instant },
    /// By direct writes to the socket, once hyper has written the first messages.
    Directly { watcher: Direct, joined: bool },
}

/// Writing ends when this is dropped: the connection may serve another request then.
struct Direct(Arc<DirectWatcher>);

impl Drop for Direct {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Watching {
    pub fn new(
        subscribed: Subscribed,
        draining: watch::Receiver<bool>,
        client: Option<ClientSocket>,
        place: WatcherPlace,
        fan_out: FanOut,
    ) -> Watching {
        place.series.messages.inc_by(subscribed.messages as u64);
        let Subscribed { first, rounds, audience, .. } = subscribed;
        let told = Told::InBody { rounds, last_told: false, from: Instant::now() };
        Watching { first: first.into(), told, draining, client, own: None, place, audience, fan_out }
    }

    /// Adds private messages.
    pub fn with_own(mut self, own: mpsc::Receiver<Bytes>) -> Watching {
        self.own = Some(own);
        self
    }

    /// For a body that hyper sends in chunks: what follows the first messages is written directly, also in chunks.
    pub fn directly(mut self) -> Watching {
        self.told = match (self.told, &self.client) {
            (Told::InBody { rounds, .. }, Some(client)) => {
                let watcher = Arc::new(DirectWatcher::new(client.clone(), rounds, self.place.series.clone()));
                Told::Directly { watcher: Direct(watcher), joined: false }
            }
            (told, _) => told,
        };
        self
    }

    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
        unfold(self, |mut watching| async move {
            let text = watching.next().await?;
            Some((text, watching))
        })
    }

    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        if let Some(first) = self.first.pop_front() {
            return Some(Ok(first));
        }
        match &mut self.told {
            Told::InBody { last_told: true, .. } => None,
            Told::InBody { .. } => self.next_round().await.map(Ok),
            Told::Directly { watcher, joined } => {
                if !std::mem::replace(joined, true)
                    && let Some(client) = &self.client
                {
                    let (fan_out, audience) = (self.fan_out.clone(), self.audience.clone());
                    let watcher = watcher.0.clone();
                    client.after_flush(move || fan_out.join(&audience, watcher));
                }
                match self.end().await {
                    StreamEnd::Whole => None,
                    StreamEnd::Cut => Some(Err(io::ErrorKind::ConnectionAborted.into())),
                }
            }
        }
    }

    async fn next_round(&mut self) -> Option<Bytes> {
        let Told::InBody { rounds, last_told, from } = &mut self.told else { return None };
        tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => None,
            round = said(rounds, *from) => match round {
                Some(round) => {
                    self.place.series.messages.inc_by(round.messages as u64);
                    *last_told = round.last;
                    if round.turns > 1 {
                        *from = Instant::now() + BEAT * round.turns as u32;
                    }
                    Some(round.text)
                }
                None => {
                    self.place.series.dropped.inc();
                    None
                }
            },
            own = own_message(self.own.as_mut()) => {
                // None: too many of them were unread, or the hub ended.
                self.place.series.messages.inc_by(u64::from(own.is_some()));
                own
            }
            () = client_left(self.client.as_ref()) => None,
        }
    }

    /// The end of a stream that is written directly. Until then private messages are passed on.
    async fn end(&mut self) -> StreamEnd {
        let Told::Directly { watcher: Direct(watcher), .. } = &self.told else { return StreamEnd::Whole };
        loop {
            tokio::select! {
                biased;
                _ = self.draining.wait_for(|draining| *draining) => return watcher.close(),
                end = watcher.ended() => return end,
                own = own_message(self.own.as_mut()) => match own {
                    Some(text) => {
                        if watcher.say(chunk(&text)) == SocketWrite::Blocked {
                            self.fan_out.try_again(watcher.clone());
                        }
                    }
                    None => return watcher.close(),
                },
                () = client_left(self.client.as_ref()) => return watcher.close(),
            }
        }
    }
}

/// The next round, from this time on. None: it is no longer kept.
async fn said(rounds: &mut RoundReader, from: Instant) -> Option<Round> {
    sleep_until(from).await;
    loop {
        match rounds.next() {
            NextRound::Said(round) => return Some(round),
            NextRound::Lagged => return None,
            NextRound::None => rounds.wait().await,
        }
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
    use super::super::message::Messages;
    use super::*;

    #[tokio::test]
    async fn watcher_that_falls_behind_is_dropped() {
        let (channel, series, taken) = (HubChannel::new(FanOut::default()), LiveSeries::default(), Arc::default());
        let place = WatcherPlace::take(&taken, 1, &series).unwrap();
        assert!(WatcherPlace::take(&taken, 1, &series).is_none(), "there is one place");
        let subscribed = Subscribed { messages: 0, ..channel.subscribe(Vec::new()) };
        let draining = watch::Sender::new(false);
        let mut watching = Watching::new(subscribed, draining.subscribe(), None, place, FanOut::default());
        let round = |n: u64| {
            let mut messages = Messages::default();
            messages.add("seats", None, &n);
            Round::of(messages, false)
        };
        channel.say(round(1));
        assert_eq!(watching.next().await.unwrap().unwrap(), round(1).text);
        (0..=64).for_each(|n| channel.say(round(n)));
        assert!(watching.next().await.is_none());
        assert_eq!((series.dropped.get(), series.messages.get()), (1, 1));
        drop(watching);
        assert_eq!(series.watchers.get(), 0);
        assert!(WatcherPlace::take(&taken, 1, &series).is_some(), "the place is free again");
    }

    #[tokio::test]
    async fn connection_that_writes_for_itself_waits_for_its_turn_too() {
        let (channel, taken) = (HubChannel::new(FanOut::default()), Arc::default());
        let place = WatcherPlace::take(&taken, 1, &LiveSeries::default()).unwrap();
        let draining = watch::Sender::new(false);
        let subscribed = channel.subscribe(Vec::new());
        let mut watching = Watching::new(subscribed, draining.subscribe(), None, place, FanOut::default());
        let round = |n: u64| {
            let mut messages = Messages::default();
            messages.add("snapshot", None, &n);
            Round { whole: true, turns: 2, ..Round::of(messages, false) }
        };
        channel.say(round(0));
        let began = Instant::now();
        assert_eq!(watching.next().await.unwrap().unwrap(), round(0).text);
        (1..=3).for_each(|n| channel.say(round(n)));
        assert_eq!(watching.next().await.unwrap().unwrap(), round(3).text, "the newest");
        assert!(began.elapsed() >= BEAT * 2);
    }
}
