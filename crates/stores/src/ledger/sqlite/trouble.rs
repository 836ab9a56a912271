//! Classifies errors of SQLite and maps them to faults.

use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode};

use crate::ledger::LedgerFault;

/// The statement itself is invalid and would fail again. Other commands of the batch may succeed.
pub fn lasting(error: &Error) -> bool {
    match error {
        Error::StatementChangedRows(_)
        | Error::ToSqlConversionFailure(_)
        | Error::FromSqlConversionFailure(..)
        | Error::InvalidColumnType(..)
        | Error::IntegralValueOutOfRange(..) => true,
        Error::SqliteFailure(e, _) => {
            matches!(e.code, ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
        }
        _ => false,
    }
}

/// The contents of the disk are unknown, so nothing may be acknowledged any more. An fsync error is reported once, and
/// the next call may succeed although pages were lost.
pub fn fatal(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::SystemIoFailure))
}

/// Another process has locked the database.
pub fn busy(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub fn fault(error: &Error) -> LedgerFault {
    match error {
        _ if busy(error) => LedgerFault::Locked,
        Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            LedgerFault::Broken(error.to_string())
        }
        _ if lasting(error) => LedgerFault::Broken(error.to_string()),
        _ => LedgerFault::Unreachable(error.to_string()),
    }
}

/// A value in a row that this version does not know.
pub fn unknown(column: usize, word: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, format!("unknown word {word:?}").into())
}
