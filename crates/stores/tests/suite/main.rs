//! The conformance suite over every store we ship, and over stores that are broken on purpose.

mod agreement;
mod chain;
mod door_memory;
mod doors;
mod edges;
mod lapse;
mod line_agreement;
mod old_formats;
mod online;
mod onlookers;
mod orders;
mod plans;
mod planted;
mod postgres;
mod redis;
mod restored;
mod rooms;
mod rooms_together;
mod seed_003;
mod sqlite;
mod sqlite_log;
mod verify;
mod verify_holds;
mod verify_told;
mod walk;

use stores::conformance::{CHAPTERS, Stand};

/// Every chapter that says no, with its words.
async fn complaints(stand: &Stand) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, chapter) in CHAPTERS {
        if let Err(words) = chapter(stand).await {
            complaints.push(format!("{name}: {words}"));
        }
    }
    complaints.extend(denied_by_history(stand).await);
    complaints
}

/// Holds and stays that the history denies, after what the chapters removed, erased and deleted.
async fn denied_by_history(stand: &Stand) -> Vec<String> {
    let (_, findings) = stand.ledger.audit().await.unwrap();
    let about = |name: &str| ["every hold", "every stay", "metadata", "reasons"].iter().any(|of| name.starts_with(of));
    let broken = findings.into_iter().filter(|finding| about(finding.name) && !finding.holds());
    broken.map(|finding| format!("{}: {:?}", finding.name, finding.broken)).collect()
}

/// The first chapter that says no, with its words: enough to know that a bug is noticed.
async fn first_complaint(stand: &Stand) -> Option<String> {
    for (name, chapter) in CHAPTERS {
        if let Err(words) = chapter(stand).await {
            return Some(format!("{name}: {words}"));
        }
    }
    None
}
