//! The embedded ledger alone: microseconds per sale, without HTTP.

use std::sync::Arc;
use std::time::Instant;

use rules::command::{Action, Buyer, Command, Terms};
use rules::event::NewEvent;
use rules::history::Actor;
use rules::ids::{Number, RequestName, User};
use rules::seats::Hall;
use server::clock::EmbeddedClock;
use stores::ledger::sqlite::{SqliteLedger, Surroundings};
use stores::ledger::{Batch, Ledger};

pub fn run(batches: u64, size: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let surroundings = Surroundings {
        clock: |newest| Arc::new(EmbeddedClock::starting(newest)) as Arc<_>,
        on_fatal: Box::new(|why| panic!("{why}")),
        key_ttl_ms: 86_400_000,
    };
    let ledger = SqliteLedger::open(folder.path(), surroundings).expect("a ledger");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let new = NewEvent { name: "x".into(), hall: Hall::Count(5_000_000), max_per_user: 1, opens_at: None };
        let event = ledger.create_event(new, None).await.expect("an event").id;
        let mut times = Vec::new();
        for batch in 0..batches {
            let commands = (0..size).map(|i| command(batch * size + i)).collect();
            let began = Instant::now();
            let batch = Batch { event, commands: Arc::new(commands), terms: Terms::default() };
            let committed = ledger.commit(batch).await.expect("a commit");
            times.push(began.elapsed().as_micros() as u64);
            assert_eq!(committed.answers.len() as u64, size);
        }
        times.sort_unstable();
        let total: u64 = times.iter().sum();
        println!(
            "{batches} batches of {size}: {:.2} us a sale, batch p50 {} us, p99 {} us",
            total as f64 / (batches * size) as f64,
            times[times.len() / 2],
            times[times.len() * 99 / 100]
        );
    });
}

fn command(i: u64) -> Command {
    // Spread like the ids of real users, not in the order of arrival.
    let user = format!("user-{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    Command {
        actor: Actor::User(User::stored(&user)),
        number: Some(Number(i + 1)),
        name: RequestName(i.into()),
        key: None,
        action: Action::Reserve(Buyer { name: Some("Alice".into()), phone: Some("+821012345678".into()) }),
    }
}
