//! Reopening a door that does not know the generation of its numbers, because it is new or lost its data.

use std::sync::atomic::{AtomicU64, Ordering};

use rules::ids::EventId;
use stores::door::{Door, Opened};
use stores::ledger::Ledger;

use crate::refusals::Failure;

/// How often this process opened a door with a new generation.
static RAISED: AtomicU64 = AtomicU64::new(0);

pub fn raised() -> u64 {
    RAISED.load(Ordering::Relaxed)
}

/// Other servers may raise the generation meanwhile.
const TRIES: usize = 4;

/// Raises the generation in the ledger and opens the door with it. Then the door can be asked again: its numbers are
/// above all that were ever issued. A door may know a higher generation than the ledger, because the ledger was
/// restored from a backup: then the generation is raised above both.
pub async fn reopen(ledger: &dyn Ledger, door: &dyn Door, event: EventId) -> Result<(), Failure> {
    raise_above(ledger, door, event, None).await
}

/// The same, above a generation that a door has issued numbers of.
pub async fn raise_above(
    ledger: &dyn Ledger,
    door: &dyn Door,
    event: EventId,
    mut known: Option<u64>,
) -> Result<(), Failure> {
    for _ in 0..TRIES {
        let generation = ledger.raise_generation(event, known).await?;
        match door.open(event, generation).await? {
            Opened::Yes => {
                RAISED.fetch_add(1, Ordering::Relaxed);
                tracing::info!(%event, generation, "arrival numbers start a new generation");
                return Ok(());
            }
            Opened::Behind { known: higher } => known = Some(higher),
        }
    }
    Ok(())
}
