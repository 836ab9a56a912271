//! Live holds under the key names of the fifth specification, for people who inspect them.

use rules::holds::{Hold, HoldState, On};
use rules::nights::Night;
use rules::subject::SubjectId;
use rules::time::Moment;
use serde_json::json;

use super::{Inner, keys};
use crate::door::DoorFault;

/// A call touches at most this many keys: a script blocks Redis while it runs.
const KEYS_MOST: usize = 1_000;

impl Inner {
    pub(super) async fn show_holds(&self, subject: SubjectId, holds: &[Hold]) -> Result<(), DoorFault> {
        let mut rest = holds;
        while !rest.is_empty() {
            let mut touched = 0;
            let fits = |hold: &&Hold| {
                touched += 1 + nights(hold);
                touched <= KEYS_MOST
            };
            // At least one, however long its stay.
            let count = rest.iter().take_while(fits).count().max(1);
            let (some, others) = rest.split_at(count);
            self.show(subject, some).await?;
            rest = others;
        }
        Ok(())
    }

    async fn show(&self, subject: SubjectId, holds: &[Hold]) -> Result<(), DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut script = self.scripts.holds.prepare_invoke();
        script.arg(self.offset_ms());
        for hold in holds {
            let ends_at = if hold.state == HoldState::Held { hold.ends_at.0 } else { 0 };
            script.key(keys::hold(subject, hold.id));
            if let On::Nights(dates) = &hold.on {
                for night in dates.nights() {
                    script.key(keys::hold_count(subject, night));
                }
            }
            script.arg(hold.id.to_string()).arg(ends_at).arg(nights(hold)).arg(shown(hold));
        }
        let _: u64 = self.connections.run(&mut connected, &script).await?;
        Ok(())
    }
}

fn nights(hold: &Hold) -> usize {
    match &hold.on {
        On::Nights(dates) => dates.count(),
        On::Seats(_) => 0,
    }
}

fn shown(hold: &Hold) -> String {
    let id = hold.id.subject.row().abs();
    let mut shown = match &hold.on {
        On::Nights(dates) => {
            json!({ "roomTypeId": id, "checkIn": dates.check_in.to_string(), "checkOut": dates.check_out.to_string() })
        }
        On::Seats(seats) => json!({ "eventId": id, "seatIds": seats.iter().map(|seat| seat.0).collect::<Vec<_>>() }),
    };
    shown["userId"] = hold.owner.as_str().into();
    shown["clientHoldKey"] = (*hold.key).into();
    shown["createdAt"] = rfc3339(hold.at).into();
    shown["expiredAt"] = rfc3339(hold.ends_at).into();
    shown.to_string()
}

const DAY_MS: i64 = 86_400_000;

fn rfc3339(at: Moment) -> String {
    let (day, ms) = (at.0.div_euclid(DAY_MS), at.0.rem_euclid(DAY_MS));
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{:03}Z", Night(day as i32), ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_rfc3339() {
        assert_eq!(rfc3339(Moment(1_798_135_200_123)), "2026-12-24T18:00:00.123Z");
        assert_eq!(rfc3339(Moment(0)), "1970-01-01T00:00:00.000Z");
    }
}
