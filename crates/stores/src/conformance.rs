//! The suite that a ledger and a door must pass.
