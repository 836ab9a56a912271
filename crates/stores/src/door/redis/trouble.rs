//! Maps errors of Redis to faults.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::door::DoorFault;

/// The connection is no longer usable: closed, silent, or to a Redis that must not be written to.
pub fn breaks_connection(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_timeout()
        || error.is_connection_dropped()
        || error.is_unrecoverable_error()
        || matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown))
}

pub fn fault(error: &RedisError) -> DoorFault {
    let away = breaks_connection(error)
        || error.is_cluster_error()
        || matches!(
            error.kind(),
            ErrorKind::AuthenticationFailed
                | ErrorKind::ClusterConnectionNotFound
                | ErrorKind::Server(
                    ServerErrorKind::BusyLoading | ServerErrorKind::ClusterDown | ServerErrorKind::TryAgain
                )
        );
    let why = error.to_string();
    if away { DoorFault::Unreachable(why) } else { DoorFault::Failed(why) }
}
