//! The name by which a door identifies its ledger. It changes when the ledger was restored from a backup, so that every
//! door is opened again with a new generation.

use std::sync::{Arc, RwLock};

/// Shared. None until the ledger was reached.
#[derive(Clone, Debug, Default)]
pub struct LedgerName(Arc<RwLock<Option<Arc<str>>>>);

impl LedgerName {
    pub fn get(&self) -> Option<Arc<str>> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub fn set(&self, name: &str) {
        *self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(name.into());
    }
}

impl From<&str> for LedgerName {
    fn from(name: &str) -> LedgerName {
        let named = LedgerName::default();
        named.set(name);
        named
    }
}
