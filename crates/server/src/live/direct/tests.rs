use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::super::channel::Round;
use super::super::message::Messages;
use super::super::round_log::{ROUNDS_BEHIND, RoundLog};
use super::*;

/// Both ends of a connection whose buffers are small.
async fn pair() -> (ClientSocket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2_048).unwrap();
    let (far, near) = tokio::join!(socket.connect(listener.local_addr().unwrap()), listener.accept());
    let client = ClientSocket::new(near.unwrap().0);
    client.keep_little(2_048);
    (client, far.unwrap())
}

fn round(text: &str) -> Round {
    let mut messages = Messages::default();
    messages.add("seats", None, &text);
    Round::of(messages, false)
}

async fn watcher() -> (Arc<DirectWatcher>, Arc<RoundLog>, TcpStream) {
    let (client, far) = pair().await;
    let rounds = Arc::new(RoundLog::default());
    let watcher = DirectWatcher::new(client, rounds.reader(), LiveSeries::default());
    (Arc::new(watcher), rounds, far)
}

async fn read(far: &mut TcpStream, length: usize) -> String {
    let mut bytes = vec![0; length];
    far.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn rounds_and_own_messages_are_whole_chunks_in_order() {
    let (watcher, rounds, mut far) = watcher().await;
    rounds.say(round("a"));
    assert_eq!(watcher.write(), SocketWrite::All, "hyper still writes");
    watcher.begin();
    assert_eq!(watcher.write(), SocketWrite::All);
    let chunk = |name: &str| format!("18\r\nevent: seats\ndata: \"{name}\"\n\n\r\n");
    assert_eq!(read(&mut far, chunk("a").len()).await, chunk("a"));
    rounds.say(round("b"));
    assert_eq!(watcher.say("3\r\nown\r\n".into()), SocketWrite::All);
    assert_eq!(read(&mut far, 8).await, "3\r\nown\r\n");
    assert_eq!(read(&mut far, chunk("b").len()).await, chunk("b"));
    assert_eq!(watcher.close(), StreamEnd::Whole);
    assert_eq!(rounds.readers(), 0);
    rounds.say(round("c"));
    assert_eq!(watcher.write(), SocketWrite::Ended, "nothing is written after the end");
}

#[tokio::test]
async fn last_round_ends_the_stream() {
    let (watcher, rounds, _far) = watcher().await;
    watcher.begin();
    rounds.say(Round { last: true, ..round("a") });
    assert_eq!(watcher.write(), SocketWrite::Ended);
    assert_eq!(watcher.ended().await, StreamEnd::Whole);
}

#[tokio::test]
async fn client_that_does_not_read_is_cut_when_the_ring_has_moved_on() {
    let (watcher, rounds, mut far) = watcher().await;
    watcher.begin();
    let long = round(&"x".repeat(100_000));
    let mut ended = false;
    for _ in 0..2 * ROUNDS_BEHIND {
        rounds.say(long.clone());
        let written = watcher.write();
        assert_ne!(written, SocketWrite::All, "it does not read");
        ended |= written == SocketWrite::Ended;
    }
    assert!(ended, "it is still told");
    assert_eq!(watcher.ended().await, StreamEnd::Cut, "a part of a chunk was written");
    assert_eq!(watcher.series.dropped.get(), 1);
    // What was written is the beginning of one chunk.
    drop(watcher);
    let mut bytes = Vec::new();
    far.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.len() < long.chunk.len() && long.chunk.starts_with(&bytes));
}

#[tokio::test]
async fn client_that_reads_again_gets_the_rest() {
    let (watcher, rounds, mut far) = watcher().await;
    watcher.begin();
    let long = round(&"x".repeat(100_000));
    rounds.say(long.clone());
    assert_eq!(watcher.write(), SocketWrite::Blocked);
    let length = long.chunk.len();
    let reading = tokio::spawn(async move { read(&mut far, length).await });
    while watcher.write() == SocketWrite::Blocked {
        tokio::task::yield_now().await;
    }
    assert_eq!(reading.await.unwrap().as_bytes(), &long.chunk[..]);
}

#[tokio::test]
async fn watcher_that_waited_for_its_turn_gets_the_newest_snapshot_and_what_follows() {
    let (watcher, rounds, mut far) = watcher().await;
    watcher.begin();
    let whole = |name: &str| Round { whole: true, turns: 4, ..round(name) };
    [round("a"), whole("b"), whole("c"), round("d"), round("e")].into_iter().for_each(|said| rounds.say(said));
    assert_eq!(watcher.write(), SocketWrite::All);
    let wanted: String = ["c", "d", "e"].map(|name| format!("18\r\nevent: seats\ndata: \"{name}\"\n\n\r\n")).concat();
    assert_eq!(read(&mut far, wanted.len()).await, wanted);
    assert_eq!(watcher.series.messages.get(), 3);
}
