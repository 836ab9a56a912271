use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::super::channel::Round;
use super::super::message::Messages;
use super::super::round_log::RoundLog;
use super::super::series::LiveSeries;
use super::*;
use crate::connections::ClientSocket;

#[test]
fn what_is_said_while_the_thread_writes_is_not_lost() {
    let (fan_out, audience) = (FanOut::default(), Arc::new(Audience::default()));
    // Here instead of in the thread.
    let calls = fan_out.called.lock().unwrap().take().unwrap();
    fan_out.call(&audience, 1);
    let FanOutCall::Said(called) = calls.try_recv().unwrap() else { panic!("something was said") };
    called.called.store(false, Ordering::Release);
    // The list is taken, as it is while it is written.
    assert!(audience.lock().is_empty());
    fan_out.call(&audience, 1);
    fan_out.call(&audience, 1);
    assert!(calls.try_recv().is_ok(), "the next round was said meanwhile");
    assert!(calls.try_recv().is_err(), "one call is enough for both");
}

struct Crowd {
    thread: FanOutThread,
    audience: Arc<Audience>,
    rounds: Arc<RoundLog>,
    far: Vec<TcpStream>,
}

impl Crowd {
    async fn of(count: usize) -> Crowd {
        let (fan_out, audience, rounds) = (FanOut::default(), Arc::default(), Arc::new(RoundLog::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut far = Vec::new();
        for _ in 0..count {
            let (there, here) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
            let client = ClientSocket::new(here.unwrap().0);
            let watcher = DirectWatcher::new(client, rounds.reader(), LiveSeries::default());
            fan_out.join(&audience, Arc::new(watcher));
            far.push(there.unwrap());
        }
        Crowd { thread: FanOutThread::default(), audience, rounds, far }
    }

    fn say(&mut self, text: &str, turns: usize) {
        let mut messages = Messages::default();
        messages.add("snapshot", None, &text);
        self.rounds.say(Round { whole: true, turns, ..Round::of(messages, false) });
        if turns > 1 {
            self.audience.turns.store(turns, Ordering::Release);
        } else {
            self.audience.all.store(true, Ordering::Release);
        }
        self.thread.hear(FanOutCall::Said(self.audience.clone()));
    }

    /// What each has got so far, in the order in which they came.
    async fn got(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for far in &mut self.far {
            let mut bytes = [0; 1_024];
            // Loopback: what was written is there.
            let length = match far.try_read(&mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    tokio::time::timeout(Duration::from_millis(20), far.read(&mut bytes))
                        .await
                        .map_or(0, Result::unwrap)
                }
                read => read.unwrap(),
            };
            let text = String::from_utf8_lossy(&bytes[..length]);
            all.push(text.split('"').skip(1).step_by(2).collect());
        }
        all
    }
}

#[tokio::test]
async fn those_who_were_not_told_get_their_turn_when_nothing_more_is_said() {
    let mut crowd = Crowd::of(5).await;
    crowd.say("a", 4);
    assert_eq!(crowd.got().await, ["a", "a", "", "", ""]);
    // The next turn comes with the next round, which is newer than what they missed.
    crowd.say("b", 4);
    assert_eq!(crowd.got().await, ["", "", "b", "b", ""]);
    crowd.thread.go_on(Instant::now());
    assert_eq!(crowd.got().await, ["", "", "", "", ""], "a round may still follow");
    let wakes = crowd.thread.wakes(Instant::now()).unwrap();
    crowd.thread.go_on(wakes);
    assert_eq!(crowd.got().await, ["b", "", "", "", "b"]);
    crowd.thread.go_on(wakes + TURN);
    assert_eq!(crowd.got().await, ["", "b", "", "", ""]);
    assert!(crowd.thread.wakes(Instant::now()).is_none(), "all were told");
    crowd.say("c", 4);
    crowd.say("d", 1);
    assert_eq!(crowd.got().await.concat().replace('c', ""), "ddddd", "everybody at once");
    assert!(crowd.thread.wakes(Instant::now()).is_none());
}

#[tokio::test]
async fn nothing_is_left_to_do_when_all_have_gone() {
    let mut crowd = Crowd::of(3).await;
    crowd.say("a", 4);
    crowd.audience.lock().clear();
    let wakes = crowd.thread.wakes(Instant::now()).unwrap();
    crowd.thread.go_on(wakes);
    assert!(crowd.thread.wakes(Instant::now()).is_none());
}
