//! Switches metrics off in this process, so that the benchmark can measure what they cost. `serve` has a hidden flag for
//! it; nobody else should want it.

use std::sync::atomic::{AtomicBool, Ordering};

static OFF: AtomicBool = AtomicBool::new(false);

pub fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

pub fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}
