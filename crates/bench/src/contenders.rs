//! What the product is measured against. These live here only.

pub mod append;
pub mod ceiling;
mod form;
mod seats;
pub mod seed;
pub mod skip_locked;

use salvo::prelude::*;
use salvo::routing::PathFilter;

/// The path that everybody is asked under, with the event in it or without.
fn router<H: Handler + Clone>(handler: H) -> Router {
    let long = PathFilter::new("api/v1/events/{id}/seats/reservation/fcfs");
    let short = PathFilter::new("api/v1/seats/reservation/fcfs");
    Router::new().push(Router::with_filter(short).post(handler.clone())).push(Router::with_filter(long).post(handler))
}

/// Serves until it is killed; says where, as the product does.
fn serve<H: Handler + Clone>(making: impl Future<Output = H>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let handler = making.await;
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        println!("listens on http://{}", acceptor.local_addr().expect("an address"));
        Server::new(acceptor).serve(router(handler)).await;
    });
}
