//! Reopening a door that does not know the generation of its numbers, because it is new or lost its data.

use rules::ids::EventId;
use stores::door::Door;
use stores::ledger::Ledger;

use crate::refusals::Failure;

/// Raises the generation in the ledger and opens the door with it. Then the door can be asked again: its
/// numbers are above all that were ever given.
pub async fn reopen(ledger: &dyn Ledger, door: &dyn Door, event: EventId) -> Result<(), Failure> {
    let generation = ledger.raise_generation(event).await?;
    door.open(event, generation).await?;
    tracing::info!(%event, generation, "arrival numbers start a new generation");
    Ok(())
}
