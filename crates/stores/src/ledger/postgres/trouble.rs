//! Classifies errors of PostgreSQL and maps them to faults.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::ledger::LedgerFault;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The lock timeout passed.
    Locked,
    /// Nothing was done, and a retry may succeed.
    Passing(String),
    /// The statement itself is invalid and would fail again. Other commands of the batch may succeed.
    Lasting(String),
    /// The connection is closed or silent. The transaction in flight may or may not have been committed.
    Lost(String),
    Unreachable(String),
    Broken(String),
}

impl Trouble {
    /// Whether the server itself reported that the transaction failed. After any other error it is unknown whether a
    /// COMMIT that was sent took effect.
    pub fn certain(error: &Error) -> bool {
        let severity = error.as_db_error().and_then(DbError::parsed_severity);
        severity == Some(Severity::Error)
    }

    pub fn fault(self) -> LedgerFault {
        match self {
            Trouble::Locked => LedgerFault::Locked,
            Trouble::Passing(why) | Trouble::Lost(why) => LedgerFault::Passing(why),
            Trouble::Unreachable(why) => LedgerFault::Unreachable(why),
            Trouble::Lasting(why) | Trouble::Broken(why) => LedgerFault::Broken(why),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error.as_db_error() {
            Some(said) => by_state(said),
            // A value that does not fit a column, or a column that does not fit our types.
            None if error.is_closed() || is_io(&error) => Trouble::Lost(words(&error)),
            None => Trouble::Lasting(words(&error)),
        }
    }
}

fn is_io(error: &Error) -> bool {
    error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}

fn by_state(said: &DbError) -> Trouble {
    let why = format!("{} ({})", said.message(), said.code().code());
    match said.code() {
        &SqlState::LOCK_NOT_AVAILABLE => Trouble::Locked,
        &SqlState::T_R_SERIALIZATION_FAILURE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::QUERY_CANCELED
        | &SqlState::TOO_MANY_CONNECTIONS
        | &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN
        | &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | &SqlState::IN_FAILED_SQL_TRANSACTION => Trouble::Passing(why),
        code => match &code.code()[..2] {
            "22" | "23" => Trouble::Lasting(why),
            // A missing statement, table or function; a row that cannot be decoded.
            "42" | "XX" => Trouble::Broken(why),
            _ => Trouble::Unreachable(why),
        },
    }
}

/// A value in a row that this version does not know.
pub fn unknown(word: &str) -> Trouble {
    Trouble::Broken(format!("unknown word {word:?}"))
}

/// The error with its cause: the driver's own message is only "db error" or "error connecting".
pub fn words(error: &Error) -> String {
    let Some(cause) = error.source() else { return error.to_string() };
    let (said, cause) = (error.to_string(), cause.to_string());
    // The driver exposes no code for it.
    let hint = if said.starts_with("error performing TLS handshake") { tls_hint(&cause) } else { "" };
    format!("{said}: {cause}{hint}")
}

/// The setting that decides about the failed handshake. Without `sslmode` the operator may not know of any.
fn tls_hint(cause: &str) -> &'static str {
    if cause.contains("does not support TLS") {
        return ". Set ssl = on in PostgreSQL, or sslmode=disable in DATABASE_URL if the network is trusted";
    }
    ". In DATABASE_URL, sslrootcert names the authority that signed PostgreSQL's certificate, and the host must be the \
     name in it; sslmode=require encrypts without verifying, sslmode=disable does not encrypt"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_maps_to_a_fault() {
        let why = || "why".to_owned();
        assert_eq!(Trouble::Locked.fault(), LedgerFault::Locked);
        assert_eq!(Trouble::Passing(why()).fault(), LedgerFault::Passing(why()));
        assert_eq!(Trouble::Lost(why()).fault(), LedgerFault::Passing(why()));
        assert_eq!(Trouble::Unreachable(why()).fault(), LedgerFault::Unreachable(why()));
        assert_eq!(Trouble::Lasting(why()).fault(), LedgerFault::Broken(why()));
        assert_eq!(Trouble::Broken(why()).fault(), LedgerFault::Broken(why()));
    }
}
