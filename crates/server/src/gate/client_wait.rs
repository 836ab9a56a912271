//! Tells the gate that a request waits for its client: for its body, or because of a wrong token. The waiting future
//! marks each poll in which it is pending. Whoever polled the request checks the mark afterwards, on the same thread.

use std::cell::Cell;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Polls `wait`, and marks the poll if it is pending.
pub async fn waiting_for_client<T>(wait: impl Future<Output = T>) -> T {
    let mut wait = std::pin::pin!(wait);
    std::future::poll_fn(|context| {
        let polled = wait.as_mut().poll(context);
        WAITS.set(polled.is_pending());
        polled
    })
    .await
}

/// Whether what was polled since the last call waits for its client.
pub fn take_client_wait() -> bool {
    WAITS.take()
}
