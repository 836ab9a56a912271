//! `ADMIN_LISTEN`: health, metrics and the admin API on a listener and threads of their own. A crowd at
//! the other listener can take neither the connections nor the time of this one.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::app::App;
use crate::connections::{ConnectionLimits, HttpListener, ListenerKind, OpenConnections};
use crate::http::routes::{operator_table, router};
use crate::logins::WAITING_OF_ALL;

const LIMITS: ConnectionLimits = ConnectionLimits { most: 64, per_address: 64, loopback_unlimited: true };

/// Wrong tokens that are answered late leave half of the connections to operators.
const _: () = assert!(2 * WAITING_OF_ALL <= LIMITS.most);

/// Health checks do not wait for a long list that an operator asked for.
const THREADS: usize = 2;

/// The listener serves until this is dropped.
pub struct Operators {
    _stop: oneshot::Sender<()>,
}

pub fn start(listener: TcpListener, app: Arc<App>) -> Operators {
    let lanes = Handle::current();
    let (stop, stopped) = oneshot::channel();
    let run = move || {
        let runtime =
            match Builder::new_multi_thread().worker_threads(THREADS).thread_name("operators").enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "ADMIN_LISTEN cannot be served"),
            };
        runtime.block_on(async move {
            tokio::select! {
                () = serve(listener, app, lanes) => {}
                _ = stopped => {}
            }
        });
    };
    if let Err(error) = std::thread::Builder::new().name("operators".into()).spawn(run) {
        tracing::error!(%error, "ADMIN_LISTEN cannot be served");
    }
    Operators { _stop: stop }
}

async fn serve(listener: TcpListener, app: Arc<App>, lanes: Handle) {
    let (kind, routes) = (ListenerKind::Operators(lanes), router(&app, operator_table()));
    let serving = listener
        .set_nonblocking(true)
        .and_then(|()| tokio::net::TcpListener::from_std(listener))
        .and_then(|listener| HttpListener::new(listener, app, OpenConnections::new(LIMITS), kind, routes));
    match serving {
        Ok(serving) => serving.serve(std::future::pending(), Duration::ZERO).await,
        Err(error) => tracing::error!(%error, "ADMIN_LISTEN cannot be served"),
    }
}
