//! Whether the last write failed because PostgreSQL could not store it, as with a full disk. Reads still succeed then,
//! so `/readyz` tries a write before it reports ready again.

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
    /// If the last write failed, writes something invisible.
    pub(super) async fn writes_again(&self) -> Result<(), Trouble> {
        if !*self.failed_write.lock() {
            return Ok(());
        }
        let mut session = self.sessions.get().await?;
        session.dirty();
        match within(session.batch_execute(queries::WRITE_PROBE)).await? {
            Ok(()) => {}
            Err(error) => match Trouble::from(error) {
                // This role may not create tables here; that says nothing about free space.
                Trouble::Broken(_) | Trouble::Lasting(_) => {}
                trouble => return Err(trouble),
            },
        }
        session.clean();
        *self.failed_write.lock() = false;
        Ok(())
    }
}
