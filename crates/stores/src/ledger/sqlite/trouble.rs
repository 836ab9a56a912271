//! What an error of SQLite means for those who wait.

use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode};

use crate::ledger::LedgerFault;

/// The statement itself is at fault: it would fail again. Others in the batch need not suffer.
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

/// What is on the disk is not known any more. Going on could acknowledge what is not there: an
/// error of fsync is reported once, and the next call may succeed over lost pages.
pub fn fatal(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::SystemIoFailure))
}

pub fn fault(error: &Error) -> LedgerFault {
    match error {
        Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerFault::Locked
        }
        Error::SqliteFailure(e, _) if matches!(e.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            LedgerFault::Broken(error.to_string())
        }
        _ if lasting(error) => LedgerFault::Broken(error.to_string()),
        _ => LedgerFault::Unreachable(error.to_string()),
    }
}

/// A word in a row that this version does not know.
pub fn unknown(column: usize, word: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, format!("unknown word {word:?}").into())
}
