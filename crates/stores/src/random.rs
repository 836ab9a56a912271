//! Random bytes for what a ledger makes itself: salts and keys.

pub(crate) fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        // This is random too, and panics if the system has no random source at all.
        for part in bytes.chunks_mut(16) {
            part.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..part.len()]);
        }
    }
}
