//! Names of running requests: a random prefix per process and a counter. They are unique without a
//! random number per request.

use std::sync::atomic::{AtomicU64, Ordering};

use rules::ids::RequestName;

#[derive(Debug)]
pub struct Names {
    process: u64,
    next: AtomicU64,
}

impl Names {
    pub fn random() -> Names {
        let (process, _) = uuid::Uuid::new_v4().as_u64_pair();
        Names { process, next: AtomicU64::new(1) }
    }

    pub fn next(&self) -> RequestName {
        let counter = self.next.fetch_add(1, Ordering::Relaxed);
        RequestName(u128::from(self.process) << 64 | u128::from(counter))
    }
}
