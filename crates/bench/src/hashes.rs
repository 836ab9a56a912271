//! What the chain of hashes costs a sale: the hashes of a batch, beside the commit of the same batch with its flush. The
//! hashes are a part of the commit, so the share says how much quicker a batch without them could be at most.

use std::time::Instant;

use stores::chain::{Chain, ChainRow, ContactFields, ErasableFields};
use stores::ledger::BATCH_MOST;

use crate::ledger;
use crate::rounds::Spread;

const BATCHES: u64 = 60;

pub struct HashFigures {
    /// Microseconds for each history row.
    pub row_us: Spread,
    /// Of the commit of a batch.
    pub share: Spread,
}

pub fn measure(rounds: usize) -> HashFigures {
    let (mut row_us, mut share) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let commits: u64 = ledger::sold(BATCHES, BATCH_MOST as u64).iter().sum();
        let hashes = hash(BATCHES, BATCH_MOST as u64);
        row_us.push(hashes / (BATCHES * BATCH_MOST as u64) as f64);
        share.push(hashes / commits as f64);
    }
    HashFigures { row_us: Spread::of(&row_us), share: Spread::of(&share) }
}

/// `bench hashes`.
pub fn alone(rounds: usize) {
    let HashFigures { row_us, share } = measure(rounds);
    println!(
        "hashes of a history row: {:.2} us ({:.2} to {:.2}); {:.3} of the commit of a batch of {BATCH_MOST} ({:.3} to {:.3})",
        row_us.median, row_us.min, row_us.max, share.median, share.min, share.max
    );
}

/// The microseconds that the links of so many batches of sales take.
fn hash(batches: u64, size: u64) -> f64 {
    let mut head = None;
    let mut spent = 0.0;
    for batch in 0..batches {
        let sales: Vec<(u64, String, String)> = (0..size)
            .map(|i| batch * size + i)
            .map(|i| (i, format!("user-{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15)), format!("{i:032x}")))
            .collect();
        let began = Instant::now();
        let rows = sales.iter().map(|(i, owner, trace)| ChainRow {
            subject: 1,
            n: i + 2,
            at: 1_790_000_000_000,
            what: "reserved",
            seat: Some(*i as u32 + 1),
            owner: Some(owner),
            number: Some(i + 1),
            trace: Some(trace),
            erasable: ErasableFields { address: Some("127.0.0.1".into()), details: None },
            contact: ContactFields { name: Some("Alice"), phone: Some("+821012345678"), email: None },
            ..ChainRow::default()
        });
        let chain = Chain::extend(head, rows.collect());
        spent += began.elapsed().as_secs_f64() * 1e6;
        assert_eq!(chain.links.len() as u64, size);
        head = chain.head;
    }
    spent
}
