//! The line in Redis: every call is one script over the keys of one slot.

use std::collections::HashMap;

use redis::{Script, ScriptInvocation};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, Forgotten, Place, QueueReply, Serving, Status, What};
use rules::time::Moment;

use super::connection::RedisConnection;
use super::{CALL_MOST, Inner, keys, odd};
use crate::door::{DoorFault, Heard};
use crate::ledger::LineBegun;

impl Inner {
    /// A script of the line, with the keys and arguments common to all of them.
    fn of_the_line<'a>(
        &self,
        script: &'a Script,
        connected: &RedisConnection,
        event: EventId,
        room: &WaitingRoom,
    ) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        for key in keys::line(event) {
            call.key(key);
        }
        call.arg(self.ledger().as_deref().unwrap_or_default()).arg(&*connected.run_id).arg(self.offset_ms());
        call.arg(room.max_concurrent).arg(room.idle_ms);
        call
    }

    pub async fn ask(
        &self,
        event: EventId,
        room: &WaitingRoom,
        asking: &Asking,
    ) -> Result<Heard<QueueReply>, DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut call = self.of_the_line(&self.scripts.queue_ask, &connected, event, room);
        call.arg(word(asking.what)).arg(asking.user.as_str());
        call.arg(asking.claim.map_or(String::new(), |claim| claim.number.0.to_string()));
        call.arg(asking.most(room)).arg(room.arrivals_from()).arg(pace(room)).arg(room.turn_ms());
        let said: Vec<i64> = self.connections.run(&mut connected, &call).await?;
        let count = |number: i64| number as u64;
        Ok(Heard::Said(match said[..] {
            [0] => return Ok(Heard::NotOpen),
            [1] => return Ok(Heard::NotBegun),
            [2] => return Ok(Heard::NoRemaining),
            [3, left_ms, cap_left_ms] => QueueReply::Inside { left_ms, cap_left_ms },
            [4] => QueueReply::Gone,
            [5] => QueueReply::NotQueued,
            [6] => QueueReply::NoNumber,
            [10] => QueueReply::Full,
            [7, number] => QueueReply::MayEnter { number: Number(count(number)) },
            [8, retry_after] => QueueReply::NotReady { retry_after: count(retry_after) },
            [9, number, rank, ahead, status, poll_after] => QueueReply::Place(Place {
                number: Number(count(number)),
                rank: count(rank),
                ahead: count(ahead),
                status: match status {
                    0 => Status::Waiting,
                    1 => Status::Ready,
                    2 => Status::SoldOut,
                    _ => return Err(odd("queue_ask", &said)),
                },
                poll_after: count(poll_after),
            }),
            _ => return Err(odd("queue_ask", &said)),
        }))
    }

    pub async fn number_in_line(&self, event: EventId, user: &User) -> Result<Option<Number>, DoorFault> {
        let mut connected = self.connections.get().await?;
        let [_, _, queue, _, gone, ..] = keys::line(event);
        let mut script = self.scripts.queue_number.prepare_invoke();
        script.key(queue).key(gone).arg(user.as_str());
        let said: i64 = self.connections.run(&mut connected, &script).await?;
        Ok(u64::try_from(said).ok().map(Number))
    }

    pub async fn serving(&self, event: EventId, room: &WaitingRoom) -> Result<Heard<Serving>, DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut call = self.of_the_line(&self.scripts.queue_serving, &connected, event, room);
        call.arg(room.arrivals_from()).arg(pace(room));
        let said: Vec<i64> = self.connections.run(&mut connected, &call).await?;
        Ok(match said[..] {
            [0] => Heard::NotOpen,
            [1] => Heard::NotBegun,
            [2] => Heard::NoRemaining,
            [3, serving, waiting, admitted, sold_out, inside, counted_ms] => Heard::Said(Serving {
                serving: serving as u64,
                waiting: waiting as u64,
                admitted_per_minute: admitted as u64,
                counted_ms: counted_ms as u64,
                sold_out: sold_out == 1,
                inside: inside as u64,
            }),
            _ => return Err(odd("queue_serving", &said)),
        })
    }

    pub async fn forget_silent(
        &self,
        event: EventId,
        room: &WaitingRoom,
        silent_ms: i64,
        most: usize,
    ) -> Result<Forgotten, DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut call = self.of_the_line(&self.scripts.queue_forget, &connected, event, room);
        call.arg(silent_ms).arg(most);
        let said: Vec<u64> = self.connections.run(&mut connected, &call).await?;
        match said[..] {
            [forgotten, left] => Ok(Forgotten { forgotten: forgotten as usize, left: left as usize }),
            _ => Err(odd("queue_forget", &said)),
        }
    }

    /// Sent in chunks; the line is open after the last chunk.
    pub async fn begin_line(&self, event: EventId, room: &WaitingRoom, begun: &LineBegun) -> Result<(), DoorFault> {
        let chunks: Vec<_> = begun.inside.chunks(CALL_MOST).collect();
        let calls = chunks.len().max(1);
        for at in 0..calls {
            let mut connected = self.connections.get().await?;
            let mut call = self.of_the_line(&self.scripts.queue_begin, &connected, event, room);
            call.arg(u8::from(at == 0)).arg(u8::from(at + 1 == calls)).arg(begun.n);
            call.arg(if begun.used { room.pause_ms().to_string() } else { String::new() });
            for entry in chunks.get(at).copied().unwrap_or_default() {
                let (ends, cap) = (begun.at.ms_until(entry.ends), begun.at.ms_until(entry.cap));
                call.arg(entry.user.as_str()).arg(entry.n).arg(ends).arg(cap);
            }
            let _: u64 = self.connections.run(&mut connected, &call).await?;
        }
        Ok(())
    }

    pub async fn moved(&self, event: EventId, moved: &[Moved], at: Moment) -> Result<(), DoorFault> {
        for some in moved.chunks(CALL_MOST) {
            let mut connected = self.connections.get().await?;
            let mut call = self.of_the_line(&self.scripts.queue_moved, &connected, event, &WaitingRoom::default());
            for one in some {
                match one {
                    Moved::In(entry) => {
                        let (ends, cap) = (at.ms_until(entry.ends), at.ms_until(entry.cap));
                        call.arg("in").arg(entry.user.as_str()).arg(entry.n).arg(ends).arg(cap)
                    }
                    Moved::Renewed { user, n, ends } => {
                        call.arg("renewed").arg(user.as_str()).arg(*n).arg(at.ms_until(*ends)).arg(0)
                    }
                    Moved::Out { user, n } => call.arg("out").arg(user.as_str()).arg(*n).arg(0).arg(0),
                };
            }
            let _: u64 = self.connections.run(&mut connected, &call).await?;
        }
        Ok(())
    }
}

impl Inner {
    /// None: another server compared within that time, or the line has not begun.
    pub async fn inside(&self, event: EventId, unless_within_ms: i64) -> Result<Option<InsideDigest>, DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut call = self.of_the_line(&self.scripts.queue_inside, &connected, event, &WaitingRoom::default());
        call.arg("digest").arg(unless_within_ms);
        let said: Vec<i64> = self.connections.run(&mut connected, &call).await?;
        match said[..] {
            [] => Ok(None),
            [count, sum] => Ok(Some(InsideDigest { count: count as u64, sum: u64::try_from(sum).ok() })),
            _ => Err(odd("queue_inside", &said)),
        }
    }

    pub async fn insiders(&self, event: EventId) -> Result<Vec<DoorEntry>, DoorFault> {
        let (mut all, mut cursor) = (HashMap::new(), "0".to_owned());
        loop {
            let mut connected = self.connections.get().await?;
            let mut call = self.of_the_line(&self.scripts.queue_inside, &connected, event, &WaitingRoom::default());
            call.arg("list").arg(&cursor);
            let said: Vec<String> = self.connections.run(&mut connected, &call).await?;
            let (next, entries) = said.split_first().ok_or_else(|| odd("queue_inside", &said))?;
            for entry in entries.chunks(3) {
                let [user, n, left_ms] = entry else { return Err(odd("queue_inside", &said)) };
                let (Ok(n), Ok(left_ms)) = (n.parse(), left_ms.parse()) else {
                    return Err(odd("queue_inside", &said));
                };
                // A scan may return an entry twice.
                all.insert(user.clone(), DoorEntry { user: User::stored(user), n, left_ms });
            }
            if next == "0" {
                return Ok(all.into_values().collect());
            }
            cursor.clone_from(next);
        }
    }
}

/// An empty string means no limit.
fn pace(room: &WaitingRoom) -> String {
    room.admit_per_minute.map_or(String::new(), |most| most.to_string())
}

fn word(what: What) -> &'static str {
    match what {
        What::Join => "join",
        What::Poll => "poll",
        What::Enter => "enter",
        What::Leave => "leave",
    }
}
