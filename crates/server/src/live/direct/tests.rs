use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::broadcast::Sender;

use super::super::message::Messages;
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

async fn watcher() -> (Arc<DirectWatcher>, Sender<Round>, TcpStream) {
    let (client, far) = pair().await;
    let rounds = Sender::new(ROUNDS_BEHIND);
    let watcher = DirectWatcher::new(client, rounds.subscribe(), LiveSeries::default());
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
    rounds.send(round("a")).unwrap();
    assert_eq!(watcher.write(), SocketWrite::All, "hyper still writes");
    watcher.begin();
    assert_eq!(watcher.write(), SocketWrite::All);
    let chunk = |name: &str| format!("18\r\nevent: seats\ndata: \"{name}\"\n\n\r\n");
    assert_eq!(read(&mut far, chunk("a").len()).await, chunk("a"));
    rounds.send(round("b")).unwrap();
    assert_eq!(watcher.say("3\r\nown\r\n".into()), SocketWrite::All);
    assert_eq!(read(&mut far, 8).await, "3\r\nown\r\n");
    assert_eq!(read(&mut far, chunk("b").len()).await, chunk("b"));
    assert_eq!(watcher.close(), StreamEnd::Whole);
    rounds.send(round("c")).unwrap_err();
    assert_eq!(watcher.write(), SocketWrite::Ended, "nothing is written after the end");
}

#[tokio::test]
async fn last_round_ends_the_stream() {
    let (watcher, rounds, _far) = watcher().await;
    watcher.begin();
    rounds.send(Round { last: true, ..round("a") }).unwrap();
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
        if rounds.send(long.clone()).is_err() {
            ended = true;
            break;
        }
        assert_ne!(watcher.write(), SocketWrite::All, "it does not read");
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
    rounds.send(long.clone()).unwrap();
    assert_eq!(watcher.write(), SocketWrite::Blocked);
    let length = long.chunk.len();
    let reading = tokio::spawn(async move { read(&mut far, length).await });
    while watcher.write() == SocketWrite::Blocked {
        tokio::task::yield_now().await;
    }
    assert_eq!(reading.await.unwrap().as_bytes(), &long.chunk[..]);
}
