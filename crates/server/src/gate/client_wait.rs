//! Tells the gate that a request waits for its client. The future that reads a body marks the poll in which it found
//! nothing; whoever polled the request looks at the mark afterwards, in the same thread.

use std::cell::Cell;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Polls `body`, and marks this poll if the client has not sent all of it.
pub async fn waiting_for_client<T>(body: impl Future<Output = T>) -> T {
    let mut body = std::pin::pin!(body);
    std::future::poll_fn(|context| {
        let polled = body.as_mut().poll(context);
        WAITS.set(polled.is_pending());
        polled
    })
    .await
}

/// Whether what was polled since the last call waits for its client.
pub fn take_client_wait() -> bool {
    WAITS.take()
}
