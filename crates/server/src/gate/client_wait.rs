//! Tells the gate that a request waits for its client: for its body, or because of the wrong token that it showed. The
//! future that waits marks the poll in which it found nothing; whoever polled the request looks at the mark afterwards,
//! in the same thread.

use std::cell::Cell;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Polls `wait`, and marks this poll if it is not over.
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
