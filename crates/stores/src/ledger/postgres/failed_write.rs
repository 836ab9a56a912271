//! Whether the last write failed because PostgreSQL could not take it, as with a full disk. Reads succeed
//! then, so `/readyz` tries a write before it says that all is well again.

use std::sync::{Mutex, MutexGuard};

use super::session::within;
use super::trouble::Trouble;
use super::{Inner, queries};
use crate::ledger::LedgerFault;

#[derive(Default)]
pub struct FailedWrite(Mutex<bool>);

impl FailedWrite {
    pub fn note<T>(&self, result: &Result<T, LedgerFault>) {
        if matches!(result, Err(LedgerFault::Unreachable(_))) {
            *self.lock() = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    /// Writes something that nobody sees, if the last write failed.
    pub(super) async fn writes_again(&self) -> Result<(), Trouble> {
        if !*self.failed_write.lock() {
            return Ok(());
        }
        let mut session = self.sessions.get().await?;
        session.dirty();
        match within(session.batch_execute(queries::WRITE_PROBE)).await? {
            Ok(()) => {}
            Err(error) => match Trouble::from(error) {
                // It may not make tables here: that says nothing about room.
                Trouble::Broken(_) | Trouble::Lasting(_) => {}
                trouble => return Err(trouble),
            },
        }
        session.clean();
        *self.failed_write.lock() = false;
        Ok(())
    }
}
