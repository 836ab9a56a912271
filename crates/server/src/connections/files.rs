//! The open file limit, which bounds the number of connections.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Reserved for the ledger, the log, the other listener and libraries.
const KEPT_BACK: u64 = 64;
/// More connections need an explicit `MAX_CONNECTIONS`: each costs about 15 KiB.
const UNASKED_MOST: u64 = 20_000;

/// Raises the soft limit to the hard limit if possible, and returns the number of connections that fit.
pub fn room_for_connections() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            limit = raised;
        }
    }
    connections_for(limit.current)
}

/// Reserves a sixteenth of the files, and `KEPT_BACK` more.
fn connections_for(files: Option<u64>) -> usize {
    let files = files.unwrap_or(u64::MAX);
    let room = files.saturating_sub(files / 16 + KEPT_BACK).clamp(16, UNASKED_MOST);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_are_kept_back() {
        assert_eq!(connections_for(Some(1_024)), 896);
        assert_eq!(connections_for(Some(20_000)), 18_686);
        assert_eq!(connections_for(Some(1_000_000)), 20_000);
        assert_eq!(connections_for(None), 20_000);
        assert_eq!(connections_for(Some(10)), 16);
    }
}
