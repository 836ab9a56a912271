//! The designs that the product is measured against. They exist only here.

pub mod append;
pub mod ceiling;
mod form;
pub mod row_locks;
mod seats;
pub mod seed;
pub mod skip_locked;

use salvo::prelude::*;
use salvo::routing::PathFilter;

/// The paths that every contender serves: seats, with or without the event in the path, and holds.
fn router<H: Handler + Clone>(handler: H) -> Router {
    let long = PathFilter::new("api/v1/events/{id}/seats/reservation/fcfs");
    let short = PathFilter::new("api/v1/seats/reservation/fcfs");
    let holds = Router::with_path("v1/holds").post(handler.clone());
    let seats = Router::new().push(Router::with_filter(short).post(handler.clone()));
    seats.push(Router::with_filter(long).post(handler)).push(holds)
}

/// Serves until it is killed; prints its address, as the product does.
fn serve<H: Handler + Clone>(making: impl Future<Output = H>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let handler = making.await;
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        println!("listens on http://{}", acceptor.local_addr().expect("an address"));
        Server::new(acceptor).serve(router(handler)).await;
    });
}
