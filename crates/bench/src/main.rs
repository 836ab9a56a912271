//! `make bench`: the product and what it is measured against, alternated in one run.

mod contenders;
mod generator;
mod ledger;

use std::time::Duration;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("ceiling") => contenders::ceiling::serve(),
        Some("ledger") => {
            for size in [1, 32, 256] {
                ledger::run(100_000u64.min(500 * size) / size, size);
            }
        }
        Some("load") => {
            let address = args[1].parse().expect("an address");
            let connections = args.get(2).map_or(256, |c| c.parse().expect("a number"));
            let path = args.get(3).map_or("/api/v1/seats/reservation/fcfs", String::as_str);
            let run = generator::closed(address, connections, Duration::from_secs(3), path);
            println!(
                "{:.0}/s ok {} other {} p50 {} us p99 {} us",
                run.rate(),
                run.ok,
                run.other,
                run.times.value_at_quantile(0.5),
                run.times.value_at_quantile(0.99)
            );
        }
        _ => eprintln!("bench ceiling | load ADDRESS [CONNECTIONS]"),
    }
}
