//! `make bench`: the product and the designs it is measured against, alternated in one run.

mod contenders;
mod crowd;
mod figures;
mod gateway;
mod generator;
mod hashes;
mod ledger;
mod line;
mod machine;
mod measure;
mod metrics;
mod overload;
mod processor;
mod product;
mod program;
mod rounds;
mod running;
mod scraper;
mod services;
mod table;
mod watchers;
mod webhooks;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use generator::{Load, Traffic};

/// The product's allocator, so that no contender is faster or slower because of another one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
bench run quick|full FOLDER [REPORT]     everything; data below FOLDER, the report also into a file
bench contender ceiling | append FOLDER | seed POSTGRES REDIS | skip-locked POSTGRES | row-locks POSTGRES
                                         one contender, until it is killed
bench holds FOLDER                       holds beside a transaction per hold, alone
bench refusals FOLDER                    sold-out refusals at the gateway beside a constant, alone
bench gateway FOLDER                     two servers with the gateway and without, alone
bench overload quick|full FOLDER embedded|part|scaled|gateway|connections|all [MULTIPLE|recovery]...
                                         more people than can be served, alone; or these multiples of the peak only,
                                         or `recovery`
bench metrics FOLDER                     sales with metrics and without, alone
bench load ADDRESS [CONNECTIONS] [PATH]  three seconds of load
bench ledger [SALES]                     the embedded ledger alone
bench hashes                             what the chain of hashes costs a sale, alone
bench watchers FOLDER [COUNT]            a sale while many watch it live, alone
bench webhooks FOLDER                    a sale with a webhook, and without, alone
bench line FOLDER | line-bytes           the waiting room alone; what one who waits costs";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["run", "quick", folder, ref rest @ ..] => run(&program::QUICK, folder, rest),
        ["run", "full", folder, ref rest @ ..] => run(&program::FULL, folder, rest),
        ["contender", "ceiling"] | ["ceiling"] => contenders::ceiling::serve(),
        ["contender", "append", folder] => contenders::append::serve(Path::new(folder)),
        ["contender", "seed", database, redis] => contenders::seed::serve(database, redis),
        ["contender", "skip-locked", database] => contenders::skip_locked::serve(database),
        ["contender", "row-locks", database] => contenders::row_locks::serve(database),
        ["load", load] if load.starts_with('{') => {
            let load: Load = serde_json::from_str(load).expect("a load");
            println!("{}", serde_json::to_string(&load.run()).expect("JSON"));
        }
        ["load", address, ref rest @ ..] => by_hand(address, rest),
        ["crowd", crowd] => {
            let crowd: crowd::CrowdLoad = serde_json::from_str(crowd).expect("a crowd");
            println!("{}", serde_json::to_string(&crowd.run()).expect("JSON"));
        }
        ["overload", "quick", folder, place, ref multiples @ ..] => {
            overload::alone(Path::new(folder), &program::QUICK, place, multiples);
        }
        ["overload", "full", folder, place, ref multiples @ ..] => {
            overload::alone(Path::new(folder), &program::FULL, place, multiples);
        }
        ["holds", folder] => program::holds_alone(Path::new(folder)),
        ["refusals", folder] => program::refusals_alone(Path::new(folder)),
        ["metrics", folder] => program::metrics_alone(Path::new(folder)),
        ["gateway", folder] => program::gateway_alone(Path::new(folder)),
        ["watchers", folder] => program::watchers_alone(Path::new(folder), program::WATCHERS),
        ["watchers", folder, count] => {
            program::watchers_alone(Path::new(folder), count.parse().expect("a number"));
        }
        ["webhooks", folder] => program::webhooks_alone(Path::new(folder)),
        ["line-bytes"] => println!("{}", line::bytes()),
        ["line", folder] => program::line_alone(Path::new(folder)),
        ["hashes"] => hashes::alone(program::FULL.rounds),
        ["ledger", sales] => ledger::run(sales.parse::<u64>().expect("a number") / 256, 256),
        ["ledger"] => {
            for size in [1, 32, 256] {
                ledger::run(100_000u64.min(500 * size) / size, size);
            }
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(pace: &program::Pace, folder: &str, rest: &[&str]) {
    let report = program::run(pace, Path::new(folder));
    let text = report.markdown();
    println!("\n{text}");
    if !report.all_hold() {
        println!("Some goals do not hold on this machine in this run.");
    }
    if let [file, ..] = rest {
        std::fs::write(file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
        println!("Written to {file}.");
    }
}

fn by_hand(address: &str, rest: &[&str]) {
    let load = Load {
        targets: vec![address.parse().expect("an address")],
        connections: rest.first().map_or(256, |c| c.parse().expect("a number")),
        warm: Duration::from_millis(500),
        time: Duration::from_secs(3),
        rate: None,
        good: 200,
        seed: std::process::id(),
        traffic: Traffic::Path(rest.get(1).copied().unwrap_or("/api/v1/seats/reservation/fcfs").into()),
    };
    let run = load.run();
    println!("{:.0}/s ok {} other {} p50 {} us p99 {} us", run.rate(), run.ok, run.other, run.p50_us, run.p99_us);
}
