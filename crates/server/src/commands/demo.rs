//! `tickettock demo`: what `make run` ends in. A server with something to look at, and a crowd that comes when asked.

use std::fs;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use client::{HttpRequest, Target};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::demo::control::{DemoControl, DemoCrowd, DemoPhase, DemoWish, PulledPlug};
use crate::demo::crowd::{DemoBoard, DemoRush, ask, send};
use crate::demo::process::{ServerLaunch, ServingProcess};
use crate::demo::{qr, stock};
use crate::terminal::{complain, say};
use crate::wiring::admin_token_file;

/// How often wishes are looked for, and the plug.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// In the data folder; a folder without it is somebody's real data.
const CONTROL: &str = "demo";
const STOCKED: &str = "stocked";

pub fn command() -> Command {
    Command::new("demo")
        .about("Start a server with a concert, a fan meeting and a hotel to try, and a crowd that comes when asked")
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("PORT")
                .default_value("5800")
                .value_parser(value_parser!(u16))
                .help("Port to listen on; 0: any"),
        )
        .arg(
            Arg::new("data-dir")
                .long("data-dir")
                .value_name("DIR")
                .default_value("./tickettock-data")
                .value_parser(value_parser!(PathBuf))
                .help("Data folder of the demo"),
        )
        .arg(Arg::new("fresh").long("fresh").action(ArgAction::SetTrue).help("Delete the demo's data and begin anew"))
        .arg(
            Arg::new("lan")
                .long("lan")
                .action(ArgAction::SetTrue)
                .help("Listen on every address, so that a phone on the same network can come, and print a QR code for it; anybody there can come"),
        )
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let data_dir = given.get_one::<PathBuf>("data-dir").cloned().unwrap_or_else(|| "./tickettock-data".into());
    let control = prepare(&data_dir, given.get_flag("fresh"))?;
    let host: IpAddr = if given.get_flag("lan") { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST }.into();
    let port = given.get_one("port").copied().unwrap_or(5800);
    let launch = ServerLaunch { data_dir, control: control.folder().to_owned(), host, port };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(Demo::begin(launch, control))
}

/// The folder of the demo. Data that no demo made is neither deleted nor added to.
fn prepare(data_dir: &Path, fresh: bool) -> Result<DemoControl, String> {
    let folder = data_dir.join(CONTROL);
    let used = fs::read_dir(data_dir).is_ok_and(|mut entries| entries.next().is_some());
    if used && !folder.is_dir() {
        return Err(format!(
            "{} has data that no demo made: start it with `tickettock serve`, or name another folder with --data-dir",
            data_dir.display()
        ));
    }
    let wrong = |e: std::io::Error| format!("{}: {e}", data_dir.display());
    if fresh && used {
        fs::remove_dir_all(data_dir).map_err(wrong)?;
    }
    // Names and telephone numbers will be in it.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(wrong)?;
    let control = DemoControl::at(folder);
    // Left behind when the demo was stopped.
    control.take();
    Ok(control)
}

struct Demo {
    launch: ServerLaunch,
    control: DemoControl,
    board: Arc<DemoBoard>,
    pull: Arc<AtomicBool>,
    rush: Option<JoinHandle<()>>,
    target: Target,
    admin_token: String,
}

impl Demo {
    async fn begin(mut launch: ServerLaunch, control: DemoControl) -> Result<(), String> {
        let process = launch.start().await?;
        let target = Target::resolve(&format!("http://{}", process.address))?;
        let token_file = admin_token_file(&launch.data_dir);
        let admin_token = fs::read_to_string(&token_file).map_err(|e| format!("{}: {e}", token_file.display()))?;
        let board = Arc::new(DemoBoard::new(control.clone()));
        board.change(|_| ());
        let (pull, admin_token) = (Arc::default(), admin_token.trim().to_owned());
        let demo = Demo { launch, control, board, pull, rush: None, target, admin_token };
        demo.fill().await?;
        // Before it says that Ctrl-C stops it: without them a signal ends the demo and leaves the server behind.
        let stopping = |kind| signal(kind).map_err(|e| e.to_string());
        let signals = (stopping(SignalKind::interrupt())?, stopping(SignalKind::terminate())?);
        demo.greet(process.address, &token_file);
        demo.keep(process, signals).await
    }

    /// On the first start only: a later one finds what is there.
    async fn fill(&self) -> Result<(), String> {
        let stocked = self.control.folder().join(STOCKED);
        if stocked.exists() {
            return Ok(());
        }
        let first = HttpRequest::new("PATCH", "/api/v1/admin/events/1").json(stock::first_event().to_string());
        send(&self.target, &self.admin_token, first).await?;
        for event in stock::events(stock::now()) {
            ask(&self.target, &self.admin_token, "/api/v1/admin/events", &event).await?;
        }
        for room_type in stock::room_types() {
            ask(&self.target, &self.admin_token, "/api/v1/admin/room-types", &room_type).await?;
        }
        fs::write(&stocked, "").map_err(|e| format!("{}: {e}", stocked.display()))
    }

    fn greet(&self, address: SocketAddr, token_file: &Path) {
        say!("Tickettock listens on http://{address}");
        say!("  http://{address}/          what is on sale; open it in two tabs, and buy in one");
        say!("  http://{address}/events/3  opens two minutes after the first start");
        say!("  http://{address}/rooms     a hotel with three room types");
        say!("  http://{address}/admin     the console: Start the rush, then Pull the plug");
        say!("  http://{address}/docs      the API");
        say!("Admin token: {} ({})", self.admin_token, token_file.display());
        if self.launch.host.is_unspecified() {
            complain!("--lan: everybody on this network can reach this server, and be any user. Do not sell with it.");
            match lan_address() {
                Some(host) => {
                    let phone = format!("http://{}", SocketAddr::new(host, address.port()));
                    say!("From a phone: {phone}");
                    if let Some(code) = qr::code(&phone, std::io::stdout().is_terminal()) {
                        say!("{code}");
                    }
                }
                None => complain!("this machine's address in its network is not known"),
            }
        }
        say!("A second start keeps the data; `--fresh` begins anew. Ctrl-C stops it.");
    }

    /// Until it is told to stop.
    async fn keep(mut self, mut process: ServingProcess, signals: (Signal, Signal)) -> Result<(), String> {
        let (mut interrupt, mut terminate) = signals;
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if let Some(wish) = self.control.take() {
                self.grant(wish);
            }
            if self.pull.swap(false, Ordering::AcqRel) {
                process = self.pull_the_plug(process).await?;
            }
            if process.has_ended() {
                // Ctrl-C reaches both processes, and that one may be quicker.
                let stopped = tokio::time::timeout(Duration::from_millis(500), interrupt.recv()).await;
                return if stopped.is_ok() { Ok(()) } else { Err("the server has ended".into()) };
            }
        }
        if let Some(rush) = self.rush.take() {
            rush.abort();
        }
        process.stop().await;
        Ok(())
    }

    fn grant(&mut self, wish: DemoWish) {
        let running = self.rush.as_ref().is_some_and(|rush| !rush.is_finished());
        let crowd = match wish {
            DemoWish::Plug if running => return self.pull.store(true, Ordering::Release),
            DemoWish::Plug => DemoCrowd { pull_the_plug: true, ..DemoCrowd::default() },
            // One at a time.
            DemoWish::Rush(_) if running => return,
            DemoWish::Rush(crowd) => crowd,
        };
        let rush = DemoRush {
            target: self.target.clone(),
            admin_token: self.admin_token.clone(),
            crowd,
            board: self.board.clone(),
            pull: self.pull.clone(),
        };
        self.rush = Some(tokio::spawn(rush.run()));
    }

    async fn pull_the_plug(&mut self, process: ServingProcess) -> Result<ServingProcess, String> {
        let began = Instant::now();
        process.kill();
        let before = self.board.change(|state| {
            let before = (state.phase, state.reserved);
            state.phase = DemoPhase::Dark;
            state.plug = Some(PulledPlug { sold_before: state.reserved, dark_ms: None });
            before
        });
        let process = self.launch.start().await?;
        let dark_ms = began.elapsed().as_millis() as u64;
        self.board.change(|state| {
            state.plug = Some(PulledPlug { sold_before: before.1, dark_ms: Some(dark_ms) });
            if state.phase == DemoPhase::Dark {
                state.phase = before.0;
            }
        });
        Ok(process)
    }
}

/// The address from which this machine would reach another one. Nothing is sent.
fn lan_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}
