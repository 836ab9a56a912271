//! `BACKUP_DIR`: files come by themselves, and the oldest go.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::run;

fn backups(folder: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name.ends_with(".db")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_backups_are_rotated() {
    let folder = TestFolder::new("backup");
    let (data, kept) = (folder.path().join("data"), folder.path().join("backups"));
    let settings = [("BACKUP_DIR", kept.to_str().unwrap()), ("BACKUP_EVERY", "1"), ("BACKUP_KEEP", "2")];
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("of-somebody-else.db"), "").unwrap();
    let process = ServerProcess::start(&data, &settings).await;
    process.client().reserve(1, "alice").await;
    let (began, mut seen) = (Instant::now(), BTreeSet::new());
    while seen.len() < 6 {
        let now = backups(&kept);
        assert!(now.len() <= 4 && now.contains("of-somebody-else.db"), "{now:?}");
        seen.extend(now);
        assert!(began.elapsed() < Duration::from_secs(60), "{seen:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let metrics = process.client().get("/metrics").await.text();
    for name in ["tickettock_backup_newest_timestamp_seconds{} ", "tickettock_backup_failures_total 0"] {
        let found = metrics.contains(name) || metrics.contains(&name.replace("{}", ""));
        assert!(found, "{name}: {metrics}");
    }
    process.kill();
    let newest = backups(&kept).into_iter().rfind(|name| name.starts_with("tickettock-")).unwrap();
    let other = folder.path().join("other");
    let (code, said) = run(binary().arg("restore").arg(kept.join(newest)).env("DATA_DIR", &other));
    assert!(code == 0 && said.contains("1 reservations"), "{said}");
}
