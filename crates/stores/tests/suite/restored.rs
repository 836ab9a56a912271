//! A ledger that was restored from a backup: ids of events come again, and tickets of those that are gone must not count.

use std::path::Path;
use std::sync::Arc;

use rules::arrive::Budget;
use stores::conformance::Stand;
use stores::door::local::LocalDoor;
use stores::ledger::sqlite::{BackupPace, backup, restore};
use testing::clock::FixtureClock;
use testing::folder::TestFolder;
use testing::stands::{SqliteStand, open_sqlite};

fn restored(file: &Path, folder: &Path) -> Stand {
    restore(file, folder, false).unwrap();
    let clock = Arc::new(FixtureClock::default());
    let door = Arc::new(LocalDoor::new(clock.clone(), Budget::default()));
    Stand::new(Arc::new(open_sqlite(folder, &clock)), door, Arc::new(|_| {}))
}

#[tokio::test(flavor = "multi_thread")]
async fn events_made_after_a_restore_refuse_older_tickets() {
    let (kept, folder) = (SqliteStand::fresh(), TestFolder::new("restored"));
    let event = kept.stand.event(3, 1).await.unwrap().id;
    let copy = |name: &str| {
        let file = folder.path().join(name);
        backup(&kept.data(), &file, BackupPace { mib_per_second: 0 }).unwrap();
        file
    };
    let without = restored(&copy("without.db"), &folder.path().join("without"));
    assert_eq!(without.ledger.ticket_keys().await.unwrap().len(), 0, "the first key comes with the first ticket");
    let first = kept.stand.ledger.rotate_ticket_key([1; 32]).await.unwrap();
    let file = copy("with.db");
    let mut secrets = vec![first.secret];
    for name in ["one", "other"] {
        let stand = restored(&file, &folder.path().join(name));
        let keys = stand.ledger.ticket_keys().await.unwrap();
        assert!(keys.len() == 2 && keys[0] == first, "older keys stay");
        let surviving = stand.ledger.event(event).await.unwrap().unwrap();
        assert!(surviving.oldest_key < first.id, "its tickets count");
        let new = stand.event(3, 1).await.unwrap();
        assert_eq!((new.id.0, new.oldest_key), (event.0 + 1, keys[1].id), "an id that was used since the backup");
        secrets.push(keys[1].secret);
    }
    assert!(secrets[1] != secrets[2] && secrets[0] != secrets[1], "every restore has a key of its own");
}
