//! The invariants of the ledger, checked now: what `tickettock verify` prints, over HTTP.

use std::sync::Arc;
use std::time::Duration;

use rules::ids::EventId;
use rules::outcome::Refusal;
use stores::ledger::LedgerFault;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::records::AuditAnswer;

/// Shorter than the endpoint's own limit.
const WAITED: Duration = Duration::from_secs(10);

/// An audit reads the whole ledger, so that one runs at a time. It goes on if nobody waits for it any
/// more; whoever asks meanwhile waits for the next one.
#[derive(Default)]
pub struct Audits(Arc<Mutex<()>>);

pub async fn check(app: Arc<App>, _: Call<Viewer>) -> Handled {
    let running = app.audits.0.clone();
    let checking = async {
        let guard = running.lock_owned().await;
        let task = tokio::spawn({
            let app = app.clone();
            async move {
                let checked = app.ledger.audit().await;
                drop(guard);
                let (looked, mut findings) = checked?;
                let lines: Vec<EventId> = app.lines.known().into_iter().map(|(event, _)| event).collect();
                findings.push(app.inside.agreement(&lines).await);
                Ok::<_, LedgerFault>((looked, findings))
            }
        });
        task.await
    };
    let checked = timeout(WAITED, checking).await.map_err(|_| Refusal::Overloaded)?;
    let (looked, findings) = checked.map_err(|_| Refusal::Internal)??;
    if let Some(broken) = findings.iter().find(|finding| !finding.holds()) {
        tracing::error!(invariant = broken.name, "an audit found the ledger broken");
    }
    Ok(Reply::ok(&AuditAnswer::of(&looked, &findings, app.ledger.wall())))
}
