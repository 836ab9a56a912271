//! Keeps reading for a moment when a connection ends in the middle of a request's body. The kernel resets a
//! connection that is closed with unread data, and a client that still writes might then never read why it was
//! refused.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::client::ClientSocket;
use super::open::OpenConnection;
use crate::http::plumbing::body::ADMIN_BODY_MOST;

const TIME: Duration = Duration::from_secs(1);
/// A client that sends more than twice the largest accepted body is cut off.
const BYTES: usize = 2 * ADMIN_BODY_MOST;
const READ: usize = 8 * 1024;

/// Closes the write side, and reads what the client still sends. Meanwhile the connection keeps its place.
pub fn linger(mut client: ClientSocket, place: Arc<OpenConnection>) {
    // Without a runtime the process is exiting.
    let Ok(runtime) = Handle::try_current() else { return };
    runtime.spawn(async move {
        // On an error the client has disconnected.
        let _ = client.end();
        let reading = async {
            let (mut buffer, mut read) = ([0; READ], 0);
            while let Ok(bytes @ 1..) = client.read(&mut buffer).await {
                read += bytes;
                if read > BYTES {
                    break;
                }
            }
        };
        let _ = timeout(TIME, reading).await;
        drop(place);
    });
}
