//! `tickettock backup` of a running server, and `tickettock restore`.

use std::path::Path;

use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::{Buyers, compare, reservations, run};

const SEATS: [(&str, &str); 1] = [("FCFS_SEATS", "1000000")];

fn backup(data: &Path, file: &Path) -> (i32, String) {
    run(binary().arg("backup").arg(file).args(["--rate", "4"]).env("DATA_DIR", data))
}

fn restore(file: &Path, data: &Path, more: &[&str]) -> (i32, String) {
    run(binary().arg("restore").arg(file).args(more).env("DATA_DIR", data))
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_rush_is_restored_elsewhere() {
    let folder = TestFolder::new("backup");
    let (data, other) = (folder.path().join("data"), folder.path().join("other"));
    let file = folder.path().join("copy.db");
    let process = ServerProcess::start(&data, &SEATS).await;
    let buyers = Buyers::start(process.address, 1, 16);
    buyers.at_least(3_000).await;
    let before = buyers.acknowledged();
    let (code, said) = {
        let (data, file) = (data.clone(), file.clone());
        tokio::task::spawn_blocking(move || backup(&data, &file)).await.unwrap()
    };
    assert!(code == 0 && said.contains("verified: 1 events"), "{said}");
    let during = buyers.acknowledged().len();
    buyers.at_least(during + 100).await;
    let (code, said) = backup(&data, &file);
    assert!(code == 2 && said.contains("exists"), "it overwrites: {said}");
    // A second life of the server gives numbers of a generation that the backup does not know.
    process.kill();
    let process = ServerProcess::start(&data, &SEATS).await;
    let newest = process.client().reserve(1, "second life").await.sequence().unwrap();
    let all = {
        buyers.tasks.iter().for_each(|task| task.abort());
        buyers.acknowledged()
    };
    assert!(all.len() > before.len() && during > before.len(), "nothing was sold during the backup");
    let (code, said) = restore(&file, &data, &["--replace"]);
    assert!(code == 2 && said.contains("another tickettock"), "under a running server: {said}");

    let (code, said) = restore(&file, &other, &[]);
    assert!(code == 0, "{said}");
    let (code, said) = run(binary().arg("verify").env("DATA_DIR", &other));
    assert_eq!(code, 0, "{said}");
    let restored = ServerProcess::start(&other, &SEATS).await;
    let found = reservations(restored.client(), 1, &restored.admin_token()).await;
    compare(&before, &found);
    assert!(found.len() < all.len(), "what was sold after the backup is not in it");
    let number = restored.client().reserve(1, "after the restore").await.sequence().unwrap();
    assert!(number > newest, "{number} was given before: the other server gave {newest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_replaces_a_ledger_only_when_told_to() {
    let folder = TestFolder::new("restore");
    let (data, file) = (folder.path().join("data"), folder.path().join("copy.db"));
    let process = ServerProcess::start(&data, &[]).await;
    process.client().reserve(1, "in the backup").await;
    assert_eq!(backup(&data, &file).0, 0);
    let lost = process.client().reserve(1, "lost").await.sequence().unwrap();
    let id = ledger_id(&data);
    process.kill();
    let (code, said) = restore(&file, &data, &[]);
    assert!(code == 2 && said.contains("--replace"), "{said}");
    let (code, said) = restore(&file, &data, &["--replace"]);
    assert!(code == 0 && said.contains("tickettock.db.replaced-1"), "{said}");
    assert!(!data.join("tickettock.db-wal").exists(), "the log of another ledger");
    assert!(ledger_id(&data).starts_with(&format!("{id}.")), "a new epoch of the same ledger");

    let process = ServerProcess::start(&data, &[]).await;
    let next = process.client().reserve(1, "next").await;
    assert_eq!(next.seat(), Some(2), "the lost sale is gone");
    assert!(next.sequence().unwrap() > lost);
    process.kill();
    let kept = rusqlite::Connection::open(data.join("tickettock.db.replaced-1")).unwrap();
    let sold: i64 = kept.query_row("SELECT sold FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!(sold, 2, "the ledger that was replaced is whole, with what was in its log");
}

fn ledger_id(data: &Path) -> String {
    let conn = rusqlite::Connection::open(data.join("tickettock.db")).unwrap();
    conn.query_row("SELECT id FROM ledger", [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_backup_is_refused_and_changes_nothing() {
    let folder = TestFolder::new("restore");
    let (data, file) = (folder.path().join("data"), folder.path().join("copy.db"));
    let process = ServerProcess::start(&data, &[]).await;
    for user in ["alice", "bob"] {
        process.client().reserve(1, user).await;
    }
    assert_eq!(backup(&data, &file).0, 0);
    process.kill();
    let before = std::fs::read(data.join("tickettock.db")).unwrap();

    let wrong = folder.path().join("wrong.db");
    std::fs::copy(&file, &wrong).unwrap();
    let conn = rusqlite::Connection::open(&wrong).unwrap();
    conn.execute_batch("PRAGMA ignore_check_constraints = 1; UPDATE event SET sold = 1").unwrap();
    drop(conn);
    let (code, said) = restore(&wrong, &data, &["--replace"]);
    assert!(code == 3 && said.contains("sold + free = total"), "{code} {said}");

    let bytes = std::fs::read(&file).unwrap();
    for (name, content) in
        [("cut", &bytes[..bytes.len() / 2]), ("text", b"not a database, whatever its name says, at all".as_slice())]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let (code, said) = restore(&path, &data, &["--replace"]);
        assert!(code == 2 || code == 3, "{name}: {code} {said}");
    }
    let stranger = folder.path().join("stranger.db");
    rusqlite::Connection::open(&stranger).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
    let (code, said) = restore(&stranger, &data, &["--replace"]);
    assert!(code == 2 && said.contains("no backup of a ledger"), "{said}");
    assert_eq!(std::fs::read(data.join("tickettock.db")).unwrap(), before, "the ledger was touched");
    let left: Vec<String> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("restoring") || name.contains("replaced"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn backup_of_postgresql_is_refused() {
    let folder = TestFolder::new("backup");
    let mut command = binary();
    command.args(["backup", "copy.db"]).env("DATA_DIR", folder.path()).env("DATABASE_URL", "postgres://u@h/db");
    let (code, said) = run(&mut command);
    assert!(code == 2 && said.contains("pg_basebackup"), "{said}");
}
