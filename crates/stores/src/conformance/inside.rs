//! Who is inside, by the door and by the ledger: a difference is seen, and the corrections end it.

use rules::command::EventAction;
use rules::entries::{Entry, EntryToken, InsideDigest, Moved, corrections};
use rules::ids::User;
use rules::queue::What;

use super::queue::Hallway;
use super::{Stand, Verdict};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 3).await?;
    for user in ["ann", "ben", "cem"] {
        hall.place(user, What::Join).await?;
        hall.comes_in(user).await?;
    }
    agrees(&hall, 3).await?;
    hall.command("ben", EventAction::Leave, None).await?;
    agrees(&hall, 2).await?;
    // The door missed that ann left, and heard of somebody whom the ledger does not know.
    let ann = stand.ledger.entry_of(hall.event, User::stored("ann")).await.map_err(|f| f.to_string())?;
    let ann = ann.ok_or("ann is inside")?;
    hall.command("ann", EventAction::Leave, None).await?;
    let ghost = Entry { user: User::stored("ghost"), token: EntryToken([0; 16]), ..ann.clone() };
    let missed = vec![Moved::In(ann), Moved::In(ghost)];
    stand.door.moved(hall.event, missed, stand.ledger.now()).await.map_err(|f| f.to_string())?;
    let (door, ledger) = both(&hall).await?;
    ensure!(!door.agrees(&ledger), "two ghosts are not seen: {door:?} and {ledger:?}");
    let known = stand.door.insiders(hall.event).await.map_err(|f| f.to_string())?;
    ensure!(known.len() == 3, "the door lists {known:?}");
    let truth = stand.ledger.begin_line(hall.event).await.map_err(|f| f.to_string())?;
    let corrected = corrections(&known, &truth.inside, truth.at);
    ensure!(corrected.len() == 2, "corrections {corrected:?}");
    stand.door.moved(hall.event, corrected, truth.at).await.map_err(|f| f.to_string())?;
    agrees(&hall, 1).await?;
    (stand.advance)(super::queue::ROOM.token_ttl_ms + 1_000);
    agrees(&hall, 0).await
}

async fn agrees(hall: &Hallway<'_>, count: u64) -> Verdict {
    let (door, ledger) = both(hall).await?;
    ensure!(door.agrees(&ledger) && door.count == count, "{count} are inside: door {door:?}, ledger {ledger:?}");
    Ok(())
}

async fn both(hall: &Hallway<'_>) -> Result<(InsideDigest, InsideDigest), String> {
    let door = hall.stand.door.inside(hall.event, None).await.map_err(|f| f.to_string())?;
    let ledger = hall.stand.ledger.inside(hall.event).await.map_err(|f| f.to_string())?;
    Ok((door.ok_or("the line has begun")?, ledger))
}
