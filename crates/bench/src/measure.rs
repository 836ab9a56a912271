//! One run: a contender is started, loaded, stopped and verified.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rules::nights::Night;
use tempfile::TempDir;

use crate::figures::LoadFigures;
use crate::gateway::{self, Gateway};
use crate::generator::{Load, Then, Traffic};
use crate::ledger;
use crate::product::{FIRST_DAY, ServerData, make_events, make_room_types};
use crate::running::Running;
use crate::services::BenchServices;

/// More than any run sells.
pub const MANY_SEATS: u32 = 9_000_000;
pub const MILLION: u32 = 1_000_000;
const FCFS: &str = "/api/v1/events/1/seats/reservation/fcfs";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Ceiling,
    /// Appends to a file with group commit.
    Append,
    /// The product on SQLite, with an unsold hall.
    Embedded,
    /// The same in halls of 1,000 seats, one after the other.
    Thousand,
    /// The same in a hall of 1,000,000 seats, half of them sold before.
    Million,
    /// A number from Redis is the seat, which is read, then taken by a conditional UPDATE.
    Seed,
    /// `FOR UPDATE SKIP LOCKED` per request.
    SkipLocked,
    /// The product on Redis and PostgreSQL, with this many servers.
    Scaled(usize),
    /// The same with two servers, and a gateway in front.
    Gateway,
    /// The gateway of a sold out event: refusals count.
    SoldOut,
    /// The same nginx with a constant answer.
    Constant,
    /// One SQL transaction with row locks per hold, in this many room types.
    RowLocks(u64),
    /// Holds of the product on Redis and PostgreSQL, in this many room types.
    Holds(u64),
    /// The same on SQLite.
    HoldsEmbedded(u64),
    /// Confirmations and cancellations, each after a hold.
    Confirms,
    Cancels,
    /// 365 nights at a time.
    Availability,
}

impl Contender {
    pub fn name(self) -> String {
        match self {
            Contender::Ceiling => "the ceiling",
            Contender::Append => "append to a file, group commit",
            Contender::Embedded => "embedded",
            Contender::Thousand => "embedded, halls of 1,000 seats",
            Contender::Million => "embedded, 1,000,000 seats half sold",
            Contender::Seed => "the literal seed design",
            Contender::SkipLocked => "SKIP LOCKED per request",
            Contender::Scaled(1) => "Redis + PostgreSQL, one server",
            Contender::Scaled(_) => "Redis + PostgreSQL, two servers",
            Contender::Gateway => "Redis + PostgreSQL, two servers, gateway",
            Contender::SoldOut => "sold-out refusals at the gateway",
            Contender::Constant => "the same nginx answering a constant",
            Contender::RowLocks(1) => "a transaction with row locks per hold, one room type",
            Contender::RowLocks(_) => "a transaction with row locks per hold, 200 room types",
            Contender::Holds(1) => "holds, Redis + PostgreSQL, one room type",
            Contender::Holds(_) => "holds, Redis + PostgreSQL, 200 room types",
            Contender::HoldsEmbedded(1) => "holds, embedded, one room type",
            Contender::HoldsEmbedded(_) => "holds, embedded, 200 room types",
            Contender::Confirms => "confirmations, each behind a hold, Redis + PostgreSQL",
            Contender::Cancels => "cancellations, each behind a hold, Redis + PostgreSQL",
            Contender::Availability => "availability of 365 nights, Redis + PostgreSQL",
        }
        .to_owned()
    }
}

pub struct Bench {
    // Declared before the folder they run in, so that they stop first.
    services: BenchServices,
    /// On the disk that is measured.
    folder: TempDir,
    warm: Duration,
    time: Duration,
    seed: Cell<u32>,
}

impl Bench {
    pub fn new(under: &Path, time: Duration) -> Bench {
        std::fs::create_dir_all(under).expect("a folder for the data");
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(under).expect("a folder for the data");
        let services = BenchServices::start(folder.path());
        let bench = Bench { services, folder, warm: Duration::from_millis(500), time, seed: Cell::new(0) };
        ledger::half_sold(&bench.half_sold(), MILLION);
        bench
    }

    fn half_sold(&self) -> PathBuf {
        self.folder.path().join("half-sold")
    }

    /// A new folder with the half sold hall in it.
    pub fn with_half_sold(&self) -> TempDir {
        let folder = self.empty();
        for file in std::fs::read_dir(self.half_sold()).expect("the half sold hall") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("a copy");
        }
        folder
    }

    pub fn empty(&self) -> TempDir {
        tempfile::tempdir_in(&self.folder).expect("a folder")
    }

    /// `rate` of None finds the peak.
    pub fn measure(&self, who: Contender, connections: usize, rate: Option<f64>) -> LoadFigures {
        let figures = self.once(who, connections, rate);
        eprintln!(
            "{:<40}{connections:>5} connections {:>8.0}/s  p50 {:>6} us  p99 {:>7} us  p99.9 {:>7} us{}",
            who.name(),
            figures.rate(),
            figures.p50_us,
            figures.p99_us,
            figures.p999_us,
            if rate.is_some() { format!("  generator late p99 {} us", figures.late_us) } else { String::new() }
        );
        if figures.other > 0 {
            eprintln!("  {} were refused", figures.other);
        }
        figures
    }

    fn once(&self, who: Contender, connections: usize, rate: Option<f64>) -> LoadFigures {
        let load = |running: &Running, traffic| self.load(&[running], connections, rate, traffic);
        let path = || Traffic::Path(FCFS.into());
        match who {
            Contender::Ceiling => load(&contender(&["ceiling"]), path()),
            Contender::Append => {
                let folder = self.empty();
                load(&contender(&["append", &folder.path().display().to_string()]), path())
            }
            Contender::Embedded => {
                let folder = self.empty();
                self.product(&ServerData::embedded(folder.path()), MANY_SEATS, |server| load(server, path()))
            }
            Contender::Million => {
                let folder = self.with_half_sold();
                self.product(&ServerData::embedded(folder.path()), MILLION, |server| load(server, path()))
            }
            Contender::Thousand => {
                let folder = self.empty();
                self.product(&ServerData::embedded(folder.path()), 9, |server| {
                    let count = (MOST_PER_SECOND * (self.warm + self.time).as_secs_f64()) as u64 / 1_000;
                    let first = make_events(server, count, 1_000);
                    load(server, Traffic::Events { first, seats: 1_000 })
                })
            }
            Contender::Seed => {
                let database = self.services.fresh();
                load(&contender(&["seed", &database, &self.services.redis_url()]), path())
            }
            Contender::SkipLocked => load(&contender(&["skip-locked", &self.services.fresh()]), path()),
            Contender::Scaled(servers) => {
                let (place, _folder) = self.scaled();
                let servers: Vec<Running> = (0..servers).map(|_| place.serve(MANY_SEATS).0).collect();
                let all: Vec<&Running> = servers.iter().collect();
                let figures = self.load(&all, connections, rate, path());
                drop(servers);
                place.verify();
                figures
            }
            Contender::Gateway => {
                let (place, _folder) = self.scaled();
                let servers: Vec<Running> = (0..2).map(|_| place.serve(MANY_SEATS).0).collect();
                let figures = self.through_gateway(&servers, false, connections, rate, 200);
                drop(servers);
                place.verify();
                figures
            }
            Contender::RowLocks(types) => {
                let rows = contender(&["row-locks", &self.services.fresh()]);
                let plan = self.plan(vec![rows.address], connections, rate, Traffic::Holds { first: 1, types });
                generate(&Load { good: 201, ..plan })
            }
            Contender::HoldsEmbedded(types) => {
                let folder = self.empty();
                self.rooms(&ServerData::embedded(folder.path()), types, 201, connections, |first| Traffic::Holds {
                    first,
                    types,
                })
            }
            Contender::Holds(types) => {
                let (place, _folder) = self.scaled();
                self.rooms(&place, types, 201, connections, |first| Traffic::Holds { first, types })
            }
            Contender::Confirms | Contender::Cancels => {
                let (place, _folder) = self.scaled();
                let then = if who == Contender::Confirms { Then::Confirm } else { Then::Cancel };
                self.rooms(&place, 1, 200, connections, |first| Traffic::HoldsThen { first, types: 1, then })
            }
            Contender::Availability => {
                let (place, _folder) = self.scaled();
                self.rooms(&place, 1, 200, connections, |first| {
                    let (check_in, check_out) = (Night(FIRST_DAY), Night(FIRST_DAY + 365));
                    let path = format!("/v1/room-types/{first}/availability?checkIn={check_in}&checkOut={check_out}");
                    Traffic::Get(path)
                })
            }
            Contender::SoldOut | Contender::Constant => {
                let (place, _folder) = self.scaled();
                let servers = [place.serve(0).0];
                self.through_gateway(&servers, who == Contender::Constant, connections, rate, 409)
            }
        }
    }

    /// A part of a longer run: without warm-up, and all that was sold is counted.
    pub fn slice(&self, server: &Running, connections: usize) -> LoadFigures {
        let load = self.plan(vec![server.address], connections, None, Traffic::Path(FCFS.into()));
        generate(&Load { warm: Duration::ZERO, time: self.time.min(SLICE_MOST), ..load })
    }

    pub fn next_seed(&self) -> u32 {
        self.seed.set(self.seed.get() + 1);
        self.seed.get()
    }

    /// PostgreSQL and Redis run on this core from now on.
    pub fn pin_services(&self, core: usize) {
        self.services.pin(core);
    }

    /// The processes of PostgreSQL and Redis.
    pub fn service_ids(&self) -> [u32; 2] {
        self.services.ids()
    }

    pub fn redis_url(&self) -> String {
        self.services.redis_url()
    }

    /// Runs in a process of its own, so that nothing else is counted.
    pub fn line_bytes(&self) -> f64 {
        let output = myself().arg("line-bytes").output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
    }

    /// A server with this many room types: loaded, killed and verified.
    fn rooms(
        &self,
        place: &ServerData,
        types: u64,
        good: u16,
        connections: usize,
        traffic: impl FnOnce(i64) -> Traffic,
    ) -> LoadFigures {
        self.product(place, 9, |server| {
            let traffic = traffic(make_room_types(server, types));
            generate(&Load { good, ..self.plan(vec![server.address], connections, None, traffic) })
        })
    }

    fn through_gateway(
        &self,
        servers: &[Running],
        constant: bool,
        connections: usize,
        rate: Option<f64>,
        good: u16,
    ) -> LoadFigures {
        let folder = self.empty();
        let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
        let start = if constant { Gateway::constant } else { Gateway::start };
        let gateway = start(folder.path(), &addresses, &self.services.redis_url());
        let load = self.plan(vec![gateway.address], connections, rate, Traffic::Path(FCFS.into()));
        generate(&Load { good, ..load })
    }

    /// Empty services for the product.
    pub fn scaled(&self) -> (ServerData, TempDir) {
        let folder = self.empty();
        let services = vec![
            ("DATABASE_URL", self.services.fresh()),
            ("REDIS_URL", self.services.redis_url()),
            ("GATEWAY_KEY", gateway::KEY.to_owned()),
            // Without the gateway, the load names its users itself.
            ("ALLOW_TRUSTED_HEADER", "1".to_owned()),
        ];
        (ServerData { data: folder.path().to_owned(), services }, folder)
    }

    /// Killed after the load: the file must contain everything that was acknowledged.
    fn product(&self, place: &ServerData, seats: u32, load: impl FnOnce(&Running) -> LoadFigures) -> LoadFigures {
        let (server, _) = place.serve(seats);
        let figures = load(&server);
        drop(server);
        place.verify();
        figures
    }

    /// Sells for a moment and is killed, so that the next start has a log to recover.
    pub fn sell_and_kill(&self, place: &ServerData) {
        let (server, _) = place.serve(MILLION);
        let load = self.plan(vec![server.address], 64, None, Traffic::Path(FCFS.into()));
        generate(&Load { time: Duration::from_millis(500), ..load });
    }

    fn load(&self, servers: &[&Running], connections: usize, rate: Option<f64>, traffic: Traffic) -> LoadFigures {
        generate(&self.plan(servers.iter().map(|server| server.address).collect(), connections, rate, traffic))
    }

    fn plan(&self, targets: Vec<SocketAddr>, connections: usize, rate: Option<f64>, traffic: Traffic) -> Load {
        let seed = self.next_seed();
        Load { targets, connections, warm: self.warm, time: self.time, rate, good: 200, seed, traffic }
    }
}

/// The generator, as a process of its own.
fn generate(load: &Load) -> LoadFigures {
    let load = serde_json::to_string(load).expect("JSON");
    let output = myself().args(["load", &load]).output().expect("the generator runs");
    assert!(output.status.success(), "the generator: {}", String::from_utf8_lossy(&output.stderr));
    let figures: LoadFigures = serde_json::from_slice(&output.stdout).expect("figures");
    assert!(figures.ok > 0, "nobody was served: {figures:?}");
    figures
}

/// Of a run that alternates within itself.
const SLICE_MOST: Duration = Duration::from_secs(2);

/// Enough halls are made beforehand for this rate; no server on one machine sells more.
const MOST_PER_SECOND: f64 = 100_000.0;

pub fn myself() -> Command {
    Command::new(std::env::current_exe().expect("a path"))
}

fn contender(arguments: &[&str]) -> Running {
    Running::start(myself().arg("contender").args(arguments))
}
